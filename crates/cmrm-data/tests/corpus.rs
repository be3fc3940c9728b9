//! The seeds of the fuzz targets, and the inputs that once made one of them fail, through the readers.

use std::fs;
use std::path::Path;

use cmrm_data::preprocess::Preprocess;
use cmrm_data::read::{Format, Limits, ReadOptions, Source, open, read, read_labels};

/// Every file of a target's corpus, with its name.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let read = |path: &Path| (path.display().to_string(), fs::read(path).unwrap());
    let seeds: Vec<_> = files.map(|file| read(&file.unwrap().path())).collect();
    assert!(!seeds.is_empty(), "{target}");
    seeds
}

#[test]
fn no_seed_makes_a_reader_panic_and_most_can_be_read() {
    let limits = Limits { unpacked_bytes: 1 << 20, page_bytes: 1 << 18 };
    for (target, format) in [
        ("csv", Format::Csv),
        ("json", Format::Json),
        ("parquet", Format::Parquet),
        ("arrow", Format::Arrow),
        ("npy", Format::Npy),
        ("npz", Format::Npz),
        ("svmlight", Format::Svmlight),
        ("mtx", Format::Mtx),
        ("idx", Format::Idx),
        ("cifar", Format::Cifar10),
    ] {
        let options = ReadOptions { format: Some(format), limits, ..ReadOptions::default() };
        let mut accepted = 0;
        for (name, bytes) in seeds(target) {
            let source = Source::bytes(name.as_str(), bytes);
            let whole = read(&source, &options);
            accepted += usize::from(whole.is_ok());
            if name.ends_with("two_billion_children") {
                // Found by fuzzing: the decoder would make room for what the schema declares.
                assert!(whole.as_ref().is_err_and(|error| error.to_string().contains("declares more than it holds")));
            }
            if let (Ok(whole), Ok(chunks)) = (&whole, open(&source, &options).and_then(|opened| opened.chunks(3))) {
                let rows: usize = chunks.take(1000).map(|chunk| chunk.unwrap().features.rows()).sum();
                assert!(rows == whole.features.rows() || rows == 3000, "{name}");
            }
            let _ = read_labels(&source, &options);
        }
        // The seeds of CIFAR are patterns that the target repeats to whole records.
        assert!(accepted > 0 || target == "cifar", "no seed of {target} is a file that can be read");
    }
}

/// The stored pipelines that this project wrote; what fuzzing has found beside them may be refused.
const PIPELINES: [&str; 5] = ["days", "every_encoder", "sparse", "text", "unnamed"];

#[test]
fn stored_pipelines_can_be_read() {
    let mut read = 0;
    for (name, bytes) in seeds("preprocess_json") {
        let pipeline = Preprocess::from_json(&String::from_utf8_lossy(&bytes));
        let ours = Path::new(&name).file_name().is_some_and(|file| PIPELINES.iter().any(|known| file == *known));
        assert!(pipeline.is_ok() || !ours, "{name}: {pipeline:?}");
        read += usize::from(ours);
    }
    assert_eq!(read, PIPELINES.len());
}
