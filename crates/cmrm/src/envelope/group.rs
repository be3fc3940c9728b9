//! Softmax of sixteen rows at a time, with what the losses and margins need of each row.
//!
//! What is one number a row (the normaliser, the logarithm, the probabilities of label and rival, the loss) is computed
//! for all rows of a group together, a row a lane. Finding the maximum and the exponentials is done by [`super::narrow`]
//! for rows of few classes and by [`super::wide`] for long ones. What a row comes to does not depend on its neighbours.

use super::config::MarginKind;
use super::narrow;
use super::wide::Along;
use crate::loss::{Loss, Row, RowLoss};
use crate::scalar::Scalar;

/// Rows handled together: one 512-bit register of `f32`, two of 256 bits.
pub(super) const ROWS: usize = 16;

/// One number for each of the rows.
pub(super) type Lanes<T> = [T; ROWS];

/// The logits of a group: the first row begins the slice, rows start `stride` apart.
#[derive(Clone, Copy)]
pub struct Logits<'a, T> {
    pub(super) values: &'a [T],
    pub(super) classes: usize,
    pub(super) stride: usize,
    pub(super) scale: T,
}

/// What the search for the maximum and the exponentials leave of each row.
pub struct Peaks<T> {
    /// Logit of the label, before scaling.
    pub(super) at_label: Lanes<T>,
    /// Largest logit of another class, and that class (the first of equals).
    pub(super) strongest: Lanes<T>,
    pub(super) rival: Lanes<u32>,
    /// Sum of the exponentials of the other classes, relative to the largest logit of all; NaN where a logit of the row
    /// is not finite.
    pub(super) others: Lanes<T>,
}

impl<T: Scalar> Peaks<T> {
    /// The row's largest logit.
    #[inline(always)]
    pub(super) fn top(&self, r: usize) -> T {
        self.at_label[r].larger(self.strongest[r])
    }
}

/// Buffers of [`Group::soften`].
pub(super) struct Softener<T> {
    peaks: Peaks<T>,
    by_length: ByLength<T>,
}

enum ByLength<T> {
    Narrow(narrow::Columns<T>),
    Wide(Along<T>),
}

impl<T: Scalar> Softener<T> {
    #[inline(always)]
    pub fn new(classes: usize) -> Self {
        let zero = [T::ZERO; ROWS];
        Softener {
            peaks: Peaks { at_label: zero, strongest: zero, rival: [0; ROWS], others: zero },
            by_length: if classes <= narrow::MOST_CLASSES {
                ByLength::Narrow(narrow::Columns::new())
            } else {
                ByLength::Wide(Along::new())
            },
        }
    }
}

/// What the first half of the kernel remembers of up to [`ROWS`] rows for the second: [`Row`] and [`RowLoss`] of each,
/// but for the loss itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group<T> {
    label: Lanes<u32>,
    rival: Lanes<u32>,
    p_label: Lanes<T>,
    p_rival: Lanes<T>,
    p_others: Lanes<T>,
    log_p_label: Lanes<T>,
    logit_gap: Lanes<T>,
    /// One over the sum of exponentials, which stand unnormalised in the gradient's place.
    normaliser: Lanes<T>,
    on_probs: Lanes<T>,
    at_label: Lanes<T>,
    on_rival: Lanes<T>,
}

/// The gradient of the total by the logits of a group's rows: `on_exponentials` times what the first half left, but
/// `at_label` at the label, and `on_rival` more at the rival.
pub(super) struct Totals<T> {
    pub on_exponentials: Lanes<T>,
    pub at_label: Lanes<T>,
    pub on_rival: Lanes<T>,
}

impl<T: Scalar> Default for Group<T> {
    fn default() -> Self {
        let zero = [T::ZERO; ROWS];
        Group {
            label: [0; ROWS],
            rival: [0; ROWS],
            p_label: zero,
            p_rival: zero,
            p_others: zero,
            log_p_label: zero,
            logit_gap: zero,
            normaliser: zero,
            on_probs: zero,
            at_label: zero,
            on_rival: zero,
        }
    }
}

