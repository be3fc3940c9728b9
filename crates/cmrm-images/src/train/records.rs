//! What training saw of every row, kept on the device until someone asks.

use tch::{Device, Kind, Tensor};

/// Margins and weights of every training row.
#[derive(Debug)]
pub struct Records {
    /// Margin at the row's last showing.
    pub last_margin: Tensor,
    /// Sum of the margins at all showings.
    pub margin_sum: Tensor,
    /// Weight at the last showing.
    pub last_weight: Tensor,
    /// Sum of the weights at all showings.
    pub weight_sum: Tensor,
    /// The strongest other class at the last showing.
    pub rival: Tensor,
    /// Number of showings.
    pub shown: Tensor,
}

impl Records {
    /// Of rows that were never shown.
    pub fn new(rows: usize, device: Device) -> Self {
        let zeros = |kind| Tensor::zeros([rows as i64], (kind, device));
        Records {
            last_margin: zeros(Kind::Float),
            margin_sum: zeros(Kind::Float),
            last_weight: zeros(Kind::Float),
            weight_sum: zeros(Kind::Float),
            rival: zeros(Kind::Int64),
            shown: zeros(Kind::Float),
        }
    }

    /// Takes in what the batches of a segment left, in the order they were shown.
    pub fn add(&self, rows: &Tensor, margins: &Tensor, weights: &Tensor, rivals: &Tensor) {
        let put = |place: &Tensor, values: &Tensor| drop(place.shallow_clone().index_copy_(0, rows, values));
        let add = |place: &Tensor, values: &Tensor| drop(place.shallow_clone().index_add_(0, rows, values));
        put(&self.last_margin, margins);
        add(&self.margin_sum, margins);
        put(&self.last_weight, weights);
        add(&self.weight_sum, weights);
        put(&self.rival, rivals);
        add(&self.shown, &weights.ones_like());
    }

    /// Names and tensors, for a checkpoint.
    pub fn named(&self) -> [(&'static str, &Tensor); 6] {
        [
            ("last_margin", &self.last_margin),
            ("margin_sum", &self.margin_sum),
            ("last_weight", &self.last_weight),
            ("weight_sum", &self.weight_sum),
            ("rival", &self.rival),
            ("shown", &self.shown),
        ]
    }
}
