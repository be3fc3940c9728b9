//! The forward correction: cross-entropy of what is observed, by what is true.

use super::{Loss, Row, RowLoss, WholeRow};
use crate::error::{Error, Result, check_labels, check_length};
use crate::matrix::Matrix;
use crate::noise_model::Transition;
use crate::scalar::Scalar;

/// Below this probability of the label, what underflows may count: logarithms take over.
const LEAST_LIKELIHOOD: f64 = 1e-30;

/// Forward correction (Patrini et al., 2017), `ℓ = −log (Tᵀs)[y]`: the model speaks of true classes, and `T` says how they are observed.
///
/// `T[k][y]` is the probability that a row of class k is observed as y. With `r[k] = T[k][y]·s[k] / (Tᵀs)[y]`, how likely class k is the
/// true one of a row with that label, the gradient is `s − r`: a label that the noise explains pulls little. The identity gives
/// cross-entropy.
#[derive(Debug, Clone, PartialEq)]
pub struct Forward {
    classes: usize,
    /// `T` column by column: for every label the probabilities of the classes to be observed as it.
    columns: Vec<f64>,
}

/// `(Tᵀs)[y]` of a row: as it is or, where it is tiny, by logarithms.
enum Likelihood {
    Plain(f64),
    /// `log (Tᵀs)[y]`, and the largest of `u[k] − u[y] + log T[k][y]` with the sum of `exp` of the others' distances from it.
    Tiny {
        log: f64,
        top: f64,
        sum: f64,
    },
}

impl Forward {
    /// The correction for this noise.
    pub fn new(transition: &Transition) -> Self {
        let classes = transition.classes();
        let entry = |at: usize| transition.probability(at % classes, at / classes);
        Forward { classes, columns: (0..classes * classes).map(entry).collect() }
    }

    fn column(&self, label: usize) -> &[f64] {
        &self.columns[label * self.classes..][..self.classes]
    }

    fn likelihood<T: Scalar>(column: &[f64], row: &Row<T>, whole: WholeRow<'_, T>) -> Likelihood {
        let plain: f64 = column.iter().zip(whole.probs).map(|(c, s)| c * s.to_f64()).sum();
        if plain >= LEAST_LIKELIHOOD {
            return Likelihood::Plain(plain);
        }
        let distances = || column.iter().enumerate().map(|(k, &c)| log_ratio(row.label, whole.scaled, k) + c.ln());
        // Some class is observed as the label, or the matrix would have no inverse; its distance is a number.
        let top = distances().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = distances().map(|distance| (distance - top).exp()).sum();
        Likelihood::Tiny { log: row.log_p_label.to_f64() + top + sum.ln(), top, sum }
    }

    /// Adds the gradient of `Σ_i shares[i]·ℓ_i` by the entries of `T` to `grad`, row after row of `T`. `shares` are what rows count
    /// ([`Scratch::shares`](crate::envelope::Scratch::shares)).
    ///
    /// `∂ℓ/∂T[k][y] = −s[k] / (Tᵀs)[y]`, which is refused where it is beyond the numbers.
    pub fn add_gradient_by_transition<T: Scalar>(
        &self,
        logits: Matrix<'_, T>,
        labels: &[u32],
        shares: &[T],
        grad: &mut [f64],
    ) -> Result<()> {
        check_length("classes of the transition matrix against classes", logits.columns(), self.classes)?;
        check_length("labels against rows of logits", logits.rows(), labels.len())?;
        check_length("shares against rows of logits", logits.rows(), shares.len())?;
        check_length("gradient against entries of the transition matrix", self.columns.len(), grad.len())?;
        check_labels(labels, self.classes)?;
        let mut probs = vec![0.0; self.classes];
        for (i, (row, &label)) in logits.iter_rows().zip(labels).enumerate() {
            let label = label as usize;
            // Scaled so that the likeliest true class of this label weighs one; the scale cancels.
            let top = row.iter().zip(self.column(label)).map(|(u, c)| u.to_f64() + c.ln()).fold(f64::MIN, f64::max);
            probs.iter_mut().zip(row).for_each(|(p, u)| *p = (u.to_f64() - top).exp());
            // A class that is never observed as the label may be beyond the numbers on this scale.
            let observed = self.column(label).iter().zip(&probs).filter(|(c, _)| **c > 0.0);
            let likelihood: f64 = observed.map(|(c, p)| c * p).sum();
            for (k, p) in probs.iter().enumerate() {
                let slope = -shares[i].to_f64() * p / likelihood;
                if !slope.is_finite() {
                    return Err(Error::non_finite("gradient by the transition matrix", i, k, slope));
                }
                grad[k * self.classes + label] += slope;
            }
        }
        Ok(())
    }
}

/// `u[k] − u[y]`, the logarithm of `s[k] / s[y]`.
fn log_ratio<T: Scalar>(label: usize, scaled: &[T], k: usize) -> f64 {
    scaled[k].to_f64() - scaled[label].to_f64()
}

impl<T: Scalar> Loss<T> for Forward {
    // All of it is in the dense part: where the label is unlikely and its noise is not, the two would cancel.
    #[inline(always)]
    fn row(&self, _row: Row<T>) -> RowLoss<T> {
        RowLoss { value: T::ZERO, on_probs: T::ZERO, at_label: T::ZERO, on_rival: T::ZERO }
    }

    fn check_classes(&self, classes: usize) -> Result<()> {
        check_length("classes of the transition matrix against classes", classes, self.classes)
    }

    fn is_dense(&self) -> bool {
        true
    }

    fn dense_value(&self, row: &Row<T>, whole: WholeRow<'_, T>) -> T {
        let column = self.column(row.label);
        // One minus the likelihood, without cancellation where it is small.
        let missed: f64 = column.iter().zip(whole.probs).map(|(c, s)| (1.0 - c) * s.to_f64()).sum();
        if missed < 0.5 {
            return T::from_f64(-(-missed).ln_1p());
        }
        T::from_f64(match Self::likelihood(column, row, whole) {
            Likelihood::Plain(likelihood) => -likelihood.ln(),
            Likelihood::Tiny { log, .. } => -log,
        })
    }

    // s − r sums to zero, so the label's entry is what the others leave: there the difference would cancel for a learned row.
    fn add_dense(&self, row: &Row<T>, whole: WholeRow<'_, T>, factor: T, grad: &mut [T]) {
        let column = self.column(row.label);
        let likelihood = Self::likelihood(column, row, whole);
        let mut rest = 0.0;
        for (k, (g, s)) in grad.iter_mut().zip(whole.probs).enumerate() {
            if k == row.label {
                continue;
            }
            let slope = match likelihood {
                Likelihood::Plain(likelihood) => s.to_f64() * (1.0 - column[k] / likelihood),
                Likelihood::Tiny { top, sum, .. } => {
                    s.to_f64() - (log_ratio(row.label, whole.scaled, k) + column[k].ln() - top).exp() / sum
                }
            };
            rest += slope;
            *g += factor * T::from_f64(slope);
        }
        grad[row.label] -= factor * T::from_f64(rest);
    }
}
