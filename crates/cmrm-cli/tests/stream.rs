//! `cmrm predict RUN -`: rows are answered as they come.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use common::{cmrm, json, succeed, write_table};
use serde_json::Value;

/// Longer than any answer takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// `cmrm predict` with an open pipe on both sides.
struct Open {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Open {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cmrm"))
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Open { input: child.stdin.take(), child, lines }
    }

    fn send(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).and_then(|()| input.flush()).unwrap();
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("no answer while the pipe was open")
    }

    /// Closes the input; gives the other lines, the exit code and standard error.
    fn end(mut self) -> (Vec<String>, Option<i32>, String) {
        drop(self.input.take());
        let lines = self.lines.iter().collect();
        let output = self.child.wait_with_output().unwrap();
        (lines, output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn fitted(folder: &Path) {
    write_table(&folder.join("table.csv"), 300);
    succeed(folder, &["fit", "table.csv", "--label", "churned", "--model", "linear", "--out", "run", "--quiet"]);
}

#[test]
fn empty_lines_behind_a_row_of_csv_hold_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path());
    let mut open = Open::start(folder.path(), &["predict", "run", "-", "--jsonl"]);
    open.send("age,plan,visits\n20,free,3\n\r\n\n\n");
    assert!(open.line().contains("\"row\":0"));
    open.send("64,gold,1\n");
    assert!(open.line().contains("\"row\":1"));
    assert_eq!(open.end().1, Some(0));
}

#[test]
fn every_line_of_json_is_answered_while_the_pipe_is_open() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path());
    let mut open =
        Open::start(folder.path(), &["predict", "run", "-", "--jsonl", "--coverage", "0.9", "--probabilities"]);
    for (row, (age, plan)) in [(20, "free"), (64, "gold"), (33, "basic")].into_iter().enumerate() {
        open.send(&format!("{{\"age\": {age}, \"plan\": \"{plan}\", \"visits\": 7}}\n"));
        let answer: Value = serde_json::from_str(&open.line()).unwrap();
        assert_eq!(answer["row"], row);
        assert!(answer["predicted_label"] == "yes" || answer["predicted_label"] == "no", "{answer}");
        assert!(answer["p_yes"].is_number() && answer["prediction_set"].is_string(), "{answer}");
    }
    // Two at once, and half of a third: the two do not wait for it.
    open.send("{\"age\":1,\"plan\":\"free\",\"visits\":1}\n{\"age\":2,\"plan\":\"free\",\"visits\":2}\n{\"age\":");
    assert!(open.line().contains("\"row\":3") && open.line().contains("\"row\":4"));
    open.send("3,\"plan\":\"free\",\"visits\":3}");
    let (rest, code, words) = open.end();
    assert_eq!((rest.len(), code), (1, Some(0)), "{words}");
}

#[test]
fn an_array_of_objects_and_text_with_a_header_are_answered_too() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path());
    let mut array = Open::start(folder.path(), &["predict", "run", "-", "--jsonl"]);
    for piece in ["[\n", "{\"age\": 20, \"plan\": \"free\", \"visits\": 7},\n"] {
        array.send(piece);
    }
    assert!(array.line().contains("\"row\":0"));
    array.send("{\"age\": 21, \"plan\": \"free\", \"visits\": 7}\n]\n");
    assert!(array.line().contains("\"row\":1"));
    assert_eq!(array.end().1, Some(0));

    for (delimiter, line_end) in [(",", "\n"), (";", "\r\n"), ("\t", "\n")] {
        let mut text = Open::start(folder.path(), &["predict", "run", "-"]);
        let row = |cells: [&str; 4]| cells.join(delimiter) + line_end;
        text.send(&(row(["visits", "plan", "age", "churned"]) + &row(["7", "\"free\"", "20", "no"])));
        assert_eq!(text.line(), "row,given_label,predicted_label,confidence,margin");
        assert!(text.line().starts_with("0,no,"));
        text.send(&row(["8", "gold", "60", ""]));
        assert!(text.line().starts_with("1,,"));
        assert_eq!(text.end().1, Some(0));
    }
}

#[test]
fn a_stream_gives_the_same_bits_as_a_file() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path());
    let text = std::fs::read_to_string(folder.path().join("table.csv")).unwrap();
    let whole = json(folder.path(), &["predict", "run", "table.csv", "--probabilities"]);
    let mut open = Open::start(folder.path(), &["predict", "run", "-", "--jsonl", "--probabilities"]);
    let mut lines = text.split_inclusive('\n');
    open.send(lines.next().unwrap());
    // One alone, then more and more in company.
    let rows: Vec<&str> = lines.collect();
    let (mut from, mut company, mut answers) = (0, 1, Vec::new());
    while from < rows.len() {
        let to = (from + company).min(rows.len());
        open.send(&rows[from..to].concat());
        answers.extend((from..to).map(|_| serde_json::from_str::<Value>(&open.line()).unwrap()));
        (from, company) = (to, company + 1);
    }
    assert_eq!(open.end().1, Some(0));
    for (found, expected) in answers.iter().zip(whole["predictions"].as_array().unwrap()) {
        for name in ["row", "predicted_label", "confidence", "margin", "p_yes", "given_label"] {
            assert_eq!(found[name], expected[name], "{name} of {found}");
        }
    }
}

