//! Names and cells that would be obeyed where people read them: by a terminal, in Markdown, in a spreadsheet.

mod common;

use std::fs;
use std::path::Path;

use common::{cmrm, json};

/// Clears the screen, sets the title, breaks the line, turns the text around.
const ESCAPES: &str = "\u{1b}[2Jred\u{1b}]0;x\u{7}\u{9b}31m\nfake\u{202e}";
const MARKUP: &str = "<script>alert(1)</script>|[x](javascript:alert(1))`*_";

fn quoted(cell: &str) -> String {
    format!("\"{}\"", cell.replace('"', "\"\""))
}

/// Two classes that can be told apart, every tenth label wrong.
fn write_table(path: &Path, column: &str, labels: [&str; 2]) {
    let mut text = format!("{},y,kind\n", quoted(column));
    for i in 0..200 {
        let truth = usize::from(i % 9 > 4);
        let given = if i % 10 == 3 { 1 - truth } else { truth };
        text += &format!("{},{},{}\n", i % 9, (i * 7) % 11, quoted(labels[given]));
    }
    fs::write(path, text).unwrap();
}

fn obeyed(c: char) -> bool {
    c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c)
}

#[test]
fn a_terminal_gets_no_escape_sequence_from_the_data() {
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("t.csv"), ESCAPES, [ESCAPES, "plain"]);
    fs::write(folder.path().join("decisions.csv"), format!("row,action,label\n0,{},a\n", quoted(ESCAPES))).unwrap();
    for (arguments, code) in [
        (&["fit", "t.csv", "--label", "kind", "--epochs", "40", "--out", "run"][..], 0),
        (&["audit", "run"], 0),
        (&["evaluate", "run", "t.csv", "--label", "kind"], 0),
        (&["report", "run"], 0),
        (&["clean", "t.csv", "decisions.csv", "--label", "kind", "--out", "c.csv"], 2),
        (&["fit", "\u{1b}[2Jnone.csv", "--label", "kind"], 2),
        (&["fit", "t.csv", "--label", "\u{1b}[2J"], 2),
        (&["predict", "run", "t.csv", "--label", "kind", "--arm", "\u{1b}[2J"], 2),
    ] {
        let output = cmrm(folder.path(), arguments);
        let words = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {words}");
        assert!(!words.contains(obeyed), "{arguments:?}: {words:?}");
        assert!(!words.contains("\nfake") || arguments[0] == "clean", "{arguments:?}: {words:?}");
        assert!(words.contains("\\u{1b}"), "{arguments:?}: {words}");
    }
    // Columns stay aligned: the number of rows stands below its name.
    let words = cmrm(folder.path(), &["evaluate", "run", "t.csv", "--label", "kind"]).stdout;
    let words = String::from_utf8(words).unwrap();
    let table: Vec<&str> = words.lines().skip_while(|line| !line.contains("precision")).take(3).collect();
    let column = table[0].find("rows").unwrap();
    let in_column = |line: &&str| line[column - 2..].starts_with("  ") && line.as_bytes()[column].is_ascii_digit();
    assert!(table[1..].iter().all(in_column), "{table:?}");
    // A report that an earlier version wrote.
    common::unseal(&folder.path().join("run"));
    fs::write(folder.path().join("run/report.md"), "\u{1b}[2J").unwrap();
    assert_eq!(cmrm(folder.path(), &["report", "run"]).stdout, b"\\u{1b}[2J");
    // Data is exact.
    assert!(json(folder.path(), &["audit", "run"])["classes"].as_array().unwrap().iter().any(|name| name == ESCAPES));
}

