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
    // The largest exponential is one. If it is the label's, `others` is all that is added to it, without cancellation
    // when it is tiny; if not, log s[y] is far from zero and the rounding of `sum − 1` does not show.
    let beside_top = if at_label >= strongest { others } else { sum - T::ONE };
    let log_p_label = (at_label - top) - beside_top.ln_1p_of_nonnegative();
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

/// The largest scaled logit other than the label's, and whether no logit is minus infinity. (Other numbers that are not
/// finite make the sum of the exponentials NaN.)
#[inline(always)]
fn peak<T: Scalar>(logits: &[T], scale: T, label: usize) -> (T, bool) {
    let label_class = label as u32;
    let (mut high, mut low) = ([T::NEG_INFINITY; LANES], [T::ZERO; LANES]);
    let (blocks, rest) = logits.as_chunks::<LANES>();
    for (i, block) in blocks.iter().enumerate() {
        (high, low) = peak_of_block(high, low, block, scale, label_class.wrapping_sub((i * LANES) as u32));
    }
    if !rest.is_empty() {
        (high, low) = match logits.last_chunk::<LANES>() {
            Some(block) => {
                let start = (logits.len() - LANES) as u32;
                peak_of_block(high, low, block, scale, label_class.wrapping_sub(start))
            }
            // Repeating another class changes no maximum.
            None => {
                let row = padded(logits, logits[usize::from(label == 0)]);
                peak_of_block(high, low, &row, scale, label_class)
            }
        };
    }
    let mut finite = true;
    for l in 0..LANES {
        finite &= low[l] > T::NEG_INFINITY;
    }
    (fold(high, T::larger), finite)
}

#[inline(always)]
fn peak_of_block<T: Scalar>(
    high: [T; LANES],
    low: [T; LANES],
    block: &[T; LANES],
    scale: T,
    label_lane: u32,
) -> ([T; LANES], [T; LANES]) {
    let (mut new_high, mut new_low) = (high, low);
    for l in 0..LANES {
        let u = block[l] * scale;
        let other = if l as u32 == label_lane { T::NEG_INFINITY } else { u };
        new_high[l] = high[l].larger(other);
        new_low[l] = low[l].smaller(u);
    }
    (new_high, new_low)
}

/// `out[j] ← exp(u[j] − top)`; returns the sum of those of the other classes and the first of them that equals
/// `strongest` (class 0 if none does, which happens only in rows that are refused later).
#[inline(always)]
fn exponentials<T: Scalar>(logits: &[T], scale: T, label: usize, strongest: T, top: T, out: &mut [T]) -> (T, usize) {
    let row = Peaks { label: label as u32, scale, strongest, top };
    // Sums and rivals are handed from block to block by value, so that they stay in registers.
    let (mut sums, mut rivals) = ([T::ZERO; LANES], [u32::MAX; LANES]);
    let (blocks, rest) = logits.as_chunks::<LANES>();
    let (out_blocks, _) = out.as_chunks_mut::<LANES>();
    for (i, (block, out)) in blocks.iter().zip(out_blocks).enumerate() {
        (*out, sums, rivals) = row.visit(block, (i * LANES) as u32, 0, LANES as u32, sums, rivals);
    }
    if !rest.is_empty() {
        match (logits.last_chunk::<LANES>(), out.last_chunk_mut::<LANES>()) {
            (Some(block), Some(out)) => {
                let (start, first) = (logits.len() - LANES, LANES - rest.len());
                (*out, sums, rivals) = row.visit(block, start as u32, first as u32, LANES as u32, sums, rivals);
            }
            _ => {
                let filled = padded(logits, logits[label]);
                let block;
                (block, sums, rivals) = row.visit(&filled, 0, 0, logits.len() as u32, sums, rivals);
                for (o, &e) in out.iter_mut().zip(&block) {
                    *o = e;
                }
            }
        }
    }
    let rival = fold(rivals, u32::min) as usize;
    (fold(sums, |a, b| a + b), if rival < logits.len() { rival } else { 0 })
}

/// What the blocks of one row share.
#[derive(Clone, Copy)]
struct Peaks<T> {
    label: u32,
    scale: T,
    strongest: T,
    top: T,
}

impl<T: Scalar> Peaks<T> {
    /// Exponentials of a block, and the sums and rivals with it counted in. `start` is the class of the first lane;
    /// lanes below `first` were counted before, those from `end` on are no classes.
    #[inline(always)]
    fn visit(
        self,
        block: &[T; LANES],
        start: u32,
        first: u32,
        end: u32,
        mut sums: [T; LANES],
        mut rivals: [u32; LANES],
    ) -> ([T; LANES], [T; LANES], [u32; LANES]) {
        let mut out = [T::ZERO; LANES];
        for l in 0..LANES {
            let lane = l as u32;
            let class = start + lane;
            let u = block[l] * self.scale;
            let e = (u - self.top).exp_of_nonpositive();
            out[l] = e;
            let counts = (class != self.label) & (lane >= first) & (lane < end);
            sums[l] += if counts { e } else { T::ZERO };
            let found = if counts & (u == self.strongest) { class } else { u32::MAX };
            rivals[l] = rivals[l].min(found);
        }
        (out, sums, rivals)
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
