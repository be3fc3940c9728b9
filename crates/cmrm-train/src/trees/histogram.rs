//! Sums of gradients and curvatures by bin, as whole numbers.
//!
//! Gradients are rounded to whole numbers, tree by tree. Sums of whole numbers do not depend on their order, so neither
//! threads nor the subtraction of a child from its parent can change a bit. Gradient, curvature and number of rows share one
//! word: one addition a row and column.

use super::bins::CODES;
use super::codes::CodeBlock;

/// A word that holds three sums: rows in the lowest bits, curvature above them, the signed gradient on top.
pub(crate) trait Cell: Copy + Send + Sync + PartialEq + std::fmt::Debug + Default {
    /// Bits of the word.
    const BITS: u32;
    /// Three numbers in one word.
    fn pack(format: &Format, gradient: i64, curvature: i64) -> Self;
    /// The three sums again: gradient, curvature, rows.
    fn unpack(self, format: &Format) -> [i64; 3];
    /// The sums of both.
    fn plus(self, other: Self) -> Self;
    /// The sums of this less those of a part of it.
    fn minus(self, part: Self) -> Self;
}

macro_rules! cell {
    ($word:ty, $signed:ty) => {
        impl Cell for $word {
            const BITS: u32 = <$word>::BITS;

            #[inline(always)]
            fn pack(format: &Format, gradient: i64, curvature: i64) -> Self {
                let above = (gradient as $signed) << (format.count_bits + format.curvature_bits);
                (above as $word).wrapping_add((curvature as $word) << format.count_bits).wrapping_add(1)
            }

            #[inline(always)]
            fn unpack(self, format: &Format) -> [i64; 3] {
                let count = self & ((1 << format.count_bits) - 1);
                let curvature = (self >> format.count_bits) & ((1 << format.curvature_bits) - 1);
                let gradient = (self as $signed) >> (format.count_bits + format.curvature_bits);
                [gradient as i64, curvature as i64, count as i64]
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, part: Self) -> Self {
                self.wrapping_sub(part)
            }
        }
    };
}
cell!(u64, i64);
cell!(u128, i128);

/// How a word is divided among the three sums, and what one unit of two of them is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Format {
    count_bits: u32,
    curvature_bits: u32,
    pub gradient_unit: f64,
    pub curvature_unit: f64,
}

/// The largest whole number that a row's gradient or curvature becomes; more would say nothing that is in an `f32`.
const LARGEST: f64 = (1 << 24) as f64;
/// Units that the mean gradient should have at least.
const FINE: usize = 32;

/// Whether a word of 64 bits holds the sums of so many rows finely enough.
pub(crate) fn fits_small_word(rows: usize) -> bool {
    let count_bits = usize::BITS - rows.leading_zeros();
    let gradient_bits = (64 - count_bits).div_ceil(2);
    1usize << (gradient_bits - 1) >= FINE * rows
}

impl Format {
    /// The format for rows whose gradients have these absolute sums and maxima.
    pub fn new<C: Cell>(rows: usize, sums: [f64; 2], largest: [f64; 2]) -> Self {
        let count_bits = usize::BITS - rows.leading_zeros();
        let curvature_bits = (C::BITS - count_bits) / 2;
        let gradient_bits = C::BITS - count_bits - curvature_bits;
        // Rounding adds at most half a unit a row; a sum takes one bit less than its place.
        let room = |bits: u32| (2.0f64.powi(bits.min(60) as i32 - 1) - rows as f64).max(1.0);
        let unit = |sum: f64, largest: f64, bits| {
            let unit = (sum / room(bits)).max(largest / LARGEST);
            if unit > 0.0 { unit } else { 1.0 }
        };
        Format {
            count_bits,
            curvature_bits,
            gradient_unit: unit(sums[0], largest[0], gradient_bits),
            curvature_unit: unit(sums[1], largest[1], curvature_bits),
        }
    }