impl<T: Scalar> Group<T> {
    /// Writes the exponentials of `labels.len()` rows to `out`, relative to each row's largest logit and unnormalised,
    /// in the layout of the logits; what stands at the label is of no use. Where a logit is not finite, the row's
    /// `log_p_label` is not either.
    #[inline(always)]
    pub fn soften<S: pulp::Simd>(
        &mut self,
        simd: S,
        logits: Logits<'_, T>,
        labels: &[u32],
        out: &mut [T],
        softener: &mut Softener<T>,
    ) {
        let Softener { peaks, by_length } = softener;
        match by_length {
            ByLength::Narrow(columns) => columns.soften(logits, labels, out, peaks),
            ByLength::Wide(along) => T::soften(simd, logits, labels, out, along, peaks),
        }
        self.label[..labels.len()].copy_from_slice(labels);
        self.rival = peaks.rival;
        self.summarise(peaks, logits.scale);
    }

    #[inline(always)]
    fn summarise(&mut self, peaks: &Peaks<T>, scale: T) {
        for r in 0..ROWS {
            let (at_label, strongest, others) = (peaks.at_label[r], peaks.strongest[r], peaks.others[r]);
            let top = at_label.larger(strongest);
            let label_exp = (at_label - top).exp_of_scaled(scale);
            let rival_exp = (strongest - top).exp_of_scaled(scale);
            let sum = others + label_exp;
            let normaliser = T::ONE / sum;
            // The largest exponential is one. If it is the label's, `others` is all that is added to it, without
            // cancellation when it is tiny; if not, log s[y] is far from zero and the rounding of `sum − 1` does not show.
            let beside_top = if at_label >= strongest { others } else { sum - T::ONE };
            self.log_p_label[r] = (at_label - top) * scale - beside_top.ln_1p_of_nonnegative();
            self.normaliser[r] = normaliser;
            self.p_label[r] = label_exp * normaliser;
            self.p_rival[r] = rival_exp * normaliser;
            self.p_others[r] = others * normaliser;
            self.logit_gap[r] = (at_label - strongest) * scale;
        }
    }

    /// Row `r` as the losses see it.
    #[inline(always)]
    pub fn row(&self, r: usize) -> Row<T> {
        Row {
            label: self.label[r] as usize,
            rival: self.rival[r] as usize,
            p_label: self.p_label[r],
            p_rival: self.p_rival[r],
            p_others: self.p_others[r],
            log_p_label: self.log_p_label[r],
            logit_gap: self.logit_gap[r],
        }
    }

    #[inline(always)]
    pub fn label_and_rival(&self, r: usize) -> (usize, usize) {
        (self.label[r] as usize, self.rival[r] as usize)
    }

    #[inline(always)]
    pub fn normaliser(&self, r: usize) -> T {
        self.normaliser[r]
    }

    /// Asks the loss for its answers and writes its values, one a row.
    #[inline(always)]
    pub fn ask<L: Loss<T> + ?Sized>(&mut self, loss: &L, values: &mut [T]) {
        let mut lanes = [T::ZERO; ROWS];
        let count = values.len();
        // A loop of known length becomes vectors, if the loss allows it.
        if count == ROWS {
            for r in 0..ROWS {
                lanes[r] = self.ask_one(loss, r);
            }
        } else {
            for r in 0..count {
                lanes[r] = self.ask_one(loss, r);
            }
        }
        values.copy_from_slice(&lanes[..count]);
    }

    #[inline(always)]
    fn ask_one<L: Loss<T> + ?Sized>(&mut self, loss: &L, r: usize) -> T {
        let RowLoss { value, on_probs, at_label, on_rival } = loss.row(self.row(r));
        (self.on_probs[r], self.at_label[r], self.on_rival[r]) = (on_probs, at_label, on_rival);
        value
    }

