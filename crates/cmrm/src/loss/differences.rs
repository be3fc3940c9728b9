//! The part of a loss that is linear in the logits.

use crate::scalar::Scalar;

/// `factor · Σ_j weights[j]·(u[y] − u[j])`, for losses that are sums over the classes.
///
/// With `ℓ[j] = −log s[j]` and weights of any sign, `Σ_j weights[j]·ℓ[j]` is `ℓ[y]·Σ_j weights[j]` plus this: it needs no other
/// logarithm and stays finite where `s[j]` underflows.
#[derive(Clone, Copy)]
pub(super) struct Differences<'a> {
    pub factor: f64,
    pub weights: &'a [f64],
}

impl Differences<'_> {
    // In double precision, each difference weighed before it is added: differences of single precision and sums of logits could
    // overflow where the loss does not.
    pub fn value<T: Scalar>(self, label: usize, scaled: &[T]) -> T {
        let own = scaled[label].to_f64();
        let each = scaled.iter().zip(self.weights);
        T::from_f64(each.map(|(&u, &weight)| (own - u.to_f64()) * (self.factor * weight)).sum())
    }

    /// Adds `share` times the gradient by the scaled logits to `grad`.
    pub fn add_gradient<T: Scalar>(self, label: usize, share: T, grad: &mut [T]) {
        let mut others = 0.0;
        for (j, (g, &weight)) in grad.iter_mut().zip(self.weights).enumerate() {
            if j != label {
                others += weight;
                *g -= share * T::from_f64(self.factor * weight);
            }
        }
        grad[label] += share * T::from_f64(self.factor * others);
    }
}
