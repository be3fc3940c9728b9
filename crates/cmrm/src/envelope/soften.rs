//! Softmax of one row, with what the losses and margins need of it.
//!
//! A row is worked on in blocks of [`LANES`] numbers that compilers turn into vector instructions. The last block of a
//! row overlaps the one before it, so that no row has a slow tail; what both blocks hold counts once. Sums are taken
//! lane by lane and then pairwise: an order that depends on the number of classes alone.

use crate::loss::Row;
use crate::scalar::Scalar;

/// Numbers handled side by side: one 512-bit register of `f32`, two of 256 bits.
const LANES: usize = 16;

/// Writes the exponentials of a row to `out`, relative to the largest logit and unnormalised; returns the row's summary
/// and the normaliser. Where a logit is not finite, `log_p_label` is not either.
#[inline(always)]
pub(super) fn soften<T: Scalar>(logits: &[T], scale: T, label: usize, out: &mut [T]) -> (Row<T>, T) {
    let at_label = logits[label] * scale;
    let (strongest, finite) = peak(logits, scale, label);
    let top = at_label.larger(strongest);
    let (others, rival) = exponentials(logits, scale, label, strongest, top, out);
    let label_exp = out[label];
    let sum = others + label_exp;
    let normaliser = T::ONE / sum;
    let log_p_label = if at_label >= strongest { -others.ln_1p() } else { (at_label - top) - sum.ln() };
    let row = Row {
        label,
        rival,
        p_label: label_exp * normaliser,
        p_rival: out[rival] * normaliser,
        p_others: others * normaliser,
        // A non-finite logit must not slip through as a probability of zero.
        log_p_label: if finite { log_p_label } else { T::NEG_INFINITY },
        logit_gap: at_label - strongest,
    };
    (row, normaliser)
}

/// A row shorter than a block, filled up with `filler`.
#[inline(always)]
fn padded<T: Scalar>(values: &[T], filler: T) -> [T; LANES] {
    let mut block = [filler; LANES];
    for (b, &v) in block.iter_mut().zip(values) {
        *b = v;
    }
    block
}

/// Lane of the label in the block that begins at `start`; past all lanes if it is not there.
#[inline(always)]
fn lane_of(label: usize, start: usize) -> u32 {
    label.wrapping_sub(start).min(LANES) as u32
}

/// The largest scaled logit other than the label's, and whether no logit is minus infinity. (Other numbers that are not
/// finite make the sum of exponentials NaN.)
#[inline(always)]
fn peak<T: Scalar>(logits: &[T], scale: T, label: usize) -> (T, bool) {
    let mut peak = Peak { high: [T::NEG_INFINITY; LANES], low: [T::ZERO; LANES] };
    let (blocks, rest) = logits.as_chunks::<LANES>();
    for (i, block) in blocks.iter().enumerate() {
        peak.visit(block, scale, lane_of(label, i * LANES));
    }
    if !rest.is_empty() {
        match logits.last_chunk::<LANES>() {
            Some(block) => peak.visit(block, scale, lane_of(label, logits.len() - LANES)),
            // Repeating another class changes no maximum.
            None => peak.visit(&padded(logits, logits[usize::from(label == 0)]), scale, lane_of(label, 0)),
        }
    }
    let mut finite = true;
    for l in 0..LANES {
        finite &= peak.low[l] > T::NEG_INFINITY;
    }
    (fold(peak.high, T::larger), finite)
}

struct Peak<T> {
    high: [T; LANES],
    low: [T; LANES],
}

impl<T: Scalar> Peak<T> {
    #[inline(always)]
    fn visit(&mut self, block: &[T; LANES], scale: T, label: u32) {
        for l in 0..LANES {
            let u = block[l] * scale;
            let other = if l as u32 == label { T::NEG_INFINITY } else { u };
            self.high[l] = self.high[l].larger(other);
            self.low[l] = if u < self.low[l] { u } else { self.low[l] };
        }
    }
}

/// `out[j] ← exp(u[j] − top)`; returns the sum of those of the other classes and the first of them that equals
/// `strongest` (class 0 if none does, which happens only in rows that are refused later).
#[inline(always)]
fn exponentials<T: Scalar>(logits: &[T], scale: T, label: usize, strongest: T, top: T, out: &mut [T]) -> (T, usize) {
    let mut sums = Sums { sums: [T::ZERO; LANES], rivals: [u32::MAX; LANES], scale, strongest, top };
    let (blocks, rest) = logits.as_chunks::<LANES>();
    let (out_blocks, _) = out.as_chunks_mut::<LANES>();
    for (i, (block, out)) in blocks.iter().zip(out_blocks).enumerate() {
        sums.visit(block, out, i * LANES, lane_of(label, i * LANES), 0, LANES);
    }
    if !rest.is_empty() {
        match (logits.last_chunk::<LANES>(), out.last_chunk_mut::<LANES>()) {
            (Some(block), Some(out)) => {
                let start = logits.len() - LANES;
                sums.visit(block, out, start, lane_of(label, start), LANES - rest.len(), LANES);
            }
            _ => {
                let mut block = [T::ZERO; LANES];
                let row = padded(logits, logits[label]);
                sums.visit(&row, &mut block, 0, lane_of(label, 0), 0, logits.len());
                for (o, &e) in out.iter_mut().zip(&block) {
                    *o = e;
                }
            }
        }
    }
    let rival = fold(sums.rivals, u32::min) as usize;
    (fold(sums.sums, |a, b| a + b), if rival < logits.len() { rival } else { 0 })
}

struct Sums<T> {
    sums: [T; LANES],
    rivals: [u32; LANES],
    scale: T,
    strongest: T,
    top: T,
}

impl<T: Scalar> Sums<T> {
    /// `start` is the class of the first lane; lanes below `first` were counted before, those from `end` on are no
    /// classes.
    #[inline(always)]
    fn visit(&mut self, block: &[T; LANES], out: &mut [T; LANES], start: usize, label: u32, first: usize, end: usize) {
        for l in 0..LANES {
            let lane = l as u32;
            let u = block[l] * self.scale;
            let e = (u - self.top).exp_of_nonpositive();
            out[l] = e;
            let counts = (lane != label) & (lane >= first as u32) & (lane < end as u32);
            self.sums[l] += if counts { e } else { T::ZERO };
            let found = if counts & (u == self.strongest) { start as u32 + lane } else { u32::MAX };
            self.rivals[l] = self.rivals[l].min(found);
        }
    }
}

/// Combines the lanes pairwise.
#[inline(always)]
fn fold<T: Copy>(mut lanes: [T; LANES], combine: impl Fn(T, T) -> T) -> T {
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            lanes[l] = combine(lanes[l], lanes[l + width]);
        }
        width /= 2;
    }
    lanes[0]
}
