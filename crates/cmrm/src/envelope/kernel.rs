//! The two row-wise halves of the fused function. Between them stands [`super::couple`], which needs all rows.
//!
//! Rows are independent in both halves, so a caller may split a batch between groups of rows and run the parts on
//! threads; the result does not depend on the split.

use super::config::MarginKind;
use super::group::{Group, Lanes, Logits, ROWS, Softener, Totals};
use super::memory::move_target;
use super::narrow;
use super::objective::{Batch, Objective, Scratch};
use crate::error::{Error, Result};
use crate::loss::{Loss, Row, WholeRow};
use crate::scalar::Scalar;

/// First half: reads `logits` once, leaves each row's exponentials in `grad`, fills the rest. Lengths must agree.
pub(super) struct Forward<'a, T, L: ?Sized> {
    pub loss: &'a L,
    pub margin: MarginKind,
    pub classes: usize,
    /// How far apart rows start, in `logits` and in `grad`.
    pub stride: usize,
    /// The batch row of the first row here, for error messages.
    pub first_row: usize,
    pub logits: &'a [T],
    /// Below `classes`, as was checked for the whole batch.
    pub labels: &'a [u32],
    pub grad: &'a mut [T],
    pub groups: &'a mut [Group<T>],
    pub losses: &'a mut [T],
    pub margins: &'a mut [T],
    /// Targets of the rows, which meet their probabilities here; empty for a loss that reads none.
    pub targets: &'a mut [T],
    pub target_momentum: f64,
}

impl<T: Scalar, L: Loss<T> + ?Sized> Forward<'_, T, L> {
    /// Runs it with the processor's widest vectors.
    pub fn run(self) -> Result<()> {
        pulp::Arch::new().dispatch(self)
    }
}

