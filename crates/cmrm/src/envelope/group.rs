//! Softmax of sixteen rows at a time, with what the losses and margins need of each row.
//!
//! What is one number a row (the normaliser, the logarithm, the probabilities of label and rival) is computed for all
//! rows of a group together, a row a lane. Finding the maximum and the exponentials is done by [`super::narrow`] for
//! rows of few classes and by [`super::wide`] for long ones. What a row comes to does not depend on its neighbours.

use super::{narrow, wide};
use crate::loss::Row;
use crate::scalar::Scalar;

/// Rows handled together: one 512-bit register of `f32`, two of 256 bits.
pub(super) const ROWS: usize = 16;

/// One number for each of the rows.
pub(super) type Lanes<T> = [T; ROWS];

/// The logits of a group: the first row begins the slice, rows start `stride` apart.
#[derive(Clone, Copy)]
pub(super) struct Logits<'a, T> {
    pub values: &'a [T],
    pub classes: usize,
    pub stride: usize,
    pub scale: T,
}

/// What the search for the maximum and the exponentials leave of each row.
pub(super) struct Peaks<T> {
    /// Logit of the label, before scaling.
    pub at_label: Lanes<T>,
    /// Largest logit of another class, and that class (the first of equals).
    pub strongest: Lanes<T>,
    pub rival: Lanes<u32>,
    /// Sum of the exponentials of the other classes, relative to the largest logit of all; NaN where a logit of the row
    /// is not finite.
    pub others: Lanes<T>,
}

impl<T: Scalar> Peaks<T> {
    /// The row's largest logit.
    #[inline(always)]
    pub fn top(&self, r: usize) -> T {
        self.at_label[r].larger(self.strongest[r])
    }
}

/// Up to [`ROWS`] rows.
pub(super) struct Group<T> {
    peaks: Peaks<T>,
    columns: narrow::Columns<T>,
    label_exp: Lanes<T>,
    p_label: Lanes<T>,
    p_rival: Lanes<T>,
    p_others: Lanes<T>,
    log_p_label: Lanes<T>,
    logit_gap: Lanes<T>,
    normaliser: Lanes<T>,
}

impl<T: Scalar> Group<T> {
    #[inline(always)]
    pub fn new() -> Self {
        let zero = [T::ZERO; ROWS];
        Group {
            peaks: Peaks { at_label: zero, strongest: zero, rival: [0; ROWS], others: zero },
            columns: narrow::Columns::new(),
            label_exp: zero,
            p_label: zero,
            p_rival: zero,
            p_others: zero,
            log_p_label: zero,
            logit_gap: zero,
            normaliser: zero,
        }
    }

    /// Writes the exponentials of `labels.len()` rows to `out`, relative to each row's largest logit and unnormalised,
    /// in the layout of the logits. Where a logit is not finite, the row's `log_p_label` is not either.
    #[inline(always)]
    pub fn soften<S: pulp::Simd>(&mut self, simd: S, logits: Logits<'_, T>, labels: &[u32], out: &mut [T]) {
        if logits.classes <= narrow::MOST_CLASSES {
            self.columns.soften(logits, labels, out, &mut self.peaks);
        } else {
            wide::soften(simd, logits, labels, out, &mut self.peaks);
        }
        self.summarise(logits.scale);
        for (r, &label) in labels.iter().enumerate() {
            out[r * logits.stride + label as usize] = self.label_exp[r];
        }
    }

    #[inline(always)]
    fn summarise(&mut self, scale: T) {
        for r in 0..ROWS {
            let Peaks { at_label, strongest, others, .. } = &self.peaks;
            let (at_label, strongest, others) = (at_label[r], strongest[r], others[r]);
            let top = at_label.larger(strongest);
            let label_exp = (at_label - top).exp_of_scaled(scale);
            let rival_exp = (strongest - top).exp_of_scaled(scale);
            let sum = others + label_exp;
            let normaliser = T::ONE / sum;
            // The largest exponential is one. If it is the label's, `others` is all that is added to it, without
            // cancellation when it is tiny; if not, log s[y] is far from zero and the rounding of `sum − 1` does not show.
            let beside_top = if at_label >= strongest { others } else { sum - T::ONE };
            self.log_p_label[r] = (at_label - top) * scale - beside_top.ln_1p_of_nonnegative();
            self.label_exp[r] = label_exp;
            self.normaliser[r] = normaliser;
            self.p_label[r] = label_exp * normaliser;
            self.p_rival[r] = rival_exp * normaliser;
            self.p_others[r] = others * normaliser;
            self.logit_gap[r] = (at_label - strongest) * scale;
        }
    }

    /// Summary and normaliser of row `r` of the last call, whose label is `label`.
    #[inline(always)]
    pub fn row(&self, r: usize, label: usize) -> (Row<T>, T) {
        let row = Row {
            label,
            rival: self.peaks.rival[r] as usize,
            p_label: self.p_label[r],
            p_rival: self.p_rival[r],
            p_others: self.p_others[r],
            log_p_label: self.log_p_label[r],
            logit_gap: self.logit_gap[r],
        };
        (row, self.normaliser[r])
    }
}
