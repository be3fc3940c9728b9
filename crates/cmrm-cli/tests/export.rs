//! `cmrm export`: what it says, writes and refuses. What the files compute is compared in `crates/cmrm-export/tests/python`
//! and `crates/cmrm-onnx/tests/exported`.

// Tests write files that they read.
#![allow(clippy::disallowed_methods)]

mod common;

use std::fs;
use std::path::Path;

use common::{json, refuse, succeed, write_table};
use serde_json::json;

fn fit(folder: &Path, data: &str, flags: &[&str]) {
    succeed(folder, &[&["fit", data, "--label", "churned", "--quiet", "--out", "run"], flags].concat());
}

#[test]
fn the_summary_says_what_the_file_takes_and_gives() {
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("table.csv"), 120);
    fit(folder.path(), "table.csv", &["--model", "boosting"]);
    let said = json(folder.path(), &["export", "run", "--onnx", "model.onnx"]);
    let bytes = fs::read(folder.path().join("model.onnx")).unwrap();
    assert_eq!((&said["schema"], &said["arm"]), (&json!("cmrm/export/1"), &json!("robust")));
    assert_eq!(said["bytes"], json!(bytes.len()));
    assert_eq!(said["opsets"], json!({ "ai.onnx": 15, "ai.onnx.ml": 2 }));
    let port = |name: &str, kind: &str, width: Option<usize>| json!({ "name": name, "type": kind, "width": width });
    let columns = [("age", "float"), ("visits", "float"), ("plan", "string")];
    assert_eq!(said["inputs"], json!(columns.map(|(name, kind)| port(name, kind, Some(1)))));
    let outputs = [port("label", "string", None), port("probabilities", "float", Some(2))];
    assert_eq!(said["outputs"], json!(outputs));
    // Class names and the run are in the file.
    let run: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("run/run.json")).unwrap()).unwrap();
    for part in ["[\"no\",\"yes\"]", run["fingerprint"].as_str().unwrap(), env!("CARGO_PKG_VERSION")] {
        assert!(bytes.windows(part.len()).any(|window| window == part.as_bytes()), "{part}");
    }
    // The other arm is another model, and the same arm the same file.
    succeed(folder.path(), &["export", "run", "--onnx", "base.onnx", "--arm", "base"]);
    succeed(folder.path(), &["export", "run", "--onnx", "again.onnx"]);
    assert!(fs::read(folder.path().join("base.onnx")).unwrap() != bytes);
    assert!(fs::read(folder.path().join("again.onnx")).unwrap() == bytes);
}

#[test]
fn text_is_refused_by_its_columns_name_and_the_way_out_works() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String =
        (0..80).map(|i| format!("\"the {} row is {}\",{}\n", i * 7, i % 9, ["no", "yes"][i % 2])).collect();
    fs::write(folder.path().join("notes.csv"), format!("note,churned\n{rows}")).unwrap();
    fit(folder.path(), "notes.csv", &["--model", "linear", "--type", "note=text"]);
    let said = refuse(folder.path(), &["export", "run", "--onnx", "model.onnx"]);
    assert!(said.contains("column 'note'") && said.contains("--from-features"), "{said}");
    assert!(!folder.path().join("model.onnx").exists());
    let said = json(folder.path(), &["export", "run", "--onnx", "model.onnx", "--from-features"]);
    assert_eq!(said["inputs"][0]["name"], "features");
    assert!(said["inputs"][0]["width"].as_u64().unwrap() > 1);
}

#[test]
fn a_column_that_is_called_as_an_output_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("table.csv"), 60);
    let text = fs::read_to_string(folder.path().join("table.csv")).unwrap().replacen("visits", "probabilities", 1);
    fs::write(folder.path().join("table.csv"), text).unwrap();
    fit(folder.path(), "table.csv", &["--model", "linear"]);
    let said = refuse(folder.path(), &["export", "run", "--onnx", "model.onnx"]);
    assert!(said.contains("'probabilities'") && said.contains("--ignore"), "{said}");
    let said = refuse(folder.path(), &["export", "run", "--onnx", "model.onnx", "--arm", "rubost"]);
    assert!(said.contains("did you mean 'robust'?"), "{said}");
}
