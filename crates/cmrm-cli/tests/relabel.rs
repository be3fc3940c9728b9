//! `noise` and `clean` change labels and nothing else, and refuse what they cannot do.

mod common;

use std::fs;

use common::{json, refuse};

#[test]
fn cells_stay_as_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let text = "id,class,value,day\n007,a,NA,2020-1-2\n008,b,1.50,x\n009,a,?,\"u,v\"\n010,b,,true\n";
    fs::write(folder.path().join("data.csv"), text).unwrap();
    let noise = ["noise", "data.csv", "--label", "class", "--kind", "binary-flip:0", "--out", "same.csv"];
    json(folder.path(), &noise);
    assert_eq!(fs::read_to_string(folder.path().join("same.csv")).unwrap(), text);
    json(folder.path(), &["noise", "data.csv", "--label", "1", "--kind", "binary-flip:0.5", "--out", "other.parquet"]);
    assert!(
        refuse(
            folder.path(),
            &["noise", "data.csv", "--label", "class", "--kind", "binary-flip:0.5", "--out", "data.csv"]
        )
        .contains("data file itself")
    );
    assert!(
        refuse(folder.path(), &["noise", "data.csv", "--label", "clas", "--kind", "binary-flip:0.5", "--out", "o.csv"])
            .contains("did you mean 'class'?")
    );
    let words = refuse(
        folder.path(),
        &["noise", "data.csv", "--label", "class", "--kind", "binary-flip:0.5", "--out", "o.doc"],
    );
    assert!(words.contains("use .csv"), "{words}");
    assert!(!folder.path().join("o.doc.flipped.csv").exists());
}

#[test]
fn bad_decisions_are_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("data.csv"), "x,class\n1,cat\n2,dog\n3,cat\n").unwrap();
    let table = [
        (
            "row,action,label\n0,keep,\n3,drop,\n",
            "d.csv: row 1, column 'row': row 3 does not exist: the data has 3 rows, 0 to 2",
        ),
        ("row,action,label\n-1,drop,\n", "d.csv: row 0, column 'row': '-1' is not a row number; use 0 to 2"),
        ("row,action,label\n0,dorp,\n", "d.csv: row 0, column 'action': unknown action 'dorp', did you mean 'drop'?"),
        (
            "row,action,label\n0,relabel,dgo\n",
            "column 'label': 'dgo' is not one of the 2 labels in the data, did you mean 'dog'?",
        ),
        ("row,action,label\n0,relabel,\n", "d.csv: row 0, column 'label': relabel needs a label"),
        (
            "row,action,label\n0,keep,\n0,drop,\n",
            "d.csv: row 1, column 'row': row 0 has two decisions, the first in row 0",
        ),
        ("row,acton,label\n0,keep,\n", "d.csv: no column 'action', did you mean 'acton'?"),
        ("row,action\n0,drop\n1,drop\n2,drop\n", "the decisions drop all 3 rows"),
    ];
    for (text, expected) in table {
        fs::write(folder.path().join("d.csv"), text).unwrap();
        let words = refuse(folder.path(), &["clean", "data.csv", "d.csv", "--label", "class", "--out", "o.csv"]);
        assert!(words.contains(expected), "{words}\nexpected: {expected}");
        assert!(!folder.path().join("o.csv").exists() && !folder.path().join("o.csv.changes.csv").exists());
    }
    fs::write(folder.path().join("d.csv"), "row,action,label\n0,relabel,cow\n2,relabel,cat\n").unwrap();
    let clean = ["clean", "data.csv", "d.csv", "--label", "class", "--out", "o.csv", "--new-labels"];
    assert_eq!(json(folder.path(), &clean)["relabelled"], 1);
    assert_eq!(fs::read_to_string(folder.path().join("o.csv")).unwrap(), "x,class\n1,cow\n2,dog\n3,cat\n");
    let changes = fs::read_to_string(folder.path().join("o.csv.changes.csv")).unwrap();
    assert_eq!(changes, "row,action,original,new\n0,relabel,cat,cow\n");
}
