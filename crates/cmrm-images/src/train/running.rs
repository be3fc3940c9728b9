//! What is remembered of every training row from one epoch to the next.

use tch::{Device, Kind, Tensor, no_grad};

/// `v ← β v + (1−β) x`, for every row, each time it is met.
#[derive(Debug)]
pub struct RowAverages {
    /// β.
    pub beta: f64,
    /// Name in a checkpoint.
    pub name: String,
    /// One entry or one line a row; not a number where the first value is taken as it is.
    pub values: Tensor,
}

impl RowAverages {
    /// Running margins, of rows that have not been met. The name tells β: a trunk keeps margins for every β that its forks
    /// ask for.
    pub fn margins(beta: f64, rows: usize, device: Device) -> Self {
        let values = Tensor::full([rows as i64], f64::NAN, (Kind::Float, device));
        RowAverages { beta, name: format!("running_margin:{beta}"), values }
    }

    /// What the targets `t` of ELR lack to one. Targets start at zero.
    pub fn targets(beta: f64, rows: usize, classes: usize, device: Device) -> Self {
        let values = Tensor::ones([rows as i64, classes as i64], (Kind::Float, device));
        RowAverages { beta, name: "target_lacks".into(), values }
    }

    /// Takes in what a batch showed, and returns the averages of its rows. No row may be in it twice.
    pub fn update(&self, rows: &Tensor, shown: &Tensor) -> Tensor {
        no_grad(|| {
            let before = self.values.index_select(0, rows);
            let mixed = &before * self.beta + shown * (1.0 - self.beta);
            let now = shown.where_self(&before.isnan(), &mixed);
            drop(self.values.shallow_clone().index_copy_(0, rows, &now));
            now
        })
    }
}
