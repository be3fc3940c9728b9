//! Matrix products on strided views, by the `gemm` crates (AVX-512 or AVX2 where the processor has it), and by
//! `skinny.rs` where outputs are few.
//!
//! The parts of `gemm` for the two number types are used directly: its front would compile complex numbers too.
//! The only unsafe code of the engine: the bounds of every view are checked here before pointers are handed over.
//! A product runs on one thread; callers spread independent products over threads, so results never depend on how many.

#![allow(unsafe_code)]

mod by_row;
mod inverse;
mod skinny;
mod transpose;

use std::any::TypeId;
use std::cell::RefCell;

use cmrm::Scalar;
use gemm_common::Parallelism;

use crate::aligned::Aligned;

pub(crate) use by_row::multiply_by_row;
pub(crate) use inverse::{inverse, inverse_factor};

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
    // What the unsafe calls below rely on: every view was checked on construction to lie inside its slice for all its rows
    // and columns, `out` is borrowed mutably so it overlaps neither operand, and its rows are disjoint because each is
    // contiguous and no longer than the row stride:
    assert!(out.rows == 1 || out.row_stride >= out.columns, "rows of a product must not overlap");
    if TypeId::of::<T>() == TypeId::of::<f32>() {
        if let Some(job) = Skinny::of(&out, &a, &b) {
            // SAFETY: `T` is `f32`.
            return unsafe { job.run(out, a, b, accumulate) };
        }
        // SAFETY: `T` is `f32`; shapes and rows were checked above.
        unsafe { in_order(out, a, b, accumulate) }
    } else {
        assert_eq!(TypeId::of::<T>(), TypeId::of::<f64>(), "numbers are f32 or f64");
        // SAFETY: `T` is `f64`; shapes and rows were checked above.
        unsafe { call(gemm_f64::gemm::f64::get_gemm_fn(), 1.0f64, out, a, b, accumulate) }
    }
}

/// Numbers that are of single precision; nothing for others.
fn as_floats<T: Scalar>(data: &[T]) -> Option<&[f32]> {
    // SAFETY: `T` is `f32`.
    let floats = || unsafe { std::slice::from_raw_parts(data.as_ptr().cast::<f32>(), data.len()) };
    (TypeId::of::<T>() == TypeId::of::<f32>()).then(floats)
}

/// The same of numbers to be changed.
fn as_floats_mut<T: Scalar>(data: &mut [T]) -> Option<&mut [f32]> {
    if TypeId::of::<T>() != TypeId::of::<f32>() {
        return None;
    }
    // SAFETY: `T` is `f32`, and the slice is borrowed mutably.
    Some(unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast::<f32>(), data.len()) })
}

/// The two products of a layer with few outputs.
#[derive(Clone, Copy)]
enum Skinny {
    /// Rows of features times rows of weights.
    Outputs,
    /// Columns of deltas times rows of features.
    Gradient,
}

impl Skinny {
    /// Which of them this is, if any.
    fn of<T>(out: &ViewMut<'_, T>, a: &View<'_, T>, b: &View<'_, T>) -> Option<Self> {
        use skinny::{FEWEST_FEATURES, MOST_OUTPUTS};
        if a.column_stride == 1 && b.row_stride == 1 && out.columns <= MOST_OUTPUTS && a.columns >= FEWEST_FEATURES {
            Some(Skinny::Outputs)
        } else if a.row_stride == 1 && b.column_stride == 1 && out.rows <= MOST_OUTPUTS && b.columns >= FEWEST_FEATURES
        {
            Some(Skinny::Gradient)
        } else {
            None
        }
    }

    /// # Safety
    /// `T` must be `f32`.
    unsafe fn run<T>(self, out: ViewMut<'_, T>, a: View<'_, T>, b: View<'_, T>, accumulate: bool) {
        // SAFETY: a slice of `T` is a slice of `f32`, as the caller promises.
        let floats = |data: &[T]| unsafe { std::slice::from_raw_parts(data.as_ptr().cast::<f32>(), data.len()) };
        let stride = out.row_stride;
        // SAFETY: as above, and `out` is borrowed mutably.
        let out = unsafe { std::slice::from_raw_parts_mut(out.data.as_mut_ptr().cast::<f32>(), out.data.len()) };
        let rows = |view: &View<'_, T>| (view.rows, view.columns, view.row_stride);
        let (a_data, b_data) = (floats(a.data), floats(b.data));
        let as_rows = |values, (rows, columns, stride)| skinny::Rows { values, rows, columns, stride };
        match self {
            Skinny::Outputs => {
                let (x, weights) = (as_rows(a_data, rows(&a)), as_rows(b_data, rows(&b.transposed())));
                pulp::Arch::new().dispatch(skinny::Outputs { x, weights, out, stride, accumulate });
            }
            Skinny::Gradient => {
                let (x, delta) = (as_rows(b_data, rows(&b)), as_rows(a_data, rows(&a.transposed())));
                pulp::Arch::new().dispatch(skinny::Gradient { x, delta, out, stride, accumulate });
            }
        }
    }
}

