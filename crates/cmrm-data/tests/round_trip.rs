//! One table through every format: the same features, bit for bit, the same labels and the same fingerprint.

mod common;

use cmrm_data::files::atomic_write;
use cmrm_data::preprocess::{Preprocess, PreprocessOptions, Summary};
use cmrm_data::read::{ReadOptions, Source, read, read_labels, read_path};
use cmrm_data::write::{NpyWriter, write_npy_labels, write_table};
use cmrm_data::{Column, Dataset, Features, Fingerprint, Input, LabelOptions, Table};
use proptest::prelude::*;

fn dataset(input: &Input) -> Dataset {
    let labelled = input.encode_labels(&LabelOptions::default()).unwrap();
    let training: Vec<usize> = (0..input.features.rows()).filter(|row| row % 3 != 0).collect();
    let (pipeline, _) = Preprocess::fit(&input.features, &training, &PreprocessOptions::default()).unwrap();
    let stored = Preprocess::from_json(&pipeline.to_json().unwrap()).unwrap();
    stored.dataset(input, &labelled).unwrap().0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_format_gives_the_same_bits(
        values in prop::collection::vec((-1e6f64..1e6, -1e3f64..1e3, -1e-3f32..1e-3, 0..3usize), 6..40),
    ) {
        let labels: Vec<&str> = values.iter().enumerate().map(|(row, value)| ["no", "yes, ok", "é"][if row < 3 { row } else { value.3 }]).collect();
        let features = |names: [&str; 3]| {
            vec![
                Column::numeric(names[0], values.iter().map(|value| value.0).collect()),
                Column::numeric(names[1], values.iter().map(|value| value.1).collect()),
                Column::numeric(names[2], values.iter().map(|value| f64::from(value.2)).collect()),
            ]
        };
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut columns = features(["x0", "x1", "x2"]);
        let bare = Table::new(columns.clone()).unwrap();
        columns.insert(1, Column::categorical("label", &labels));
        let table = Table::new(columns).unwrap();
        for name in ["t.csv", "t.tsv", "t.parquet"] {
            write_table(&path(name), &table).unwrap();
        }
        write_table(&path("X.npy"), &bare).unwrap();
        atomic_write(&path("y.npy"), |file| write_npy_labels(file, &labels)).unwrap();

        let options = common::labelled("label");
        let mut sets = Vec::new();
        for name in ["t.csv", "t.tsv", "t.parquet"] {
            let input = read_path(&path(name), &options).unwrap();
            let Ok(_) = Preprocess::fit(&input.features, &[1, 2, 4, 5], &PreprocessOptions::default()) else { return Ok(()) };
            sets.push(dataset(&input));
        }
        let plain = ReadOptions::default();
        let separate = read(&Source::file(path("X.npy")), &plain).unwrap();
        let separate = separate.with_labels(read_labels(&Source::file(path("y.npy")), &plain).unwrap()).unwrap();
        sets.push(dataset(&separate));
        sets.push(dataset(&read_path(folder.path(), &plain).unwrap()));
        let bits = |set: &Dataset| set.features.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        for set in &sets[1..] {
            prop_assert_eq!(bits(set), bits(&sets[0]));
            prop_assert_eq!(&set.labels, &sets[0].labels);
            prop_assert_eq!(&set.classes, &sets[0].classes);
            prop_assert_eq!(&set.feature_names, &sets[0].feature_names);
            prop_assert_eq!(Fingerprint::of(set), Fingerprint::of(&sets[0]));
        }
    }
}

#[test]
fn arrays_are_written_in_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.npy");
    atomic_write(&path, |file| {
        let mut writer = NpyWriter::new(file, 2)?;
        writer.write(&[1.0, 2.0])?;
        writer.write(&[3.0, 4.0, 5.0, 6.0])?;
        assert!(writer.write(&[7.0]).is_err());
        writer.finish()
    })
    .unwrap();
    // The header is what NumPy expects: a multiple of 64 bytes that ends with a line end.
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!((bytes.len(), bytes[127]), (128 + 24, b'\n'));
    let Features::Array(array) = read(&Source::file(&path), &ReadOptions::default()).unwrap().features else {
        panic!("a table where an array is expected")
    };
    assert_eq!((array.values(), array.width()), (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..], 2));
    assert!(NpyWriter::new(std::io::Cursor::new(Vec::new()), 0).is_err());
}

#[test]
fn what_a_format_cannot_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let names = Table::new(vec![Column::categorical("c", &["a"])]).unwrap();
    let error = write_table(&folder.path().join("t.npy"), &names).unwrap_err().to_string();
    assert!(error.contains("row 0, column 'c': a categorical column in an NPY file is not supported"), "{error}");
    let error = write_table(&folder.path().join("t.xlsx"), &names).unwrap_err().to_string();
    assert!(error.ends_with("use .csv, .tsv or .parquet"), "{error}");
    let numbers = Table::new(vec![Column::numeric("n", vec![1.0])]).unwrap();
    let error = write_table(&folder.path().join("t.xlsx"), &numbers).unwrap_err().to_string();
    assert!(error.ends_with("use .csv, .tsv, .parquet or .npy"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing may be left behind");
    assert_eq!(write_npy_labels(&mut Vec::new(), &["x".repeat(10)]).map_err(|error| error.to_string()), Ok(()));
}

#[test]
fn a_summary_shows_each_column() {
    let text = "n,flag,when,name,gap\n1,true,2024-01-02,a,\n-2.5,false,2023-12-31,b,\n";
    let input = common::read_csv(text, &ReadOptions::default()).unwrap();
    assert_eq!(
        Summary::of(&input.features).to_string(),
        "column  kind          missing  values\n\
         n       numeric             0  -2.5 to 1\n\
         flag    boolean             0  1 true\n\
         when    date                0  2023-12-31 to 2024-01-02\n\
         name    categorical         0  2 names: a, b\n\
         gap     numeric             2\n"
    );
}