impl<T: Scalar, L: Loss<T> + ?Sized> pulp::WithSimd for Forward<'_, T, L> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> Result<()> {
        let Forward { loss, margin, classes, stride, first_row, logits, labels, grad, groups, losses, margins, .. } =
            self;
        let scale = loss.scale();
        let mut dense = DenseRow::new(loss, classes);
        let mut softener = Softener::new(classes);
        for (g, group) in groups.iter_mut().enumerate() {
            let start = g * ROWS;
            let end = labels.len().min(start + ROWS);
            let (logits, grad) = (&logits[start * stride..], &mut grad[start * stride..]);
            let (losses, margins) = (&mut losses[start..end], &mut margins[start..end]);
            let values = Logits { values: logits, classes, stride, scale };
            group.soften(simd, values, &labels[start..end], grad, &mut softener);
            group.ask(loss, losses);
            if let Some(dense) = &mut dense {
                for (r, value) in losses.iter_mut().enumerate() {
                    let row = dense.fill(&logits[r * stride..], scale, &grad[r * stride..], group, r);
                    let target = match &mut *self.targets {
                        [] => &mut [],
                        targets => &mut targets[(start + r) * classes..][..classes],
                    };
                    move_target(self.target_momentum, &dense.probs, target);
                    *value += loss.dense_value(&row, dense.whole(target));
                }
            }
            if !group.margins(margin, losses, margins) {
                for (r, (value, margin)) in losses.iter().zip(margins).enumerate() {
                    let Row { label, log_p_label, .. } = group.row(r);
                    if !(value.is_finite() && margin.is_finite() && log_p_label.is_finite()) {
                        return Err(explain(
                            &logits[r * stride..][..classes],
                            scale,
                            first_row + start + r,
                            label,
                            *value,
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Scaled logits and probabilities of one row, for a loss with a dense part.
struct DenseRow<T> {
    scaled: Vec<T>,
    probs: Vec<T>,
    gradient: Vec<T>,
}

impl<T: Scalar> DenseRow<T> {
    /// `None` for a loss without a dense part.
    #[inline(always)]
    fn new<L: Loss<T> + ?Sized>(loss: &L, classes: usize) -> Option<Self> {
        loss.is_dense().then(|| DenseRow {
            scaled: vec![T::ZERO; classes],
            probs: vec![T::ZERO; classes],
            gradient: Vec::with_capacity(classes),
        })
    }

    /// Takes row `r` of a group, whose logits and exponentials begin the slices.
    fn fill(&mut self, logits: &[T], scale: T, exponentials: &[T], group: &Group<T>, r: usize) -> Row<T> {
        let (row, normaliser) = (group.row(r), group.normaliser(r));
        for j in 0..self.probs.len() {
            self.scaled[j] = logits[j] * scale;
            self.probs[j] = exponentials[j] * normaliser;
        }
        self.probs[row.label] = row.p_label;
        row
    }

    /// The row that was taken last, with its target.
    fn whole<'a>(&'a self, target: &'a [T]) -> WholeRow<'a, T> {
        WholeRow { scaled: &self.scaled, probs: &self.probs, target }
    }

    /// Sum of the absolute values of the loss's gradient by the scaled logits of row `r`.
    fn size<L: Loss<T> + ?Sized>(
        &mut self,
        loss: &L,
        logits: &[T],
        exponentials: &[T],
        group: &Group<T>,
        r: usize,
        target: &[T],
    ) -> T {
        let row = self.fill(logits, loss.scale(), exponentials, group, r);
        let answer = loss.row(row);
        let mut gradient = std::mem::take(&mut self.gradient);
        gradient.clear();
        gradient.extend(self.probs.iter().map(|&p| answer.on_probs * p));
        gradient[row.label] = answer.at_label;
        gradient[row.rival] += answer.on_rival;
        loss.add_dense(&row, self.whole(target), T::ONE, &mut gradient);
        let size = gradient.iter().map(|g| g.abs()).sum();
        self.gradient = gradient;
        size
    }
}

/// Names the number that made a row's loss or margin non-finite.
#[cold]
fn explain<T: Scalar>(logits: &[T], scale: T, row: usize, label: usize, loss: T) -> Error {
    if let Some(column) = logits.iter().position(|z| !z.is_finite()) {
        return Error::non_finite("logit", row, column, logits[column].to_f64());
    }
    if let Some(column) = logits.iter().position(|&z| !(z * scale).is_finite()) {
        return Error::non_finite("scaled logit", row, column, (logits[column] * scale).to_f64());
    }
    if loss.is_finite() {
        let gap = logits.iter().enumerate().filter(|&(j, _)| j != label).map(|(_, &z)| logits[label] - z);
        let widest = gap.fold(T::ZERO, |a, b| if b.abs() > a.abs() { b } else { a });
        return Error::non_finite("difference of logits", row, label, widest.to_f64());
    }
    Error::non_finite("loss", row, label, loss.to_f64())
}

/// Second half: turns the exponentials in `grad` into the gradient of the total by the logits.
///
/// A gradient too large for the number type is refused.
pub(super) struct Backward<'a, T, L: ?Sized, F> {
    pub loss: &'a L,
    pub margin: MarginKind,
    pub classes: usize,
    pub stride: usize,
    pub first_row: usize,
    /// Read again only for a loss with a dense part.
    pub logits: &'a [T],
    pub rows: usize,
    /// The share of each row in the mean of the base loss.
    pub row_factors: &'a [T],
    /// `∂R/∂M_i` and λ, if there is an envelope.
    pub slopes: Option<(&'a [T], T)>,
    pub groups: &'a [Group<T>],
    /// The target of each row, if the loss reads any.
    pub target: &'a F,
    pub grad: &'a mut [T],
}

impl<'a, T: Scalar, L: Loss<T> + ?Sized, F: Fn(usize) -> &'a [T]> Backward<'a, T, L, F> {
    /// Runs it with the processor's widest vectors.
    pub fn run(self) -> Result<()> {
        pulp::Arch::new().dispatch(self)
    }
}

impl<'a, T: Scalar, L: Loss<T> + ?Sized, F: Fn(usize) -> &'a [T]> pulp::WithSimd for Backward<'a, T, L, F> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> Result<()> {
        let Backward { loss, margin, classes, stride, first_row, logits, rows, row_factors, slopes, .. } = self;
        let Backward { groups, target, grad, .. } = self;
        let scale = loss.scale();
        let mut dense = DenseRow::new(loss, classes);
        let mut refused = None;
        // The rows that `Forward` wrote last are the ones still in the cache, so they come first.
        for (g, group) in groups.iter().enumerate().rev() {
            let start = g * ROWS;
            let count = ROWS.min(rows - start);
            let grad = &mut grad[start * stride..];
            let (mut factors, mut steps) = ([T::ZERO; ROWS], [T::ZERO; ROWS]);
            factors[..count].copy_from_slice(&row_factors[start..start + count]);
            if let Some((slopes, lambda)) = slopes {
                for (step, &slope) in steps.iter_mut().zip(&slopes[start..start + count]) {
                    *step = lambda * slope;
                }
            }
            let totals = group.totals(margin, &factors, slopes.is_some().then_some(&steps), scale);
            for r in (0..count).rev() {
                let grad = &mut grad[r * stride..][..classes];
                let row =
                    dense.as_mut().map(|dense| dense.fill(&logits[(start + r) * stride..], scale, grad, group, r));
                if classes > narrow::MOST_CLASSES {
                    T::multiply(simd, grad, totals.on_exponentials[r]);
                } else {
                    for g in grad.iter_mut() {
                        *g *= totals.on_exponentials[r];
                    }
                }
                let (label, rival) = group.label_and_rival(r);
                grad[label] = totals.at_label[r];
                grad[rival] += totals.on_rival[r];
                if let (Some(dense), Some(row)) = (&dense, &row) {
                    let share = if margin == MarginKind::Loss { factors[r] - steps[r] } else { factors[r] };
                    loss.add_dense(row, dense.whole(target(start + r)), share * scale, grad);
                }
            }
            if dense.is_some() || !totals.bounded(count) {
                let row = |r: usize| &grad[r * stride..][..classes];
                if let Some(r) = (0..count).find(|&r| !row(r).iter().all(|g| g.is_finite())) {
                    refused = Some(too_steep(first_row + start + r, row(r)));
                }
            }
        }
        refused.map_or(Ok(()), Err)
    }
}

impl<T: Scalar> Totals<T> {
    /// Whether the first `count` rows are surely finite. Exponentials are at most one, so these numbers bound a row.
    #[inline(always)]
    fn bounded(&self, count: usize) -> bool {
        let bound: Lanes<T> = std::array::from_fn(|r| self.on_exponentials[r].abs() + self.on_rival[r].abs());
        let mut finite = true;
        for r in 0..count {
            finite &= bound[r].is_finite() & self.at_label[r].is_finite();
        }
        finite
    }
}

/// How large the gradients of base loss and risk are over the whole batch, as sums of absolute values. Between the halves: the
/// exponentials stand in `grad`.
pub(super) fn sizes<T: Scalar, L: Loss<T>>(
    objective: &Objective<&L>,
    batch: &Batch<'_, T>,
    offset: usize,
    scratch: &Scratch<T>,
    grad: &[T],
) -> (f64, f64) {
    let Some((slopes, _)) = objective.slopes(scratch) else { return (0.0, 0.0) };
    let (margin, stride, rows) = (objective.margin_kind(), batch.stride, batch.rows());
    let mut dense = DenseRow::new(objective.loss, batch.classes);
    let (mut of_base, mut of_risk) = (0.0, 0.0);
    for (g, group) in scratch.groups.iter().enumerate() {
        let start = g * ROWS;
        let (mut base, mut of_margin) = pulp::Arch::new().dispatch(|| group.sizes(margin));
        for r in 0..ROWS.min(rows - start) {
            if let Some(dense) = &mut dense {
                let place = (start + r) * stride + offset;
                let target = scratch.target(start + r, batch.classes);
                base[r] = dense.size(objective.loss, &batch.logits[place..], &grad[place..], group, r, target);
                if margin == MarginKind::Loss {
                    of_margin[r] = base[r];
                }
            }
            of_base += scratch.factors[start + r].to_f64() * base[r].to_f64();
            of_risk += slopes[start + r].to_f64().abs() * of_margin[r].to_f64();
        }
    }
    (of_base, of_risk)
}

/// Names the entry of a row's gradient that left the range of the number type.
#[cold]
fn too_steep<T: Scalar>(row: usize, grad: &[T]) -> Error {
    let column = grad.iter().position(|g| !g.is_finite()).unwrap_or(0);
    Error::non_finite("gradient", row, column, grad[column].to_f64())
}
