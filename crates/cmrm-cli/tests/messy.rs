//! A table as people keep it, beside the same one tidied by hand: every column is understood, and the model is as good.

// Tests write files that they read.
#![allow(clippy::disallowed_methods)]

mod common;

use std::fmt::Write;
use std::path::Path;

use common::{cmrm, json, refuse, succeed};

const ROWS: usize = 1500;

/// A generator of numbers that look drawn, the same on every machine.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// What a note says in a word, as someone wrote it down, and how much it speaks for leaving.
const NOTES: [(&str, &str, i64); 5] = [
    ("Rechnung", "hat am Telefon mehrmals nach der letzten Rechnung gefragt", 0),
    ("Beschwerde", "beschwert sich über lange Wartezeiten, will mit dem Chef sprechen", 120),
    ("Lob", "lobt den freundlichen Service und empfiehlt uns weiter", -120),
    ("Umzug", "zieht um, neue Anschrift folgt per Post", 40),
    ("Zahlung", "zahlt ab jetzt per Lastschrift, Mandat liegt vor", -40),
];

/// `1.148,52 €`.
fn euros(cents: u64) -> String {
    let (whole, cents) = (cents / 100, cents % 100);
    if whole < 1000 {
        format!("{whole},{cents:02} €")
    } else {
        format!("{}.{:03},{cents:02} €", whole / 1000, whole % 1000)
    }
}

