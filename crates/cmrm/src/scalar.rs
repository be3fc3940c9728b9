//! The two number types of the library, `f32` and `f64`, and the few functions the kernels need of them.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::envelope::WideRow;

/// `f32` or `f64`.
pub trait Scalar:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
    + Into<f64>
    + WideRow
    + sealed::Sealed
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Minus infinity, the neutral element of the maximum.
    const NEG_INFINITY: Self;
    /// Distance from one to the next larger number.
    const EPSILON: f64;

    /// Rounds to the nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// The same number in double precision.
    fn to_f64(self) -> f64;
    /// Whether it is neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// `ln(1 + self)`, accurate near zero.
    fn ln_1p(self) -> Self;
    /// `exp(self) − 1`, accurate near zero.
    fn exp_m1(self) -> Self;
    /// `ln(1 + self)` for arguments that are zero or positive; a loop over it vectorises where
    /// [`Scalar::exp_of_nonpositive`] does. NaN gives NaN.
    fn ln_1p_of_nonnegative(self) -> Self;
    /// `self` to the power `exponent`.
    fn powf(self, exponent: Self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// `self · factor + sum`, rounded once.
    fn mul_add(self, factor: Self, sum: Self) -> Self;
    /// Total order, for selection.
    fn total_cmp(&self, other: &Self) -> std::cmp::Ordering;
    /// `exp(self · scale)` for products that are zero or negative, minus infinity included; a loop over it vectorises. It
    /// is made of fused multiply-adds, which are slow calls unless the code around it is compiled for a processor that
    /// has them: put loops inside `pulp::Arch::new().dispatch(|| …)`.
    ///
    /// In `f32` the relative error is below `2.4e-7 + 8e-8 |self · scale|`, and results below 2^−125 may be flushed to
    /// zero. NaN gives no particular number.
    fn exp_of_scaled(self, scale: Self) -> Self;

    /// [`Scalar::exp_of_scaled`] with a scale of one.
    #[inline(always)]
    fn exp_of_nonpositive(self) -> Self {
        self.exp_of_scaled(Self::ONE)
    }

    /// The larger of two numbers that are not NaN.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// The smaller of two numbers that are not NaN.
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    /// Logistic function, without overflow at either end.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let tail = (-self.abs()).exp_of_nonpositive();
        let numerator = if self < Self::ZERO { tail } else { Self::ONE };
        numerator / (Self::ONE + tail)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! float_methods {
    ($t:ty) => {
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;
        const NEG_INFINITY: Self = <$t>::NEG_INFINITY;
        const EPSILON: f64 = <$t>::EPSILON as f64;

        #[inline(always)]
        fn from_f64(value: f64) -> Self {
            value as $t
        }
        #[inline(always)]
        fn to_f64(self) -> f64 {
            self as f64
        }
        #[inline(always)]
        fn is_finite(self) -> bool {
            <$t>::is_finite(self)
        }
        #[inline(always)]
        fn ln(self) -> Self {
            <$t>::ln(self)
        }
        #[inline(always)]
        fn ln_1p(self) -> Self {
            <$t>::ln_1p(self)
        }
        #[inline(always)]
        fn exp_m1(self) -> Self {
            <$t>::exp_m1(self)
        }
        #[inline(always)]
        fn powf(self, exponent: Self) -> Self {
            <$t>::powf(self, exponent)
        }
        #[inline(always)]
        fn abs(self) -> Self {
            <$t>::abs(self)
        }
        #[inline(always)]
        fn sqrt(self) -> Self {
            <$t>::sqrt(self)
        }
        #[inline(always)]
        fn mul_add(self, factor: Self, sum: Self) -> Self {
            <$t>::mul_add(self, factor, sum)
        }
        #[inline(always)]
        fn total_cmp(&self, other: &Self) -> std::cmp::Ordering {
            <$t>::total_cmp(self, other)
        }
    };
}

/// `2^y = 2^n · 2^r` in single precision, with `n = round(y)` and `|r| ≤ ½`.
///
/// Fused multiplications are asked for by name, so every processor gives the same bits; one without such an instruction
/// computes them slowly.
pub(crate) mod exponential {
    /// Adding 1.5 · 2^23 rounds to an integer and leaves it in the low bits.
    pub const ROUND: f32 = 12_582_912.0;
    /// The least `y + ROUND` whose result is surely a normal number.
    pub const LOWEST: f32 = ROUND - 125.0;
    /// `c` in `2^r ≈ 1 + c₁ r + … + c₅ r⁵`, relative error at most 1.05e-7 on the interval.
    pub const SERIES: [f32; 5] = [0.693_146_9, 0.240_222_56, 0.055_508_62, 0.009_670_847, 0.001_322_462_6];
}

impl Scalar for f64 {
    float_methods!(f64);

    #[inline(always)]
    fn exp_of_scaled(self, scale: Self) -> Self {
        (self * scale).exp()
    }
    #[inline(always)]
    fn ln_1p_of_nonnegative(self) -> Self {
        self.ln_1p()
    }
}

impl Scalar for f32 {
    float_methods!(f32);

    // The vector version in envelope/wide gives the same bits: change both or neither.
    #[inline(always)]
    fn exp_of_scaled(self, scale: Self) -> Self {
        use exponential::{LOWEST, ROUND, SERIES};
        let rate = scale * std::f32::consts::LOG2_E;
        let shifted = self.mul_add(rate, ROUND);
        let n = shifted - ROUND;
        let r = self.mul_add(rate, -n);
        let [c1, c2, c3, c4, c5] = SERIES;
        let polynomial = c5.mul_add(r, c4).mul_add(r, c3).mul_add(r, c2).mul_add(r, c1).mul_add(r, 1.0);
        // ROUND itself is shifted out; what is left of it is n, in the exponent's place.
        let value = f32::from_bits(polynomial.to_bits().wrapping_add(shifted.to_bits() << 23));
        if shifted < LOWEST { 0.0 } else { value }
    }

    // With u = 1 + x = 2^k · m and m in [√½, √2): ln(1 + x) = k ln 2 + ln m + (x − (u − 1)) / u, where the last term gives
    // back what rounding took from x. ln m = 2 artanh(s), s = (m − 1)/(m + 1), by its series up to s⁹ (truncation below
    // 1e-9 for |s| ≤ 0.172).
    #[inline(always)]
    fn ln_1p_of_nonnegative(self) -> Self {
        const ROOT_HALF_BITS: u32 = 0x3f35_04f3;
        let u = 1.0 + self;
        let lost = self - (u - 1.0);
        // Both shifts keep the exponent's place; u is at least one, so the difference is not negative.
        let exponent = u.to_bits().wrapping_sub(ROOT_HALF_BITS) >> 23;
        let m = f32::from_bits(u.to_bits().wrapping_sub(exponent << 23));
        let f = m - 1.0;
        let s = f / (f + 2.0);
        let s2 = s * s;
        let series = s2.mul_add(s2.mul_add(s2.mul_add(1.0 / 9.0, 1.0 / 7.0), 1.0 / 5.0), 1.0 / 3.0);
        let ln_m = (2.0 * s).mul_add(s2 * series, 2.0 * s);
        (exponent as i32 as f32).mul_add(std::f32::consts::LN_2, ln_m) + lost / u
    }
}

/// Sum of `term(i, a[i], b[i])` over slices of equal length, in the order of [`sum_in_lanes`]; becomes vectors.
#[inline(always)]
pub(crate) fn sum_pairs_in_lanes<T: Scalar>(a: &[T], b: &[T], term: impl Fn(usize, f64, f64) -> f64) -> f64 {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (chunk, (a, b)) in a.iter().zip(b).enumerate() {
        for lane in 0..LANES {
            sums[lane] += term(chunk * LANES + lane, a[lane].to_f64(), b[lane].to_f64());
        }
    }
    let whole = a.len() * LANES;
    for (lane, (a, b)) in rest_a.iter().zip(rest_b).enumerate() {
        sums[lane] += term(whole + lane, a.to_f64(), b.to_f64());
    }
    add_pairwise(sums)
}

const LANES: usize = 8;

#[inline(always)]
fn add_pairwise([a, b, c, d, e, f, g, h]: [f64; LANES]) -> f64 {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Sum of `term(0)` to `term(count − 1)`, in eight interleaved sums that are then added pairwise: no addition waits for
/// the one before it, and the order depends on `count` alone.
#[inline(always)]
pub(crate) fn sum_in_lanes(count: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut sums = [0.0; LANES];
    let whole = count - count % LANES;
    for start in (0..whole).step_by(LANES) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += term(start + lane);
        }
    }
    for (i, sum) in (whole..count).zip(&mut sums) {
        *sum += term(i);
    }
    add_pairwise(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_exponential_is_accurate_and_handles_the_ends() {
        for i in 0..2_000_000 {
            let x = -(i as f32) * 86.6 / 2_000_000.0;
            let exact = f64::from(x).exp();
            let error = (f64::from(x.exp_of_nonpositive()) - exact).abs() / exact;
            // The rate, log2 e, is rounded once; what that costs grows with x.
            assert!(error < 2.4e-7 + 1.4e-8 * f64::from(-x), "{x}: {error}");
        }
        assert_eq!(0.0f32.exp_of_nonpositive(), 1.0);
        assert_eq!((-0.0f32).exp_of_nonpositive(), 1.0);
        for far in [-87.5, -1e3, -1e30, f32::MIN, f32::NEG_INFINITY] {
            assert_eq!(f32::exp_of_nonpositive(far), 0.0, "{far}");
        }
    }

    #[test]
    fn fast_exponential_takes_a_scale() {
        for (x, scale) in [(-0.37f32, 30.0f32), (-1.0, 0.01), (-2e-3, 1e4), (-1e-30, 1e30), (-60.0, 1.3)] {
            let exact = (f64::from(x) * f64::from(scale)).exp();
            let error = (f64::from(x.exp_of_scaled(scale)) - exact).abs() / exact;
            assert!(error < 2.4e-7 + 8e-8 * f64::from(x * scale).abs(), "{x} · {scale}: {error}");
        }
    }

    #[test]
    fn fast_logarithm_is_accurate_to_three_ulp_from_the_smallest_number_to_large_ones() {
        assert_eq!(0.0f32.ln_1p_of_nonnegative(), 0.0);
        assert!(f32::NAN.ln_1p_of_nonnegative().is_nan());
        let mut worst = 0.0f64;
        // Every 997th number from the smallest normal one to 2^20.
        for bits in (f32::MIN_POSITIVE.to_bits()..1_048_576.0f32.to_bits()).step_by(997) {
            let x = f32::from_bits(bits);
            let exact = f64::from(x).ln_1p();
            worst = worst.max((f64::from(x.ln_1p_of_nonnegative()) - exact).abs() / exact);
        }
        assert!(worst < 3.6e-7, "{worst}");
    }

    #[test]
    fn sigmoid_neither_overflows_nor_loses_its_tails() {
        for x in [-80.0f32, -1e4, f32::MIN, -3.0, 0.0, 3.0, 1e4, f32::MAX] {
            let w = x.sigmoid();
            assert!((0.0..=1.0).contains(&w), "{x} gives {w}");
            let exact = 1.0 / (1.0 + (-f64::from(x)).exp());
            assert!((f64::from(w) - exact).abs() <= 3e-7 * exact + 1e-37, "{x}: {w} against {exact}");
        }
    }
}
