//! The table of what training saw of every row: `margins.parquet` in a run's folder.

use std::collections::HashMap;

use cmrm_data::read::{ReadOptions, Source, read};
use cmrm_data::table::Values;
use cmrm_data::{Features, LabelOptions, LabelledRows, Override};
use cmrm_review::Basis;
use cmrm_run::{MARGINS, Record};

use crate::failure::{Failure, Result};
use crate::run_dir::{RunDir, RunInfo};

/// What training recorded of every training row, from a finished run.
pub fn read_record(run: &RunDir, info: &RunInfo) -> Result<Record> {
    let file = run.file(MARGINS);
    let bad = |what: &str| Failure::input(format!("{}: {what}; fit again", file.display()));
    let mut options = ReadOptions::default();
    options.overrides.insert("rival_label".into(), Override::Categorical);
    let Features::Table(table) = read(&Source::file(&file), &options)?.features else { return Err(bad("not a table")) };
    let column = |name: &str| table.column(name).ok_or_else(|| bad(&format!("there is no column '{name}'")));
    let numbers = |name: &str| match &column(name)?.values {
        Values::Numeric(values) => Ok(values.iter().map(|&value| value as f32).collect::<Vec<f32>>()),
        _ => Err(bad(&format!("column '{name}' holds no numbers"))),
    };
    let known = LabelOptions { classes: Some(info.classes.clone()), ..LabelOptions::default() };
    let rivals = LabelledRows::encode(column("rival_label")?, 0, &known).map_err(|e| e.in_file(file.display()))?;
    Ok(Record { margin: numbers("margin")?, rival: rivals.labels.indices, weight: numbers("weight")? })
}

/// Label and id of every training row, by its place in the data: what decisions on a run's rows were made on.
pub fn read_basis(run: &RunDir) -> Result<HashMap<u64, Basis>> {
    let file = run.file(MARGINS);
    if !file.exists() {
        return Ok(HashMap::new());
    }
    let Features::Table(table) = read(&Source::file(&file), &ReadOptions::default())?.features else {
        return Err(Failure::input(format!("{}: not a table; fit again", file.display())));
    };
    let text = |name: &str, row| table.column(name).and_then(|column| column.text(row)).map(|text| text.into_owned());
    let basis = |row: usize| {
        // An image is known by its file.
        let id = text("id", row).or_else(|| text("file", row));
        Some((text("row", row)?.parse().ok()?, Basis { given_label: text("given_label", row), id }))
    };
    Ok((0..table.rows()).filter_map(basis).collect())
}