#[test]
fn a_report_in_markdown_shows_names_as_text() {
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("t<i>.csv"), "x", [MARKUP, "two\nlines"]);
    json(folder.path(), &["fit", "t<i>.csv", "--label", "kind", "--epochs", "40", "--out", "<b>run"]);
    let report = fs::read_to_string(folder.path().join("<b>run/report.md")).unwrap();
    assert!(!report.contains('<'), "{report}");
    let name = "&lt;script>alert(1)&lt;/script>\\|\\[x\\](javascript:alert(1))\\`\\*\\_";
    assert!(report.contains(name) && report.contains("two\\\\u{a}lines"), "{report}");
    assert!(report.starts_with("# cmrm: t&lt;i>"), "{report}");
    // The bars of a table stand below each other.
    let rows: Vec<&str> = report.lines().skip_while(|line| !line.contains("| given")).collect();
    let bars = |line: &str| -> Vec<usize> {
        let characters: Vec<char> = line.chars().collect();
        (0..characters.len()).filter(|&at| characters[at] == '|' && (at == 0 || characters[at - 1] != '\\')).collect()
    };
    assert_eq!(bars(rows[0]).len(), 5);
    assert!(rows.iter().take_while(|line| line.starts_with('|')).all(|line| bars(line) == bars(rows[0])), "{report}");

    let tune = ["tune", "t<i>.csv", "--label", "kind", "--folds", "2", "--epochs", "4", "--out", "search"];
    json(folder.path(), &tune);
    let report = fs::read_to_string(folder.path().join("search/report.md")).unwrap();
    assert!(report.starts_with("# cmrm tune: t&lt;i>") && !report.contains('<'), "{report}");
}

#[test]
fn formulas_are_marked_in_files_for_people_and_come_back_as_they_were() {
    for labels in [["=1+1", "'=1+1"], ["@SUM(A1)", "-"], ["-1", "+1"]] {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        write_table(&folder.path().join("t.csv"), "x", labels);
        json(folder.path(), &["fit", "t.csv", "--label", "kind", "--epochs", "40", "--out", "run"]);
        json(folder.path(), &["audit", "run", "--out", "suspects.csv"]);
        let cells: Vec<String> =
            read("suspects.csv").lines().skip(1).map(|line| line.split(',').nth(3).unwrap().to_owned()).collect();
        let marked = |label: &str| if label.parse::<f64>().is_ok() { label.to_owned() } else { format!("'{label}") };
        assert!(cells.iter().all(|cell| labels.iter().any(|label| *cell == marked(label))), "{cells:?}");
        assert!(labels.iter().all(|label| cells.contains(&marked(label))), "{cells:?}");

        // A table of suspects as a file of decisions: every label is the other one.
        let decisions: String = read("suspects.csv").lines().skip(1).enumerate().fold(
            "row,action,label\n".to_owned(),
            |text, (at, line)| {
                let cells: Vec<&str> = line.split(',').collect();
                let other = labels.iter().find(|label| marked(label) != cells[3]).unwrap();
                // Half of them as they would be written by hand.
                let label = if at % 2 == 0 || other.starts_with('\'') { marked(other) } else { (*other).to_owned() };
                text + &format!("{},relabel,{label}\n", cells[0])
            },
        );
        fs::write(folder.path().join("decisions.csv"), decisions).unwrap();
        json(folder.path(), &["clean", "t.csv", "decisions.csv", "--label", "kind", "--out", "c.csv"]);
        let kinds = |name: &str| -> Vec<String> {
            read(name)
                .lines()
                .skip(1)
                .map(|line| line.rsplit(',').next().unwrap().trim_matches('"').to_owned())
                .collect()
        };
        // The data itself is exact, the log for people is marked.
        let (before, after) = (kinds("t.csv"), kinds("c.csv"));
        let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
        assert_eq!((changed, after.iter().all(|kind| labels.contains(&kind.as_str()))), (cells.len(), true));
        let log = read("c.csv.changes.csv");
        let originals: Vec<&str> = log.lines().skip(1).map(|line| line.split(',').nth(2).unwrap()).collect();
        assert!(originals.iter().all(|cell| labels.iter().any(|label| *cell == marked(label))), "{log}");
        json(folder.path(), &["noise", "t.csv", "--label", "kind", "--kind", "symmetric:0.2", "--out", "n.csv"]);
        let log = read("n.csv.flipped.csv");
        assert!(
            log.lines().skip(1).all(|line| line.split(',').nth(1).is_some_and(|cell| cells.iter().any(|c| c == cell)))
        );
        assert!(kinds("n.csv").iter().all(|kind| labels.contains(&kind.as_str())));
    }
}
