//! The table of what training saw of every row: `margins.parquet` in a run's folder.

use std::path::Path;

use cmrm_data::read::{ReadOptions, Source, read};
use cmrm_data::table::Values;
use cmrm_data::{Column, Features, LabelOptions, LabelledRows, Override, Table};
use cmrm_train::train::Trained;

use crate::failure::{Failure, Result};
use crate::reporting::cards::Record;
use crate::run_dir::{RunDir, RunInfo};
use crate::verbs::fit::Prepared;

/// Name of the file.
pub const FILE: &str = "margins.parquet";

/// Row of the file, observed label, rival, margins and weights of every training row, and, where it is known, whether
/// the label is wrong.
pub fn write_margins(path: &Path, prepared: &Prepared, arm: &Trained<f32>) -> Result<()> {
    let rows = &prepared.split.train;
    let data = &prepared.data;
    let numbers = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
    let names = |labels: &mut dyn Iterator<Item = u32>| {
        labels.map(|label| data.classes[label as usize].as_str()).collect::<Vec<&str>>()
    };
    let record = &arm.record;
    let mut columns = vec![
        Column::numeric("row", rows.iter().map(|&i| data.rows[i] as f64).collect()),
        Column::categorical("given_label", &names(&mut rows.iter().map(|&i| data.labels[i]))),
        Column::categorical("rival_label", &names(&mut record.rival.iter().copied())),
        Column::numeric("margin", numbers(&record.last_margin)),
        Column::numeric("mean_margin", numbers(&record.mean_margin)),
        Column::numeric("weight", numbers(&record.last_weight)),
        Column::numeric("mean_weight", numbers(&record.mean_weight)),
    ];
    if let Some(clean) = &prepared.clean {
        let wrong = rows.iter().map(|&i| f64::from(u8::from(clean[i] != data.labels[i]))).collect();
        columns.push(Column::numeric("known_wrong", wrong));
    }
    Ok(cmrm_data::write::write_table(path, &Table::new(columns)?)?)
}

/// What training recorded of every training row, from a finished run.
pub fn read_record(run: &RunDir, info: &RunInfo) -> Result<Record> {
    let file = run.file(FILE);
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
