//! Trains on a table whose labels are partly wrong, and keeps the run for `cmrm predict`, `audit` and `report`.
//!
//! `cargo run --release -p cmrm-fit --example train_csv -- patients.csv label run`

use cmrm_fit::{Error, FitConfig, Loaded};

/// Trains, saves the run, and returns its summary.
pub fn train(file: &str, label: &str, run: &str) -> Result<String, Error> {
    let loaded = Loaded::from_path(file, label)?;
    let config = FitConfig { seed: 1, ..FitConfig::for_path(file, label) };
    let outcome = config.fit(&loaded)?;
    Ok(outcome.save(run, loaded)?.to_text())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, label, run] = arguments.as_slice() else { return Err("usage: train_csv FILE LABEL RUN".into()) };
    print!("{}", train(file, label, run)?);
    Ok(())
}
