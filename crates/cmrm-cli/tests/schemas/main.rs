//! Every JSON that the commands write is what docs/schemas says, and nothing else would be.

#[path = "../common/mod.rs"]
mod common;
mod schema;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::review::Review;
use common::serving::Running;
use common::{cmrm, json};
use schema::Schema;
use serde_json::{Value, json as value};

/// A sentence encoder would have to be fetched; the review page is served until it is stopped.
const NOT_RUN: [&str; 2] = ["embed", "review"];

fn schemas() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas")
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Outputs that were checked, by the names of their schemas.
#[derive(Default)]
struct Checked(BTreeSet<String>);

impl Checked {
    /// Insists that the output fits its schema, and that none does with a field more, a field less, or one of another type.
    fn check(&mut self, name: &str, output: &Value) {
        let schema = Schema(read(&schemas().join(format!("{name}.json"))));
        let errors = schema.errors(output);
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        let refuses = |change: &dyn Fn(&mut Value), what: &str| {
            let mut changed = output.clone();
            change(&mut changed);
            assert!(!schema.errors(&changed).is_empty(), "{name}: {what} is not noticed");
        };
        refuses(&|changed| changed["unknown"] = 1.into(), "an unknown field");
        for field in schema.0["required"].as_array().unwrap() {
            let field = field.as_str().unwrap();
            refuses(
                &|changed| drop(changed.as_object_mut().unwrap().remove(field)),
                &format!("that {field} is missing"),
            );
        }
        for field in output.as_object().unwrap().keys() {
            refuses(&|changed| changed[field] = value!([[[]]]), &format!("another type of {field}"));
        }
        self.0.insert(name.to_owned());
    }

    fn check_lines(&mut self, name: &str, path: &Path) {
        let text = fs::read_to_string(path).unwrap();
        assert!(!text.is_empty(), "{}", path.display());
        text.lines().take(3).for_each(|line| self.check(name, &serde_json::from_str(line).unwrap()));
    }
}

/// A table with a third kind of column, IDs, empty cells, and labels of which every twelfth is wrong.
fn write_patients(path: &Path) {
    let mut text = String::from("name,height,ward,since,ill\n");
    for row in 0..150 {
        let ill = (row % 2 == 1) == (row % 12 == 5);
        let height = if row == 40 { String::new() } else { (150 + 20 * (row % 2) + row % 7).to_string() };
        let (ward, day) = (["north", "south", "east"][row % 3], 1 + row % 28);
        text += &format!("p{row},{height},{ward},2024-03-{day:02},{}\n", if ill { "yes" } else { "no" });
    }
    fs::write(path, text).unwrap();
}

