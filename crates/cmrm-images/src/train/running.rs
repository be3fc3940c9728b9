//! Running margins: what the filter on the base loss knows of every row, from the first epoch on.

use tch::{Device, Kind, Tensor, no_grad};

/// `M̄ ← β M̄ + (1−β) M` of every training row.
#[derive(Debug)]
pub struct RunningMargins {
    /// β.
    pub beta: f64,
    /// Name in a checkpoint. It tells β: a trunk keeps one set for every β that its forks ask for.
    pub name: String,
    /// M̄ of every row; not a number where the row has not been met.
    pub values: Tensor,
}

impl RunningMargins {
    /// Of rows that have not been met.
    pub fn new(beta: f64, rows: usize, device: Device) -> Self {
        let values = Tensor::full([rows as i64], f64::NAN, (Kind::Float, device));
        RunningMargins { beta, name: format!("running_margin:{beta}"), values }
    }

    /// Takes in the margins of a batch, and returns the running margins of its rows. No row may be in it twice.
    pub fn update(&self, rows: &Tensor, margins: &Tensor) -> Tensor {
        no_grad(|| {
            let before = self.values.index_select(0, rows);
            let mixed = &before * self.beta + margins * (1.0 - self.beta);
            let now = margins.where_self(&before.isnan(), &mixed);
            drop(self.values.shallow_clone().index_copy_(0, rows, &now));
            now
        })
    }
}