#[test]
fn a_bad_row_ends_the_stream_with_its_place_behind_the_answers_before_it() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path());
    let good = "{\"age\": 20, \"plan\": \"free\", \"visits\": 7}\n";
    for (bad, part) in [
        (
            "{\"age\": \"old\", \"plan\": \"free\", \"visits\": 7}\n",
            "standard input, row 2 (line 3), column 'age': 'old' is not a numeric",
        ),
        ("{\"age\": 20, \"plan\": \"free\"}\n", "standard input, row 2, column 'visits': the cell is missing"),
        ("{\"age\": 20, \"plan\": \n", "standard input, row 2 (line 3)"),
        ("12\n", "standard input, row 2 (line 3): not a readable JSON file: expected an object"),
    ] {
        let mut open = Open::start(folder.path(), &["predict", "run", "-", "--jsonl"]);
        open.send(good);
        open.line();
        open.send(good);
        open.line();
        open.send(bad);
        let (rest, code, words) = open.end();
        assert_eq!((rest.len(), code), (0, Some(2)), "{words}");
        assert!(words.contains(part), "{words}");
    }
    for (first, part) in [
        ("{\"name\": \"x\"}\n", "missing columns of the model: 'age', 'plan', 'visits'"),
        ("name,other\nx,y\n", "missing columns of the model: 'age', 'plan', 'visits'"),
        ("", "standard input is empty"),
    ] {
        let mut open = Open::start(folder.path(), &["predict", "run", "-", "--jsonl"]);
        open.send(first);
        let (rest, code, words) = open.end();
        assert_eq!((rest.len(), code), (0, Some(2)), "{words}");
        assert!(words.contains(part) || first.is_empty() && words.contains("is empty"), "{words}");
    }
}

#[test]
fn other_formats_are_read_whole_as_before() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path());
    let text = std::fs::read_to_string(folder.path().join("table.csv")).unwrap();
    // A title above the header: nothing that a first line could tell.
    let mut open = Open::start(folder.path(), &["predict", "run", "-", "--skip-lines", "1"]);
    open.send(&format!("Customers of May\n{text}"));
    let (lines, code, words) = open.end();
    assert_eq!((lines.len(), code), (301, Some(0)), "{words}");
    assert_eq!(lines.join("\n") + "\n", succeed(folder.path(), &["predict", "run", "table.csv"]));
}

#[test]
fn predictions_are_written_as_json_lines() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path());
    succeed(folder.path(), &["predict", "run", "table.csv", "--out", "out.jsonl"]);
    let file = std::fs::read_to_string(folder.path().join("out.jsonl")).unwrap();
    assert_eq!(file, succeed(folder.path(), &["predict", "run", "table.csv", "--jsonl"]));
    let whole = json(folder.path(), &["predict", "run", "table.csv"]);
    let rows: Vec<Value> = file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(Value::from(rows), whole["predictions"]);
    assert_eq!(cmrm(folder.path(), &["predict", "run", "table.csv", "--jsonl", "--json"]).status.code(), Some(2));
}

/// A lone object whose keys end in numbers may be what pandas writes for a whole table; with a model's columns it is a row.
#[test]
fn a_lone_row_of_numbered_columns_is_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..120).map(|i| format!("{},{},{}\n", i % 13, i % 7, u8::from(i % 13 > 6))).collect();
    std::fs::write(folder.path().join("table.csv"), format!("x.0,x.1,label\n{rows}")).unwrap();
    succeed(folder.path(), &["fit", "table.csv", "--label", "label", "--model", "linear", "--out", "run", "--quiet"]);
    let mut open = Open::start(folder.path(), &["predict", "run", "-", "--jsonl"]);
    open.send("{\"x.0\": 12, \"x.1\": 3}\n");
    assert!(open.line().contains("\"predicted_label\":\"1\""));
    assert_eq!(open.end().1, Some(0));
    std::fs::write(folder.path().join("one.json"), "{\"x\": {\"0\": 0, \"1\": 3}}").unwrap();
    assert!(succeed(folder.path(), &["predict", "run", "one.json", "--jsonl"]).contains("\"predicted_label\":\"0\""));
}
