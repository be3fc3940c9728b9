//! The table of what training saw of every row: `margins.parquet` in a run's folder.

use std::path::Path;

use cmrm_data::{Column, Table};
use cmrm_train::train::Trained;

use crate::failure::Result;
use crate::verbs::fit::Prepared;

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
