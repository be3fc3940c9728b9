//! `clean` applies decisions to the rows that they were made on, and to no others.

mod common;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use common::{cmrm, json, refuse};

const ROWS: usize = 2000;
/// One label in eight is wrong.
const WRONG: usize = 8;

/// Rows of two classes by the sign of x, with an id; a wrong label now and then.
fn rows() -> Vec<(String, f64, &'static str, &'static str)> {
    let row = |at: usize| {
        let x = ((at * 7919) % 1009) as f64 / 504.5 - 1.0;
        let (right, other) = if x > 0.0 { ("up", "down") } else { ("down", "up") };
        (format!("{at:05}"), x, right, if at % WRONG == 3 { other } else { right })
    };
    (0..ROWS).map(row).collect()
}

/// The table, and the same rows sorted by x.
fn write_tables(folder: &Path) {
    let text = |rows: &[(String, f64, &str, &str)]| {
        let line = |(id, x, _, given): &(String, f64, &str, &str)| format!("{id},{x},{given}\n");
        std::iter::once("pid,x,kind\n".to_owned()).chain(rows.iter().map(line)).collect::<String>()
    };
    let mut rows = rows();
    fs::write(folder.join("t.csv"), text(&rows)).unwrap();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    fs::write(folder.join("sorted.csv"), text(&rows)).unwrap();
}

/// The right label for every wrong one: lines without their end.
fn decisions() -> Vec<String> {
    let rows = rows();
    let wrong = rows.iter().enumerate().filter(|(_, row)| row.2 != row.3);
    wrong.map(|(at, (id, _, right, given))| format!("{at},relabel,{right},{given},{id}")).collect()
}

fn write_decisions(folder: &Path, header: &str, lines: &[String], more: &str) {
    let columns = header.split(',').count() - usize::from(!more.is_empty());
    let line = |line: &String| {
        let cells: Vec<&str> = line.split(',').take(columns).collect();
        cells.join(",") + more + "\n"
    };
    let text: String = std::iter::once(format!("{header}\n")).chain(lines.iter().map(line)).collect();
    fs::write(folder.join("d.csv"), text).unwrap();
}

/// Labels by id, in a table that `clean` has written, which are not right.
fn wrong_labels(path: &Path) -> usize {
    let right: HashMap<String, &str> = rows().into_iter().map(|row| (row.0, row.2)).collect();
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    lines.filter(|cells| right[cells[0]] != cells[2]).count()
}

const CLEAN: [&str; 7] = ["clean", "t.csv", "d.csv", "--label", "kind", "--out", "o.csv"];
const CLEAN_SORTED: [&str; 7] = ["clean", "sorted.csv", "d.csv", "--label", "kind", "--out", "o.csv"];

#[test]
fn given_labels_have_to_be_those_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_tables(folder.path());
    let lines = decisions();
    write_decisions(folder.path(), "row,action,label,given_label", &lines, "");
    assert_eq!(json(folder.path(), &CLEAN)["relabelled"], ROWS / WRONG);
    assert_eq!(wrong_labels(&at("o.csv")), 0);
    fs::remove_file(at("o.csv")).unwrap();
    fs::remove_file(at("o.csv.changes.csv")).unwrap();

    let words = refuse(folder.path(), &CLEAN_SORTED);
    let sorted = fs::read_to_string(at("sorted.csv")).unwrap();
    let label_of =
        |row: &str| sorted.lines().nth(row.parse::<usize>().unwrap() + 1).unwrap().rsplit_once(',').unwrap().1;
    let (at_line, cells) = lines
        .iter()
        .map(|line| line.split(',').collect::<Vec<_>>())
        .enumerate()
        .find(|(_, cells)| label_of(cells[0]) != cells[3])
        .unwrap();
    let expected = format!(
        "d.csv: row {at_line}: decided on the label '{}', but row {} of sorted.csv has '{}' (",
        cells[3],
        cells[0],
        label_of(cells[0])
    );
    assert!(words.contains(&expected), "{words}\nexpected: {expected}");
    assert!(words.contains("of 250 decisions disagree)") && words.contains("--force"), "{words}");
    assert!(!at("o.csv").exists() && !at("o.csv.changes.csv").exists());

    let forced = cmrm(folder.path(), &[&CLEAN_SORTED[..], &["--force"]].concat());
    assert!(forced.status.success());
    assert!(String::from_utf8_lossy(&forced.stderr).contains("note: applied anyway (--force): d.csv: row "));
}

