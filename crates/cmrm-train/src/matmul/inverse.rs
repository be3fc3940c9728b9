//! The inverse of a symmetric, positive definite matrix.

use super::{View, ViewMut, multiply};

/// Matrices up to this size are taken apart number by number, larger ones by halves.
const SMALL: usize = 32;

/// The inverse of `matrix`, `size × size` with contiguous rows; none if the matrix is not positive definite.
pub(crate) fn inverse(matrix: &[f64], size: usize) -> Option<Vec<f64>> {
    let factor = inverse_factor(matrix, size)?;
    let factor = View::rows(&factor, size, size, size);
    let mut out = vec![0.0; size * size];
    multiply(ViewMut::rows(&mut out, size, size, size), factor.transposed(), factor, false);
    Some(out)
}

/// The inverse of Cholesky's factor: lower triangular `K` with `Kᵀ·K = matrix⁻¹`; none if the matrix is not positive definite.
///
/// With the matrix cut into four, `[[A, Bᵀ], [B, D]]`, it is put together from those of `A` and of what `A` leaves of `D`,
/// so that nearly all of the work is in products.
pub(crate) fn inverse_factor(matrix: &[f64], size: usize) -> Option<Vec<f64>> {
    if size <= SMALL {
        return inverse_factor_by_rows(matrix, size);
    }
    let half = size / 2;
    let rest = size - half;
    let block = |row: usize, column: usize, columns: usize| {
        let rows = if row == 0 { half } else { rest };
        (0..rows).flat_map(|i| &matrix[(row + i) * size + column..][..columns]).copied().collect::<Vec<f64>>()
    };
    let upper = inverse_factor(&block(0, 0, half), half)?;
    let upper = View::rows(&upper, half, half, half);
    // The factor's lower left corner, turned round in sign: −B·K₁ᵀ.
    let b: Vec<f64> = block(half, 0, half).iter().map(|value| -value).collect();
    let mut left = vec![0.0; rest * half];
    multiply(ViewMut::rows(&mut left, rest, half, half), View::rows(&b, rest, half, half), upper.transposed(), false);
    // D less that corner's square.
    let mut square = vec![0.0; rest * rest];
    let left = View::rows(&left, rest, half, half);
    multiply(ViewMut::rows(&mut square, rest, rest, rest), left, left.transposed(), false);
    let remains: Vec<f64> = block(half, half, rest).iter().zip(&square).map(|(d, square)| d - square).collect();
    let lower = inverse_factor(&remains, rest)?;
    let lower = View::rows(&lower, rest, rest, rest);
    // The corner of the inverse: K₂ times the turned corner times K₁.
    let (mut between, mut corner) = (vec![0.0; rest * half], vec![0.0; rest * half]);
    multiply(ViewMut::rows(&mut between, rest, half, half), lower, left, false);
    multiply(ViewMut::rows(&mut corner, rest, half, half), View::rows(&between, rest, half, half), upper, false);
    let mut out = vec![0.0; size * size];
    for (i, row) in out.chunks_exact_mut(size).enumerate() {
        if i < half {
            row[..half].copy_from_slice(&upper.data[i * half..][..half]);
        } else {
            row[..half].copy_from_slice(&corner[(i - half) * half..][..half]);
            row[half..].copy_from_slice(&lower.data[(i - half) * rest..][..rest]);
        }
    }
    Some(out)
}

/// The same for a small matrix: Cholesky's factor row by row, then its inverse column by column.
fn inverse_factor_by_rows(matrix: &[f64], size: usize) -> Option<Vec<f64>> {
    let mut factor = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| factor[i * size + k] * factor[j * size + k]).sum();
            let left = matrix[i * size + j] - sum;
            if i > j {
                factor[i * size + j] = left / factor[j * size + j];
            } else if left > 0.0 && left.is_finite() {
                factor[i * size + i] = left.sqrt();
            } else {
                return None;
            }
        }
    }
    let mut out = vec![0.0; size * size];
    for j in 0..size {
        for i in j..size {
            let sum: f64 = (j..i).map(|k| factor[i * size + k] * out[k * size + j]).sum();
            let unit = if i == j { 1.0 } else { 0.0 };
            out[i * size + j] = (unit - sum) / factor[i * size + i];
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B·Bᵀ + I for a B of fixed numbers.
    fn positive(size: usize) -> Vec<f64> {
        let b: Vec<f64> = (0..size * size).map(|i| ((i * 7919) % 1000) as f64 / 500.0 - 1.0).collect();
        let mut out: Vec<f64> = (0..size * size).map(|i| f64::from(u8::from(i % (size + 1) == 0))).collect();
        let view = View::rows(&b, size, size, size);
        multiply(ViewMut::rows(&mut out, size, size, size), view, view.transposed(), true);
        out
    }

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        for size in [1, 2, 7, 32, 33, 65, 130] {
            let matrix = positive(size);
            let found = inverse(&matrix, size).unwrap();
            let mut product = vec![0.0; size * size];
            let rows = |data| View::rows(data, size, size, size);
            multiply(ViewMut::rows(&mut product, size, size, size), rows(&matrix), rows(&found), false);
            for (i, &value) in product.iter().enumerate() {
                let expected = f64::from(u8::from(i % (size + 1) == 0));
                assert!((value - expected).abs() < 1e-10, "size {size}: {value}");
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_none() {
        for (size, at) in [(3, 2), (40, 5), (40, 39)] {
            let mut matrix = positive(size);
            matrix[at * size + at] = -1.0;
            assert_eq!(inverse(&matrix, size), None);
            matrix[at * size + at] = f64::NAN;
            assert_eq!(inverse(&matrix, size), None);
        }
    }
}