/// Fewest rows of a result for which it pays to turn the right operand.
const FEWEST_USES: usize = 8;

/// Columns of a result up to which the kernels for AVX-512 read a left operand as it lies, if it lies across; of 32, 48, 64
/// and 128 the fastest in `research/peers/run`.
const COLUMNS_AS_IT_LIES: usize = 64;

/// Longest sums that the kernels never divide. Left to themselves they divide longer ones by the sizes of result and caches,
/// and the same sum would come out otherwise in a product of another width, or on another machine.
const UNDIVIDED: usize = 512;

thread_local! {
    /// An operand that was turned.
    static TURNED: RefCell<Aligned<f32>> = RefCell::default();
}

/// The general product of single precision, of operands in the order in which the kernels read them fast. They copy what
/// lies across their vectors one number at a time.
///
/// # Safety
/// `T` must be `f32`; the shapes must agree, the views lie inside their slices, and rows of `out` not overlap.
unsafe fn in_order<T>(out: ViewMut<'_, T>, a: View<'_, T>, b: View<'_, T>, accumulate: bool) {
    let kernel = gemm_f32::gemm::f32::get_gemm_fn();
    // SAFETY: as the caller promises.
    let (a, b) = unsafe { (a.into_floats(), b.into_floats()) };
    if b.column_stride != 1 && b.row_stride == 1 && out.rows >= FEWEST_USES {
        // SAFETY: as the caller promises; the turned operand is a checked view of the same shape.
        TURNED.with_borrow_mut(|buffer| unsafe { call(kernel, 1.0f32, out, a, b.turn(buffer), accumulate) });
    } else if a.column_stride != 1 && b.column_stride == 1 && a.columns > 0 {
        let ViewMut { data, rows, columns, row_stride } = out;
        let part = a.columns.div_ceil(a.columns.div_ceil(UNDIVIDED));
        for first in (0..a.columns).step_by(part) {
            let inner = part.min(a.columns - first);
            let a = View { data: &a.data[first * a.column_stride..], columns: inner, ..a };
            for from in (0..columns).step_by(COLUMNS_AS_IT_LIES) {
                let columns = COLUMNS_AS_IT_LIES.min(columns - from);
                let out = ViewMut::rows(&mut data[from..], rows, columns, row_stride);
                let b = View { data: &b.data[first * b.row_stride + from..], rows: inner, columns, ..b };
                // SAFETY: parts of views that the caller vouches for.
                unsafe { call(kernel, 1.0f32, out, a, b, accumulate || first > 0) }
            }
        }
    } else {
        // SAFETY: as the caller promises.
        unsafe { call(kernel, 1.0f32, out, a, b, accumulate) }
    }
}

impl<'a, T> View<'a, T> {
    /// # Safety
    /// `T` must be `f32`.
    unsafe fn into_floats(self) -> View<'a, f32> {
        let View { data, rows, columns, row_stride, column_stride } = self;
        // SAFETY: a slice of `T` is a slice of `f32`, as the caller promises.
        let data = unsafe { std::slice::from_raw_parts(data.as_ptr().cast::<f32>(), data.len()) };
        View { data, rows, columns, row_stride, column_stride }
    }
}

