//! Data by other doors: standard input, folders and patterns, JSON in and CSV out.

// Tests write files that they read.
#![allow(clippy::disallowed_methods)]

mod common;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

use common::{cmrm, refuse, succeed, write_table};

/// Runs `cmrm` in `folder` with a file of it as standard input.
fn piped(folder: &Path, input: &str, arguments: &[&str]) -> Output {
    let input = File::open(folder.join(input)).unwrap();
    Command::new(env!("CARGO_BIN_EXE_cmrm")).args(arguments).current_dir(folder).stdin(input).output().unwrap()
}

fn piped_well(folder: &Path, input: &str, arguments: &[&str]) -> (String, String) {
    let output = piped(folder, input, arguments);
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "cmrm {arguments:?}:\n{words}");
    (String::from_utf8(output.stdout).unwrap(), words)
}

fn refused(output: Output, parts: &[&str]) {
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words}");
    for part in parts {
        assert!(words.contains(part), "'{part}' is not in:\n{words}");
    }
}

/// `t.csv`, the same rows as `t.jsonl`, and as two files of the folder `parts`.
fn tables(folder: &Path) {
    write_table(&folder.join("t.csv"), 120);
    let text = fs::read_to_string(folder.join("t.csv")).unwrap();
    let rows: Vec<&str> = text.lines().skip(1).collect();
    let json = rows.iter().map(|row| {
        let cells: Vec<&str> = row.split(',').collect();
        let (age, plan, visits, churned) = (cells[0], cells[1], cells[2], cells[3]);
        format!("{{\"age\": {age}, \"plan\": \"{plan}\", \"visits\": {visits}, \"churned\": \"{churned}\"}}\n")
    });
    fs::write(folder.join("t.jsonl"), json.collect::<String>()).unwrap();
    fs::create_dir(folder.join("parts")).unwrap();
    for (part, rows) in rows.chunks(70).enumerate() {
        let text = format!("age,plan,visits,churned\n{}\n", rows.join("\n"));
        fs::write(folder.join(format!("parts/part-{part}.csv")), text).unwrap();
    }
}

#[test]
fn every_door_leads_to_the_same_model() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tables(folder);
    let fit = |data: &'static str, out: &'static str| {
        vec!["fit", data, "--label", "churned", "--model", "linear", "--out", out, "--quiet"]
    };
    succeed(folder, &fit("t.csv", "by-name"));
    succeed(folder, &fit("t.jsonl", "json"));
    succeed(folder, &fit("parts", "folder"));
    succeed(folder, &fit("parts/*.csv", "pattern"));
    piped_well(folder, "t.csv", &fit("-", "piped"));
    piped_well(folder, "t.jsonl", &[&fit("-", "piped-json")[..], &["--format", "json"]].concat());
    let expected = succeed(folder, &["predict", "by-name", "t.csv", "--probabilities"]);
    assert_eq!(expected.lines().count(), 121);
    for run in ["json", "folder", "pattern", "piped", "piped-json"] {
        assert_eq!(succeed(folder, &["predict", run, "t.csv", "--probabilities"]), expected, "{run}");
    }
    for data in ["t.jsonl", "parts", "parts/part-?.csv"] {
        assert_eq!(succeed(folder, &["predict", "by-name", data, "--probabilities"]), expected, "{data}");
    }
    assert_eq!(piped_well(folder, "t.jsonl", &["predict", "by-name", "-", "--probabilities"]).0, expected);
    let evaluation = succeed(folder, &["evaluate", "by-name", "t.csv", "--label", "churned"]);
    let (piped, _) = piped_well(folder, "t.csv", &["evaluate", "by-name", "-", "--label", "churned"]);
    assert_eq!(piped.replace(" of -", " of t.csv"), evaluation);
}

