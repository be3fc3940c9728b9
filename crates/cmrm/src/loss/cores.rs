//! CORES: cross-entropy less what any label of that class would have cost, and a sieve of rows.

use super::differences::Differences;
use super::{Loss, Row, RowLoss, WholeRow};
use crate::error::{Error, Result, check_labels, check_length, check_parameter};
use crate::matrix::Matrix;
use crate::scalar::Scalar;

/// Confidence-regularised cross-entropy (Cheng et al., 2021), `ℓ = −log s[y] + β·Σ_k P[k]·log s[k]`, with `P` the share of every class
/// among the observed labels.
///
/// The second term rewards sure predictions: without it a model settles between the classes that labels are mixed of. It is
/// `(1−β)·(−log s[y]) − β·Σ_k P[k]·(u[y] − u[k])`, linear in the logits for β = 1 and concave beyond, and has no lower bound: training
/// needs decaying weights or an end. The authors bound it by `log(s + 1e-8)` and let β grow over the epochs; here the loss is as
/// it is written, and β fixed.
#[derive(Debug, Clone, PartialEq)]
pub struct Cores {
    beta: f64,
    prior: Vec<f64>,
}

impl Cores {
    /// β where none is given: small enough for a loss that nothing bounds. The authors let it grow to 2, behind their bound; without it
    /// logits run away from about 0.3 on, on digits with 40 % wrong labels.
    pub const DEFAULT_BETA: f64 = 0.1;

    /// CORES with `beta` at least zero (zero is cross-entropy), and the observed class counts.
    pub fn new(beta: f64, class_counts: &[f64]) -> Result<Self> {
        check_parameter("beta of cores", beta, beta >= 0.0 && beta.is_finite(), "a finite number, at least 0")?;
        if class_counts.is_empty() {
            return Err(Error::Empty { what: "the list of class counts" });
        }
        for &count in class_counts {
            check_parameter("class count", count, count >= 0.0 && count.is_finite(), "a finite number, at least 0")?;
        }
        let rows: f64 = class_counts.iter().sum();
        check_parameter("sum of the class counts", rows, rows > 0.0 && rows.is_finite(), "a finite positive number")?;
        Ok(Cores { beta, prior: class_counts.iter().map(|count| count / rows).collect() })
    }

    /// The sieve: which rows to go on learning from, by the logits of a model trained with this loss.
    ///
    /// A row is kept if its label costs less than an average class would, both with the regularisation, which cancels:
    /// `−log s[y] < mean_k(−log s[k])`, that is, if the label's logit is above the mean of the row's.
    pub fn sieve<T: Scalar>(logits: Matrix<'_, T>, labels: &[u32]) -> Result<Vec<bool>> {
        check_length("labels against rows of logits", logits.rows(), labels.len())?;
        check_labels(labels, logits.columns())?;
        let of_row = |(row, &label): (&[T], &u32)| {
            let own = row[label as usize].to_f64();
            row.iter().map(|u| own - u.to_f64()).sum::<f64>() > 0.0
        };
        Ok(logits.iter_rows().zip(labels).map(of_row).collect())
    }

    /// The shares of the observed classes, for those who compute the loss on tensors.
    pub fn prior(&self) -> &[f64] {
        &self.prior
    }

    fn differences(&self) -> Differences<'_> {
        Differences { factor: -self.beta, weights: &self.prior }
    }
}

impl<T: Scalar> Loss<T> for Cores {
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        let rest = T::from_f64(1.0 - self.beta);
        RowLoss::of_log_probability(&row, -rest * row.log_p_label, -rest)
    }

    fn check_classes(&self, classes: usize) -> Result<()> {
        check_length("class counts of cores against classes", classes, self.prior.len())
    }

    fn is_dense(&self) -> bool {
        self.beta > 0.0
    }

    fn dense_value(&self, row: &Row<T>, whole: WholeRow<'_, T>) -> T {
        self.differences().value(row.label, whole.scaled)
    }

    fn add_dense(&self, row: &Row<T>, _whole: WholeRow<'_, T>, factor: T, grad: &mut [T]) {
        self.differences().add_gradient(row.label, factor, grad);
    }
}
