//! Numbers and names cut into at most 255 bins a column, one more where values are missing.

use std::collections::BTreeMap;

use cmrm::Rows;
use cmrm::error::check_length;
use rayon::prelude::*;

use super::codes::{Codes, TOGETHER};
use super::columns::{TreeColumn, TreeColumns};
use crate::error::Result;
use crate::train::check_finite;

/// Most bins of a column; one code more says that the value is missing.
pub(crate) const MOST_BINS: usize = 255;
/// Codes of a column.
pub(crate) const CODES: usize = MOST_BINS + 1;
/// Most rows that decide where a column is cut.
const SAMPLE: usize = 200_000;

/// Where every column is cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Bins {
    columns: TreeColumns,
    cuts: Vec<ColumnBins>,
}

/// The bins of one column. The code after the last bin says that the value is missing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ColumnBins {
    /// Bin `b` holds the numbers above `cuts[b − 1]` and up to `cuts[b]`.
    Numbers { cuts: Vec<f32> },
    /// The bin of every name; rare names share the last one.
    Names { bin_of_level: Vec<u8>, bins: usize },
}

impl ColumnBins {
    /// Bins of values that are there.
    pub(crate) fn bins(&self) -> usize {
        match self {
            ColumnBins::Numbers { cuts } => cuts.len() + 1,
            ColumnBins::Names { bins, .. } => *bins,
        }
    }

    /// The cuts, filled up to a power of two.
    fn padded(&self) -> [f32; CODES] {
        let mut padded = [f32::INFINITY; CODES];
        if let ColumnBins::Numbers { cuts } = self {
            padded[..cuts.len()].copy_from_slice(cuts);
        }
        padded
    }

    /// The codes of what [`TreeColumn::value`] gives.
    #[inline(always)]
    fn codes(&self, padded: &[f32; CODES], values: [f32; TOGETHER]) -> [u8; TOGETHER] {
        let missing = self.bins() as u8;
        match self {
            ColumnBins::Numbers { .. } => {
                let found = bins_of(padded, values);
                std::array::from_fn(|at| if values[at].is_nan() { missing } else { found[at] })
            }
            ColumnBins::Names { bin_of_level, .. } => {
                values.map(|value| if value.is_nan() { missing } else { bin_of_level[value as usize] })
            }
        }
    }
}

/// How many cuts lie below each value. Halving without a branch: which way a random number goes cannot be guessed.
#[inline(always)]
fn bins_of(padded: &[f32; CODES], values: [f32; TOGETHER]) -> [u8; TOGETHER] {
    let mut found = [0u8; TOGETHER];
    for bit in (0..8).rev() {
        for (found, value) in found.iter_mut().zip(values) {
            *found += u8::from(padded[usize::from(*found + ((1 << bit) - 1))] < value) << bit;
        }
    }
    found
}

