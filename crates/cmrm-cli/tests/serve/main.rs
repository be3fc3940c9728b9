//! `cmrm serve`: what it answers and what it refuses.

#[path = "../common/mod.rs"]
mod common;
mod ends;

use std::io::Read;
use std::path::Path;

use common::serving::Running;
use common::{json, refuse, succeed, write_table};
use serde_json::{Value, json};

const ROW: &str = r#"{"age": 20, "plan": "free", "visits": 7}"#;

fn fitted(folder: &Path, model: &str) {
    write_table(&folder.join("table.csv"), 300);
    let arguments = ["fit", "table.csv", "--label", "churned", "--model", model, "--out", "run", "--quiet"];
    succeed(folder, &arguments);
}

/// The rows of the table as JSON, with their labels or without.
fn rows(folder: &Path, labels: bool) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("table.csv")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let label = if labels { format!(",\"churned\":\"{}\"", cells[3]) } else { String::new() };
        format!("{{\"age\":{},\"plan\":\"{}\",\"visits\":{}{label}}}", cells[0], cells[1], cells[2])
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn rows_are_answered_in_the_form_they_come_in_with_the_numbers_of_predict() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path(), "linear");
    let expected = json(folder.path(), &["predict", "run", "table.csv", "--probabilities", "--coverage", "0.9"]);
    let expected = expected["predictions"].as_array().unwrap();
    let rows = rows(folder.path(), false);
    let server = Running::start(folder.path(), &["--probabilities"]);
    let same = |found: &Value, row: usize| {
        assert_eq!(found["predicted_label"], expected[row]["predicted_label"], "row {row}");
        for name in ["confidence", "margin"] {
            assert_eq!(found[name].as_f64(), expected[row][name].as_f64(), "{name} of row {row}");
        }
        assert_eq!(found["probabilities"]["yes"].as_f64(), expected[row]["p_yes"].as_f64());
    };
    let one = server.predict(&rows[5]);
    assert_eq!(one.status, 200, "{}", one.body);
    same(&one.json(), 5);
    assert!(one.json()["prediction_set"].is_null() && one.json()["given_label"].is_null());

    let array = server.ask("POST", "/predict?coverage=0.9", &[], &format!("[{}]", rows.join(",\n")));
    assert!(array.head.contains("content-type: application/json"));
    let array = array.json();
    assert_eq!(array.as_array().unwrap().len(), rows.len());
    for (row, found) in array.as_array().unwrap().iter().enumerate() {
        same(found, row);
        let set: Vec<&str> =
            found["prediction_set"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(set.join("|"), expected[row]["prediction_set"].as_str().unwrap());
        assert_eq!(found["set_size"], set.len());
    }

    let lines = server.ask(
        "POST",
        "/predict?probabilities=false",
        &["Content-Type: application/x-ndjson"],
        &(rows.join("\n") + "\n"),
    );
    assert!(lines.head.contains("content-type: application/x-ndjson"));
    assert_eq!(lines.body.lines().count(), rows.len());
    let last: Value = serde_json::from_str(lines.body.lines().last().unwrap()).unwrap();
    assert_eq!(last["confidence"].as_f64(), expected[rows.len() - 1]["confidence"].as_f64());
    assert!(last["probabilities"].is_null());
}

/// Rows of requests that come at the same time are predicted together.
#[test]
fn many_at_a_time_get_the_bits_that_each_gets_alone() {
    let folder = tempfile::tempdir().unwrap();
    for model in ["mlp", "kernel"] {
        let _ = std::fs::remove_dir_all(folder.path().join("run"));
        fitted(folder.path(), model);
        let expected = json(folder.path(), &["predict", "run", "table.csv", "--probabilities"]);
        let (server, rows) =
            (Running::start(folder.path(), &["--probabilities", "--quiet"]), rows(folder.path(), false));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (server, rows, expected) = (&server, &rows, &expected["predictions"]);
                scope.spawn(move || {
                    for row in (thread..rows.len()).step_by(8) {
                        let found = server.predict(&rows[row]).json();
                        assert_eq!(
                            found["probabilities"]["yes"].as_f64(),
                            expected[row]["p_yes"].as_f64(),
                            "row {row} of {model}"
                        );
                    }
                });
            }
        });
        let metrics = server.ask("GET", "/metrics", &[], "").body;
        assert!(metrics.contains("cmrm_rows_total 300\n"), "{metrics}");
    }
}

