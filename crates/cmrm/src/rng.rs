//! Seeded randomness with a stream that is ours.
//!
//! The bits come from ChaCha8; the draws on top of them are written out here, so that a seed means the same rows, the
//! same order and the same weights in every version of this library and of its dependencies.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};

/// A seeded generator. Two generators with the same seed and stream give the same draws everywhere.
#[derive(Debug, Clone)]
pub struct Rng {
    inner: ChaCha8Rng,
    seed: u64,
}

/// Where a generator stands; [`Rng::restore`] continues from there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RngState {
    /// The seed it was made with.
    pub seed: u64,
    /// The stream it was made with.
    pub stream: u64,
    /// Position in the stream, in 32-bit words; as text because JSON has no 128-bit integers.
    pub position: String,
}

impl Rng {
    /// Generator for `seed`; different `stream`s of one seed are independent (one per purpose: noise, order, weights).
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut inner = ChaCha8Rng::seed_from_u64(seed);
        inner.set_stream(stream);
        Rng { inner, seed }
    }

    /// The position, to be stored in a checkpoint.
    pub fn state(&self) -> RngState {
        RngState { seed: self.seed, stream: self.inner.get_stream(), position: self.inner.get_word_pos().to_string() }
    }

    /// The generator that `state` was taken from, or `None` if its position is not a number.
    pub fn restore(state: &RngState) -> Option<Self> {
        let mut rng = Rng::new(state.seed, state.stream);
        rng.inner.set_word_pos(state.position.parse().ok()?);
        Some(rng)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.inner.next_u64()
    }

    /// Uniform integer in `0..bound` without modulo bias (Lemire's multiply-and-reject). A bound of 0 gives 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        if bound == 0 {
            return 0;
        }
        let reject_below = bound.wrapping_neg() % bound;
        loop {
            let wide = u128::from(self.bits()) * u128::from(bound);
            if wide as u64 >= reject_below {
                return (wide >> 64) as usize;
            }
        }
    }

    /// Uniform number in `[0, 1)` with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal number (Box–Muller, cosine branch; one draw costs two uniforms, so the position stays simple).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Shuffles in place (Fisher–Yates from the end).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// `0..n` in random order.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.shuffle(&mut order);
        order
    }

    /// `count` different indices of `0..n`, ascending. `count` is cut to `n`.
    pub fn choose(&mut self, n: usize, count: usize) -> Vec<usize> {
        let count = count.min(n);
        let mut order: Vec<usize> = (0..n).collect();
        for i in 0..count {
            let j = i + self.below(n - i);
            order.swap(i, j);
        }
        order.truncate(count);
        order.sort_unstable();
        order
    }
}
