//! The audit of a training record: no model is asked again.

use std::path::Path;

use cmrm::audit::{MarginOptions, rank_margins};
use cmrm_data::read::{ReadOptions, Source, read};
use cmrm_data::table::Values;
use cmrm_data::{Column, Features, LabelOptions, LabelledRows, Override};

use super::Audited;
use crate::failure::{Failure, Result};
use crate::run_dir::RunDir;
use crate::whole::tidy;

/// From what a single training run recorded of its rows.
pub fn from_run(path: &Path) -> Result<Audited> {
    let (run, info) = RunDir::open(path)?;
    let file = run.file("margins.parquet");
    let mut options = ReadOptions::default();
    for name in ["given_label", "rival_label"] {
        options.overrides.insert(name.into(), Override::Categorical);
    }
    let Features::Table(table) = read(&Source::file(&file), &options)?.features else {
        return Err(Failure::input(format!("{}: not a table; fit again", file.display())));
    };
    let column = |name: &str| {
        let missing = || Failure::input(format!("{}: no column '{name}'; fit again", file.display()));
        table.column(name).ok_or_else(missing)
    };
    let numbers = |name: &str| match &column(name)?.values {
        Values::Numeric(values) => Ok(values.clone()),
        _ => Err(Failure::input(format!("{}: column '{name}' is not numeric; fit again", file.display()))),
    };
    let known = LabelOptions { classes: Some(info.classes.clone()), ..LabelOptions::default() };
    let classes_of = |name: &str| -> Result<Vec<u32>> {
        let encoded = LabelledRows::encode(column(name)?, 0, &known).map_err(|error| error.in_file(file.display()))?;
        Ok(encoded.labels.indices)
    };
    let (labels, rivals) = (classes_of("given_label")?, classes_of("rival_label")?);
    let margins: Vec<f32> = numbers("margin")?.into_iter().map(|margin| margin as f32).collect();
    let audit = rank_margins(&margins, &rivals, &labels, info.classes.len(), &MarginOptions::default())
        .map_err(|error| Failure::input(format!("{}: {error}", file.display())))?;
    let mut more = Vec::new();
    for name in ["mean_margin", "weight"] {
        more.push((name, numbers(name)?.into_iter().map(|value| tidy(value as f32)).collect()));
    }
    let wrong = match table.column("known_wrong") {
        Some(_) => Some(numbers("known_wrong")?.into_iter().map(|value| value != 0.0).collect()),
        None => None,
    };
    let rows = numbers("row")?.into_iter().map(|row| row as u64).collect();
    let names = |files: &Column| (0..files.len()).map(|row| files.text(row).unwrap_or_default().into_owned()).collect();
    let [ids, files] = ["id", "file"].map(|name| table.column(name).map(names).unwrap_or_default());
    Ok(Audited { audit, rows, ids, files, labels, classes: info.classes, more, wrong, source: path.to_owned() })
}
