//! Base losses. One file each; add your own by implementing [`Loss`].
//!
//! A loss sees one row at a time, already softened: the probabilities of its label and of its strongest rival, the
//! logit gap between them, and how unlikely the label is. It answers with its value and with three numbers that span
//! its gradient. Every loss of the paper fits into that span, which is what lets one pass over the logits serve the
//! base loss and the envelope together; a loss that does not can add a dense part
//! ([`Loss::dense_value`]).

mod apl;
mod backward;
mod bootstrap;
mod config;
mod cores;
mod cross_entropy;
mod differences;
mod elr;
mod focal;
mod forward;
mod gce;
mod hinge;
mod label_smoothing;
mod ldam;
mod logistic;
mod sce;
mod volmin;

pub use apl::Apl;
pub use backward::Backward;
pub use bootstrap::{BootstrapHard, BootstrapSoft};
pub use config::{BaseLoss, LossConfig};
pub use cores::Cores;
pub use cross_entropy::CrossEntropy;
pub use elr::Elr;
pub use focal::Focal;
pub use forward::Forward;
pub use gce::Gce;
pub use hinge::{Hinge, l2_penalty};
pub use label_smoothing::LabelSmoothing;
pub use ldam::Ldam;
pub use logistic::Logistic;
pub use sce::Sce;
pub use volmin::{LearnedTransition, VolMin};

use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// What a loss sees of a row. Logits `u` are the row's logits times [`Loss::scale`], probabilities `s = softmax(u)`.
#[derive(Debug, Clone, Copy)]
pub struct Row<T> {
    /// Observed label `y`.
    pub label: usize,
    /// The strongest other class (lowest index on ties).
    pub rival: usize,
    /// `s[y]`.
    pub p_label: T,
    /// `s[rival]`.
    pub p_rival: T,
    /// `1 − s[y]`, without cancellation when `s[y]` is near one.
    pub p_others: T,
    /// `log s[y]`, finite wherever the logits are.
    pub log_p_label: T,
    /// `u[y] − u[rival]`.
    pub logit_gap: T,
}

/// All of a row, for a loss with a dense part.
#[derive(Debug, Clone, Copy)]
pub struct WholeRow<'a, T> {
    /// The scaled logits `u`.
    pub scaled: &'a [T],
    /// Their softmax `s`.
    pub probs: &'a [T],
    /// The row's running target, if the loss asks for one ([`Loss::target_momentum`]); else empty.
    pub target: &'a [T],
}

/// Value of a loss on one row, and its gradient with respect to the scaled logits `u`.
///
/// The gradient is `at_label` at the label and `on_probs · s[j]` at every other class, plus `on_rival` at the rival.
/// The label's entry is given outright because there `s[y] − 1` would cancel for every row that is already learned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowLoss<T> {
    /// The loss.
    pub value: T,
    /// Multiple of the probabilities in the gradient, off the label.
    pub on_probs: T,
    /// The gradient at the label.
    pub at_label: T,
    /// Added at the rival.
    pub on_rival: T,
}

impl<T: Scalar> RowLoss<T> {
    /// A loss that depends on the logits only through `log s[y]`: `slope` is its derivative by that number.
    ///
    /// Since `∂ log s[y] / ∂u = e_y − s`, the gradient is `slope · (e_y − s)`.
    #[inline(always)]
    pub fn of_log_probability(row: &Row<T>, value: T, slope: T) -> Self {
        RowLoss { value, on_probs: -slope, at_label: slope * row.p_others, on_rival: T::ZERO }
    }
}

/// A classification loss that the envelope can wrap.
///
/// ```
/// use cmrm::loss::{Loss, Row, RowLoss};
///
/// /// Mean absolute error of the label's probability, 2(1 − s[y]).
/// struct MeanAbsolute;
///
/// impl Loss<f64> for MeanAbsolute {
///     fn row(&self, row: Row<f64>) -> RowLoss<f64> {
///         // d(1 − s)/d log s = −s
///         RowLoss::of_log_probability(&row, 2.0 * row.p_others, -2.0 * row.p_label)
///     }
/// }
/// ```
pub trait Loss<T: Scalar>: Sync {
    /// Value and gradient of one row. Called once a row, in any order.
    fn row(&self, row: Row<T>) -> RowLoss<T>;

    /// What the logits are multiplied by before anything else (LDAM's scale). The margins of the envelope are those of
    /// the scaled logits; the kernel applies the chain rule. Positive and finite.
    fn scale(&self) -> T {
        T::ONE
    }

    /// Refuses a number of classes that the loss was not made for.
    fn check_classes(&self, _classes: usize) -> Result<()> {
        Ok(())
    }

    /// Whether there is a part that a [`Row`] does not show: [`Loss::dense_value`] and [`Loss::add_dense`].
    fn is_dense(&self) -> bool {
        false
    }

    /// β, if the dense part reads running targets: `t ← β t + (1−β) ŝ` each time a row is met, as [`Elr`] says.
    fn target_momentum(&self) -> Option<f64> {
        None
    }

    /// What is added to the value of [`Loss::row`].
    fn dense_value(&self, _row: &Row<T>, _whole: WholeRow<'_, T>) -> T {
        T::ZERO
    }

    /// Adds `factor` times the gradient of [`Loss::dense_value`] by the scaled logits to `grad`.
    fn add_dense(&self, _row: &Row<T>, _whole: WholeRow<'_, T>, _factor: T, _grad: &mut [T]) {}
}

impl<T: Scalar, L: Loss<T> + ?Sized> Loss<T> for &L {
    // Without it a call a row is left, and no row becomes a lane of a vector.
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        (**self).row(row)
    }
    fn scale(&self) -> T {
        (**self).scale()
    }
    fn check_classes(&self, classes: usize) -> Result<()> {
        (**self).check_classes(classes)
    }
    fn is_dense(&self) -> bool {
        (**self).is_dense()
    }
    fn target_momentum(&self) -> Option<f64> {
        (**self).target_momentum()
    }
    fn dense_value(&self, row: &Row<T>, whole: WholeRow<'_, T>) -> T {
        (**self).dense_value(row, whole)
    }
    fn add_dense(&self, row: &Row<T>, whole: WholeRow<'_, T>, factor: T, grad: &mut [T]) {
        (**self).add_dense(row, whole, factor, grad);
    }
}

/// Refuses anything but two classes.
fn check_two_classes(what: &'static str, classes: usize) -> Result<()> {
    if classes == 2 { Ok(()) } else { Err(Error::Shape { what, expected: 2, found: classes }) }
}