#[test]
fn outputs_fit_their_schemas_and_nothing_else_does() {
    let (folder, mut checked) = (tempfile::tempdir().unwrap(), Checked::default());
    let (folder, at) = (folder.path(), |name: &str| folder.path().join(name));
    write_patients(&at("patients.csv"));
    let read_as = ["--label", "ill", "--id", "name"];
    let run = |arguments: &[&str]| json(folder, arguments);
    let with = |first: &[&'static str]| [first, &read_as].concat();

    checked.check("fit", &run(&with(&["fit", "patients.csv", "--impute", "--out", "vote"])));
    let single = ["fit", "patients.csv", "--impute", "--model", "linear", "--noise", "symmetric:0.1", "--sensitivity"];
    checked.check("fit", &run(&[&with(&single), &["--validation-share", "0.3", "--out", "single"][..]].concat()));
    checked.check("audit", &run(&["audit", "vote", "--self-check"]));
    checked.check("audit", &run(&["audit", "single"]));
    for folder in ["vote", "single"] {
        for name in ["run", "report", "preprocess"] {
            checked.check(name, &read(&at(&format!("{folder}/{name}.json"))));
        }
        checked.check("fit", &read(&at(&format!("{folder}/summary.json"))));
    }
    checked
        .check("audit", &run(&["audit", "vote", "patients.csv", "--since", "single", "--fail-on", "noise-above:0.9"]));
    checked.check("export", &run(&["export", "single", "--onnx", "model.onnx"]));
    checked.check("self-check", &read(&at("vote/self-check.json")));
    checked.check_lines("metrics-line", &at("single/metrics.jsonl"));

    let sets = ["predict", "vote", "patients.csv", "--coverage", "0.9", "--abstain-above", "1", "--probabilities"];
    checked.check("predict", &run(&sets));
    checked.check("predict", &run(&["predict", "single", "patients.csv", "--out", "predictions.csv"]));
    checked.check("evaluate", &run(&["evaluate", "single", "patients.csv"]));
    checked.check("noise", &run(&with(&["noise", "patients.csv", "--kind", "symmetric:0.2", "--out", "noisy.csv"])));
    checked.check("report-files", &run(&["report", "single", "--html", "page.html"]));

    let server = Running::start_run(folder, "vote", &["--json"]);
    checked.check("serve", &server.said);
    let row = r#"{"height": 150, "ward": "north", "since": "2024-03-01", "ill": "yes"}"#;
    let answered = server.ask("POST", "/predict?coverage=0.9&probabilities=true", &[], row);
    checked.check("served-row", &answered.json());
    checked.check("served-model", &server.ask("GET", "/model", &[], "").json());
    checked.check("served-error", &server.predict("{").json());
    drop(server);

    let page = Review::start(folder, &["vote", "--no-open"]);
    let items: Value = serde_json::from_str(&page.ask("GET list", "")).unwrap();
    let first = items["items"][0]["row"].as_u64().unwrap();
    page.ask("POST decide", &value!({ "row": first, "action": "drop" }).to_string());
    drop(page);
    checked.check("review-export", &run(&["review", "vote", "--export", "decisions.csv"]));
    checked.check("clean", &run(&with(&["clean", "patients.csv", "decisions.csv", "--out", "cleaned.csv"])));

    checked.check(
        "tune",
        &run(&with(&["tune", "patients.csv", "--impute", "--model", "linear", "--folds", "2", "--out", "found"])),
    );
    checked.check("tune", &read(&at("found/summary.json")));
    checked.check("search", &read(&at("found/search.json")));
    checked.check_lines("trials-line", &at("found/trials.jsonl"));

    let corrected =
        ["fit", "patients.csv", "--impute", "--model", "linear", "--method", "forward", "--out", "corrected"];
    checked.check("fit", &run(&with(&corrected)));
    checked.check("methods", &run(&["methods"]));

    let cache = ["--cache", "cache"];
    checked.check("data-list", &run(&[&["data", "list"], &cache[..]].concat()));
    checked.check("data-fetch", &run(&[&["data", "fetch", "digits"], &cache[..]].concat()));
    checked.check("data-verify", &run(&[&["data", "verify", "digits"], &cache[..]].concat()));

    let refused = cmrm(folder, &["predict", "nowhere", "patients.csv", "--json"]);
    checked.check("error", &serde_json::from_slice(&refused.stdout).unwrap());
    let mut all: BTreeSet<String> = NOT_RUN.map(str::to_owned).into();
    all.extend(checked.0);
    let files = fs::read_dir(schemas())
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    assert_eq!(all, files.collect());
}

/// A field that a schema does not describe is one that nobody can rely on.
#[test]
fn schemas_close_every_object_and_describe_every_field() {
    for file in fs::read_dir(schemas()).unwrap() {
        let path = file.unwrap().path();
        let (schema, place) = (Schema(read(&path)), path.display());
        assert_eq!(schema.0["$schema"], "https://json-schema.org/draft/2020-12/schema", "{place}");
        assert!(schema.0["title"].is_string() && schema.0["description"].is_string(), "{place}");
        let flaws = schema.flaws();
        assert!(flaws.is_empty(), "{place}: {flaws:#?}");
    }
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let schema = Schema(value!({
        "type": "object", "additionalProperties": false, "required": ["a"],
        "properties": {
            "a": { "$ref": "#/$defs/share" }, "b": { "type": ["array", "null"], "items": { "enum": ["x", 1] }, "uniqueItems": true },
            "c": { "prefixItems": [{ "const": 1 }], "items": false, "minItems": 1 },
            "d": { "oneOf": [{ "required": ["e"] }, { "required": ["f"] }], "additionalProperties": { "type": "integer" } }
        },
        "patternProperties": { "^p_": { "type": "boolean" } },
        "if": { "required": ["b"] }, "then": { "required": ["c"] },
        "$defs": { "share": { "type": "number", "minimum": 0, "maximum": 1 } }
    }));
    for fits in [
        value!({ "a": 0.5 }),
        value!({ "a": 1, "b": null, "c": [1], "p_x": true }),
        value!({ "a": 0, "b": ["x", 1], "c": [1] }),
        value!({ "a": 0, "d": { "e": 1, "g": 2 } }),
    ] {
        assert_eq!(schema.errors(&fits), Vec::<String>::new(), "{fits}");
    }
    for bad in [
        value!({}),
        value!([]),
        value!({ "a": 1.5 }),
        value!({ "a": -1 }),
        value!({ "a": "0" }),
        value!({ "a": 0, "x": 0 }),
        value!({ "a": 0, "b": [] }),
        value!({ "a": 0, "b": [2], "c": [1] }),
        value!({ "a": 0, "b": ["x", "x"], "c": [1] }),
        value!({ "a": 0, "c": [] }),
        value!({ "a": 0, "c": [2] }),
        value!({ "a": 0, "c": [1, 1] }),
        value!({ "a": 0, "p_x": 1 }),
        value!({ "a": 0, "d": {} }),
        value!({ "a": 0, "d": { "e": 1, "f": 1 } }),
        value!({ "a": 0, "d": { "e": 1.5 } }),
    ] {
        assert!(!schema.errors(&bad).is_empty(), "{bad}");
    }
    let open = Schema(value!({ "type": "object", "properties": { "a": { "type": "number" } }, "maxLength": 3 }));
    assert_eq!(open.flaws().len(), 3, "{:?}", open.flaws());
}
