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
        for (r, row) in logits.chunks(stride).take(labels.len()).enumerate() {
            for (column, &z) in columns.iter_mut().zip(row) {
                column[r] = z * scale;
            }
        }
        let mut at_label = [T::ZERO; ROWS];
        let mut strongest = [T::NEG_INFINITY; ROWS];
        // Zero times a number that is not finite is NaN, and stays so.
        let mut poison = [T::ZERO; ROWS];
        for (j, column) in columns.iter().enumerate() {
            let class = j as u32;
            for r in 0..ROWS {
                let u = column[r];
                poison[r] += u * T::ZERO;
                let is_label = label[r] == class;
                // Strictly larger, so the first of equals stays.
                let leads = !is_label & (u > strongest[r]);
                at_label[r] = if is_label { u } else { at_label[r] };
                self.rival[r] = if leads {
                    class
                } else if j == 0 {
                    0
                } else {
                    self.rival[r]
                };
                strongest[r] = if leads { u } else { strongest[r] };
            }
        }
        let mut top = [T::ZERO; ROWS];
        for r in 0..ROWS {
            top[r] = at_label[r].larger(strongest[r]);
        }
        let (mut others, mut label_exp, mut rival_exp) = ([T::ZERO; ROWS], [T::ZERO; ROWS], [T::ZERO; ROWS]);
        for (j, column) in columns.iter_mut().enumerate() {
            let class = j as u32;
            for r in 0..ROWS {
                let e = (column[r] - top[r]).exp_of_nonpositive();
                column[r] = e;
                let is_label = label[r] == class;
                others[r] += if is_label { T::ZERO } else { e };
                label_exp[r] = if is_label { e } else { label_exp[r] };
                rival_exp[r] = if self.rival[r] == class { e } else { rival_exp[r] };
            }
        }
        for r in 0..ROWS {
            let sum = others[r] + label_exp[r];
            let normaliser = T::ONE / sum;
            // The largest exponential is one. If it is the label's, `others` is all that is added to it, without
            // cancellation when it is tiny; if not, log s[y] is far from zero and the rounding of `sum − 1` does not show.
            let leads = at_label[r] >= strongest[r];
            let beside_top = if leads { others[r] } else { sum - T::ONE };
            self.log_p_label[r] = (at_label[r] - top[r]) - beside_top.ln_1p_of_nonnegative() + poison[r];
            self.normaliser[r] = normaliser;
            self.p_label[r] = label_exp[r] * normaliser;
            self.p_rival[r] = rival_exp[r] * normaliser;
            self.p_others[r] = others[r] * normaliser;
            self.logit_gap[r] = at_label[r] - strongest[r];
        }
        for (r, row) in out.chunks_mut(stride).take(labels.len()).enumerate() {
            for (o, column) in row.iter_mut().zip(columns.iter()) {
                *o = column[r];
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
