//! Where a class stands among the classes of its row: what the cumulative scores are made of.

use super::threshold::Thresholds;

/// Classes looked at before the rest of the row is sorted; most sets end within it.
const FIRST_CHUNK: usize = 24;

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
/// `score` must not fall with the rank, which holds for every score of this module family: the walk from the most
/// likely class down stops at the first score beyond every threshold.
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
    ranked.clear();
    ranked.extend(row.iter().enumerate().map(|(class, &p)| (p.into(), class as u32)));

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
