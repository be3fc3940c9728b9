//! Which rows there are to learn from, how often and in which order.

use std::borrow::Cow;

use cmrm::error::check_row_weights;
use cmrm_data::table::Values;
use cmrm_data::{Column, Features, Input};

use crate::config::FitConfig;
use crate::error::Result;
use crate::kinds::RowOrder;
use crate::loaded::Loaded;

/// Whole weights become copies up to this many times the number of rows; beyond, they are weights like any others.
const MOST_COPIES: f64 = 8.0;

/// The rows to learn from.
pub(crate) struct Arranged<'a> {
    pub input: Cow<'a, Input>,
    /// Where each of them stands in the data; nothing if they are all rows as they stand there.
    pub places: Option<Vec<usize>>,
    /// What each weighs, where that is no matter of copies.
    pub weights: Option<Vec<f32>>,
}

/// Takes weights and order into account.
pub(crate) fn arrange<'a>(config: &FitConfig, loaded: &'a Loaded) -> Result<Arranged<'a>> {
    let rows = loaded.train.features.rows();
    let mut places: Vec<usize> = (0..rows).collect();
    let mut by_weight = false;
    match &loaded.weights {
        None if config.row_order == RowOrder::Given => {
            return Ok(Arranged { input: Cow::Borrowed(&loaded.train), places: None, weights: None });
        }
        None => {}
        Some(weights) => {
            let sum = check_row_weights(Some(weights), rows)?;
            by_weight = weights.iter().any(|w| w.fract() != 0.0) || sum > MOST_COPIES * rows as f64;
            let copies = |row: usize| if by_weight { usize::from(weights[row] > 0.0) } else { weights[row] as usize };
            places = (0..rows).flat_map(|row| std::iter::repeat_n(row, copies(row))).collect();
        }
    }
    if config.row_order == RowOrder::Content {
        let keys = contents(&loaded.train);
        // Stable: rows that hold the same are alike, and stay in their order.
        places.sort_by_key(|&row| keys[row]);
    }
    let weights = loaded.weights.as_ref().filter(|_| by_weight);
    Ok(Arranged {
        input: Cow::Owned(loaded.train.gather(&places)?),
        weights: weights.map(|weights| places.iter().map(|&row| weights[row]).collect()),
        places: Some(places),
    })
}

/// A hash of every row's cells and label, the same on every machine.
fn contents(input: &Input) -> Vec<u64> {
    let mut keys = vec![0x6372_6d6d_u64; input.features.rows()];
    match &input.features {
        Features::Table(table) => table.columns().iter().for_each(|column| add_column(&mut keys, column)),
        Features::Array(array) => {
            for (key, row) in keys.iter_mut().zip(array.values().chunks_exact(array.width())) {
                row.iter().for_each(|&value| mix(key, number(f64::from(value))));
            }
        }
        Features::Sparse(array) => {
            for (key, row) in keys.iter_mut().zip(array.rows.view().iter_rows()) {
                for (column, value) in row.iter() {
                    mix(key, column as u64);
                    mix(key, number(f64::from(value)));
                }
            }
        }
    }
    if let Some(labels) = &input.labels {
        add_column(&mut keys, labels);
    }
    keys
}

fn add_column(keys: &mut [u64], column: &Column) {
    let add = |keys: &mut [u64], of: &dyn Fn(usize) -> u64| {
        for (row, key) in keys.iter_mut().enumerate() {
            mix(key, if column.missing.at(row) { u64::MAX } else { of(row) });
        }
    };
    match &column.values {
        Values::Numeric(values) => add(keys, &|row| number(values[row])),
        Values::Boolean(values) => add(keys, &|row| u64::from(values[row])),
        Values::Date(values) => add(keys, &|row| values[row] as u64),
        Values::Categorical { codes, levels } => {
            let hashed: Vec<u64> = levels.iter().map(|level| text(level)).collect();
            add(keys, &|row| hashed[codes[row] as usize]);
        }
        Values::Text(values) => add(keys, &|row| text(&values[row])),
    }
}

/// Both zeros are one number.
fn number(value: f64) -> u64 {
    (value + 0.0).to_bits()
}

fn text(text: &str) -> u64 {
    let mut key = text.len() as u64;
    text.bytes().for_each(|byte| mix(&mut key, u64::from(byte)));
    key
}

/// One step of a multiplicative hash; the shift brings high bits down, where the next product needs them.
fn mix(key: &mut u64, value: u64) {
    *key = (*key ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    *key ^= *key >> 32;
}