    /// Writes the margins of rows whose losses are `values`. Whether these, the values and the logarithms are all finite.
    #[inline(always)]
    pub fn margins(&self, kind: MarginKind, values: &[T], margins: &mut [T]) -> bool {
        let mut lanes = [T::ZERO; ROWS];
        match kind {
            MarginKind::Probability => {
                for r in 0..ROWS {
                    lanes[r] = self.p_label[r] - self.p_rival[r];
                }
            }
            MarginKind::Logit => lanes = self.logit_gap,
            MarginKind::Loss => values.iter().zip(&mut lanes).for_each(|(&value, lane)| *lane = -value),
        }
        margins.copy_from_slice(&lanes[..margins.len()]);
        let mut finite = true;
        for r in 0..values.len() {
            finite &= values[r].is_finite() & margins[r].is_finite() & self.log_p_label[r].is_finite();
        }
        finite
    }

    /// How large the gradients by the logits are, row by row, as sums of absolute values: that of the loss without its dense
    /// part, and that of the margin. Both but for the loss's scale. The probabilities of label, rival and all others tell;
    /// no row has to be read again.
    #[inline(always)]
    pub fn sizes(&self, kind: MarginKind) -> (Lanes<T>, Lanes<T>) {
        let (mut of_loss, mut of_margin) = ([T::ZERO; ROWS], [T::ZERO; ROWS]);
        for r in 0..ROWS {
            let rest = (self.p_others[r] - self.p_rival[r]).larger(T::ZERO);
            let at_rival = self.on_probs[r] * self.p_rival[r] + self.on_rival[r];
            of_loss[r] = self.on_probs[r].abs() * rest + at_rival.abs() + self.at_label[r].abs();
            // ∂M/∂u = s[y] e_y − s[r] e_r − M s.
            let margin = self.p_label[r] - self.p_rival[r];
            of_margin[r] = margin.abs() * rest
                + self.p_rival[r] * (T::ONE + margin)
                + self.p_label[r] * (self.p_others[r] + self.p_rival[r]);
        }
        match kind {
            MarginKind::Probability => {}
            MarginKind::Logit => of_margin = [T::ONE + T::ONE; ROWS],
            MarginKind::Loss => of_margin = of_loss,
        }
        (of_loss, of_margin)
    }

    /// Adds up base loss and risk: `factors` are the rows' shares in the mean of the base loss, `slopes` the derivatives
    /// of the total by the margins, if there are any. `scale` is the loss's.
    #[inline(always)]
    pub fn totals(&self, kind: MarginKind, factors: &Lanes<T>, slopes: Option<&Lanes<T>>, scale: T) -> Totals<T> {
        let (mut on_probs, mut at_label, mut on_rival) = ([T::ZERO; ROWS], [T::ZERO; ROWS], [T::ZERO; ROWS]);
        for r in 0..ROWS {
            on_probs[r] = factors[r] * self.on_probs[r];
            at_label[r] = factors[r] * self.at_label[r];
            on_rival[r] = factors[r] * self.on_rival[r];
        }
        match (kind, slopes) {
            (_, None) => {}
            // ∂M/∂u = s[y] e_y − s[r] e_r − M s, whose entry at the label is s[y] (1 − s[y] + s[r]).
            (MarginKind::Probability, Some(slopes)) => {
                for r in 0..ROWS {
                    let slope = slopes[r];
                    on_probs[r] -= slope * (self.p_label[r] - self.p_rival[r]);
                    at_label[r] += slope * (self.p_label[r] * (self.p_others[r] + self.p_rival[r]));
                    on_rival[r] -= slope * self.p_rival[r];
                }
            }
            (MarginKind::Logit, Some(slopes)) => {
                for r in 0..ROWS {
                    at_label[r] += slopes[r];
                    on_rival[r] -= slopes[r];
                }
            }
            (MarginKind::Loss, Some(slopes)) => {
                for r in 0..ROWS {
                    on_probs[r] -= slopes[r] * self.on_probs[r];
                    at_label[r] -= slopes[r] * self.at_label[r];
                    on_rival[r] -= slopes[r] * self.on_rival[r];
                }
            }
        }
        for r in 0..ROWS {
            on_probs[r] = on_probs[r] * self.normaliser[r] * scale;
            at_label[r] *= scale;
            on_rival[r] *= scale;
        }
        Totals { on_exponentials: on_probs, at_label, on_rival }
    }
}
