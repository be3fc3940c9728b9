//! The two number types of parameters.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Sub};

/// `f32` or `f64`: the type of parameters, gradients and optimiser buffers.
pub trait Float:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + 'static
{
    /// Distance from one to the next larger number.
    const EPSILON: f64;
    /// Relative rounding error to expect of a mean loss computed in this type with 64-bit sums.
    const LOSS_NOISE: f64;
    /// Nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// The same number with 53 bits; exact.
    fn to_f64(self) -> f64;
    /// Square root, correctly rounded.
    fn sqrt(self) -> Self;
}

impl Float for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;
    const LOSS_NOISE: f64 = 4.0 * f32::EPSILON as f64;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        self.sqrt()
    }
}

impl Float for f64 {
    const EPSILON: f64 = f64::EPSILON;
    const LOSS_NOISE: f64 = 64.0 * f64::EPSILON;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        self.sqrt()
    }
}
