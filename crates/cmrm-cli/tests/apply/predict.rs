//! `cmrm predict`.

use std::io::Read;
use std::process::{Command, Stdio};

use cmrm_data::preprocess::Preprocess;
use cmrm_data::read::{ReadOptions, Source, read};
use cmrm_data::write::ParquetTableWriter;
use cmrm_data::{Features, Table};
use cmrm_train::Model;

use crate::run::{CLASSES, cells, columns, copy, features, run, succeed, table, text};

/// The stored model on a whole file, without the command.
fn in_memory(arm: &str) -> Vec<f32> {
    let run = run();
    let stored = std::fs::read_to_string(run.path("run/preprocess.json")).unwrap();
    let preprocess = Preprocess::from_json(&stored).unwrap();
    let options = ReadOptions { expected: Some(preprocess.expected()), ..ReadOptions::default() };
    let input = read(&Source::file(run.path("test.csv")), &options).unwrap();
    let rows = preprocess.transform(&input.features).unwrap();
    let model: Model<f32> =
        Model::from_bytes(&std::fs::read(run.path(&format!("run/{arm}.safetensors"))).unwrap()).unwrap();
    model.probabilities(rows.rows.view().unwrap()).unwrap()
}

fn npy(path: &std::path::Path) -> Vec<f32> {
    match read(&Source::file(path), &ReadOptions::default()).unwrap().features {
        Features::Array(array) => array.into_values(),
        _ => panic!("a table"),
    }
}

#[test]
fn probabilities_are_the_model_s_to_the_bit() {
    let run = run();
    for (file, flags) in [("model", &[][..]), ("base", &["--arm", "base"][..])] {
        let out = run.path(&format!("bits-{file}.npy"));
        let args = ["predict", &run.name("run"), &run.name("test.csv"), "--out", out.to_str().unwrap()];
        succeed(&[&args[..], flags].concat());
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(npy(&out)), bits(in_memory(file)));
    }
}

#[test]
fn a_row_has_its_label_confidence_margin_set_and_probabilities() {
    let run = run();
    // The run knows the columns of labels and of row IDs.
    let args = ["predict", &run.name("run"), &run.name("test.csv"), "--coverage", "0.9"];
    let output = succeed(&[&args[..], &["--probabilities"]].concat());
    let words = text(&output.stderr);
    assert!(words.contains("observed labels"), "{words}");
    assert!(!words.contains("not used by the model"), "{words}");
    let rows = cells(&text(&output.stdout));
    let head = "row,id,given_label,predicted_label,confidence,margin,prediction_set,set_size,p_a|b,p_cat,p_dog";
    assert_eq!(rows[0].join(","), head);
    assert_eq!(rows.len(), 91);
    let wanted = in_memory("model");
    let classes = ["a|b", "cat", "dog"];
    for (i, row) in rows[1..].iter().enumerate() {
        assert_eq!((row[0].as_str(), row[1].as_str()), (i.to_string().as_str(), format!("r{i}").as_str()));
        let p: Vec<f64> = row[8..].iter().map(|cell| cell.parse().unwrap()).collect();
        let stored: Vec<f64> = wanted[3 * i..3 * i + 3].iter().map(|&p| f64::from(p)).collect();
        assert_eq!(p, stored);
        let mut order = [0, 1, 2];
        order.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
        assert_eq!(row[3], classes[order[0]]);
        assert_eq!(row[4].parse::<f64>().unwrap(), p[order[0]]);
        assert_eq!(row[5].parse::<f64>().unwrap(), p[order[0]] - p[order[1]]);
        // A bar inside a name is marked, so the set can be taken apart again.
        let set: Vec<String> = row[6].replace("\\|", "\u{0}").split('|').map(|s| s.replace('\u{0}', "|")).collect();
        let size: usize = row[7].parse().unwrap();
        assert_eq!(set.iter().filter(|name| CLASSES.contains(&name.as_str())).count(), size, "{row:?}");
    }
}

