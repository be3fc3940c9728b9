//! Reads arbitrary text as a stored pipeline and applies it.
#![no_main]

use cmrm_data::preprocess::Preprocess;
use cmrm_data::read::{Format, Source, read};
use libfuzzer_sys::fuzz_target;

const TABLE: &str = "a,b,c,d\n1,true,x,2024-01-01\n-2.5,false,,2024-05-01 10:00\n?,no,y,\n";

const TEXTS: &str = "a,b\nNew York!,1\n\"北京, ที่นี่ ❤\",2\n,3\n";

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(pipeline) = Preprocess::from_json(text) else { return };
    let json = pipeline.to_json().expect("a pipeline can be stored");
    assert_eq!(Preprocess::from_json(&json).expect("a stored pipeline can be read back"), pipeline);
    if pipeline.width() > 10_000 {
        return;
    }
    for table in [TABLE, TEXTS, "1\n2\n", "1,2,3\n4,5,6\n"] {
        let input = read(&Source::bytes("t.csv", table), &cmrm_fuzz::options(Format::Csv));
        if let Ok(features) = pipeline.transform(&input.expect("the table is well formed").features) {
            assert!(features.rows.values().iter().all(|value| value.is_finite()));
        }
    }
});