#[test]
fn rows_are_found_by_id_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_tables(folder.path());
    let mut lines = decisions();
    write_decisions(folder.path(), "row,action,label,given_label,id", &lines, "");
    assert!(refuse(folder.path(), &CLEAN_SORTED).contains("name its ID column with --id"));
    let by_id = [&CLEAN_SORTED[..], &["--id", "pid"]].concat();
    let cleaned = json(folder.path(), &by_id);
    assert_eq!((cleaned["relabelled"].as_u64(), cleaned["by_id"].as_bool()), (Some(250), Some(true)));
    assert_eq!(wrong_labels(&at("o.csv")), 0);

    // Once more on what was cleaned, with a row that the first time dropped: nothing is left to do.
    lines[0] = "3,drop,,up,00003".into();
    write_decisions(folder.path(), "row,action,label,given_label,id", &lines, "");
    let gone = fs::read_to_string(at("o.csv")).unwrap();
    let gone: String =
        gone.lines().filter(|line| !line.starts_with("00003,")).map(|line| format!("{line}\n")).collect();
    fs::write(at("sorted.csv"), gone).unwrap();
    let again = json(folder.path(), &by_id);
    let counts = ["relabelled", "dropped", "already_applied", "rows_written"].map(|name| again[name].as_u64().unwrap());
    assert_eq!(counts, [0, 0, 250, 1999]);

    write_tables(folder.path());
    let id = |line: &str, expected: &str| {
        write_decisions(folder.path(), "row,action,label,given_label,id", &[lines[1].clone(), line.to_owned()], "");
        let words = refuse(folder.path(), &by_id);
        assert!(words.contains(expected), "{words}\nexpected: {expected}");
    };
    let up = rows().iter().position(|row| row.3 == "up").unwrap();
    id(&format!("0,keep,,down,{up:05}"), &format!("(ID '{up:05}') of sorted.csv has 'up'"));
    id("0,keep,,,x7", "d.csv: row 1, column 'id': column 'pid' of sorted.csv has no ID 'x7'");
    id("0,keep,,,", "d.csv: row 1, column 'id': the cell is empty, but --id pid finds rows by their ID");
    id(&lines[1], "has two decisions, the first in row 0");
    let text = fs::read_to_string(at("sorted.csv")).unwrap();
    let twice = text.lines().find(|line| line.starts_with("00019,")).unwrap();
    fs::write(at("sorted.csv"), format!("{text}{twice}\n")).unwrap();
    id(&lines[2], "sorted.csv has the ID '00019' in rows ");
    // Neither row numbers nor the labels are needed then.
    fs::write(at("d.csv"), "id,action\n00004,drop\n").unwrap();
    assert_eq!(json(folder.path(), &by_id)["dropped"], 1);
    write_tables(folder.path());
    fs::write(at("d.csv"), "id,action\nx7,drop\n").unwrap();
    assert!(refuse(folder.path(), &by_id).contains("nor any other ID in the file"));
}

