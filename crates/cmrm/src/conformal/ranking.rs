//! Where a class stands among the classes of its row: what the cumulative scores are made of.

use super::threshold::Thresholds;

/// Classes looked at before the rest of the row is sorted; most sets end within it.
const FIRST_CHUNK: usize = 24;

/// More than the rounding of a sum of probabilities.
const ROUNDING: f64 = 1e-9;

/// Standing of one class in its row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Sum of the strictly larger probabilities.
    pub above: f64,
    /// The class's own probability.
    pub probability: f64,
    /// One plus the number of strictly larger probabilities.
    pub rank: usize,
}

/// Reusable memory for ranking rows.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    larger: Vec<f64>,
    ranked: Vec<(f64, u32)>,
}

/// The place of `label` in `row`.
pub(super) fn place_of<T: Copy + Into<f64>>(row: &[T], label: usize, scratch: &mut Scratch) -> Place {
    let probability = row[label].into();
    scratch.larger.clear();
    scratch.larger.extend(row.iter().map(|&p| p.into()).filter(|&p: &f64| p > probability));
    // Added from the largest down, exactly as `select` does: the same class then gets the same bits in calibration
    // and in prediction, whatever the numbering of the classes.
    scratch.larger.sort_unstable_by(|a, b| b.total_cmp(a));
    Place { above: scratch.larger.iter().sum(), probability, rank: scratch.larger.len() + 1 }
}

/// Writes the classes of `row` whose score is within their threshold to `members`, ascending.
///
/// `score` must not fall with the rank, and not be less than the mass above the class, which holds for every score of
/// this module family: the walk from the most likely class down stops at the first score beyond every threshold, and
/// classes that cannot be reached before are not even sorted.
#[inline(always)]
pub(super) fn select<T: Copy + Into<f64>>(
    row: &[T],
    thresholds: &Thresholds,
    scratch: &mut Scratch,
    members: &mut Vec<u32>,
    score: impl Fn(Place) -> f64,
) {
    let first = members.len();
    let highest = thresholds.highest();
    let ranked = &mut scratch.ranked;
    rank_candidates(row, least_probability(row, highest), ranked);

    let mut total = 0.0;
    let mut place = Place { above: 0.0, probability: f64::NAN, rank: 1 };
    let mut sorted = 0;
    'walk: for i in 0..ranked.len() {
        if i == sorted {
            sorted = sort_next_chunk(ranked, sorted);
        }
        let (probability, class) = ranked[i];
        if probability != place.probability {
            place = Place { above: total, probability, rank: i + 1 };
        }
        let value = score(place);
        if value > highest {
            break 'walk;
        }
        if value <= thresholds.of(class) {
            members.push(class);
        }
        total += probability;
    }
    members[first..].sort_unstable();
}

/// A bound that every class within a threshold reaches. The mass above a class of probability `p` is what all classes
/// have, less at most `p` for each of those that are not above it: at least `sum − classes · p`.
#[inline(always)]
fn least_probability<T: Copy + Into<f64>>(row: &[T], highest: f64) -> f64 {
    // Lanes, since a single sum would wait for itself; and room for the rounding of sums in another order.
    let mut sums = [0.0; 8];
    let (chunks, rest) = row.as_chunks::<8>();
    for chunk in chunks {
        for lane in 0..8 {
            sums[lane] += chunk[lane].into();
        }
    }
    let sum = sums.iter().sum::<f64>() + rest.iter().map(|&p| p.into()).sum::<f64>();
    (sum - highest - ROUNDING) / row.len() as f64
}

/// The classes with at least this probability, in the order of the row.
#[inline(always)]
fn rank_candidates<T: Copy + Into<f64>>(row: &[T], least: f64, ranked: &mut Vec<(f64, u32)>) {
    ranked.resize(row.len(), (0.0, 0));
    // The write happens for every class and only the count depends on the comparison: no branch to mispredict.
    let mut count = 0;
    for (class, &p) in row.iter().enumerate() {
        let p = p.into();
        ranked[count] = (p, class as u32);
        count += usize::from(p >= least);
    }
    ranked.truncate(count);
}

/// Brings the next largest probabilities after the first `sorted` into descending order; returns how many are now
/// sorted. Chunks double, so the whole row costs no more than a sort and a short walk costs one selection.
fn sort_next_chunk(ranked: &mut [(f64, u32)], sorted: usize) -> usize {
    let descending = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0);
    let rest = &mut ranked[sorted..];
    let chunk = FIRST_CHUNK.max(sorted);
    if chunk >= rest.len() {
        rest.sort_unstable_by(descending);
        return ranked.len();
    }
    rest.select_nth_unstable_by(chunk, descending);
    rest[..chunk].sort_unstable_by(descending);
    sorted + chunk
}
