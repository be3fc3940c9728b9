//! Predicts rows of a file with a run, with a prediction set for each that holds its true class with 90 %.
//!
//! `cargo run --release -p cmrm-run --example predict -- run new.csv`

use cmrm_run::{Error, Model, SetOptions};

/// Opens the run, and returns a line of CSV for each row: its class, how likely it is, and its set.
pub fn predict(run: &str, file: &str) -> Result<String, Error> {
    let model = Model::open(run)?;
    let rows = model.read_path(file)?;
    let predicted = model.predict(&rows)?;
    let sets = model.predict_sets(&rows, &SetOptions { coverage: 0.9, ..SetOptions::default() })?;
    let mut lines = String::new();
    for (row, class) in predicted.names().enumerate() {
        let set: Vec<&str> = sets.row(row).iter().map(|&at| model.classes()[at as usize].as_str()).collect();
        lines += &format!("{row},{class},{:.4},{}\n", predicted.confidence(row), set.join("|"));
    }
    Ok(lines)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, file] = arguments.as_slice() else { return Err("usage: predict RUN FILE".into()) };
    print!("{}", predict(run, file)?);
    Ok(())
}