impl Bins {
    /// Cuts the columns of `x`: between neighbouring values where there are few, else so that bins hold about as many rows.
    /// Rows of weight zero decide nothing. Of sparse rows the fullest columns are cut ([`TreeColumns::fullest`]).
    pub fn learn<'x>(x: impl Into<Rows<'x, f32>>, columns: &TreeColumns, weights: Option<&[f32]>) -> Result<Self> {
        Bins::learn_of(x.into(), columns, weights)
    }

    fn learn_of(x: Rows<'_, f32>, columns: &TreeColumns, weights: Option<&[f32]>) -> Result<Self> {
        columns.check()?;
        columns.check_width(x)?;
        check_finite(x)?;
        if let Some(weights) = weights {
            check_length("row weights against rows", x.rows(), weights.len())?;
        }
        let counted: Vec<usize> = (0..x.rows()).filter(|&row| weights.is_none_or(|w| w[row] > 0.0)).collect();
        // Every so manieth row: as good as a draw unless rows come in a rhythm, and the same for every column.
        let step = counted.len().div_ceil(SAMPLE).max(1);
        let sample: Vec<usize> = counted.into_iter().step_by(step).collect();
        let columns = columns.fullest(x)?;
        let cuts = match x {
            Rows::Dense(x) => {
                let of_rows = |column: &TreeColumn| cut(column, sample.iter().map(|&row| column.value(x.row(row))));
                columns.columns().par_iter().map(of_rows).collect()
            }
            Rows::Sparse(x) => {
                let by_column = x.transposed();
                let of_column = |column: &TreeColumn| {
                    let values = column.values(by_column.view(), x.rows());
                    cut(column, sample.iter().map(|&row| values[row]))
                };
                columns.columns().par_iter().map(of_column).collect()
            }
        };
        Ok(Bins { columns, cuts })
    }

    /// The columns that are cut.
    pub fn columns(&self) -> &TreeColumns {
        &self.columns
    }

    /// The bins of one column.
    pub(crate) fn column(&self, column: usize) -> &ColumnBins {
        &self.cuts[column]
    }

    /// The codes of rows, which may be others than those the bins were learned on.
    pub fn codes<'x>(&self, x: impl Into<Rows<'x, f32>>) -> Result<Codes> {
        self.codes_of(x.into())
    }

    fn codes_of(&self, x: Rows<'_, f32>) -> Result<Codes> {
        self.columns.check_width(x)?;
        let padded: Vec<[f32; CODES]> = self.cuts.iter().map(ColumnBins::padded).collect();
        let codes = |column: usize, values| self.cuts[column].codes(&padded[column], values);
        let columns = self.columns.columns();
        Ok(match x {
            Rows::Dense(x) => {
                Codes::of(x, columns.len(), |column, rows| codes(column, rows.map(|row| columns[column].value(row))))
            }
            Rows::Sparse(x) => {
                let by_column = x.transposed();
                let values = |column: usize| columns[column].values(by_column.view(), x.rows());
                Codes::of_columns(x.rows(), columns.len(), values, codes)
            }
        })
    }
}

/// The bins of a column with these values.
fn cut(column: &TreeColumn, values: impl Iterator<Item = f32>) -> ColumnBins {
    let values = values.filter(|value| !value.is_nan());
    if column.levels() > 0 {
        return name_bins(column.levels(), values);
    }
    let mut values: Vec<f32> = values.collect();
    // Zero and minus zero are one value, and total_cmp would tell them apart.
    values.iter_mut().for_each(|value| *value += 0.0);
    values.sort_unstable_by(f32::total_cmp);
    ColumnBins::Numbers { cuts: number_cuts(&values) }
}

/// Cuts in sorted numbers. A value that many rows share has a bin of its own, and the others share what bins are left.
fn number_cuts(sorted: &[f32]) -> Vec<f32> {
    let runs: Vec<&[f32]> = sorted.chunk_by(|a, b| a == b).collect();
    let fits = runs.len() <= MOST_BINS;
    let large = sorted.len() / MOST_BINS;
    let (mut rows_left, mut bins_left) = (sorted.len(), MOST_BINS);
    if !fits {
        for run in runs.iter().filter(|run| run.len() > large) {
            rows_left -= run.len();
            bins_left -= 1;
        }
    }
    let (mut cuts, mut held) = (Vec::new(), 0);
    for pair in runs.windows(2) {
        let is_large = pair[0].len() > large;
        held += pair[0].len();
        if !is_large {
            rows_left -= pair[0].len();
        }
        // A large value closes its own bin and, before it, that of its smaller neighbours.
        let full = is_large || pair[1].len() > large || held * bins_left.max(1) >= rows_left + held;
        if fits || (full && cuts.len() + 1 < MOST_BINS) {
            cuts.push(between(pair[0][0], pair[1][0]));
            if !is_large {
                bins_left = bins_left.saturating_sub(1);
            }
            held = 0;
        }
    }
    cuts
}

/// A number from `low` (which lies left of the cut) to just below `high`.
fn between(low: f32, high: f32) -> f32 {
    let middle = ((f64::from(low) + f64::from(high)) / 2.0) as f32;
    if middle >= low && middle < high { middle } else { low }
}

