//! Reads arbitrary bytes as the pickles that CIFAR-N is published in.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(arrays) = cmrm_datasets::read_pickle(bytes, &["clean_label", "worse_label"]) {
        assert_eq!(arrays.len(), 2);
    }
});
