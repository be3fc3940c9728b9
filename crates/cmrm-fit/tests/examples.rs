//! The examples do what they say, on a table of sixty fruits.

// An example is a program; a test needs only what it does.
#[allow(dead_code)]
#[path = "../examples/audit.rs"]
mod audit;
#[allow(dead_code)]
#[path = "../../cmrm-run/examples/predict.rs"]
mod predict;
#[allow(dead_code)]
#[path = "../examples/train_arrays.rs"]
mod train_arrays;
#[allow(dead_code)]
#[path = "../examples/train_csv.rs"]
mod train_csv;

/// Small plums and large pears; row 20, a plum, is called a pear.
fn fruit(folder: &std::path::Path) -> String {
    let mut csv = String::from("length,width,kind\n");
    for row in 0..60 {
        let kind = if (row % 2 == 0) != (row == 20) { "plum" } else { "pear" };
        csv += &format!("{},{},{kind}\n", 3 + 5 * (row % 2), 2 + row % 3);
    }
    let path = folder.join("fruit.csv");
    std::fs::write(&path, csv).unwrap();
    path.display().to_string()
}

#[test]
fn a_run_is_trained_from_a_file_and_predicts() {
    let folder = tempfile::tempdir().unwrap();
    let (file, run) = (fruit(folder.path()), folder.path().join("run").display().to_string());
    let said = train_csv::train(&file, "kind", &run).unwrap();
    assert!(said.contains("Trained on 60 rows") && said.contains("1 labels look wrong"), "{said}");
    let lines = predict::predict(&run, &file).unwrap();
    let row = lines.lines().nth(20).unwrap();
    assert!(lines.lines().count() == 60 && row.starts_with("20,plum,") && row.ends_with(",plum"), "{row}");
    // A second run does not take the place of the first.
    let refused = train_csv::train(&file, "kind", &run).unwrap_err().to_string();
    assert!(refused.contains("not empty"), "{refused}");
}

#[test]
fn the_wrong_label_is_ranked_first() {
    let folder = tempfile::tempdir().unwrap();
    let lines = audit::audit(&fruit(folder.path()), "kind").unwrap();
    assert!(lines.starts_with("row,given,suggested,margin\n20,pear,plum,-"), "{lines}");
}

#[test]
fn arrays_are_trained_on_and_predicted() {
    let said = train_arrays::train().unwrap();
    assert_eq!(said, "suspects: rows [20]; a small one is a plum, a large one a pear\n");
}
