//! VolMinNet: the forward correction with a transition matrix that is learned beside the network.

use super::Forward;
use crate::error::{Result, check_length, check_parameter};
use crate::matrix::Matrix;
use crate::noise_model::Transition;
use crate::scalar::Scalar;

/// VolMinNet (Li et al., 2021), `L = mean of −log (Tᵀs)[y] + λ·log |det T|`, for one `T`.
///
/// Of all matrices that explain the labels, the second term asks for the one of least volume: so that `T`, learned from labels alone, does
/// not swallow the classes. The rows' losses and their gradients by the logits are those of [`VolMin::forward`], in whatever
/// envelope; this adds the volume and the gradients by `T`, which [`LearnedTransition`] passes on to its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct VolMin {
    lambda: f64,
    transition: Transition,
    forward: Forward,
}

impl VolMin {
    /// λ of the original paper.
    pub const DEFAULT_LAMBDA: f64 = 1e-4;

    /// The loss at this transition matrix; `lambda` is at least zero.
    pub fn new(lambda: f64, transition: Transition) -> Result<Self> {
        check_parameter(
            "lambda of volmin",
            lambda,
            lambda >= 0.0 && lambda.is_finite(),
            "a finite number, at least 0",
        )?;
        Ok(VolMin { lambda, forward: Forward::new(&transition), transition })
    }

    /// The loss of the rows.
    pub fn forward(&self) -> &Forward {
        &self.forward
    }

    /// `λ·log |det T|`, which is added to the mean loss of the rows. Never positive.
    pub fn volume(&self) -> f64 {
        self.lambda * self.transition.log_volume()
    }

    /// The gradient of the whole by the entries of `T`, row after row: that of the rows' losses, each by its share of their mean
    /// ([`Scratch::shares`](crate::envelope::Scratch::shares)), and `λ T⁻ᵀ`, that of the volume.
    pub fn gradient_by_transition<T: Scalar>(
        &self,
        logits: Matrix<'_, T>,
        labels: &[u32],
        shares: &[T],
    ) -> Result<Vec<f64>> {
        let classes = self.transition.classes();
        let of_volume = |at: usize| self.lambda * self.transition.unbiased(at % classes)[at / classes];
        let mut grad: Vec<f64> = (0..classes * classes).map(of_volume).collect();
        self.forward.add_gradient_by_transition(logits, labels, shares, &mut grad)?;
        Ok(grad)
    }
}

/// A transition matrix made of free parameters: `T[i][j] = a[i][j] / Σ_k a[i][k]`, one on the diagonal of `a` and the softplus
/// `log(1 + exp w)` of a parameter off it.
///
/// Any parameters make a matrix of probabilities. Those of VolMinNet's own code go through a sigmoid instead, so that there every class
/// keeps its own label at least as often as it takes any other; the softplus does not insist.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedTransition {
    classes: usize,
    parameters: Vec<f64>,
}

impl LearnedTransition {
    /// A matrix to begin with: every class keeps its label with probability `kept`, and is taken for all others alike.
    pub fn new(classes: usize, kept: f64) -> Result<Self> {
        check_parameter("classes", classes as f64, classes >= 2, "at least 2")?;
        check_parameter("kept", kept, kept > 0.0 && kept < 1.0, "a number strictly inside (0, 1)")?;
        let other = (1.0 / kept - 1.0) / (classes - 1) as f64;
        // The parameter whose softplus that is.
        let parameter = other + (-(-other).exp_m1()).ln();
        Ok(LearnedTransition { classes, parameters: vec![parameter; classes * classes] })
    }

    /// The parameters, row after row; those on the diagonal have no effect.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// The same, for an optimiser to move.
    pub fn parameters_mut(&mut self) -> &mut [f64] {
        &mut self.parameters
    }

    /// The matrix. It is refused where it has no inverse, and so no volume.
    pub fn transition(&self) -> Result<Transition> {
        let entries: Vec<f64> = (0..self.classes).flat_map(|class| self.shares(class).0).collect();
        Transition::new(Matrix::new(&entries, self.classes)?)
    }

    /// From the gradient by the entries of the matrix to that by the parameters:
    /// `∂L/∂w[i][j] = σ(w[i][j]) / Σ_k a[i][k] · (G[i][j] − Σ_k G[i][k] T[i][k])`, zero on the diagonal.
    pub fn gradient(&self, by_transition: &[f64]) -> Result<Vec<f64>> {
        check_length("gradient against entries of the transition matrix", self.parameters.len(), by_transition.len())?;
        let mut grad = vec![0.0; self.parameters.len()];
        for class in 0..self.classes {
            let row = class * self.classes..(class + 1) * self.classes;
            let (shares, sum) = self.shares(class);
            let by_row = &by_transition[row.clone()];
            let mean: f64 = by_row.iter().zip(&shares).map(|(g, share)| g * share).sum();
            for (j, (grad, w)) in grad[row.clone()].iter_mut().zip(&self.parameters[row]).enumerate() {
                if j != class {
                    *grad = w.sigmoid() / sum * (by_row[j] - mean);
                }
            }
        }
        Ok(grad)
    }

    /// A row of the matrix, and what it was divided by.
    fn shares(&self, class: usize) -> (Vec<f64>, f64) {
        let row = &self.parameters[class * self.classes..][..self.classes];
        let softplus = |w: f64| w.max(0.0) + (-w.abs()).exp().ln_1p();
        let plain = row.iter().enumerate().map(|(j, &w)| if j == class { 1.0 } else { softplus(w) });
        let mut shares: Vec<f64> = plain.collect();
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
        (shares, sum)
    }
}