/// Writes `messy.csv` and `tidy.csv`: the same rows, 12 % of the labels wrong; and a messy `test.csv` with right labels.
fn write_tables(folder: &Path) {
    let header = "kunde;umsatz;seit;aktiv;plz;notiz;tarif;status\n";
    let (mut messy, mut test) = (String::from(header), String::from(header));
    let (mut tidy, mut tidy_test) = (String::from("umsatz,seit,aktiv,plz,notiz,tarif,status\n"), String::new());
    tidy_test += &tidy;
    let mut draw = Draw(14);
    for row in 0..2 * ROWS {
        let cents = 2_000 + draw.below(300_000);
        let (day, month, year) = (1 + draw.below(28), 1 + draw.below(12), 2019 + draw.below(6));
        let active = draw.below(3) > 0;
        let (plz, tarif) = (1_067 + 3_000 * draw.below(8), draw.below(3));
        let reason = draw.below(NOTES.len() as u64) as usize;
        let (short, note, weight) = NOTES[reason];
        let score = cents as i64 / 1_000 - 60 * (year as i64 - 2021) - if active { 120 } else { 0 }
            + 40 * tarif as i64
            + weight;
        let right = if score > 60 { "gekündigt" } else { "treu" };
        let training = row < ROWS;
        let wrong = training && draw.below(100) < 12;
        let label = match (right, wrong) {
            ("treu", true) | ("gekündigt", false) => "gekündigt",
            _ => "treu",
        };
        let tarif = ["Basis", "Plus", "Firma"][tarif as usize];
        let (typed, price) =
            (if row == 700 { "gekündgit" } else { label }, if row == 41 { "auf Anfrage".into() } else { euros(cents) });
        let (out, tidy_out) = if training { (&mut messy, &mut tidy) } else { (&mut test, &mut tidy_test) };
        let (case, active_word) = (draw.below(1_000_000), if active { "Ja" } else { "nein" });
        writeln!(
            out,
            "K-{row:06};{price};{day:02}/{month:02}/{year};{active_word};{plz:05};Vorgang {case}: {note};{tarif};{typed}"
        )
        .unwrap();
        if row != 700 {
            let price = if row == 41 { String::from("1500") } else { format!("{}.{:02}", cents / 100, cents % 100) };
            writeln!(tidy_out, "{price},{year}-{month:02}-{day:02},{active},plz{plz},{short},{tarif},{label}").unwrap();
        }
    }
    for (name, text) in [("messy.csv", messy), ("test.csv", test), ("tidy.csv", tidy), ("tidy-test.csv", tidy_test)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

fn accuracy(summary: &serde_json::Value) -> f64 {
    let arm = summary["arms"].as_array().unwrap().last().unwrap();
    let metrics = arm["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == "accuracy").unwrap()["value"].as_f64().unwrap()
}

#[test]
fn a_messy_table_is_as_good_as_a_tidy_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_tables(path);
    let shown = cmrm(path, &["fit", "messy.csv", "--label", "status", "--model", "linear", "--out", "run"]);
    let words = String::from_utf8(shown.stderr).unwrap();
    assert!(shown.status.success(), "{words}");
    for line in [
        "kunde   categorical         0  ",
        "left out: tells the rows apart\n",
        "umsatz  numeric             1  ",
        "a number, gaps filled in\n",
        "seit    date                0  2019-01-0",
        "a number of days\n",
        "aktiv   boolean             0  ",
        "plz     categorical         0  8 names: ",
        "tarif   categorical         0  3 names: ",
        "notiz   text                0  ",
        "note: column 'plz': its numbers start with zeros, as codes do: treated as names",
        "note: column 'umsatz': 1 cell is not a number and treated as missing: row 41 has 'auf Anfrage'",
        "note: the label 'gekündgit' (1 row) looks like 'gekündigt' (",
    ] {
        assert!(words.contains(line), "'{line}' is not in:\n{words}");
    }
    // The slip is a class of its own until it is corrected; the run knows label and IDs, so nobody says them again.
    std::fs::write(path.join("d.csv"), "row,action,label\n700,relabel,gekündigt\n").unwrap();
    succeed(path, &["clean", "messy.csv", "d.csv", "--run", "run", "--out", "clean.csv"]);
    // With nothing said of the model or the columns: the vote.
    let fit = |data: &str, test: &str, more: &[&str]| {
        let out = format!("run-{data}");
        json(path, &[&["fit", data, "--test", test, "--label", "status", "--out", &out], more].concat())
    };
    let messy = fit("clean.csv", "test.csv", &["--id", "kunde"]);
    let tidy = fit("tidy.csv", "tidy-test.csv", &[]);
    let (messy_accuracy, tidy_accuracy) = (accuracy(&messy), accuracy(&tidy));
    assert!(tidy_accuracy > 0.9, "{tidy_accuracy}");
    assert!(messy_accuracy >= tidy_accuracy - 0.005, "{messy_accuracy} and {tidy_accuracy}");
    let columns = messy["data"]["columns"]["columns"].as_array().unwrap();
    assert_eq!(columns.iter().filter(|column| column["kind"] == "date").count(), 1);
    let evaluated = json(path, &["evaluate", "run-clean.csv", "test.csv"]);
    assert_eq!(evaluated["rows"], ROWS);
    let predicted = succeed(path, &["predict", "run-clean.csv", "test.csv", "--quiet"]);
    assert!(predicted.starts_with("row,kunde,given_label,predicted_label,"), "{}", &predicted[..80]);
}

#[test]
fn bad_cells_and_unknown_columns_are_refused_where_the_user_wants_that() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_tables(path);
    let strict = refuse(path, &["fit", "messy.csv", "--label", "status", "--strict", "--dry-run"]);
    assert!(
        strict.contains("messy.csv, row 41 (line 43), column 'umsatz': 'auf Anfrage' is not a numeric value"),
        "{strict}"
    );
    let unknown = refuse(path, &["fit", "messy.csv", "--label", "status", "--ignore", "notitz"]);
    assert!(unknown.contains("no column 'notitz', did you mean 'notiz'?"), "{unknown}");
    let kind = refuse(path, &["fit", "messy.csv", "--label", "status", "--type", "plz=numerical"]);
    assert!(kind.contains("'numerical' is not a kind of column, did you mean 'numeric'"), "{kind}");
    let shown = cmrm(
        path,
        &["fit", "messy.csv", "--label", "status", "--type", "notiz=ignore", "--type", "plz=numeric", "--dry-run"],
    );
    let (settings, words) = (String::from_utf8(shown.stdout).unwrap(), String::from_utf8(shown.stderr).unwrap());
    assert!(settings.contains("[preprocess.overrides]\nnotiz = \"ignore\"\nplz = \"numeric\"\n"), "{settings}");
    assert!(words.contains("plz     numeric             0  1067 to 22067"), "{words}");
}

/// Rows beside those that a model was trained on are read as those were, whatever their own cells would suggest.
#[test]
fn dates_that_can_be_read_in_two_ways_are_read_as_in_training() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut draw = Draw(5);
    let mut table = |rows: usize, days: u64| {
        let mut text = String::from("seen,label\n");
        for _ in 0..rows {
            let (month, day) = (1 + draw.below(12), 1 + draw.below(days));
            writeln!(text, "{month:02}/{day:02}/2024,{}", if month > 6 { "late" } else { "early" }).unwrap();
        }
        text
    };
    // Months come first, as a day beyond the twelfth shows; in the test rows no cell shows it.
    std::fs::write(path.join("train.csv"), table(400, 28)).unwrap();
    std::fs::write(path.join("test.csv"), table(200, 12)).unwrap();
    let fit = ["fit", "train.csv", "--test", "test.csv", "--label", "label", "--model", "linear", "--out", "run"];
    let found = accuracy(&json(path, &fit));
    assert!(found > 0.95, "{found}");
    let evaluated = json(path, &["evaluate", "run", "test.csv"]);
    assert_eq!(accuracy(&evaluated), found);
}

