//! Reads arbitrary bytes, repeated to the length of records, as both CIFAR formats.
#![no_main]

use cmrm_data::read::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    cmrm_fuzz::read_everyhow(Format::Cifar10, bytes);
    if let Some((&rows, pattern)) = bytes.split_first()
        && !pattern.is_empty()
    {
        for (format, record) in [(Format::Cifar10, 3073), (Format::Cifar100, 3074)] {
            let length = record * usize::from(rows % 4);
            let records: Vec<u8> = pattern.iter().copied().cycle().take(length).collect();
            cmrm_fuzz::read_everyhow(format, &records);
        }
    }
});