#[test]
fn given_labels_are_doubted() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path(), "forest");
    let server = Running::start(folder.path(), &[]);
    let rows = rows(folder.path(), true);
    let wrong: Vec<String> = rows
        .iter()
        .map(|row| row.replace("\"yes\"", "\"x\"").replace("\"no\"", "\"yes\"").replace("\"x\"", "\"no\""))
        .collect();
    let share = |rows: &[String]| {
        let found = server.predict(&format!("[{}]", rows.join(","))).json();
        let found = found.as_array().unwrap().clone();
        for row in &found {
            let wrong = row["wrong_probability"].as_f64();
            assert_eq!(row["doubted"], row["suggested_label"] != row["given_label"], "{row}");
            assert!(wrong.is_none_or(|wrong| (0.0..=1.0).contains(&wrong)), "{row}");
            assert_eq!(row["label_margin"].as_f64().unwrap() < 0.0, row["doubted"] == true, "{row}");
        }
        found.iter().filter(|row| row["doubted"] == true).count()
    };
    assert!(share(&rows) < 30, "{}", share(&rows));
    assert!(share(&wrong) > 270, "{}", share(&wrong));
    let unknown = server.predict(&rows[0].replace("\"no\"", "\"nope\"").replace("\"yes\"", "\"nope\""));
    assert_eq!(unknown.status, 400);
    assert!(
        unknown.json()["error"].as_str().unwrap().contains("label 'nope' is not one of the 2 known classes"),
        "{}",
        unknown.body
    );
    let misspelt = server.ask("POST", "/predict?label=chruned", &[], &rows[0]);
    assert_eq!(misspelt.status, 400);
    assert!(misspelt.body.contains("no row of the request has a label of that name"), "{}", misspelt.body);
    assert_eq!(server.ask("POST", "/predict?label=churned", &[], &rows[0]).json()["given_label"], "no");
    let without = server.predict(&rows[0].replace("\"no\"", "null").replace("\"yes\"", "null")).json();
    assert!(without["predicted_label"].is_string() && without["doubted"].is_null(), "{without}");
    assert!(server.ask("GET", "/metrics", &[], "").body.contains("cmrm_given_labels_total 601"));
}

