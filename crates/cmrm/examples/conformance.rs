//! Checks every case of a file of reference values, in double and in single precision.
//!
//! `cargo run --release --example conformance -- FILE.json`
//!
//! Exit codes: 0 all cases agree, 1 some do not, 2 the file cannot be read or understood.

use std::process::ExitCode;

#[path = "../tests/common/mod.rs"]
mod common;

/// Largest relative error that passes, in each number type.
const LIMIT_F64: f64 = 1e-9;
const LIMIT_F32: f64 = 1e-4;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, String> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(path), None) = (arguments.next(), arguments.next()) else {
        return Err("usage: conformance FILE.json".to_owned());
    };
    let path = std::path::PathBuf::from(path);
    let refused = |error: String| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|error| refused(error.to_string()))?;
    let double = common::check::<f64>(&text).map_err(refused)?;
    let single = common::check::<f32>(&text).map_err(refused)?;
    if double.cases == 0 {
        return Err(refused("holds no cases; nothing was checked".to_owned()));
    }
    println!("{} cases, {} numbers compared in each precision", double.cases, double.numbers);
    let passed = [("f64", &double, LIMIT_F64), ("f32", &single, LIMIT_F32)].map(|(name, report, limit)| {
        let passed = report.worst <= limit;
        let verdict = if passed { "ok" } else { "FAILED" };
        println!("{name}: largest relative error {:.3e} (limit {limit:e}) {verdict}", report.worst);
        if !report.place.is_empty() {
            println!("     at {}", report.place);
        }
        passed
    });
    Ok(passed == [true, true])
}
