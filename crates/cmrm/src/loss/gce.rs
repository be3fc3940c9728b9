//! Generalised cross-entropy, between cross-entropy and the mean absolute error.

use super::{Loss, Row, RowLoss};
use crate::error::{Result, check_parameter};
use crate::scalar::Scalar;

/// Generalised cross-entropy, `ℓ = (1 − s[y]^q) / q`; `q → 0` is cross-entropy, `q = 1` the mean absolute error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gce {
    q: f64,
}

impl Gce {
    /// q of the paper, unless a table says otherwise.
    pub const DEFAULT_Q: f64 = 0.7;

    /// GCE with `q` in `(0, 1]`.
    pub fn new(q: f64) -> Result<Self> {
        check_parameter("q", q, q > 0.0 && q <= 1.0, "a number in (0, 1]")?;
        Ok(Gce { q })
    }
}

impl<T: Scalar> Loss<T> for Gce {
    // dℓ / d log s = −s^q. The power comes from log s, which keeps its digits when s underflows; the difference to one
    // comes whole, which keeps its digits when s is near one or q is small.
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        let q = T::from_f64(self.q);
        let exponent = q * row.log_p_label;
        let power = exponent.exp_of_nonpositive();
        RowLoss::of_log_probability(&row, -exponent.exp_m1() / q, -power)
    }
}
