//! The two row-wise halves of the fused function. Between them stands [`super::couple`], which needs all rows.
//!
//! Rows are independent in both halves, so a caller may split a batch into chunks and run them on threads; the result
//! does not depend on the split.

use super::config::MarginKind;
use super::group::{Group, Logits, ROWS};
use super::narrow;
use super::wide::{Ahead, ROWS_AHEAD};
use crate::error::{Error, Result};
use crate::loss::{Loss, Row, RowLoss};
use crate::scalar::Scalar;

/// What [`forward`] remembers of a row for [`backward`].
#[derive(Debug, Clone, Copy)]
pub struct RowState<T> {
    /// The loss's answer.
    pub loss: RowLoss<T>,
    /// The row as the loss saw it.
    pub row: Row<T>,
    /// One over the sum of exponentials, which `forward` leaves unnormalised in the gradient's place.
    normaliser: T,
}

impl<T: Scalar> Default for RowState<T> {
    fn default() -> Self {
        let zero = T::ZERO;
        RowState {
            loss: RowLoss { value: zero, on_probs: zero, at_label: zero, on_rival: zero },
            row: Row {
                label: 0,
                rival: 0,
                p_label: zero,
                p_rival: zero,
                p_others: zero,
                log_p_label: zero,
                logit_gap: zero,
            },
            normaliser: zero,
        }
    }
}

impl<T: Scalar> RowState<T> {
    /// The row's margin.
    #[inline(always)]
    pub fn margin(&self, kind: MarginKind) -> T {
        match kind {
            MarginKind::Probability => self.row.p_label - self.row.p_rival,
            MarginKind::Logit => self.row.logit_gap,
            MarginKind::Loss => -self.loss.value,
        }
    }

    /// Gradient of the margin by the scaled logits, in the form of [`RowLoss`].
    ///
    /// For probabilities, `∂M/∂u = s[y] e_y − s[r] e_r − M s`, whose entry at the label is `s[y] (1 − s[y] + s[r])`.
    #[inline(always)]
    fn margin_gradient(&self, kind: MarginKind) -> RowLoss<T> {
        let Row { p_label, p_rival, p_others, .. } = self.row;
        let value = self.margin(kind);
        match kind {
            MarginKind::Probability => {
                RowLoss { value, on_probs: -value, at_label: p_label * (p_others + p_rival), on_rival: -p_rival }
            }
            MarginKind::Logit => RowLoss { value, on_probs: T::ZERO, at_label: T::ONE, on_rival: -T::ONE },
            MarginKind::Loss => RowLoss {
                value,
                on_probs: -self.loss.on_probs,
                at_label: -self.loss.at_label,
                on_rival: -self.loss.on_rival,
            },
        }
    }
}

/// First half: reads `logits` (rows of `classes`, starting `stride` apart) once, leaves each row's exponentials in
/// `grad`, fills `states` and `margins`. `first_row` is the batch row of the first row here, for error messages.
/// Lengths must agree.
#[allow(clippy::too_many_arguments)] // slices of one batch, each used on its own
pub fn forward<T: Scalar, L: Loss<T> + ?Sized>(
    loss: &L,
    margin: MarginKind,
    classes: usize,
    stride: usize,
    first_row: usize,
    logits: &[T],
    labels: &[u32],
    grad: &mut [T],
    states: &mut [RowState<T>],
    margins: &mut [T],
) -> Result<()> {
    pulp::Arch::new().dispatch(Forward {
        loss,
        margin,
        classes,
        stride,
        first_row,
        logits,
        labels,
        grad,
        states,
        margins,
    })
}

struct Forward<'a, T, L: ?Sized> {
    loss: &'a L,
    margin: MarginKind,
    classes: usize,
    stride: usize,
    first_row: usize,
    logits: &'a [T],
    labels: &'a [u32],
    grad: &'a mut [T],
    states: &'a mut [RowState<T>],
    margins: &'a mut [T],
}