/// A bin for every name, the commonest ones if there are too many. Names that no row has go with the rare ones.
fn name_bins(levels: usize, values: impl Iterator<Item = f32>) -> ColumnBins {
    if levels <= MOST_BINS {
        return ColumnBins::Names { bin_of_level: (0..levels).map(|level| level as u8).collect(), bins: levels };
    }
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    values.for_each(|level| *counts.entry(level as usize).or_default() += 1);
    let mut common: Vec<(usize, usize)> = counts.into_iter().collect();
    common.sort_by_key(|&(level, count)| (std::cmp::Reverse(count), level));
    common.truncate(MOST_BINS - 1);
    let mut bin_of_level = vec![common.len() as u8; levels];
    for (bin, &(level, _)) in common.iter().enumerate() {
        bin_of_level[level] = bin as u8;
    }
    ColumnBins::Names { bin_of_level, bins: common.len() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmrm::Matrix;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bins_keep_the_order_and_stay_within_their_number(values in prop::collection::vec(-1e3f32..1e3, 1..900), rounded in any::<bool>()) {
            let values: Vec<f32> = values.iter().map(|v| if rounded { (v / 10.0).round() } else { *v }).collect();
            let bins = Bins::learn(Matrix::new(&values, 1).unwrap(), &TreeColumns::numbers(1), None).unwrap();
            let ColumnBins::Numbers { cuts } = bins.column(0) else { panic!("numbers") };
            prop_assert!(cuts.len() < MOST_BINS && cuts.windows(2).all(|pair| pair[0] < pair[1]));
            let mut sorted = values.clone();
            sorted.sort_by(f32::total_cmp);
            let codes: Vec<u8> = sorted.iter().map(|&v| bins_of(&bins.column(0).padded(), [v; TOGETHER])[3]).collect();
            for (pair, value) in codes.windows(2).zip(sorted.windows(2)) {
                prop_assert!(pair[0] <= pair[1]);
                prop_assert!(value[0] != value[1] || pair[0] == pair[1]);
            }
            let distinct = sorted.chunk_by(|a, b| a == b).count();
            let used = codes.chunk_by(|a, b| a == b).count();
            prop_assert_eq!(used, cuts.len() + 1, "no bin is empty");
            prop_assert!(used >= distinct.min(MOST_BINS / 2));
            for (&value, &code) in sorted.iter().zip(&codes) {
                prop_assert_eq!(cuts.iter().filter(|&&cut| value > cut).count(), code as usize);
            }
        }
    }

    #[test]
    fn many_rows_are_cut_evenly() {
        let values: Vec<f32> = (0..10_000).map(|i| (i * 7919 % 10_000) as f32).collect();
        let bins = Bins::learn(Matrix::new(&values, 1).unwrap(), &TreeColumns::numbers(1), None).unwrap();
        assert_eq!(bins.column(0).bins(), MOST_BINS);
        let ColumnBins::Numbers { cuts } = bins.column(0) else { panic!("numbers") };
        assert!(cuts.windows(2).all(|pair| (38.0..=41.0).contains(&(pair[1] - pair[0]))), "{cuts:?}");
    }

    #[test]
    fn neighbours_that_nothing_separates_are_still_cut() {
        let low = 1.0f32;
        let high = low.next_up();
        assert_eq!(between(low, high), low);
        assert_eq!(between(f32::MIN, f32::MAX), 0.0);
    }

    #[test]
    fn rare_names_share_a_bin() {
        let levels = 400;
        let ColumnBins::Names { bin_of_level, bins } =
            name_bins(levels, (0..300).flat_map(|l| vec![l as f32; 300 - l]))
        else {
            panic!("names")
        };
        assert_eq!(bins, MOST_BINS);
        assert_eq!((bin_of_level[0], bin_of_level[253], bin_of_level[254], bin_of_level[399]), (0, 253, 254, 254));
    }
}
