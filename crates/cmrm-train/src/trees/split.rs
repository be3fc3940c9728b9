//! The best question about one column of a leaf, by the histogram of its gradients.

use super::bins::{CODES, ColumnBins};
use super::grown::{CodeSet, Question, Side};
use super::histogram::{Cell, Column, Format};

/// Names that a node has up to here are only told apart one by one.
const FEW_NAMES: usize = 4;
/// What names are sorted by is their mean gradient, drawn to zero as by so much curvature.
const NAME_SMOOTHING: f64 = 10.0;
/// Penalty of leaves that sets of several names make: there are many sets, and one of them always fits by chance.
const NAME_PENALTY: f64 = 10.0;
/// A gain below this share of the scores it is the difference of is rounding.
const ROUNDING: f64 = 1e-9;

/// What a split must leave on both sides, and the penalty of leaves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SplitRules {
    pub min_leaf: f64,
    /// Above zero.
    pub min_hessian: f64,
    pub l2: f64,
}

/// A question and what it gains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Split {
    pub gain: f64,
    pub column: usize,
    pub question: Question,
    pub missing: Side,
}

/// Sums over rows. The number of rows is of the same width as the others, so that loops over bins become vectors.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sums {
    gradient: f64,
    curvature: f64,
    rows: f64,
}

impl Sums {
    #[inline(always)]
    fn of<C: Cell>(cell: C, format: &Format) -> Self {
        let [gradient, curvature, rows] = cell.unpack(format).map(|sum| sum as f64);
        Sums { gradient: gradient * format.gradient_unit, curvature: curvature * format.curvature_unit, rows }
    }

    #[inline(always)]
    fn plus(self, other: Sums) -> Sums {
        Sums {
            gradient: self.gradient + other.gradient,
            curvature: self.curvature + other.curvature,
            rows: self.rows + other.rows,
        }
    }

    #[inline(always)]
    fn minus(self, part: Sums) -> Sums {
        Sums {
            gradient: self.gradient - part.gradient,
            curvature: self.curvature - part.curvature,
            rows: self.rows - part.rows,
        }
    }

    /// What the best constant for these rows takes off the loss, twice.
    #[inline(always)]
    fn score(self, l2: f64) -> f64 {
        self.gradient * self.gradient / (self.curvature + l2).max(f64::MIN_POSITIVE)
    }
}

impl SplitRules {
    #[inline(always)]
    fn allow(&self, side: Sums) -> bool {
        (side.rows >= self.min_leaf) & (side.curvature >= self.min_hessian)
    }

    /// The score of both sides; minus infinity where the rules forbid the split.
    #[inline(always)]
    fn score(&self, left: Sums, right: Sums, l2: f64) -> f64 {
        let (under_left, under_right) = (left.curvature + l2, right.curvature + l2);
        // One division for both sides. A side without curvature is refused.
        let above = left.gradient * left.gradient * under_right + right.gradient * right.gradient * under_left;
        let score = above / (under_left * under_right);
        if self.allow(left) & self.allow(right) { score } else { f64::NEG_INFINITY }
    }
}

/// The best question about a column. `total` is the sum over all rows of the leaf.
#[inline(always)]
pub(crate) fn best_split<C: Cell>(
    histogram: &Column<C>,
    bins: &ColumnBins,
    column: usize,
    total: C,
    format: &Format,
    rules: &SplitRules,
) -> Option<Split> {
    let all = Sums::of(total, format);
    let (score, question, missing) = match bins {
        ColumnBins::Numbers { cuts } => {
            let (score, last_left, missing) = best_number(histogram, cuts.len() + 1, all, format, rules)?;
            (score, Question::Number { last_left, missing_code: (cuts.len() + 1) as u8 }, missing)
        }
        ColumnBins::Names { bins, .. } => {
            let (score, left) = best_names(histogram, *bins, all, format, rules)?;
            let heavier_left = sums_of(histogram, |code| left.holds(code), format).rows * 2.0 > all.rows;
            let seen = Sums::of(histogram[*bins], format).rows > 0.0;
            let missing_left = if seen { left.holds(*bins as u8) } else { heavier_left };
            (score, Question::Names { left }, if missing_left { Side::Left } else { Side::Right })
        }
    };
    let gain = score - all.score(rules.l2);
    (gain > ROUNDING * score).then_some(Split { gain, column, question, missing })
}

