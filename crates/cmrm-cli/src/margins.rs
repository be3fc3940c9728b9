//! The table of what training saw of every row: `margins.parquet` in a run's folder.

use cmrm_data::read::{ReadOptions, Source, read};
use cmrm_data::table::Values;
use cmrm_data::{Features, LabelOptions, LabelledRows, Override};
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
