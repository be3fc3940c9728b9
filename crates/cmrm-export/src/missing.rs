//! What becomes of missing cells, as the preprocessing itself says.

use cmrm_data::preprocess::Preprocess;
use cmrm_data::table::ColumnBuilder;
use cmrm_data::{Features, Result, Table};

use crate::numbers::internal;

/// The features of a row in which every cell is missing that may be: a column that refuses missing cells has some value that
/// means nothing.
pub fn features_of_missing(preprocess: &Preprocess) -> Result<Vec<f32>> {
    let mut columns = Vec::with_capacity(preprocess.columns().len());
    for plan in preprocess.columns() {
        let mut builder = ColumnBuilder::new(plan.kind).written(plan.style, None);
        if plan.fill.is_some() {
            builder.push_missing();
        } else {
            // One of these is of the column's kind.
            let read = ["0", "no", "1970-01-01", ""].into_iter().any(|text| builder.push_text(text));
            if !read {
                return Err(internal(format!("no cell for the column '{}'", plan.name)));
            }
        }
        columns.push(builder.finish(&*plan.name));
    }
    let transformed = preprocess.transform(&Features::Table(Table::new(columns)?))?;
    Ok(transformed.rows.values().to_vec())
}
