//! Rows to columns, in squares that are kept in registers.
//!
//! The general product copies operands that lie across its vectors one number at a time, a stride apart. Turned here first,
//! they are read in order.

/// Side of the squares that become registers.
const SQUARE: usize = 4;

/// Rows that are visited together: few enough for the processor's first cache, even where they start a multiple of its
/// size apart.
const STRIP: usize = 16;

/// `to[j, i] ← from[i, j]` for contiguous rows of `columns` numbers that start `stride` apart in `from`. The result is
/// contiguous.
pub(super) fn transpose(from: &[f32], rows: usize, columns: usize, stride: usize, to: &mut [f32]) {
    if rows == 0 || columns == 0 {
        return;
    }
    assert!((rows - 1) * stride + columns <= from.len() && columns * rows <= to.len(), "a matrix and room for it");
    let (last, end) = (rows - rows % SQUARE, columns - columns % SQUARE);
    for top in (0..last).step_by(STRIP) {
        for j in (0..end).step_by(SQUARE) {
            for i in (top..last.min(top + STRIP)).step_by(SQUARE) {
                // SAFETY: the square ends in row `last − 1` or before, and in column `end − 1` or before, of both
                // matrices, which lie in their slices (asserted above).
                unsafe { turn(from.as_ptr().add(i * stride + j), stride, to.as_mut_ptr().add(j * rows + i), rows) };
            }
        }
    }
    for i in 0..rows {
        // Of whole rows what stands beside the squares, of the last rows all.
        for j in if i < last { end } else { 0 }..columns {
            to[j * rows + i] = from[i * stride + j];
        }
    }
}

/// One square.
///
/// # Safety
/// Four rows of four numbers, that start `from_stride` apart, can be read, and as many, `to_stride` apart, be written.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn turn(from: *const f32, from_stride: usize, to: *mut f32, to_stride: usize) {
    use std::arch::x86_64::{_MM_TRANSPOSE4_PS, _mm_loadu_ps, _mm_storeu_ps};
    // SAFETY: as the caller promises. Every x86-64 has these instructions.
    unsafe {
        let row = |i: usize| _mm_loadu_ps(from.add(i * from_stride));
        let (mut a, mut b, mut c, mut d) = (row(0), row(1), row(2), row(3));
        _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
        for (j, column) in [a, b, c, d].into_iter().enumerate() {
            _mm_storeu_ps(to.add(j * to_stride), column);
        }
    }
}

/// One square.
///
/// # Safety
/// Four rows of four numbers, that start `from_stride` apart, can be read, and as many, `to_stride` apart, be written.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn turn(from: *const f32, from_stride: usize, to: *mut f32, to_stride: usize) {
    for i in 0..SQUARE {
        for j in 0..SQUARE {
            // SAFETY: as the caller promises.
            unsafe { *to.add(j * to_stride + i) = *from.add(i * from_stride + j) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_changes_place() {
        for (rows, columns, stride) in [(1, 1, 1), (3, 5, 7), (4, 8, 8), (66, 130, 131), (100, 67, 67)] {
            let from: Vec<f32> = (0..rows * stride).map(|i| i as f32).collect();
            let mut to = vec![-1.0; rows * columns];
            transpose(&from, rows, columns, stride, &mut to);
            for i in 0..rows {
                for j in 0..columns {
                    assert_eq!(to[j * rows + i], from[i * stride + j], "{rows}×{columns} at {i}, {j}");
                }
            }
        }
    }
}