/// A label given by its place is not looked for in rows that have none.
#[test]
fn rows_without_a_label_are_predicted_after_a_label_by_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    common::write_table(&path.join("t.csv"), 200);
    let text = std::fs::read_to_string(path.join("t.csv")).unwrap();
    let features: String = text.lines().map(|line| format!("{}\n", line.rsplit_once(',').unwrap().0)).collect();
    std::fs::write(path.join("new.csv"), features).unwrap();
    succeed(path, &["fit", "t.csv", "--label", "-1", "--model", "linear", "--out", "run", "--quiet"]);
    let labelled = succeed(path, &["predict", "run", "t.csv", "--quiet"]);
    let bare = succeed(path, &["predict", "run", "new.csv", "--quiet"]);
    assert!(labelled.starts_with("row,given_label,predicted_label,"), "{}", &labelled[..60]);
    let without_given = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        [&cells[..1], &cells[2..]].concat().join(",")
    };
    assert_eq!(labelled.lines().map(without_given).collect::<Vec<_>>(), bare.lines().collect::<Vec<_>>());
}

/// Decisions carry a fingerprint of the rows as the run read them: `clean` reads them in the same way.
#[test]
fn decisions_about_columns_of_a_stated_kind_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut text = String::from("when,size,label\n");
    for row in 0..200 {
        writeln!(text, "{:02}/{:02}/2024,{row},{}", 1 + row % 12, 1 + row % 7, if row < 100 { "a" } else { "b" })
            .unwrap();
    }
    std::fs::write(path.join("t.csv"), text).unwrap();
    let fit = ["fit", "t.csv", "--label", "label", "--type", "when=date:mdy", "--model", "linear", "--out", "run"];
    succeed(path, &[&fit[..], &["--quiet"]].concat());
    let info: serde_json::Value = serde_json::from_slice(&std::fs::read(path.join("run/run.json")).unwrap()).unwrap();
    let fingerprint = info["rows_fingerprint"].as_str().unwrap();
    let decisions = format!("row,given_label,action,label,fingerprint\n3,a,relabel,b,{fingerprint}\n");
    std::fs::write(path.join("d.csv"), decisions).unwrap();
    succeed(path, &["clean", "t.csv", "d.csv", "--run", "run", "--out", "clean.csv"]);
    assert!(std::fs::read_to_string(path.join("clean.csv")).unwrap().contains("04/04/2024,3,b\n"));
}

/// Labels that have nothing to do with the rows: said first, nothing flagged unless asked.
#[test]
fn a_model_at_chance_flags_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut draw = Draw(3);
    let mut text = String::from("x,y,z,label\n");
    for _ in 0..600 {
        let [x, y, z] = [(); 3].map(|_| draw.below(10_000));
        writeln!(text, "{x},{y},{z},{}", ["a", "b", "c"][draw.below(3) as usize]).unwrap();
    }
    std::fs::write(path.join("t.csv"), text).unwrap();
    let printed = succeed(path, &["fit", "t.csv", "--label", "label", "--out", "run", "--quiet"]);
    let warning = printed.find("Warning: the model predicts the labels no better than chance").unwrap();
    assert!(warning < printed.find("accuracy").unwrap(), "{printed}");
    assert!(printed.contains("No label is flagged; see the warning above."), "{printed}");
    let audited = json(path, &["audit", "run"]);
    assert_eq!(audited["issues"], 0);
    assert!(audited["warning"].as_str().unwrap().contains("--flag-anyway"));
    let asked = json(path, &["audit", "run", "--flag-anyway"]);
    assert!(asked["issues"].as_u64().unwrap() > 100, "{asked}");
}