fn sums_of<C: Cell>(histogram: &Column<C>, holds: impl Fn(u8) -> bool, format: &Format) -> Sums {
    let cells = histogram.iter().enumerate().filter(|&(code, _)| holds(code as u8));
    Sums::of(cells.fold(C::default(), |sum, (_, &cell)| sum.plus(cell)), format)
}

/// The score, the last bin that goes left and the side of missing values.
#[inline(always)]
fn best_number<C: Cell>(
    histogram: &Column<C>,
    bins: usize,
    all: Sums,
    format: &Format,
    rules: &SplitRules,
) -> Option<(f64, u8, Side)> {
    let missing = Sums::of(histogram[bins], format);
    // Where nothing is missing, what lies above the last bin is empty.
    let cuts = if missing.rows > 0.0 { bins } else { bins - 1 };
    let mut below = [C::default(); CODES];
    let mut sum = C::default();
    for (below, &cell) in below[..cuts].iter_mut().zip(&histogram[..cuts]) {
        sum = sum.plus(cell);
        *below = sum;
    }
    let mut scores = [0.0; CODES];
    let mut best: Option<(f64, u8, Side)> = None;
    let sides = if missing.rows > 0.0 { &[Side::Right, Side::Left][..] } else { &[Side::Right] };
    for &side in sides {
        let with = if side == Side::Left { missing } else { Sums::default() };
        // A loop without branches, which the compiler turns into vectors.
        for (score, &below) in scores[..cuts].iter_mut().zip(&below[..cuts]) {
            let left = Sums::of(below, format).plus(with);
            *score = rules.score(left, all.minus(left), rules.l2);
        }
        for (cut, &score) in scores[..cuts].iter().enumerate() {
            if score > best.map_or(f64::NEG_INFINITY, |best| best.0) {
                best = Some((score, cut as u8, side));
            }
        }
    }
    let (score, cut, side) = best?;
    // A value that is first missing in a new row goes where most rows went.
    let heavier = if Sums::of(below[cut as usize], format).rows * 2.0 > all.rows { Side::Left } else { Side::Right };
    Some((score, cut, if missing.rows > 0.0 { side } else { heavier }))
}

/// The score and the codes that go left. Missing names are one more name.
fn best_names<C: Cell>(
    histogram: &Column<C>,
    bins: usize,
    all: Sums,
    format: &Format,
    rules: &SplitRules,
) -> Option<(f64, CodeSet)> {
    let mut names: Vec<(u8, Sums)> = (0..=bins)
        .map(|code| (code as u8, Sums::of(histogram[code], format)))
        .filter(|(_, sums)| sums.rows > 0.0)
        .collect();
    let mut best: Option<(f64, CodeSet)> = None;
    let mut offer = |score: f64, codes: &[(u8, Sums)]| {
        if score > best.map_or(f64::NEG_INFINITY, |best| best.0) {
            let mut left = CodeSet::default();
            codes.iter().for_each(|&(code, _)| left.insert(code));
            best = Some((score, left));
        }
    };
    for name in &names {
        offer(rules.score(name.1, all.minus(name.1), rules.l2), std::slice::from_ref(name));
    }
    if names.len() > FEW_NAMES {
        let mean = |sums: &Sums| sums.gradient / (sums.curvature + NAME_SMOOTHING);
        names.sort_by(|a, b| mean(&a.1).total_cmp(&mean(&b.1)));
        let mut left = Sums::default();
        for count in 1..names.len() {
            left = left.plus(names[count - 1].1);
            offer(rules.score(left, all.minus(left), rules.l2 + NAME_PENALTY), &names[..count]);
        }
    }
    best
}