impl<T: Scalar, L: Loss<T> + ?Sized> pulp::WithSimd for Forward<'_, T, L> {
    type Output = Result<()>;

    // The processor's widest vectors are enabled around this body.
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> Result<()> {
        let Forward { loss, margin, classes, stride, first_row, logits, labels, grad, states, margins } = self;
        if let Some(i) = labels.iter().position(|&label| label as usize >= classes) {
            return Err(Error::Label { row: first_row + i, label: labels[i], classes });
        }
        let scale = loss.scale();
        let mut dense = DenseRow::new(loss, classes);
        let mut group = Group::new();
        for start in (0..states.len()).step_by(ROWS) {
            let end = states.len().min(start + ROWS);
            let (logits, grad) = (&logits[start * stride..], &mut grad[start * stride..]);
            group.soften(simd, Logits { values: logits, classes, stride, scale }, &labels[start..end], grad);
            for i in start..end {
                let (r, label, state) = (i - start, labels[i] as usize, &mut states[i]);
                (state.row, state.normaliser) = group.row(r, label);
                state.loss = loss.row(state.row);
                let logits = &logits[r * stride..][..classes];
                if let Some(dense) = &mut dense {
                    dense.fill(logits, scale, &grad[r * stride..][..classes], state.normaliser);
                    state.loss.value += loss.dense_value(&state.row, &dense.scaled, &dense.probs);
                }
                margins[i] = state.margin(margin);
                if !(state.loss.value.is_finite() && margins[i].is_finite() && state.row.log_p_label.is_finite()) {
                    return Err(explain(logits, scale, first_row + i, label, state.loss.value));
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
}

impl<T: Scalar> DenseRow<T> {
    /// `None` for a loss without a dense part.
    #[inline(always)]
    fn new<L: Loss<T> + ?Sized>(loss: &L, classes: usize) -> Option<Self> {
        loss.is_dense().then(|| DenseRow { scaled: vec![T::ZERO; classes], probs: vec![T::ZERO; classes] })
    }

    fn fill(&mut self, logits: &[T], scale: T, exponentials: &[T], normaliser: T) {
        for j in 0..logits.len() {
            self.scaled[j] = logits[j] * scale;
            self.probs[j] = exponentials[j] * normaliser;
        }
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
/// `row_factors` are the rows' shares in the mean of the base loss (one for all, or one each), `slopes` hold `∂R/∂M_i`
/// and λ (`None`: no envelope). `logits` are read again only for a loss with a dense part. A gradient too large for the
/// number type is refused; `first_row` is as in [`forward`].
#[allow(clippy::too_many_arguments)] // slices of one batch, each used on its own
pub fn backward<T: Scalar, L: Loss<T> + ?Sized>(
    loss: &L,
    margin: MarginKind,
    classes: usize,
    stride: usize,
    first_row: usize,
    logits: &[T],
    row_factors: &impl Fn(usize) -> T,
    slopes: Option<(&[T], T)>,
    states: &[RowState<T>],
    grad: &mut [T],
) -> Result<()> {
    pulp::Arch::new().dispatch(Backward {
        loss,
        margin,
        classes,
        stride,
        first_row,
        logits,
        row_factors,
        slopes,
        states,
        grad,
    })
}

struct Backward<'a, T, L: ?Sized, F> {
    loss: &'a L,
    margin: MarginKind,
    classes: usize,
    stride: usize,
    first_row: usize,
    logits: &'a [T],
    row_factors: &'a F,
    slopes: Option<(&'a [T], T)>,
    states: &'a [RowState<T>],
    grad: &'a mut [T],
}

impl<T: Scalar, L: Loss<T> + ?Sized, F: Fn(usize) -> T> pulp::WithSimd for Backward<'_, T, L, F> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> Result<()> {
        let Backward { loss, margin, classes, stride, first_row, logits, row_factors, slopes, states, grad } = self;
        let scale = loss.scale();
        let mut dense = DenseRow::new(loss, classes);
        let mut refused = None;
        // The rows that `forward` wrote last are the ones still in the cache, so they come first.
        let ahead = Ahead::new(-((ROWS_AHEAD * stride) as isize));
        for (i, state) in states.iter().enumerate().rev() {
            let grad = &mut grad[i * stride..][..classes];
            let factor = row_factors(i);
            let mut loss_share = factor;
            let mut total = RowLoss {
                value: T::ZERO,
                on_probs: factor * state.loss.on_probs,
                at_label: factor * state.loss.at_label,
                on_rival: factor * state.loss.on_rival,
            };
            if let Some((slopes, lambda)) = slopes {
                let slope = lambda * slopes[i];
                let gradient = state.margin_gradient(margin);
                total.on_probs += slope * gradient.on_probs;
                total.at_label += slope * gradient.at_label;
                total.on_rival += slope * gradient.on_rival;
                if margin == MarginKind::Loss {
                    loss_share -= slope;
                }
            }
            let Row { label, rival, .. } = state.row;
            if let Some(dense) = &mut dense {
                dense.fill(&logits[i * stride..][..classes], scale, grad, state.normaliser);
            }
            let on_exponentials = total.on_probs * state.normaliser * scale;
            if classes > narrow::MOST_CLASSES {
                T::multiply(simd, grad, on_exponentials, ahead);
            } else {
                for g in grad.iter_mut() {
                    *g *= on_exponentials;
                }
            }
            grad[label] = total.at_label * scale;
            grad[rival] += total.on_rival * scale;
            // Exponentials are at most one, so these three bound the row.
            let mut finite = on_exponentials.is_finite() && grad[label].is_finite() && grad[rival].is_finite();
            if let Some(dense) = &dense {
                loss.add_dense(&state.row, &dense.scaled, &dense.probs, loss_share * scale, grad);
                finite &= grad.iter().all(|g| g.is_finite());
            }
            if !finite {
                refused = Some(too_steep(first_row + i, label, grad));
            }
        }
        refused.map_or(Ok(()), Err)
    }
}

/// Names the entry of a row's gradient that left the range of the number type.
#[cold]
fn too_steep<T: Scalar>(row: usize, label: usize, grad: &[T]) -> Error {
    let column = grad.iter().position(|g| !g.is_finite()).unwrap_or(label);
    Error::non_finite("gradient", row, column, grad[column].to_f64())
}
