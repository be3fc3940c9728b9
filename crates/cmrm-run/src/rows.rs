//! What training saw of every row.

use std::path::Path;

use cmrm_data::{Column, Table};

use crate::error::Result;

/// Name of the file in a run's folder.
pub const MARGINS: &str = "margins.parquet";

/// What training saw of every row, one entry of each list a row. Margins are of probabilities, whatever the envelope
/// goes by.
#[derive(Debug, Clone, Copy)]
pub struct TrainingRows<'a> {
    /// Where each row stands in the data.
    pub rows: &'a [u64],
    /// The id of each row, where the data has a column of them; else empty.
    pub ids: &'a [String],
    /// The file of each row, where each has one; else empty.
    pub files: &'a [String],
    /// Names of the classes.
    pub classes: &'a [String],
    /// The observed label.
    pub labels: &'a [u32],
    /// The strongest other class in the last epoch.
    pub rival: &'a [u32],
    /// Margin in the last epoch.
    pub margin: &'a [f32],
    /// Mean margin over the epochs.
    pub mean_margin: &'a [f32],
    /// Weight in the last epoch.
    pub weight: &'a [f32],
    /// Mean weight over the epochs.
    pub mean_weight: &'a [f32],
    /// Whether the label is wrong, where that is known.
    pub wrong: Option<&'a [bool]>,
}

impl TrainingRows<'_> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    pub(crate) fn name(&self, class: u32) -> &str {
        self.classes.get(class as usize).map_or("?", String::as_str)
    }

    /// Positions of the doubted rows, most doubtful first: those where another class is more likely than the given one.
    pub fn doubted(&self) -> Vec<usize> {
        let mut doubted: Vec<usize> = (0..self.len()).filter(|&at| self.margin[at] < 0.0).collect();
        doubted.sort_by(|&a, &b| self.margin[a].total_cmp(&self.margin[b]).then(a.cmp(&b)));
        doubted
    }

    /// Writes the table that `cmrm audit` reads.
    pub fn write(&self, path: &Path) -> Result<()> {
        let numbers = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        let names = |labels: &[u32]| labels.iter().map(|&label| self.name(label)).collect::<Vec<&str>>();
        let mut columns = vec![Column::numeric("row", self.rows.iter().map(|&row| row as f64).collect())];
        for (name, cells) in [("id", self.ids), ("file", self.files)] {
            if !cells.is_empty() {
                columns.push(Column::categorical(name, cells));
            }
        }
        columns.extend([
            Column::categorical("given_label", &names(self.labels)),
            Column::categorical("rival_label", &names(self.rival)),
            Column::numeric("margin", numbers(self.margin)),
            Column::numeric("mean_margin", numbers(self.mean_margin)),
            Column::numeric("weight", numbers(self.weight)),
            Column::numeric("mean_weight", numbers(self.mean_weight)),
        ]);
        if let Some(wrong) = self.wrong {
            let wrong = wrong.iter().map(|&wrong| f64::from(u8::from(wrong))).collect();
            columns.push(Column::numeric("known_wrong", wrong));
        }
        Ok(cmrm_data::write::write_table(path, &Table::new(columns)?)?)
    }
}