#[test]
fn arrays_of_numbers_are_rows_of_an_array_model() {
    let folder = tempfile::tempdir().unwrap();
    let mut header = String::new();
    for i in 0..200 {
        let (a, b) = (f64::from(i % 17) - 8.0, f64::from(i % 5));
        header += &format!("{a},{b},{}\n", u8::from(a > b - 2.0));
    }
    std::fs::write(folder.path().join("table.csv"), header).unwrap();
    succeed(
        folder.path(),
        &["fit", "table.csv", "--no-header", "--label", "-1", "--model", "linear", "--out", "run", "--quiet"],
    );
    let server = Running::start(folder.path(), &[]);
    let model = server.ask("GET", "/model", &[], "").json();
    assert_eq!((&model["width"], &model["columns"]), (&json!(2), &Value::Null));
    // Its place in the training data is no key of a row.
    assert_eq!(model["label"], Value::Null);
    assert_eq!(server.predict("[8, 0]").json()["predicted_label"], "1");
    let several = server.predict("[[8, 0], [-8, 4]]").json();
    assert_eq!((&several[0]["predicted_label"], &several[1]["predicted_label"]), (&json!("1"), &json!("0")));
    let labelled = server.predict(r#"{"features": [8, 0], "label": 0}"#).json();
    assert_eq!(
        (&labelled["given_label"], &labelled["suggested_label"], &labelled["doubted"]),
        (&json!("0"), &json!("1"), &json!(true))
    );
    let short = server.predict("[[8, 0], [1]]");
    assert_eq!((short.status, &short.json()["row"]), (400, &json!(1)));
    assert_eq!(server.predict("[[1, 2], [\"x\", 2]]").json()["row"], 1);
    assert_eq!(server.predict("[1, 2, 3]").status, 400);
}

#[test]
fn what_cannot_be_read_is_refused_in_the_words_of_predict() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path(), "linear");
    let server = Running::start(folder.path(), &["--max-rows", "3", "--max-body", "1"]);
    for (body, status, words) in [
        ("", 400, "the request is empty"),
        ("hello", 400, "not JSON"),
        ("{\"age\": 20", 400, "not a readable JSON file"),
        ("[]", 400, "the list of rows is empty"),
        ("{}", 400, "missing columns of the model: 'age', 'plan', 'visits'"),
        (
            r#"{"age": "old", "plan": "free", "visits": 7}"#,
            400,
            "the request, row 0 (line 1), column 'age': 'old' is not a numeric value",
        ),
        (r#"{"age": null, "plan": "free", "visits": 7}"#, 400, "the request, row 0, column 'age': the cell is missing"),
        (r#"{"age": [1], "plan": "free", "visits": 7}"#, 400, "column 'age': an array within a row is not supported"),
        (&[ROW; 4].join("\n"), 413, "more rows than the limit of 3"),
        (&"x".repeat((1 << 20) + 1), 413, "longer than 1048576 bytes"),
    ] {
        let answer = server.predict(body);
        assert_eq!(answer.status, status, "{body:.40}: {}", answer.body);
        let object = answer.json();
        assert!(object["error"].as_str().unwrap().contains(words), "{body:.40}: {object}");
        assert_eq!((&object["schema"], &object["status"]), (&json!("cmrm/served-error/1"), &json!(status)));
    }
    let placed = server.predict(&format!("[{ROW},{}]", ROW.replace("20", "\"old\""))).json();
    assert_eq!((&placed["row"], &placed["column"]), (&json!(1), &json!("age")));
    // The same words as those of the command, but for the name.
    std::fs::write(folder.path().join("bad.jsonl"), format!("{ROW}\n{}\n", ROW.replace("20", "\"old\""))).unwrap();
    let said = refuse(folder.path(), &["predict", "run", "bad.jsonl"]);
    let served = server.predict(&std::fs::read_to_string(folder.path().join("bad.jsonl")).unwrap()).json();
    assert_eq!(
        said.trim(),
        format!("error: {}", served["error"].as_str().unwrap().replace("the request", "bad.jsonl"))
    );

    for (method, path, headers, status) in [
        ("GET", "/predict", &[][..], 405),
        ("POST", "/health", &[], 405),
        ("GET", "/nothing", &[], 404),
        ("POST", "/predict?coverage=90", &[], 400),
        ("POST", "/predict?colour=red", &[], 400),
        ("POST", "/predict", &["Content-Type: text/csv"], 415),
        ("POST", "/predict", &["Content-Encoding: gzip"], 415),
        ("POST", "/predict", &["Origin: http://evil.example"], 403),
        ("POST", "/predict", &["Host: evil.example"], 403),
    ] {
        let answer = server.ask(method, path, headers, ROW);
        assert_eq!(answer.status, status, "{method} {path} {headers:?}: {}", answer.body);
        if status == 405 {
            let allowed = if path == "/predict" { "allow: post\r\n" } else { "allow: get, head\r\n" };
            assert!(answer.head.contains(allowed), "{method} {path}: {}", answer.head);
        }
        assert!(!answer.head.contains("access-control"), "{}", answer.head);
    }
    for raw in [
        "POST /predict HTTP/1.1\r\n\r\n",
        "nonsense\r\n\r\n",
        "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
    ] {
        assert!((400..500).contains(&server.raw(format!("{raw}Connection: close\r\n\r\n").as_bytes()).status), "{raw}");
    }
    // After all of that it goes on.
    assert_eq!(server.predict(ROW).status, 200);
}

#[test]
fn a_token_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path(), "linear");
    let token = "0123456789abcdef0123456789abcdef";
    std::fs::write(folder.path().join("token"), format!("{token}\n")).unwrap();
    let bearer = format!("Authorization: Bearer {token}");
    for server in [
        Running::start(folder.path(), &["--token-file", "token"]),
        Running::start_with(folder.path(), &[], Some(token)),
    ] {
        let missing = server.predict(ROW);
        assert_eq!(missing.status, 401);
        assert!(missing.head.contains("www-authenticate: bearer"));
        for path in ["/metrics", "/model"] {
            assert_eq!(server.ask("GET", path, &[], "").status, 401);
        }
        assert_eq!(server.ask("POST", "/predict", &[&format!("{bearer}0")], ROW).status, 401);
        assert_eq!(server.ask("POST", "/predict", &[&bearer], ROW).status, 200);
        assert_eq!(server.ask("GET", "/health", &[], "").status, 200);
    }
    let open = refuse(folder.path(), &["serve", "run", "--host", "0.0.0.0", "--port", "0"]);
    assert!(open.contains("--token-file") && open.contains("--without-token"), "{open}");
    std::fs::write(folder.path().join("token"), "short").unwrap();
    assert!(refuse(folder.path(), &["serve", "run", "--token-file", "token"]).contains("at least 22"));
    assert!(refuse(folder.path(), &["serve", "nowhere"]).contains("nowhere"));
}