    /// One row as a word.
    #[inline(always)]
    pub fn pack<C: Cell>(&self, gradient: f32, curvature: f32) -> C {
        let whole = |value: f32, unit: f64| (f64::from(value) / unit).round_ties_even() as i64;
        let (gradient, curvature) = (whole(gradient, self.gradient_unit), whole(curvature, self.curvature_unit));
        C::pack(self, gradient, curvature)
    }
}

/// The sums of one column by code.
pub(crate) type Column<C> = [C; CODES];

/// Adds the rows of a leaf to the histograms of a block's columns. `cells` are those of the rows, in their order.
pub(crate) fn accumulate<C: Cell>(histogram: &mut [Column<C>], block: &CodeBlock, rows: &[u32], cells: &[C]) {
    macro_rules! by_width {
        ($($width:literal)*) => {
            match block.width {
                $($width => add_rows::<$width, C>(histogram, &block.codes, rows, cells),)*
                // Blocks are at most sixteen columns wide.
                _ => {}
            }
        };
    }
    by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
}

/// Rows whose codes are brought together before they are counted.
const TILE: usize = 256;

fn add_rows<const WIDTH: usize, C: Cell>(histogram: &mut [Column<C>], codes: &[u8], rows: &[u32], cells: &[C]) {
    let Some(histogram) = histogram.first_chunk_mut::<WIDTH>() else { return };
    let codes = codes.as_chunks::<WIDTH>().0;
    let mut tile = [[0; WIDTH]; TILE];
    for (rows, cells) in rows.chunks(TILE).zip(cells.chunks(TILE)) {
        // The rows of a leaf lie scattered. A loop that does nothing but fetch them waits for many at a time, one that also
        // counts only for a few.
        tile.iter_mut().zip(rows).for_each(|(place, &row)| *place = codes[row as usize]);
        for (codes, &cell) in tile.iter().zip(cells) {
            for at in 0..WIDTH {
                let sum = &mut histogram[at][usize::from(codes[at])];
                *sum = sum.plus(cell);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<C: Cell>(rows: &[(f32, f32)]) -> Result<(), TestCaseError> {
        let sums = rows.iter().fold([0.0; 2], |s, r| [s[0] + f64::from(r.0.abs()), s[1] + f64::from(r.1)]);
        let most = rows.iter().fold([0.0f64; 2], |m, r| [m[0].max(r.0.abs().into()), m[1].max(r.1.into())]);
        let format = Format::new::<C>(rows.len(), sums, most);
        let cells: Vec<C> = rows.iter().map(|r| format.pack(r.0, r.1)).collect();
        let sum = |cells: &[C]| cells.iter().fold(C::default(), |sum, &cell| sum.plus(cell));
        let (all, half) = (sum(&cells), sum(&cells[..rows.len() / 2]));
        prop_assert_eq!(all.minus(half), sum(&cells[rows.len() / 2..]));
        for (part, rows) in [(all, rows), (half, &rows[..rows.len() / 2])] {
            let [gradient, curvature, count] = part.unpack(&format);
            prop_assert_eq!(count as usize, rows.len());
            let exact = rows.iter().fold([0.0; 2], |s, r| [s[0] + f64::from(r.0), s[1] + f64::from(r.1)]);
            let slack = 0.501 * rows.len() as f64;
            prop_assert!((gradient as f64 - exact[0] / format.gradient_unit).abs() <= slack);
            prop_assert!((curvature as f64 - exact[1] / format.curvature_unit).abs() <= slack);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn three_sums_come_back_from_one_word(
            rows in prop::collection::vec((-1.0f32..1.0, 0.0f32..0.25), 1..3000),
            scale in prop::sample::select(vec![1e-20f32, 1e-3, 1.0, 1e6]),
            one_sided in any::<bool>(),
        ) {
            let scaled: Vec<(f32, f32)> =
                rows.iter().map(|r| (if one_sided { -r.0.abs() } else { r.0 } * scale, r.1 * scale)).collect();
            check::<u64>(&scaled)?;
            check::<u128>(&scaled)?;
        }
    }

    #[test]
    fn a_hundred_thousand_rows_fit_a_small_word_and_a_million_do_not() {
        assert!(fits_small_word(100_000) && !fits_small_word(1_000_000));
    }
}
