//! Gradient clipping.

use cmrm::error::check_parameter;
use serde::{Deserialize, Serialize};

use super::vector::{norm, scale, vectorised};
use crate::error::Result;
use cmrm::Scalar;

/// How gradients are kept in bounds before a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clip {
    /// Scale the whole gradient down to this Euclidean norm if it is longer.
    Norm(f64),
    /// Clamp every entry to ± this value.
    Value(f64),
}

impl Clip {
    /// Refuses a bound that is not a positive number.
    pub fn check(&self) -> Result<()> {
        let (name, bound) = match *self {
            Clip::Norm(bound) => ("clip norm", bound),
            Clip::Value(bound) => ("clip value", bound),
        };
        Ok(check_parameter(name, bound, bound > 0.0 && bound.is_finite(), "a finite number above 0")?)
    }

    /// Clips `gradient` in place.
    pub fn apply<T: Scalar>(&self, gradient: &mut [T]) {
        match *self {
            Clip::Norm(bound) => {
                clip_norm(gradient, bound);
            }
            Clip::Value(bound) => clip_value(gradient, bound),
        }
    }
}

/// Scales `gradient` so that its Euclidean norm is at most `bound`, and returns the norm it had.
///
/// The factor is bound / (norm + 1e-6), as in `torch.nn.utils.clip_grad_norm_`. A gradient with a norm that is not finite
/// is left as it is: scaling cannot mend it, and the caller sees it in the returned norm.
pub fn clip_norm<T: Scalar>(gradient: &mut [T], bound: f64) -> f64 {
    let length = norm(gradient);
    let factor = bound / (length + 1e-6);
    if factor < 1.0 && length.is_finite() {
        scale(gradient, factor);
    }
    length
}

/// Clamps every entry of `gradient` to ±`bound`. NaN stays NaN.
pub fn clip_value<T: Scalar>(gradient: &mut [T], bound: f64) {
    let (low, high) = (T::from_f64(-bound), T::from_f64(bound));
    vectorised(
        #[inline(always)]
        || {
            for entry in gradient {
                let value = *entry;
                let value = if value > high { high } else { value };
                *entry = if value < low { low } else { value };
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_gradient_is_shortened_and_keeps_its_direction() {
        let mut gradient = [3.0f64, -4.0];
        assert_eq!(clip_norm(&mut gradient, 1.0), 5.0);
        assert!((gradient[0] - 0.6).abs() < 1e-6 && (gradient[1] + 0.8).abs() < 1e-6);
        let kept = gradient;
        clip_norm(&mut gradient, 10.0);
        assert_eq!(gradient, kept);
    }

    #[test]
    fn a_broken_gradient_is_reported_not_scaled() {
        let mut gradient = [f32::INFINITY, 1.0];
        assert!(!clip_norm(&mut gradient, 1.0).is_finite());
        assert_eq!(gradient, [f32::INFINITY, 1.0]);
    }

    #[test]
    fn values_are_clamped_on_both_sides() {
        let mut gradient = [3.0f32, -0.5, -7.0, f32::NAN, f32::NEG_INFINITY];
        clip_value(&mut gradient, 2.0);
        assert_eq!(gradient[..3], [2.0, -0.5, -2.0]);
        assert!(gradient[3].is_nan());
        assert_eq!(gradient[4], -2.0);
    }

    #[test]
    fn bounds_are_checked() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Clip::Norm(bad).check().is_err());
            assert!(Clip::Value(bad).check().is_err());
        }
        assert!(Clip::Norm(1.0).check().is_ok());
    }
}
