//! The two passes over all rows, in pieces that threads take in turn. What is found does not depend on the pieces.

use super::config::ScoreMethod;
use super::joint::reach;
use super::kernel::{Confide, NO_CLASS, Scan};
use super::source::{Held, NOT_KEPT, RowSource, read};
use super::table::Columns;
use crate::error::Result;
use crate::scalar::Scalar;

/// Numbers in a piece: half of a second-level cache, so that what was read from a file is still there when it is used.
const PIECE_NUMBERS: usize = 1 << 17;

fn rows_per_piece(classes: usize) -> usize {
    (PIECE_NUMBERS / classes).max(16)
}

/// Does the work piece by piece, with the feature `rayon` on the threads of the current pool. `work` also gets room for
/// numbers, which is made once a thread rather than once a piece.
pub(super) fn in_pieces<P: Send, T: Send, U: Send>(
    pieces: Vec<P>,
    work: impl Fn(P, &mut Vec<T>) -> Result<U> + Sync,
) -> Result<Vec<U>> {
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        let results: Vec<Result<U>> =
            pieces.into_par_iter().map_init(Vec::new, |room, piece| work(piece, room)).collect();
        // The first bad row is reported, whichever thread met one first.
        results.into_iter().collect()
    }
    #[cfg(not(feature = "rayon"))]
    {
        let mut room = Vec::new();
        pieces.into_iter().map(|piece| work(piece, &mut room)).collect()
    }
}

/// What the first pass finds.
pub(super) struct Scanned<T> {
    pub columns: Columns,
    /// Probability of each row's label.
    pub self_confidence: Vec<T>,
    /// Whether the model predicts another class than the label.
    pub doubted: Vec<bool>,
}

/// The first pass: what each row says of its label.
pub(super) fn scan<T, R>(source: &R, labels: &[u32], method: ScoreMethod) -> Result<Scanned<T>>
where
    T: Scalar + Into<f64>,
    R: RowSource<T> + ?Sized,
{
    let (rows, classes) = (source.rows(), source.classes());
    let (mut score, mut margin) = (vec![0.0; rows], vec![0.0; rows]);
    let (mut predicted, mut rival) = (vec![0; rows], vec![0; rows]);
    let (mut self_confidence, mut doubted) = (vec![T::ZERO; rows], vec![false; rows]);
    let step = rows_per_piece(classes);
    let pieces: Vec<_> = labels
        .chunks(step)
        .zip(score.chunks_mut(step).zip(margin.chunks_mut(step)))
        .zip(predicted.chunks_mut(step).zip(rival.chunks_mut(step)))
        .zip(self_confidence.chunks_mut(step).zip(doubted.chunks_mut(step)))
        .enumerate()
        .collect();
    in_pieces(pieces, |(piece, columns), room| {
        let (((labels, (score, margin)), (predicted, rival)), (self_confidence, doubted)) = columns;
        let first_row = piece * step;
        let probabilities = read(source, first_row, labels.len(), room)?;
        #[rustfmt::skip]
        let scan = Scan {
            method, classes, first_row, probabilities, labels, self_confidence, score, margin, predicted, rival, doubted,
        };
        scan.run()
    })?;
    Ok(Scanned { columns: Columns { score, margin, predicted, rival }, self_confidence, doubted })
}

/// What the second pass finds.
pub(super) struct Confided<'a, T, R: ?Sized> {
    /// The class that each row confidently belongs to, or [`NO_CLASS`].
    pub confident: Vec<u32>,
    /// The rows that were to be kept, if any.
    pub held: Option<Held<'a, T, R>>,
}

/// The second pass: the class that each row confidently belongs to. The rows that `keep` marks are held for a further
/// look.
pub(super) fn confide<'a, T, R>(
    source: &'a R,
    predicted: &[u32],
    thresholds: &[Option<f64>],
    keep: Option<&[bool]>,
) -> Result<Confided<'a, T, R>>
where
    T: Scalar,
    R: RowSource<T> + ?Sized,
{
    let limits: Vec<T> = reach(thresholds).into_iter().map(T::from_f64).collect();
    let (classes, thresholds) = (source.classes(), &limits[..]);
    let per_piece = rows_per_piece(classes);
    let mut confident = vec![NO_CLASS; source.rows()];
    let whole = source.whole();
    let copied = keep.filter(|_| whole.is_none());
    let mut place = vec![NOT_KEPT; copied.map_or(0, <[bool]>::len)];
    let mut places = place.chunks_mut(per_piece);
    let pieces: Vec<_> = predicted
        .chunks(per_piece)
        .zip(confident.chunks_mut(per_piece))
        .map(|(predicted, confident)| (predicted, confident, places.next()))
        .enumerate()
        .collect();
    let pieces = in_pieces(pieces, |(piece, (predicted, confident, place)), room| {
        let first = piece * per_piece;
        let probabilities = read(source, first, predicted.len(), room)?;
        Confide { thresholds, probabilities, predicted, confident }.run();
        let (Some(copied), Some(place)) = (copied, place) else { return Ok(Vec::new()) };
        Ok(copy(probabilities, classes, &copied[first..][..predicted.len()], place))
    })?;
    let part = || Held::Part { source, pieces, per_piece, place };
    Ok(Confided { confident, held: keep.map(|_| whole.map_or_else(part, Held::Whole)) })
}

/// The rows that are to be kept, and where each of them stands among them.
fn copy<T: Scalar>(probabilities: &[T], classes: usize, keep: &[bool], place: &mut [u32]) -> Vec<T> {
    let mut kept = Vec::with_capacity(classes * keep.iter().filter(|&&keep| keep).count());
    let rows = probabilities.chunks_exact(classes).zip(place).zip(keep).filter(|(_, keep)| **keep);
    for (next, ((row, place), _)) in (0..).zip(rows) {
        kept.extend_from_slice(row);
        *place = next;
    }
    kept
}
