//! Ranks the labels of a table that look wrong, each judged by models that have not seen its row.
//!
//! `cargo run --release -p cmrm-fit --example audit -- patients.csv label`

use cmrm_fit::{Error, FitConfig, Loaded};

/// Trains, and returns the suspects as lines of CSV, most suspicious first.
pub fn audit(file: &str, label: &str) -> Result<String, Error> {
    let outcome = FitConfig::for_path(file, label).fit(&Loaded::from_path(file, label)?)?;
    let rows = &outcome.training_rows;
    let mut lines = String::from("row,given,suggested,margin\n");
    for at in rows.suspects() {
        let (given, suggested) = (rows.name(rows.labels[at]), rows.name(rows.rival[at]));
        lines += &format!("{},{given},{suggested},{:.3}\n", rows.rows[at], rows.margin[at]);
    }
    Ok(lines)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, label] = arguments.as_slice() else { return Err("usage: audit FILE LABEL".into()) };
    print!("{}", audit(file, label)?);
    Ok(())
}