#[test]
fn a_run_from_standard_input_says_what_it_cannot_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tables(folder);
    let fit = ["fit", "-", "--label", "churned", "--model", "linear", "--out", "run"];
    let (_, words) = piped_well(folder, "t.csv", &fit);
    assert!(words.contains("rows from standard input or a pipe are not kept"), "{words}");
    let message = refuse(folder, &["review", "run", "--no-open"]);
    assert!(
        message.contains("run: the run read its data from standard input") && message.contains("--data"),
        "{message}"
    );
    let columns = ["audit", "run", "--columns", "--out", "suspects.csv"];
    assert!(refuse(folder, &columns).contains("standard input"));
    succeed(folder, &[&columns[..], &["--data", "t.csv"]].concat());
    // The rows can be piped in again; they are compared.
    let other = piped(folder, "parts/part-0.csv", &["fit", "--resume", "--out", "run"]);
    assert!(other.status.success(), "a finished run needs no data");
}

/// A shell makes a pipe of `<(zcat data.csv.gz)`, which has a path and can be read once.
#[cfg(unix)]
#[test]
fn a_pipe_is_read_once_and_counts_as_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tables(folder);
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let through = |from: &str, arguments: &[&str]| {
        let (pipe, from) = (pipe.clone(), folder.join(from));
        let writer = std::thread::spawn(move || fs::copy(from, pipe).unwrap());
        succeed(folder, arguments);
        writer.join().unwrap();
    };
    let fit = ["fit", "t.csv", "--label", "churned", "--model", "linear", "--quiet", "--out", "file"];
    succeed(folder, &fit);
    let from_pipe = ["fit", "pipe", "--label", "churned", "--model", "linear", "--quiet", "--out", "piped"];
    through("t.csv", &from_pipe);
    let model = |run: &str| fs::read(folder.join(run).join("model.safetensors")).unwrap();
    assert!(model("file") == model("piped"));
    assert!(refuse(folder, &["review", "piped"]).contains("from standard input or a pipe, which is gone"));
    fs::write(folder.join("d.csv"), "row,action\n0,drop\n").unwrap();
    through("t.csv", &["clean", "pipe", "d.csv", "--label", "churned", "--out", "o.csv"]);
    let text = fs::read_to_string(folder.join("t.csv")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(1);
    assert_eq!(fs::read_to_string(folder.join("o.csv")).unwrap().lines().collect::<Vec<_>>(), lines);
}

#[test]
fn standard_input_is_one_thing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tables(folder);
    let labelled = ["fit", "-", "--label", "churned", "--model", "linear", "--out", "run"];
    refused(
        piped(folder, "t.csv", &[&labelled[..], &["--test", "-"]].concat()),
        &["standard input holds the data, so it cannot hold the test data too", "name a file for one of them"],
    );
    refused(piped(folder, "t.csv", &["fit", "-", "--labels", "-"]), &["cannot hold the labels too"]);
    refused(
        piped(folder, "t.csv", &["clean", "-", "-", "--label", "churned", "--out", "o.csv"]),
        &["the decisions too"],
    );
    refused(
        piped(folder, "t.csv", &["audit", "--pred-probs", "-", "--labels", "-"]),
        &["standard input holds", "name a file for one of them"],
    );
    fs::write(folder.join("nothing"), "").unwrap();
    refused(piped(folder, "nothing", &labelled), &["standard input: the file is empty"]);
    refused(piped(folder, "t.csv", &["fit", "-", "--label", "churned", "--format", "parquet"]), &["Parquet"]);
    refused(piped(folder, "t.csv", &["fit", "-", "--format", "xml"]), &["unknown format 'xml'"]);
    refused(piped(folder, "t.csv", &["audit", "-"]), &["add --folds K"]);
}

