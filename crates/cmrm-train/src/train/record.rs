//! Margins and weights of every training row, collected over the epochs.

use serde::{Deserialize, Serialize};

use super::evaluate::RowView;

/// What training saw of every row, as a by-product: one number of each kind a row, whatever the number of epochs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RowRecord {
    /// Mean over the epochs of the probability margin `s[y] − max_{k≠y} s[k]`.
    pub mean_margin: Vec<f32>,
    /// Margin in the last epoch.
    pub last_margin: Vec<f32>,
    /// Mean over the epochs of the weight in the envelope (1 while it is off).
    pub mean_weight: Vec<f32>,
    /// Weight in the last epoch.
    pub last_weight: Vec<f32>,
    /// The strongest class other than the label in the last epoch.
    pub rival: Vec<u32>,
    /// Epochs seen.
    pub epochs: usize,
    /// Margin of every epoch, epoch after epoch, if it was asked for.
    pub history: Vec<f32>,
    keep_history: bool,
}

impl RowRecord {
    pub(crate) fn new(rows: usize, keep_history: bool) -> Self {
        RowRecord {
            mean_margin: vec![0.0; rows],
            last_margin: vec![0.0; rows],
            mean_weight: vec![0.0; rows],
            last_weight: vec![1.0; rows],
            rival: vec![0; rows],
            epochs: 0,
            history: Vec::new(),
            keep_history,
        }
    }

    /// Ends an epoch. `seen` are the rows in the order they were met, `places` where in it each row stands (`None`: in
    /// the order of the rows). An arm that has nothing left to learn sees none, and its record stays as it is.
    pub(super) fn close_epoch(&mut self, seen: &[RowView], places: Option<&[u32]>) {
        self.epochs += 1;
        if seen.len() == self.last_margin.len() {
            match places {
                None => self.note(seen.iter().copied()),
                Some(places) => self.note(places.iter().map(|&place| seen[place as usize])),
            }
        }
        if self.keep_history {
            self.history.extend_from_slice(&self.last_margin);
        }
    }

    fn note(&mut self, views: impl Iterator<Item = RowView>) {
        let share = 1.0 / self.epochs as f32;
        for (row, view) in views.enumerate() {
            self.mean_margin[row] += (view.margin - self.mean_margin[row]) * share;
            self.mean_weight[row] += (view.weight - self.mean_weight[row]) * share;
            self.last_margin[row] = view.margin;
            self.last_weight[row] = view.weight;
            self.rival[row] = view.rival;
        }
    }
}