/// Rows for `predict`, `evaluate` and `--test` that are written otherwise than those to train on.
#[test]
fn new_rows_that_are_written_otherwise_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let table = |rows: usize, price: fn(u64) -> String, date: fn(u64, u64) -> String| {
        let (mut text, mut draw) = (String::from("revenue;seen;label\n"), Draw(8));
        for _ in 0..rows {
            let (cents, month, day) = (draw.below(300_000), 1 + draw.below(12), 1 + draw.below(28));
            let label = if cents > 150_000 { "high" } else { "low" };
            writeln!(text, "{};{};{label}", price(cents), date(month, day)).unwrap();
        }
        text
    };
    let point = |cents: u64| format!("{}.{:02}", cents / 100, cents % 100);
    let month_first = |month: u64, day: u64| format!("{month}/{day}/2024");
    std::fs::write(path.join("train.csv"), table(300, euros, month_first)).unwrap();
    std::fs::write(path.join("good.csv"), table(40, euros, month_first)).unwrap();
    std::fs::write(path.join("point.csv"), table(40, point, month_first)).unwrap();
    std::fs::write(path.join("day.csv"), table(40, euros, |month, day| format!("{day}/{month}/2024"))).unwrap();
    let fit = ["fit", "train.csv", "--label", "label", "--impute", "--model", "linear", "--quiet"];
    succeed(path, &[&fit[..], &["--out", "run"]].concat());
    assert_eq!(succeed(path, &["predict", "run", "good.csv", "--quiet"]).lines().count(), 41);
    let tested = [&fit[..], &["--out", "tested", "--test"]].concat();
    for (data, column, takes) in [
        ("point.csv", "revenue", "numbers with a decimal comma, such as 1234,5"),
        ("day.csv", "seen", "dates with the month first, such as 12/31/2024"),
    ] {
        for verb in [&["predict", "run"][..], &["evaluate", "run"], &tested] {
            let words = refuse(path, &[verb, &[data]].concat());
            let place = format!("error: {data}, row ");
            for part in [&*place, &format!("column '{column}': "), " of 40 cells cannot be read", takes, "fit again"] {
                assert!(words.contains(part), "'{part}' is not in: {words}");
            }
        }
    }
}

/// A key that no new row has is missing in all of them, as it is in a single row.
#[test]
fn json_rows_without_a_key_are_predicted_and_gaps_are_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (mut text, mut draw) = (String::new(), Draw(9));
    for row in 0..300 {
        let (stars, country) = (draw.below(5), ["de", "fr"][draw.below(2) as usize]);
        let user = match row % 10 {
            0 => "null".into(),
            _ => format!(r#"{{"country": "{country}", "verified": {}}}"#, stars > 2),
        };
        let label = if stars > 1 { "good" } else { "bad" };
        writeln!(text, r#"{{"review": {{"stars": {stars}}}, "user": {user}, "label": "{label}"}}"#).unwrap();
    }
    std::fs::write(path.join("t.jsonl"), text).unwrap();
    let fit = ["fit", "t.jsonl", "--label", "label", "--model", "linear", "--out"];
    let shown = cmrm(path, &[&fit[..], &["run", "--impute"]].concat());
    let words = String::from_utf8(shown.stderr).unwrap();
    assert!(shown.status.success(), "{words}");
    for column in ["user.country", "user.verified"] {
        let note = format!("note: column '{column}': 30 missing cells filled in with ");
        assert_eq!(words.matches(&note).count(), 1, "{words}");
        assert_eq!(words.matches(&format!("column '{column}'")).count(), 1, "{words}");
    }
    for (at, row) in [r#"{"review":{"stars":4},"user":null}"#, r#"{"review":{"stars":4}}"#].iter().enumerate() {
        let new = format!("new{at}.jsonl");
        std::fs::write(path.join(&new), row).unwrap();
        let predicted = succeed(path, &["predict", "run", &new, "--quiet"]);
        assert!(predicted.contains("\n0,good,"), "{predicted}");
    }
    // In a table with a header such a column is an oversight.
    std::fs::write(path.join("new.csv"), "review.stars\n4\n").unwrap();
    assert!(refuse(path, &["predict", "run", "new.csv"]).contains("missing columns of the model: 'user.country'"));
}