#[test]
fn text_parquet_and_arrays_give_the_same_bits_however_they_are_cut_up() {
    let run = run();
    // More than two blocks, in row groups that do not divide them.
    let (rows, labels) = features(40_000, 3);
    cmrm_data::write::write_table(&run.path("big.csv"), &table(&rows, &labels)).unwrap();
    cmrm_data::write::write_table(&run.path("big.npy"), &Table::new(columns(&rows)).unwrap()).unwrap();
    let mut writer = ParquetTableWriter::new(std::fs::File::create(run.path("big.parquet")).unwrap());
    for (rows, labels) in rows.chunks(4_999).zip(labels.chunks(4_999)) {
        writer.write(&table(rows, labels)).unwrap();
    }
    writer.finish().unwrap();
    let predict = |name: &str, out: &str| {
        let out = run.path(out);
        succeed(&["predict", &run.name("run"), &run.name(name), "--out", out.to_str().unwrap(), "--quiet"]);
        std::fs::read(out).unwrap()
    };
    let (csv, npy) = (predict("big.csv", "from-csv.npy"), predict("big.npy", "from-npy.npy"));
    assert_eq!(csv.len(), 128 + 4 * 3 * 40_000);
    assert!(csv == npy, "CSV and NPY differ");
    assert!(csv == predict("big.parquet", "from-parquet.npy"), "CSV and Parquet differ");
}

#[test]
fn tables_are_the_same_in_every_format() {
    let run = run();
    let predict = |out: &str| {
        let args = ["predict", &run.name("run"), &run.name("test.csv"), "--label", "label", "--probabilities"];
        let path = run.path(out);
        let output = succeed(&[&args[..], &["--out", path.to_str().unwrap()]].concat());
        assert!(output.stdout.is_empty());
        match read(&Source::file(&path), &ReadOptions::default()).unwrap().features {
            Features::Table(table) => table,
            _ => panic!("an array"),
        }
    };
    let (csv, parquet) = (predict("table.csv"), predict("table.parquet"));
    assert!(csv.names().contains(&"given_label"));
    assert_eq!(csv, parquet);
    assert_eq!(csv, predict("table.tsv"));
}

#[test]
fn json_has_a_schema_and_the_same_rows() {
    let run = run();
    let (folder, data) = (run.name("run"), run.name("test.csv"));
    let object: serde_json::Value =
        serde_json::from_slice(&succeed(&["predict", &folder, &data, "--json", "--quiet"]).stdout).unwrap();
    assert_eq!(object["schema"], "cmrm/predict/1");
    let rows = cells(&text(&succeed(&["predict", &folder, &data]).stdout));
    let predictions = object["predictions"].as_array().unwrap();
    assert_eq!(predictions.len(), rows.len() - 1);
    for (found, row) in predictions.iter().zip(&rows[1..]) {
        assert_eq!(found["row"].to_string(), row[0]);
        assert_eq!(found["predicted_label"], row[3].as_str());
        assert_eq!(found["confidence"].as_f64().unwrap(), row[4].parse::<f64>().unwrap());
    }
    let out = run.name("json.csv");
    let output = succeed(&["predict", &folder, &data, "--json", "--out", &out]);
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((object["rows"].as_u64(), object["out"].as_str()), (Some(90), Some(out.as_str())));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let run = run();
    let (rows, labels) = features(20_000, 4);
    cmrm_data::write::write_table(&run.path("long.csv"), &table(&rows, &labels)).unwrap();
    for flag in ["--probabilities", "--json"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cmrm"))
            .args(["predict", &run.name("run"), &run.name("long.csv"), "--quiet", flag])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0; 10]).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{flag}: {}", text(&output.stderr));
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let run = run();
    let predict = |threads: &str| {
        let args = ["predict", &run.name("run"), &run.name("test.csv"), "--probabilities", "--threads", threads];
        succeed(&args).stdout
    };
    assert_eq!(predict("1"), predict("3"));
}

#[test]
fn sets_grow_with_the_coverage() {
    let (_folder, name) = copy();
    let run = run();
    let sizes = |coverage: &str, score: &str| -> f64 {
        let args = ["predict", &name, &run.name("test.csv"), "--coverage", coverage, "--score", score];
        let rows = cells(&text(&succeed(&args).stdout));
        rows[1..].iter().map(|row| row[7].parse::<f64>().unwrap()).sum()
    };
    for score in ["lac", "aps", "raps"] {
        assert!(sizes("0.5", score) < sizes("0.97", score), "{score}");
    }
    // More coverage than so few calibration rows can promise: every class is in every set, and that is said.
    let output = succeed(&["predict", &name, &run.name("test.csv"), "--coverage", "0.9999"]);
    assert!(text(&output.stderr).contains("too few for this coverage"));
    assert!(cells(&text(&output.stdout))[1..].iter().all(|row| row[7] == "3"));
}