#[test]
fn without_ids_the_rows_have_to_be_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_tables(folder.path());
    json(folder.path(), &["fit", "t.csv", "--label", "kind", "--id", "pid", "--epochs", "1", "--out", "run"]);
    let info: serde_json::Value = serde_json::from_str(&fs::read_to_string(at("run/run.json")).unwrap()).unwrap();
    let fingerprint = info["rows_fingerprint"].as_str().unwrap();
    let more = format!(",{fingerprint}");
    // The one decision happens to agree with the label in that place of the sorted table.
    let sorted = fs::read_to_string(at("sorted.csv")).unwrap();
    let agrees = |line: &&String| {
        let cells: Vec<&str> = line.split(',').collect();
        sorted.lines().nth(cells[0].parse::<usize>().unwrap() + 1).unwrap().ends_with(cells[3])
    };
    let lines: Vec<String> = decisions().iter().filter(agrees).take(1).cloned().collect();
    write_decisions(folder.path(), "row,action,label,given_label,fingerprint", &lines, &more);
    let words = refuse(folder.path(), &CLEAN_SORTED);
    let expected = format!("d.csv: row 0: decided on rows with fingerprint {fingerprint}, but sorted.csv has ");
    assert!(words.contains(&expected) && words.contains("--force"), "{words}");
    assert!(!at("o.csv").exists());

    // The file may have another name, format and column of ids; the rows are the same.
    write_decisions(folder.path(), "row,action,label,given_label,fingerprint", &decisions(), &more);
    json(folder.path(), &["noise", "t.csv", "--label", "kind", "--kind", "binary-flip:0", "--out", "u.parquet"]);
    for (data, id) in [("t.csv", None), ("t.csv", Some("pid")), ("u.parquet", None)] {
        let id = id.map(|id| ["--id", id]).into_iter().flatten().collect::<Vec<_>>();
        let clean = [&["clean", data, "d.csv", "--label", "kind", "--out", "o.csv"], &id[..]].concat();
        assert_eq!(json(folder.path(), &clean)["relabelled"], 250, "{data}");
        assert_eq!(wrong_labels(&at("o.csv")), 0);
    }

    // Applied to what it gave: nothing to do, and no harm.
    let again = ["clean", "o.csv", "d.csv", "--label", "kind", "--out", "p.csv"];
    let output = cmrm(folder.path(), &again);
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(words.contains("0 relabelled, 0 dropped; 250 decisions had already been applied"), "{words}");
    assert_eq!(fs::read(at("o.csv")).unwrap(), fs::read(at("p.csv")).unwrap());
    // Without the fingerprint nobody can tell, and it is refused.
    write_decisions(folder.path(), "row,action,label,given_label", &decisions(), "");
    assert!(refuse(folder.path(), &again).contains("the decisions seem to have been applied"));
    // A row that the decisions dropped moves those behind it.
    let mut lines = decisions();
    lines[0] = "3,drop,,up".into();
    write_decisions(folder.path(), "row,action,label,given_label,fingerprint", &lines[..1], &more);
    json(folder.path(), &["clean", "t.csv", "d.csv", "--label", "kind", "--force", "--out", "o.csv"]);
    let words = refuse(folder.path(), &again);
    assert!(words.contains("rows added, removed or reordered since, perhaps by these very decisions"), "{words}");
}

#[test]
fn an_audit_with_actions_is_a_file_of_decisions_and_so_is_one_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_tables(folder.path());
    json(
        folder.path(),
        &["fit", "t.csv", "--label", "kind", "--id", "pid", "--model", "mlp", "--out", "run", "--no-base"],
    );
    let found = json(folder.path(), &["audit", "run", "--out", "s.csv"]);
    assert!(found["top"][0]["id"].as_str().unwrap().len() == 5, "{found}");
    let audit = fs::read_to_string(at("s.csv")).unwrap();
    let (header, rest) = audit.split_once('\n').unwrap();
    assert!(header.starts_with("row,id,is_label_issue,"), "{header}");
    let names: Vec<&str> = header.split(',').collect();
    let place = |name: &str| names.iter().position(|found| *found == name).unwrap();
    let (issue, suggested) = (place("is_label_issue"), place("suggested_label"));
    let decide = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let decision = if cells[issue] == "true" { format!("relabel,{}", cells[suggested]) } else { "keep,".into() };
        format!("{line},{decision}\n")
    };
    let text: String = std::iter::once(format!("{header},action,label\n")).chain(rest.lines().map(decide)).collect();
    fs::write(at("d.csv"), text).unwrap();
    let cleaned = json(folder.path(), &CLEAN);
    assert_eq!(cleaned["relabelled"], found["issues"]);
    assert!(wrong_labels(&at("o.csv")) < ROWS / WRONG / 2);
    refuse(folder.path(), &CLEAN_SORTED);
    assert_eq!(json(folder.path(), &[&CLEAN_SORTED[..], &["--id", "pid"]].concat())["relabelled"], found["issues"]);
    // By folds the audit names the ids as well.
    let folds = ["audit", "t.csv", "--label", "kind", "--id", "pid", "--folds", "2", "--epochs", "1", "--out", "f.csv"];
    json(folder.path(), &folds);
    assert!(fs::read_to_string(at("f.csv")).unwrap().starts_with("row,id,is_label_issue,"));

    fs::write(at("d.csv"), "row,action,label\n3,drop,\n5,keep,\n").unwrap();
    let output = cmrm(folder.path(), &CLEAN);
    assert!(output.status.success());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let note = "note: d.csv: 2 of 2 decisions have neither given_label nor fingerprint, so their row numbers";
    assert!(words.contains(note), "{words}");
}
