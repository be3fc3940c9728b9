//! The risk of both tails of the binary envelope, and its slopes by the probabilities.

use super::config::{BinaryEnvelope, Direction, TailNormaliser};
use super::threshold::{Thresholds, thresholds};
use crate::scalar::Scalar;

/// Risk of the binary envelope and the thresholds it used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BinaryRisk<T> {
    /// The risk, λ± and sign included.
    pub risk: f64,
    /// `τ⁺` and `τ⁻`.
    pub thresholds: Thresholds<T>,
}

/// `R = ∓(λ⁻ Σ (p − τ⁻)⁺ / N⁻ + λ⁺ Σ (τ⁺ − p)⁺ / N⁺)` and its slopes `∂R/∂p`; no gradient through the thresholds.
///
/// Slices must have equal, non-zero length and labels be 0 or 1.
pub fn risk<T: Scalar>(
    envelope: &BinaryEnvelope,
    probabilities: &[T],
    labels: &[u32],
    slopes: &mut [T],
    scratch: &mut Vec<T>,
) -> BinaryRisk<T> {
    let config = envelope.config();
    let found = thresholds(envelope, probabilities, labels, scratch);
    let excess = |i: usize| {
        if labels[i] == 0 { probabilities[i] - found.minus } else { found.plus - probabilities[i] }
    };
    let (mut sums, mut tails, mut ties) = ([0.0f64; 2], [0usize; 2], [0usize; 2]);
    for i in 0..labels.len() {
        let beyond = excess(i);
        let side = usize::from(labels[i] != 0);
        if beyond > T::ZERO {
            sums[side] += beyond.to_f64();
            tails[side] += 1;
        } else if beyond == T::ZERO {
            ties[side] += 1;
        }
    }
    let divisors = match config.normaliser {
        TailNormaliser::Mean => [labels.len(); 2],
        TailNormaliser::Tail => tails,
        TailNormaliser::TailWithTies => [tails[0] + ties[0], tails[1] + ties[1]],
    };
    let sign = if config.direction == Direction::Relax { -1.0 } else { 1.0 };
    let lambdas = [config.lambda_minus, config.lambda_plus];
    // An empty tail has a zero sum; dividing it by one keeps it zero.
    let factors = [0, 1].map(|side| sign * lambdas[side] / divisors[side].max(1) as f64);
    let per_row = [T::from_f64(factors[0]), T::from_f64(-factors[1])];
    for i in 0..labels.len() {
        slopes[i] = if excess(i) > T::ZERO { per_row[usize::from(labels[i] != 0)] } else { T::ZERO };
    }
    BinaryRisk { risk: factors[0] * sums[0] + factors[1] * sums[1], thresholds: found }
}
