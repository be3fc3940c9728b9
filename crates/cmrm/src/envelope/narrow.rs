//! Softmax of short rows, sixteen rows at a time.
//!
//! A row of two or ten classes does not fill a vector, and finding its maximum, its sum and its logarithm one row at a
//! time costs more than its exponentials. Here every lane of a vector is another row, so nothing is added up across
//! lanes and the logarithm is shared as well. What a row comes to does not depend on its neighbours.

use crate::loss::Row;
use crate::scalar::Scalar;

/// Rows handled side by side: one 512-bit register of `f32`, two of 256 bits.
pub(super) const ROWS: usize = 16;

/// Most classes of a short row; longer ones fill vectors of their own.
pub(super) const MOST_CLASSES: usize = 32;

/// One number for each of the rows.
type Lanes<T> = [T; ROWS];

/// Up to [`ROWS`] rows, transposed: lane `r` of `classes[j]` belongs to row `r`.
pub(super) struct Short<T> {
    classes: [Lanes<T>; MOST_CLASSES],
    rival: Lanes<u32>,
    p_label: Lanes<T>,
    p_rival: Lanes<T>,
    p_others: Lanes<T>,
    log_p_label: Lanes<T>,
    logit_gap: Lanes<T>,
    normaliser: Lanes<T>,
}

impl<T: Scalar> Short<T> {
    #[inline(always)]
    pub fn new() -> Self {
        let zero = [T::ZERO; ROWS];
        Short {
            classes: [zero; MOST_CLASSES],
            rival: [0; ROWS],
            p_label: zero,
            p_rival: zero,
            p_others: zero,
            log_p_label: zero,
            logit_gap: zero,
            normaliser: zero,
        }
    }

    /// Writes the exponentials of `labels.len()` rows to `out`, relative to each row's largest logit and unnormalised.
    /// Where a logit is not finite, the row's `log_p_label` is not either. Rows start `stride` apart.
    #[inline(always)]
    pub fn soften(&mut self, logits: &[T], classes: usize, stride: usize, scale: T, labels: &[u32], out: &mut [T]) {
        let mut label = [0u32; ROWS];
        label[..labels.len()].copy_from_slice(labels);
        let columns = &mut self.classes[..classes];
        for j in 0..classes {
            let column = &mut columns[j];
            for r in 0..labels.len() {
                column[r] = logits[r * stride + j] * scale;
            }
        }
        let (mut at_label, mut strongest, mut rival) = ([T::ZERO; ROWS], [T::NEG_INFINITY; ROWS], [0; ROWS]);
        // Zero times a number that is not finite is NaN, and stays so.
        let mut poison = [T::ZERO; ROWS];
        for (j, column) in columns.iter().enumerate() {
            let class = j as u32;
            for r in 0..ROWS {
                let u = column[r];
                let is_label = label[r] == class;
                // Strictly larger, so the first of equals stays.
                let leads = !is_label & (u > strongest[r]);
                let (label_then, rival_then, strongest_then) = (at_label[r], rival[r], strongest[r]);
                poison[r] += u * T::ZERO;
                at_label[r] = if is_label { u } else { label_then };
                rival[r] = if leads { class } else { rival_then };
                strongest[r] = if leads { u } else { strongest_then };
            }
        }
        let mut top = [T::ZERO; ROWS];
        for r in 0..ROWS {
            top[r] = at_label[r].larger(strongest[r]);
        }
        let mut others = [T::ZERO; ROWS];
        for (j, column) in columns.iter_mut().enumerate() {
            let class = j as u32;
            for r in 0..ROWS {
                let e = (column[r] - top[r]).exp_of_nonpositive();
                column[r] = e;
                others[r] += if label[r] == class { T::ZERO } else { e };
            }
        }
        for r in 0..ROWS {
            let label_exp = (at_label[r] - top[r]).exp_of_nonpositive();
            let rival_exp = (strongest[r] - top[r]).exp_of_nonpositive();
            let sum = others[r] + label_exp;
            let normaliser = T::ONE / sum;
            // The largest exponential is one. If it is the label's, `others` is all that is added to it, without
            // cancellation when it is tiny; if not, log s[y] is far from zero and the rounding of `sum − 1` does not show.
            let beside_top = if at_label[r] >= strongest[r] { others[r] } else { sum - T::ONE };
            self.log_p_label[r] = (at_label[r] - top[r]) - beside_top.ln_1p_of_nonnegative() + poison[r];
            self.normaliser[r] = normaliser;
            self.p_label[r] = label_exp * normaliser;
            self.p_rival[r] = rival_exp * normaliser;
            self.p_others[r] = others[r] * normaliser;
            self.logit_gap[r] = at_label[r] - strongest[r];
        }
        self.rival = rival;
        for j in 0..classes {
            let column = &columns[j];
            for r in 0..labels.len() {
                out[r * stride + j] = column[r];
            }
        }
    }

    /// Summary and normaliser of row `r` of the last call, whose label is `label`.
    #[inline(always)]
    pub fn row(&self, r: usize, label: usize) -> (Row<T>, T) {
        let row = Row {
            label,
            rival: self.rival[r] as usize,
            p_label: self.p_label[r],
            p_rival: self.p_rival[r],
            p_others: self.p_others[r],
            log_p_label: self.log_p_label[r],
            logit_gap: self.logit_gap[r],
        };
        (row, self.normaliser[r])
    }
}
