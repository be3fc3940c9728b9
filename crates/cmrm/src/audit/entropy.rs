//! Confidence-weighted entropy.

use super::kernel::{CLOSE, LANES};
use crate::scalar::Scalar;

/// `ln(1 + x)/x` with `x = H(p)/(ln K · p[y])`; see [`super::ScoreMethod::ConfidenceWeightedEntropy`].
#[inline(always)]
pub(super) fn weighted_entropy_score<T: Scalar>(row: &[T], p_label: f64, agrees: bool) -> f64 {
    let entropy = entropy(row).max(0.0) / (row.len() as f64).ln();
    let x = entropy / p_label.max(CLOSE);
    if x >= CLOSE {
        x.ln_1p() / x
    } else if agrees {
        1.0
    } else {
        x.ln_1p() / CLOSE
    }
}

/// `−Σ p ln p`, added in a fixed order.
#[inline(always)]
fn entropy<T: Scalar>(row: &[T]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for l in 0..LANES {
            lanes[l] += p_ln_p(chunk[l].to_f64());
        }
    }
    for l in 0..rest.len() {
        lanes[l] += p_ln_p(rest[l].to_f64());
    }
    -lanes.iter().sum::<f64>()
}

/// `p ln p` for `p` in `[0, 1]`, 0 at 0; a loop over it vectorises.
///
/// With `p = m·2^e` and `m` in `[√½, √2)`, `ln p = e ln 2 + 2 artanh(s)`, `s = (m−1)/(m+1)`, `|s| < 0.1716`; the series of
/// artanh to `s¹⁵` errs by less than `2|s|¹⁷/17/(1−s²)`, 1.2e-14. Numbers below the smallest normal one contribute
/// nothing that counts.
#[inline(always)]
fn p_ln_p(p: f64) -> f64 {
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    const MANTISSA: u64 = (1 << 52) - 1;
    // 2^52, whose low bits hold a whole number that is put there.
    const WHOLE: u64 = 0x4330_0000_0000_0000;
    let shifted = p.to_bits().wrapping_add(ONE - ROOT_HALF);
    let exponent = f64::from_bits((shifted >> 52) | WHOLE) - (4_503_599_627_370_496.0 + 1023.0);
    let m = f64::from_bits((shifted & MANTISSA) + ROOT_HALF);
    let s = (m - 1.0) / (m + 1.0);
    let q = s * s;
    let low = (1.0 + q * (1.0 / 3.0)) + (q * q) * (1.0 / 5.0 + q * (1.0 / 7.0));
    let high = (1.0 / 9.0 + q * (1.0 / 11.0)) + (q * q) * (1.0 / 13.0 + q * (1.0 / 15.0));
    let q4 = (q * q) * (q * q);
    p * (exponent * std::f64::consts::LN_2 + 2.0 * s * (low + q4 * high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vector_logarithm_agrees_with_the_library_one() {
        for i in 1..=1_000_000 {
            let p = f64::from(i) / 1e6;
            let error = (p_ln_p(p) - p * p.ln()).abs();
            // The series' remainder, and rounding.
            assert!(error <= 1.2e-14 * p + 4e-16, "{p}: {error}");
        }
        for exponent in 1..300 {
            let p = 10f64.powi(-exponent);
            assert!((p_ln_p(p) / (p * p.ln()) - 1.0).abs() < 1e-14, "{p}");
        }
        assert_eq!(p_ln_p(0.0), 0.0);
        assert_eq!(p_ln_p(1.0), 0.0);
        assert!(p_ln_p(f64::from_bits(1)).abs() < 1e-300);
    }
}
