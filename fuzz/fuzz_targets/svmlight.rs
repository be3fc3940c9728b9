//! Reads arbitrary bytes as Svmlight.
#![no_main]

use cmrm_data::read::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| cmrm_fuzz::read_everyhow(Format::Svmlight, bytes));
