//! Vector arithmetic in one fixed order.
//!
//! Sums run in 32 interleaved 64-bit accumulators that are added up pairwise at the end. The number of lanes is a
//! constant, not the width of the processor's registers, and products are never fused with additions, so a sum has the
//! same bits on every machine. Vectors longer than `PIECE` are cut into pieces of it, which threads share and whose sums
//! are added in order; the number of threads changes no bit. The loops are plain; `pulp` compiles them for AVX2 and AVX-512 and picks at run time.

use cmrm::Scalar;
use rayon::prelude::*;

/// Interleaved accumulators of a sum: four AVX-512 registers of 64-bit numbers, enough to hide the latency of an addition.
const LANES: usize = 32;

/// Numbers of a long vector that are one thread's work.
const PIECE: usize = 1 << 17;

/// Runs `work`, compiled for the best instruction set that this processor has.
#[inline(always)]
pub(crate) fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// Adds up the accumulators pairwise: 32 → 16 → 8 → 4 → 2 → 1.
#[inline(always)]
fn total(mut lanes: [f64; LANES]) -> f64 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// Σ aᵢ·bᵢ in 64 bits; the products of 32-bit numbers are exact. The shorter length counts.
pub fn dot<T: Scalar>(a: &[T], b: &[T]) -> f64 {
    let length = a.len().min(b.len());
    let (a, b) = (&a[..length], &b[..length]);
    if length <= PIECE {
        return dot_piece(a, b);
    }
    let sums: Vec<f64> = a.par_chunks(PIECE).zip(b.par_chunks(PIECE)).map(|(a, b)| dot_piece(a, b)).collect();
    sums.into_iter().sum()
}

/// [`dot`] of vectors of one length.
fn dot_piece<T: Scalar>(a: &[T], b: &[T]) -> f64 {
    vectorised(
        #[inline(always)]
        || {
            let mut lanes = [0.0; LANES];
            let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
            let (a_rest, b_rest) = (a_chunks.remainder(), b_chunks.remainder());
            for (a_chunk, b_chunk) in a_chunks.zip(b_chunks) {
                for lane in 0..LANES {
                    lanes[lane] += a_chunk[lane].to_f64() * b_chunk[lane].to_f64();
                }
            }
            for (lane, (x, y)) in a_rest.iter().zip(b_rest).enumerate() {
                lanes[lane] += x.to_f64() * y.to_f64();
            }
            total(lanes)
        },
    )
}

/// Euclidean norm, accumulated in 64 bits.
pub fn norm<T: Scalar>(a: &[T]) -> f64 {
    dot(a, a).sqrt()
}

/// Largest absolute entry; 0 for an empty vector. NaN entries are passed over: check finiteness with [`norm`].
pub fn max_abs<T: Scalar>(a: &[T]) -> f64 {
    if a.len() <= PIECE { max_abs_piece(a) } else { a.par_chunks(PIECE).map(max_abs_piece).reduce(|| 0.0, f64::max) }
}

fn max_abs_piece<T: Scalar>(a: &[T]) -> f64 {
    vectorised(
        #[inline(always)]
        || {
            let mut lanes = [0.0f64; LANES];
            let chunks = a.chunks_exact(LANES);
            let rest = chunks.remainder();
            for chunk in chunks {
                for lane in 0..LANES {
                    lanes[lane] = lanes[lane].max(chunk[lane].to_f64().abs());
                }
            }
            let head = lanes.iter().fold(0.0f64, |most, &value| most.max(value));
            rest.iter().fold(head, |most, value| most.max(value.to_f64().abs()))
        },
    )
}

/// y += factor·x, each entry computed in 64 bits and rounded once.
pub(crate) fn add_scaled<T: Scalar>(y: &mut [T], factor: f64, x: &[T]) {
    if y.len() > PIECE {
        let pieces = y.par_chunks_mut(PIECE).zip(x.par_chunks(PIECE));
        return pieces.for_each(|(y, x)| add_scaled(y, factor, x));
    }
    vectorised(
        #[inline(always)]
        || {
            for (y, x) in y.iter_mut().zip(x) {
                *y = T::from_f64(y.to_f64() + factor * x.to_f64());
            }
        },
    );
}

/// out = x + factor·d, each entry computed in 64 bits and rounded once.
pub(crate) fn move_along<T: Scalar>(out: &mut [T], x: &[T], factor: f64, d: &[T]) {
    if out.len() > PIECE {
        let pieces = out.par_chunks_mut(PIECE).zip(x.par_chunks(PIECE)).zip(d.par_chunks(PIECE));
        return pieces.for_each(|((out, x), d)| move_along(out, x, factor, d));
    }
    vectorised(
        #[inline(always)]
        || {
            for ((out, x), d) in out.iter_mut().zip(x).zip(d) {
                *out = T::from_f64(x.to_f64() + factor * d.to_f64());
            }
        },
    );
}

/// x *= factor, each entry computed in 64 bits and rounded once.
pub(crate) fn scale<T: Scalar>(x: &mut [T], factor: f64) {
    if x.len() > PIECE {
        return x.par_chunks_mut(PIECE).for_each(|x| scale(x, factor));
    }
    vectorised(
        #[inline(always)]
        || {
            for x in x {
                *x = T::from_f64(x.to_f64() * factor);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_match_a_plain_loop_for_every_remainder() {
        for length in 0..100 {
            let a: Vec<f32> = (0..length).map(|i| (i as f32 * 0.37).sin()).collect();
            let b: Vec<f32> = (0..length).map(|i| (i as f32 * 0.11).cos()).collect();
            let plain: f64 = a.iter().zip(&b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
            assert!((dot(&a, &b) - plain).abs() < 1e-13, "length {length}");
            let most = a.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            assert_eq!(max_abs(&a), f64::from(most));
        }
    }

    #[test]
    fn the_order_of_a_sum_is_written_down() {
        // 1e16 + 1 loses the one; the result therefore tells which numbers were added to which.
        let mut a = vec![0.0f64; 64];
        (a[0], a[1], a[32], a[17]) = (1e16, 1.0, 1.0, 1.0);
        let ones = vec![1.0f64; 64];
        // Lane 0: 1e16 + 1 = 1e16. Lanes 1 and 17 meet at the first halving: 2, which survives.
        assert_eq!(dot(&a, &ones), 1e16 + 2.0);
    }

    #[test]
    fn long_vectors_in_pieces_match_a_plain_loop() {
        let length = 2 * PIECE + 77;
        let a: Vec<f32> = (0..length).map(|i| (i as f32 * 0.37).sin()).collect();
        let plain: f64 = a.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        assert!((dot(&a, &a) - plain).abs() < 1e-9 * plain);
        let mut b = a.clone();
        b[length - 1] = -3.0;
        assert_eq!(max_abs(&b), 3.0);
        add_scaled(&mut b, 1.0, &a);
        scale(&mut b, 0.5);
        let mut moved = vec![0.0; length];
        move_along(&mut moved, &a, 1.0, &b);
        assert!(moved.iter().zip(&a).take(length - 1).all(|(moved, a)| (moved - 2.0 * a).abs() < 1e-6));
        assert!((f64::from(moved[length - 1]) - (1.5 * f64::from(a[length - 1]) - 1.5)).abs() < 1e-6);
    }

    #[test]
    fn non_finite_entries_show_in_the_norm() {
        assert!(norm(&[1.0f32, f32::NAN]).is_nan());
        assert!(!norm(&[1.0f32, f32::INFINITY]).is_finite());
    }
}
