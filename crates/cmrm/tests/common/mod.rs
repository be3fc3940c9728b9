//! Checks reference files in the formats of `tests/fixtures/envelope.json` and `methods.json` through the public API.
//! Shared by the test `conformance` and the example of that name.

mod binary;
mod json;
mod methods;
mod multiclass;
mod sets;

use cmrm::Scalar;
use serde_json::Value;

/// How many cases of a file were checked, and the largest relative error with its place.
#[derive(Debug, Default)]
pub struct Report {
    /// Cases checked.
    pub cases: usize,
    /// Numbers compared.
    pub numbers: usize,
    /// Largest relative error.
    pub worst: f64,
    /// Case and quantity of the largest error.
    pub place: String,
}

impl Report {
    /// Compares `found` with `expected`, relative to `size` (the magnitude of the quantity the number is part of).
    fn compare(&mut self, place: &str, expected: f64, found: f64, size: f64) {
        self.numbers += 1;
        let error = if expected == found { 0.0 } else { (expected - found).abs() / size.abs().max(f64::MIN_POSITIVE) };
        // Not a number is the largest error of all.
        let error = if error.is_nan() { f64::INFINITY } else { error };
        if error > self.worst {
            self.worst = error;
            self.place = format!("{place}: expected {expected:e}, found {found:e}");
        }
    }

    fn scalar(&mut self, place: &str, expected: f64, found: f64) {
        self.compare(place, expected, found, expected);
    }

    /// Compares a vector entry by entry, relative to its largest entry.
    fn vector(&mut self, place: &str, expected: &[f64], found: &[f64]) -> Result<(), String> {
        if expected.len() != found.len() {
            return Err(format!("{place}: the file lists {} numbers, {} are needed", expected.len(), found.len()));
        }
        let size = expected.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        for (i, (&e, &f)) in expected.iter().zip(found).enumerate() {
            self.compare(&format!("{place}[{i}]"), e, f, size);
        }
        Ok(())
    }
}

/// Checks every record of a file's text in the number type `T`. The error says what in the file is not understood or
/// is refused by the library.
pub fn check<T: Scalar + Into<f64>>(text: &str) -> Result<Report, String> {
    let file: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let mut report = Report::default();
    if file.get("losses").is_some() {
        methods::check::<T>(&file, &mut report)?;
        return Ok(report);
    }
    let records = file.as_array().ok_or(
        "not a list of records: the outermost value must be a JSON array, or an object with a list of \"losses\"",
    )?;
    for (index, record) in records.iter().enumerate() {
        let kind = json::text(record, "kind").map_err(|error| format!("record {index}: {error}"))?;
        let checked = match kind {
            "multiclass" => multiclass::check::<T>(record, &mut report),
            "binary" => binary::check::<T>(record, &mut report),
            "sets" => sets::check::<T>(record, &mut report),
            _ => Err(format!("unknown kind \"{kind}\"; known are multiclass, binary and sets")),
        };
        checked.map_err(|error| format!("record {index} ({kind}): {error}"))?;
    }
    Ok(report)
}

fn cast<T: Scalar>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&v| T::from_f64(v)).collect()
}

fn widen<T: Scalar>(values: &[T]) -> Vec<f64> {
    values.iter().map(|v| v.to_f64()).collect()
}