impl<'a> View<'a, f32> {
    /// The same matrix, whose columns are contiguous here, with contiguous rows.
    fn turn(self, buffer: &'a mut Aligned<f32>) -> Self {
        let View { data, rows, columns, column_stride, .. } = self;
        buffer.resize(rows * columns);
        transpose::transpose(data, columns, rows, column_stride, buffer);
        View::rows(buffer, rows, columns, columns)
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
/// `T` and `A` must be `N`; the shapes must agree, the views lie inside their slices, and rows of `out` not overlap.
unsafe fn call<T, N: Copy, A>(
    kernel: Kernel<N>,
    one: N,
    out: ViewMut<'_, T>,
    a: View<'_, A>,
    b: View<'_, A>,
    accumulate: bool,
) {
    // SAFETY: pointers, strides and sizes are those of the views, as the caller promises; one thread.
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

    /// Both orders of the right operand and both of the left, beside and beyond what single precision turns or divides.
    #[test]
    fn single_precision_agrees_with_the_definition_however_operands_lie() {
        let number = |i: usize| ((i * 7919) % 1000) as f32 / 500.0 - 1.0;
        let pad = 3;
        for (m, n, k) in [(40, 300, 70), (7, 40, 50), (8, 40, 50), (33, 128, 5), (33, 129, 64)] {
            let a: Vec<f32> = (0..m.max(k) * (m.max(k) + pad)).map(number).collect();
            let b: Vec<f32> = (0..n.max(k) * (n.max(k) + pad)).map(|i| number(i + 5)).collect();
            let (a_stride, b_stride) = (m.max(k) + pad, n.max(k) + pad);
            for (a_across, b_across, accumulate) in (0..8).map(|bits| (bits & 1 > 0, bits & 2 > 0, bits & 4 > 0)) {
                let lie = |data, rows, columns, stride, across| match across {
                    true => View::rows(data, columns, rows, stride).transposed(),
                    false => View::rows(data, rows, columns, stride),
                };
                let (a_view, b_view) = (lie(&a, m, k, a_stride, a_across), lie(&b, k, n, b_stride, b_across));
                let at = |view: &View<'_, f32>, i: usize, j: usize| {
                    f64::from(view.data[i * view.row_stride + j * view.column_stride])
                };
                let mut out = vec![0.5f32; m * (n + pad)];
                multiply(ViewMut::rows(&mut out, m, n, n + pad), a_view, b_view, accumulate);
                for (i, row) in out.chunks_exact(n + pad).enumerate() {
                    for (j, &found) in row.iter().enumerate() {
                        let sum = || (0..k).map(|l| at(&a_view, i, l) * at(&b_view, l, j)).sum::<f64>();
                        let expected = if j >= n { 0.5 } else { sum() + if accumulate { 0.5 } else { 0.0 } };
                        assert!(
                            (f64::from(found) - expected).abs() < 1e-4,
                            "{m}×{n}×{k}, across {a_across} {b_across}: {found} {expected}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn few_outputs_agree_with_the_definition_at_every_size() {
        let number = |i: usize| ((i * 7919) % 1000) as f32 / 500.0 - 1.0;
        let pad = 2;
        for (rows, outputs, features) in
            [(1, 1, 32), (3, 2, 33), (4, 5, 64), (7, 9, 47), (130, 10, 100), (300, 24, 65), (5, 13, 160)]
        {
            let x: Vec<f32> = (0..rows * (features + pad)).map(number).collect();
            let w: Vec<f32> = (0..outputs * (features + pad)).map(|i| number(i + 5)).collect();
            let delta: Vec<f32> = (0..rows * (outputs + pad)).map(|i| number(i + 11)).collect();
            for accumulate in [false, true] {
                let mut out = vec![0.5f32; rows * (outputs + pad)];
                let (x_view, w_view) =
                    (View::rows(&x, rows, features, features + pad), View::rows(&w, outputs, features, features + pad));
                let out_view = ViewMut::rows(&mut out, rows, outputs, outputs + pad);
                assert!(matches!(Skinny::of(&out_view, &x_view, &w_view.transposed()), Some(Skinny::Outputs)));
                multiply(out_view, x_view, w_view.transposed(), accumulate);
                for i in 0..rows {
                    for c in 0..outputs + pad {
                        let (x, w) = (&x[i * (features + pad)..], w.get(c * (features + pad)..).unwrap_or(&[]));
                        let sum: f64 =
                            (0..features).map(|k| f64::from(x[k]) * f64::from(w.get(k).copied().unwrap_or(0.0))).sum();
                        let expected = if c >= outputs { 0.5 } else { sum + if accumulate { 0.5 } else { 0.0 } };
                        let found = f64::from(out[i * (outputs + pad) + c]);
                        assert!((found - expected).abs() < 1e-4, "{rows}×{outputs}×{features}: {found} {expected}");
                    }
                }
                let mut gradient = vec![0.5f32; outputs * (features + pad)];
                let delta_view = View::rows(&delta, rows, outputs, outputs + pad).transposed();
                let out_view = ViewMut::rows(&mut gradient, outputs, features, features + pad);
                assert!(matches!(Skinny::of(&out_view, &delta_view, &x_view), Some(Skinny::Gradient)));
                multiply(out_view, delta_view, x_view, accumulate);
                for c in 0..outputs {
                    for j in 0..features + pad {
                        let sum: f64 = (0..rows)
                            .map(|i| f64::from(delta[i * (outputs + pad) + c]) * f64::from(x[i * (features + pad) + j]))
                            .sum();
                        let expected = if j >= features { 0.5 } else { sum + if accumulate { 0.5 } else { 0.0 } };
                        let found = f64::from(gradient[c * (features + pad) + j]);
                        assert!((found - expected).abs() < 1e-4, "{rows}×{outputs}×{features}: {found} {expected}");
                    }
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