#[test]
fn it_says_what_it_serves_and_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path(), "linear");
    let server = Running::start(folder.path(), &[]);
    let model = server.ask("GET", "/model", &[], "").json();
    assert_eq!(
        (&model["schema"], &model["classes"], &model["label"]),
        (&json!("cmrm/model/1"), &json!(["no", "yes"]), &json!("churned"))
    );
    assert_eq!(
        model["columns"][1],
        json!({ "name": "plan", "kind": "categorical", "required": true, "may_be_missing": false })
    );
    let run: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("run/run.json")).unwrap()).unwrap();
    assert_eq!((&model["fingerprint"], &model["arm"]), (&run["fingerprint"], &run["chosen"]));
    server.predict(&ROW.replace("free", "platinum"));
    server.predict("no row");
    let metrics = server.ask("GET", "/metrics", &[], "");
    assert!(metrics.head.contains("content-type: text/plain; version=0.0.4"));
    for line in [
        "cmrm_requests_total{path=\"/predict\",status=\"200\"} 1",
        "cmrm_requests_total{path=\"/predict\",status=\"400\"} 1",
        "cmrm_rows_total 1",
        "cmrm_unknown_categories_total 1",
        "cmrm_predict_seconds_count 2",
    ] {
        assert!(metrics.body.lines().any(|found| found == line), "{line} is missing:\n{}", metrics.body);
    }
}

#[test]
fn a_lost_file_of_the_run_is_not_the_fault_of_who_asks() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path(), "linear");
    let mut server = Running::start(folder.path(), &[]);
    std::fs::remove_file(folder.path().join("run/calibration.safetensors")).unwrap();
    let answer = server.ask("POST", "/predict?coverage=0.8", &[], ROW);
    assert_eq!(answer.status, 500, "{}", answer.body);
    assert!(!answer.body.contains("safetensors"), "{}", answer.body);
    assert_eq!(server.ask("POST", "/predict?coverage=0", &[], ROW).status, 400);
    assert_eq!(server.predict(ROW).status, 200);
    server.child.kill().unwrap();
    let mut words = String::new();
    server.child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert!(words.contains("calibration.safetensors"), "{words}");
}
