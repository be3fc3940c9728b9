//! No reader panics or runs away, whatever the bytes: random ones, and real files with damage.

mod common;

use std::io::{Cursor, Write};

use cmrm_data::preprocess::{Preprocess, PreprocessOptions};
use cmrm_data::read::{Format, Limits, ReadOptions, Source, open, read, read_labels};
use common::npy_of;
use proptest::prelude::*;

fn options(format: Format) -> ReadOptions {
    let limits = Limits { unpacked_bytes: 1 << 22, page_bytes: 1 << 18 };
    ReadOptions { format: Some(format), limits, ..ReadOptions::default() }
}

/// Reads in every way there is; what comes out does not matter.
fn try_everything(bytes: &[u8]) {
    for format in Format::ALL {
        let source = Source::bytes("a", bytes.to_vec());
        let options = options(format);
        let whole = read(&source, &options);
        if let Ok(opened) = open(&source, &options) {
            let rows = opened
                .chunks(3)
                .map(|chunks| chunks.map_while(Result::ok).map(|chunk| chunk.features.rows()).sum::<usize>());
            if let (Ok(whole), Ok(rows)) = (&whole, rows) {
                assert_eq!(rows, whole.features.rows(), "chunks and the whole must agree");
            }
        }
        if let Ok(input) = whole {
            let all: Vec<usize> = (0..input.features.rows()).collect();
            if let Ok((pipeline, _)) = Preprocess::fit(&input.features, &all, &PreprocessOptions::default()) {
                let transformed = pipeline.transform(&input.features);
                assert!(transformed.is_ok_and(|features| features.rows.values().iter().all(|value| value.is_finite())));
            }
        }
        let _ = read_labels(&source, &options);
    }
    let _ = Format::detect(&Source::bytes("a.bin", bytes.to_vec()), &ReadOptions::default());
}

fn seeds() -> Vec<Vec<u8>> {
    let npy = npy_of("<f4", true, "(2, 3)", &[1; 24]);
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    archive.start_file("X.npy", zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(&npy).unwrap();
    let npz = archive.finish().unwrap().into_inner();
    let idx = [&[0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3][..], &[7; 6]].concat();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(&idx).unwrap();
    let text = b"\xef\xbb\xbfa;b;c\n1;\"x;\"\"y\";2024-01-01\n2;;\n?;z;2024-01-02T10:00:00+02:00\n".to_vec();
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, array) in [
        ("format", npy_of("|S3", false, "()", b"csr")),
        ("shape", npy_of("|u1", false, "(2,)", &[2, 3])),
        ("indptr", npy_of("|u1", false, "(3,)", &[0, 1, 2])),
        ("indices", npy_of("|u1", false, "(2,)", &[2, 0])),
        ("data", npy_of("|u1", false, "(2,)", &[5, 6])),
    ] {
        // Stored, so that a change of bytes is a change of numbers.
        let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        archive.start_file(format!("{name}.npy"), stored).unwrap();
        archive.write_all(&array).unwrap();
    }
    let scipy = archive.finish().unwrap().into_inner();
    let svmlight = b"+1 1:0.5 3:2 # c\n-1 qid:1 2:1e3\n".to_vec();
    let coordinates = b"%%MatrixMarket matrix coordinate real symmetric\n%\n2 2 2\n1 1 1\n2 1 5\n".to_vec();
    let array = b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n".to_vec();
    let plain = b"1,2\n3,4\n".to_vec();
    let json = b"[{\"a\": 1, \"b\": {\"c\": \"x\"}}, {\"a\": null, \"b\": {\"c\": \"2024-01-01\"}}]".to_vec();
    let arrow = |seed: &str| {
        let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/arrow");
        std::fs::read(corpus.join(seed)).unwrap()
    };
    let (file, stream) = (arrow("types_lz4"), arrow("types_stream"));
    let sparse = [scipy, svmlight, coordinates, array];
    let others = [npy, npz, idx, gz.finish().unwrap(), text, plain, json, file, stream];
    others.into_iter().chain(sparse).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        try_everything(&bytes);
    }

    #[test]
    fn random_text(text in "[a-c0-9,;\"\n\r .?-]{0,200}") {
        try_everything(text.as_bytes());
    }

    #[test]
    fn random_sparse_text(start in "(%%MatrixMarket matrix (coordinate|array) real (general|symmetric)\n)?", text in "[0-3:. #%\n-]{0,60}") {
        try_everything(format!("{start}{text}").as_bytes());
    }

    #[test]
    fn random_json(text in "[a-c0-9,:\"{}\\[\\]\n\\\\ .-]{0,200}") {
        try_everything(text.as_bytes());
    }

    #[test]
    fn damaged_files(
        which in 0..13usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = seeds().swap_remove(which);
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        try_everything(&bytes);
    }

    #[test]
    fn damaged_pipelines(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<char>()), 0..4)) {
        let input = common::read_csv("a,c,d\n1,x,2024-01-01\n2.7,y,2024-05-01\n", &ReadOptions::default()).unwrap();
        let (pipeline, _) = Preprocess::fit(&input.features, &[0, 1], &PreprocessOptions::default()).unwrap();
        let mut text: Vec<char> = pipeline.to_json().unwrap().chars().collect();
        for (index, character) in changes {
            let at = index.index(text.len());
            text[at] = character;
        }
        if let Ok(pipeline) = Preprocess::from_json(&text.into_iter().collect::<String>()) {
            let _ = pipeline.transform(&input.features);
        }
    }
}
