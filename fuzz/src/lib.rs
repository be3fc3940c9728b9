//! What the fuzz targets share: reading in every way there is, under small limits.
#![forbid(unsafe_code)]

pub mod training;
pub mod votes;

use cmrm_data::preprocess::{MissingCells, Preprocess, PreprocessOptions};
use cmrm_data::read::{Format, Limits, ReadOptions, Source, open, read, read_labels};
use cmrm_data::{Input, LabelOptions, MissingLabels};

/// Limits small enough that a run finds an allocation that ignores them.
pub fn options(format: Format) -> ReadOptions {
    let limits = Limits { unpacked_bytes: 1 << 20, page_bytes: 1 << 18 };
    ReadOptions { format: Some(format), limits, ..ReadOptions::default() }
}

/// Reads bytes as that format: whole, in chunks, as labels, and on into numbers.
pub fn read_everyhow(format: Format, bytes: &[u8]) {
    let source = Source::bytes("fuzz", bytes.to_vec());
    let plain = options(format);
    let whole = read(&source, &plain);
    if let Ok(chunks) = open(&source, &plain).and_then(|opened| opened.chunks(3)) {
        let (mut rows, mut complete) = (0, true);
        // Chunks are not limited in number: a small file may stand for very many rows.
        for chunk in chunks.take(1000) {
            match chunk {
                Ok(chunk) => rows += chunk.features.rows(),
                Err(_) => complete = false,
            }
        }
        if let Ok(whole) = &whole
            && whole.features.rows() <= 1000
            && complete
        {
            assert_eq!(rows, whole.features.rows(), "chunks and the whole must agree");
        }
    }
    if let Ok(input) = whole {
        onwards(&input);
    }
    let _ = read_labels(&source, &plain);
    if matches!(format, Format::Csv | Format::Json | Format::Parquet | Format::Arrow) {
        let labelled = ReadOptions { label: Some((-1).into()), ..plain };
        if let Ok(input) = read(&source, &labelled) {
            let _ = input.encode_labels(&LabelOptions { missing: MissingLabels::HoldOut, ..LabelOptions::default() });
        }
    }
}

/// Fits a pipeline on what was read, and checks that all that comes out is finite.
pub fn onwards(input: &Input) {
    // Wide and long together is slow without being interesting.
    if input.features.rows() > 5000 {
        return;
    }
    let rows: Vec<usize> = (0..input.features.rows()).step_by(2).collect();
    let options = PreprocessOptions { missing: MissingCells::Impute, nan_is_missing: true, ..Default::default() };
    if let Ok((pipeline, _)) = Preprocess::fit(&input.features, &rows, &options) {
        let json = pipeline.to_json().expect("a fitted pipeline can be stored");
        let stored = Preprocess::from_json(&json).expect("a stored pipeline can be read back");
        assert_eq!(stored, pipeline);
        if let Ok(features) = stored.transform(&input.features) {
            assert!(features.rows.values().iter().all(|value| value.is_finite()));
        }
    }
}