#[test]
fn lines_at_the_start_can_be_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tables(folder);
    let text = fs::read_to_string(folder.join("t.csv")).unwrap();
    fs::write(folder.join("titled.csv"), format!("Churn, third quarter\n{text}")).unwrap();
    fs::write(folder.join("excel.csv"), format!("sep=;\r\n{}", text.replace(',', ";").replace('\n', "\r\n"))).unwrap();
    fs::write(folder.join("fit.toml"), "skip-lines = 1\n").unwrap();
    let fit = |data: &'static str, out: &'static str, more: &[&'static str]| {
        let fit = ["fit", data, "--label", "churned", "--model", "linear", "--out", out, "--quiet"];
        succeed(folder, &[&fit[..], more].concat());
    };
    fit("t.csv", "plain", &[]);
    fit("titled.csv", "flag", &["--skip-lines", "1"]);
    fit("titled.csv", "file", &["--config", "fit.toml"]);
    fit("t.csv", "over", &["--config", "fit.toml", "--skip-lines", "0"]);
    fit("excel.csv", "stated", &[]);
    let expected = succeed(folder, &["predict", "plain", "t.csv", "--probabilities"]);
    for run in ["flag", "file", "over", "stated"] {
        assert_eq!(succeed(folder, &["predict", run, "excel.csv", "--probabilities"]), expected, "{run}");
    }
    let settings = fs::read_to_string(folder.join("flag/config.toml")).unwrap();
    assert!(settings.contains("skip-lines = 1"), "{settings}");
    let audit = ["audit", "titled.csv", "--label", "churned", "--folds", "2", "--epochs", "2", "--skip-lines", "1"];
    succeed(folder, &audit);
    let noise = ["noise", "titled.csv", "--kind", "symmetric:0.3", "--label", "churned", "--out", "noisy.csv"];
    succeed(folder, &[&noise[..], &["--skip-lines", "1"]].concat());
    fs::write(folder.join("decisions.csv"), "row,action,label\n1,drop,\n").unwrap();
    let clean =
        ["clean", "titled.csv", "decisions.csv", "--label", "churned", "--out", "clean.csv", "--skip-lines", "1"];
    succeed(folder, &clean);
    assert!(fs::read_to_string(folder.join("clean.csv")).unwrap().contains("age,plan,visits,churned\n"));
    // The run knows it, of its own file.
    assert_eq!(succeed(folder, &["predict", "flag", "titled.csv", "--probabilities"]), expected);
    assert_eq!(succeed(folder, &["predict", "flag", "t.csv", "--probabilities"]), expected);
    let titled = ["evaluate", "plain", "titled.csv", "--label", "churned", "--skip-lines", "1"];
    succeed(folder, &titled);
}

#[test]
fn a_pattern_that_the_shell_expanded_gets_a_tip() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    refused(
        cmrm(folder.path(), &["fit", "parts/part-0.csv", "parts/part-1.csv", "--label", "churned"]),
        &["parts/part-1.csv", "quote the pattern, as in 'data/*.parquet'"],
    );
}

#[test]
fn no_output_goes_over_a_file_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tables(folder);
    for data in ["parts", "parts/*.csv"] {
        let message = refuse(
            folder,
            &["noise", data, "--kind", "symmetric:0.2", "--label", "churned", "--out", "parts/part-1.csv"],
        );
        assert!(message.contains("this is a file of the data (parts/part-1.csv)"), "{message}");
    }
}

#[test]
fn json_comes_out_as_csv() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tables(folder);
    let kind = ["--kind", "symmetric:0.3", "--label", "churned"];
    succeed(folder, &[&["noise", "t.csv", "--out", "from-csv.csv"], &kind[..]].concat());
    succeed(folder, &[&["noise", "t.jsonl", "--out", "from-json.csv"], &kind[..]].concat());
    succeed(folder, &[&["noise", "parts", "--out", "from-parts.csv"], &kind[..]].concat());
    piped_well(folder, "t.jsonl", &[&["noise", "-", "--out", "from-pipe.csv"], &kind[..]].concat());
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    for name in ["from-json.csv", "from-parts.csv", "from-pipe.csv"] {
        assert_eq!(text(name), text("from-csv.csv"), "{name}");
    }
    fs::write(folder.join("ids.jsonl"), "{\"id\": \"007\", \"n\": 1.10, \"y\": \"a\"}\n{\"n\": null, \"y\": \"b\"}\n")
        .unwrap();
    fs::write(folder.join("decisions.csv"), "row,action,label\n1,relabel,a\n").unwrap();
    succeed(folder, &["clean", "ids.jsonl", "decisions.csv", "--label", "y", "--out", "clean.csv"]);
    assert_eq!(text("clean.csv"), "id,n,y\n007,1.10,a\n,,a\n");
    let message = refuse(folder, &["clean", "ids.jsonl", "decisions.csv", "--label", "y", "--out", "clean.jsonl"]);
    assert!(message.contains("use .csv, .tsv or .parquet"), "{message}");
}
