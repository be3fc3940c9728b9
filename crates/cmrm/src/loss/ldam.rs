//! LDAM: a loss that asks rare classes for larger margins.

use super::{Loss, Row, RowLoss};
use crate::error::{Error, Result, check_length, check_parameter};
use crate::scalar::Scalar;

/// LDAM: cross-entropy of `scale · (z − Δ_y e_y)` with `Δ_j = max_margin · n_j^{-1/4} / max_k n_k^{-1/4}`.
///
/// The logits are those of a cosine classifier. The kernel scales them; the class offset then only changes the label's
/// own exponential, so the loss follows from the plain softmax: with `t = exp(−scale·Δ_y)`,
/// `s̃[y] = s[y]·t / (1 − s[y] + s[y]·t)`. A class that no row shows has no count to take a root of; it gets the
/// largest margin, as if it had one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Ldam {
    scale: f64,
    offsets: Vec<f64>,
}

impl Ldam {
    /// Largest class margin of the paper.
    pub const DEFAULT_MAX_MARGIN: f64 = 0.5;
    /// Scale of the cosine logits in the paper.
    pub const DEFAULT_SCALE: f64 = 30.0;

    /// Largest `scale · max_margin`: `exp(−64)` and its inverse are still far inside the range of single precision.
    /// Cosines differ by at most 2, so a useful offset is far smaller.
    pub const MAX_OFFSET: f64 = 64.0;

    /// LDAM for observed class counts `n_j`.
    pub fn new(max_margin: f64, scale: f64, class_counts: &[f64]) -> Result<Self> {
        check_parameter(
            "max_margin",
            max_margin,
            max_margin >= 0.0 && max_margin.is_finite(),
            "a finite number, at least 0",
        )?;
        check_parameter("scale", scale, scale > 0.0 && scale.is_finite(), "a finite positive number")?;
        let offset = scale * max_margin;
        check_parameter("scale · max_margin", offset, offset <= Self::MAX_OFFSET, "at most 64")?;
        if class_counts.is_empty() {
            return Err(Error::Empty { what: "the list of class counts" });
        }
        for &count in class_counts {
            check_parameter("class count", count, count >= 0.0 && count.is_finite(), "a finite number, at least 0")?;
        }
        let roots: Vec<f64> = class_counts.iter().map(|&n| n.max(1.0).powf(-0.25)).collect();
        let largest = roots.iter().fold(0.0, |a: f64, &b| a.max(b));
        let offsets = roots.iter().map(|root| scale * max_margin * root / largest).collect();
        Ok(Ldam { scale, offsets })
    }

    /// `scale · Δ_j` of every class, for those who compute the loss on tensors.
    pub fn offsets(&self) -> &[f64] {
        &self.offsets
    }
}

impl<T: Scalar> Loss<T> for Ldam {
    // With u = scale·z, D = scale·Δ_y and t = exp(−D): ℓ = D − log s[y] + log(1 − s[y] + s[y]·t), and the gradient is
    // s̃ − e_y, where s̃ = s / (1 − s[y] + s[y]·t) off the label.
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        let offset = T::from_f64(self.offsets[row.label]);
        let shrink = (-offset).exp_of_nonpositive();
        let mass = row.p_others + row.p_label * shrink;
        // The mass is positive: where 1 − s[y] underflows, s[y] is one, and t does not underflow (MAX_OFFSET).
        // While the label leads, log(1 + (1−s)/(s·t)) has no cancellation.
        let value = if row.p_others < row.p_label * shrink {
            (row.p_others / (row.p_label * shrink)).ln_1p()
        } else {
            offset - row.log_p_label + mass.ln()
        };
        // s̃[y] − 1 = −(1 − s[y]) / mass.
        RowLoss { value, on_probs: T::ONE / mass, at_label: -row.p_others / mass, on_rival: T::ZERO }
    }

    fn scale(&self) -> T {
        T::from_f64(self.scale)
    }

    fn check_classes(&self, classes: usize) -> Result<()> {
        check_length("class counts of LDAM against classes", classes, self.offsets.len())
    }
}
