//! Matrix products on strided views, by the `gemm` crates (AVX-512 or AVX2 where the processor has it).
//!
//! The parts of `gemm` for the two number types are used directly: its front would compile complex numbers too.
//! The only unsafe code of the engine: the bounds of every view are checked here before pointers are handed over.
//! A product runs on one thread; callers spread independent products over threads, so results never depend on how many.

#![allow(unsafe_code)]

use std::any::TypeId;

use cmrm::Scalar;
use gemm_common::Parallelism;

/// A borrowed matrix: element `(i, j)` stands at `data[i·row_stride + j·column_stride]`.
#[derive(Debug, Clone, Copy)]
pub struct View<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a, T> View<'a, T> {
    /// Rows that start `row_stride` apart, each contiguous.
    pub fn rows(data: &'a [T], rows: usize, columns: usize, row_stride: usize) -> Self {
        check_bounds(data.len(), rows, columns, row_stride, 1);
        View { data, rows, columns, row_stride, column_stride: 1 }
    }

    /// The same numbers with rows and columns exchanged.
    pub fn transposed(self) -> Self {
        View {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

/// A mutable matrix with contiguous rows that start `row_stride` apart.
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    data: &'a mut [T],
    rows: usize,
    columns: usize,
    row_stride: usize,
}

impl<'a, T> ViewMut<'a, T> {
    /// Rows that start `row_stride` apart, each contiguous.
    pub fn rows(data: &'a mut [T], rows: usize, columns: usize, row_stride: usize) -> Self {
        check_bounds(data.len(), rows, columns, row_stride, 1);
        ViewMut { data, rows, columns, row_stride }
    }
}

fn check_bounds(length: usize, rows: usize, columns: usize, row_stride: usize, column_stride: usize) {
    if rows == 0 || columns == 0 {
        return;
    }
    let last = (rows - 1)
        .checked_mul(row_stride)
        .and_then(|r| (columns - 1).checked_mul(column_stride).and_then(|c| r.checked_add(c)));
    assert!(last.is_some_and(|last| last < length), "a {rows}×{columns} view does not fit into {length} numbers");
}

/// `out ← a · b`, or `out ← out + a · b` if `accumulate`. Panics if the shapes disagree (a bug of this crate).
pub fn multiply<T: Scalar>(out: ViewMut<'_, T>, a: View<'_, T>, b: View<'_, T>, accumulate: bool) {
    assert_eq!((out.rows, out.columns, a.columns), (a.rows, b.columns, b.rows), "shapes of a matrix product");
    if out.rows == 0 || out.columns == 0 {
        return;
    }
    // SAFETY: every view was checked on construction to lie inside its slice for all its rows and columns, `out` is
    // borrowed mutably so it overlaps neither operand, its rows are disjoint because each is contiguous and no longer
    // than the row stride (checked below), and `Scalar` is f32 or f64, which `gemm` supports.
    assert!(out.rows == 1 || out.row_stride >= out.columns, "rows of a product must not overlap");
    if TypeId::of::<T>() == TypeId::of::<f32>() {
        unsafe { call(gemm_f32::gemm::f32::get_gemm_fn(), 1.0f32, out, a, b, accumulate) }
    } else {
        assert_eq!(TypeId::of::<T>(), TypeId::of::<f64>(), "numbers are f32 or f64");
        unsafe { call(gemm_f64::gemm::f64::get_gemm_fn(), 1.0f64, out, a, b, accumulate) }
    }
}

/// The product function of the `gemm` crates for the number type `N`.
type Kernel<N> = unsafe fn(
    usize,
    usize,
    usize,
    *mut N,
    isize,
    isize,
    bool,
    *const N,
    isize,
    isize,
    *const N,
    isize,
    isize,
    N,
    N,
    bool,
    bool,
    bool,
    Parallelism,
);

/// Calls `kernel` on the views, whose numbers are of type `N`. The kernels want contiguous columns where these views
/// have contiguous rows, so the transposed product `outᵀ = bᵀ · aᵀ` is asked for.
///
/// # Safety
/// `T` must be `N`; the shapes must agree.
unsafe fn call<T, N: Copy>(
    kernel: Kernel<N>,
    one: N,
    out: ViewMut<'_, T>,
    a: View<'_, T>,
    b: View<'_, T>,
    accumulate: bool,
) {
    unsafe {
        kernel(
            out.columns,
            out.rows,
            a.columns,
            out.data.as_mut_ptr().cast(),
            out.row_stride as isize,
            1,
            accumulate,
            b.data.as_ptr().cast(),
            b.row_stride as isize,
            b.column_stride as isize,
            a.data.as_ptr().cast(),
            a.row_stride as isize,
            a.column_stride as isize,
            one,
            one,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strided_products_agree_with_the_definition_in_every_orientation() {
        let (m, n, k, pad) = (7, 5, 9, 3);
        let a: Vec<f64> = (0..m * (k + pad)).map(|i| (i as f64 * 0.37).sin()).collect();
        let bt: Vec<f64> = (0..n * (k + pad)).map(|i| (i as f64 * 0.21).cos()).collect();
        let mut out = vec![0.5; m * (n + pad)];
        let product =
            |i: usize, j: usize| -> f64 { (0..k).map(|l| a[i * (k + pad) + l] * bt[j * (k + pad) + l]).sum() };
        for accumulate in [false, true] {
            let before = out.clone();
            multiply(
                ViewMut::rows(&mut out, m, n, n + pad),
                View::rows(&a, m, k, k + pad),
                View::rows(&bt, n, k, k + pad).transposed(),
                accumulate,
            );
            for i in 0..m {
                for j in 0..n + pad {
                    let at = i * (n + pad) + j;
                    let kept = if accumulate || j >= n { before[at] } else { 0.0 };
                    let expected = kept + if j < n { product(i, j) } else { 0.0 };
                    assert!((out[at] - expected).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "does not fit")]
    fn a_view_larger_than_its_slice_is_refused() {
        View::rows(&[0.0f32; 10], 3, 4, 4);
    }
}
