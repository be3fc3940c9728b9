//! Reads arbitrary bytes as Parquet.
#![no_main]

use cmrm_data::read::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: {
        // The decoder and what it uses panic on some damaged pages, and the reader turns that into an error; ours count.
        let abort = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.location().is_some_and(|place| place.file().contains("/registry/")) {
                abort(panic);
            }
        }));
    },
    |bytes: &[u8]| cmrm_fuzz::read_everyhow(Format::Parquet, bytes)
);
