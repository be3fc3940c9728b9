//! Products with a few classes, in single precision.
//!
//! A general product fills its vectors with outputs; with ten of them a third of every vector stays empty. Here vectors run
//! along the features instead, of which there are many. Each number is added up in an order that depends on nothing but
//! the length of its sum, so the result does not depend on how rows are split among calls.

// Arrays of registers are visited by index: adapters of iterators may be compiled without the processor's vectors.
#![allow(clippy::needless_range_loop)]

use pulp::Simd;

/// Most outputs for which this is faster than the general product.
pub(super) const MOST_OUTPUTS: usize = 24;

/// Fewest features.
pub(super) const FEWEST_FEATURES: usize = 32;

/// Rows and outputs (or outputs and vectors) whose sums are kept in registers.
const TALL: usize = 4;
const WIDE: usize = 5;

/// Rows whose features stay in the processor's second cache while the outputs are visited.
const ROWS_AT_A_TIME: usize = 64;

/// How many rows before its turn a row is asked for.
const ROWS_AHEAD: usize = 16;

/// Numbers in a cache line.
const LINE: usize = 16;

/// Asks for rows before their turn, line after line in the order in which they lie and evenly over time: in any other order
/// memory is slower by half. Elsewhere than on x86 the processor is left to its own guesses.
struct Ahead<'a> {
    values: &'a [f32],
    /// Up to where has been asked, and up to where it is time to.
    asked: usize,
    due: usize,
    step: usize,
    #[cfg(target_arch = "x86_64")]
    sse: Option<pulp::core_arch::x86::Sse>,
}

impl<'a> Ahead<'a> {
    #[inline(always)]
    fn new(rows: &Rows<'a>) -> Self {
        Ahead {
            values: rows.values,
            asked: 0,
            due: 0,
            step: 0,
            #[cfg(target_arch = "x86_64")]
            sse: pulp::core_arch::x86::Sse::try_new(),
        }
    }

    /// From now on, `numbers` from place `from` on are to be asked for in `steps` steps.
    #[inline(always)]
    fn plan(&mut self, from: usize, numbers: usize, steps: usize) {
        (self.asked, self.due, self.step) = (self.asked.max(from), from, numbers.div_ceil(steps.max(1)));
    }

    #[inline(always)]
    fn step(&mut self) {
        self.due += self.step;
        #[cfg(target_arch = "x86_64")]
        if let Some(sse) = self.sse {
            while self.asked < self.due.min(self.values.len()) {
                let place = std::ptr::from_ref(&self.values[self.asked]);
                sse._mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place.cast());
                self.asked += LINE;
            }
        }
    }
}

/// Contiguous rows that start `stride` apart.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub values: &'a [f32],
    pub rows: usize,
    pub columns: usize,
    pub stride: usize,
}

impl<'a> Rows<'a> {
    #[inline(always)]
    fn row(&self, i: usize) -> &'a [f32] {
        &self.values[i * self.stride..][..self.columns]
    }
}

/// `out[i, c] ← Σ_k x[i, k] · weights[c, k]`, added to what is there if `accumulate`. Rows of `out` start `stride` apart.
pub(super) struct Outputs<'a> {
    pub x: Rows<'a>,
    pub weights: Rows<'a>,
    pub out: &'a mut [f32],
    pub stride: usize,
    pub accumulate: bool,
}

impl pulp::WithSimd for Outputs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut ahead = Ahead::new(&self.x);
        let whole = self.x.rows - self.x.rows % TALL;
        for i in (0..whole).step_by(TALL) {
            self.rows_from::<S, TALL>(simd, i, &mut ahead);
        }
        for i in whole..self.x.rows {
            self.rows_from::<S, 1>(simd, i, &mut ahead);
        }
    }
}

impl Outputs<'_> {
    #[inline(always)]
    fn rows_from<S: Simd, const R: usize>(&mut self, simd: S, i: usize, ahead: &mut Ahead<'_>) {
        let outputs = self.weights.rows;
        let steps = outputs.div_ceil(WIDE) * (self.x.columns / S::F32_LANES);
        ahead.plan((i + ROWS_AHEAD) * self.x.stride, R * self.x.stride, steps);
        let whole = outputs - outputs % WIDE;
        for c in (0..whole).step_by(WIDE) {
            self.tile::<S, R, WIDE>(simd, i, c, ahead);
        }
        match outputs - whole {
            1 => self.tile::<S, R, 1>(simd, i, whole, ahead),
            2 => self.tile::<S, R, 2>(simd, i, whole, ahead),
            3 => self.tile::<S, R, 3>(simd, i, whole, ahead),
            4 => self.tile::<S, R, 4>(simd, i, whole, ahead),
            _ => {}
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const R: usize, const C: usize>(&mut self, simd: S, i: usize, c: usize, ahead: &mut Ahead<'_>) {
        let mut x = [&self.x.values[..0]; R];
        for (r, row) in x.iter_mut().enumerate() {
            *row = self.x.row(i + r);
        }
        let mut weights = [&self.weights.values[..0]; C];
        for (k, row) in weights.iter_mut().enumerate() {
            *row = self.weights.row(c + k);
        }
        let mut sums = [[simd.splat_f32s(0.0); C]; R];
        let vectors = self.x.columns / S::F32_LANES;
        for v in 0..vectors {
            ahead.step();
            let mut w = [simd.splat_f32s(0.0); C];
            for k in 0..C {
                w[k] = S::as_simd_f32s(weights[k]).0[v];
            }
            for r in 0..R {
                let x = S::as_simd_f32s(x[r]).0[v];
                for k in 0..C {
                    sums[r][k] = simd.mul_add_f32s(x, w[k], sums[r][k]);
                }
            }
        }
        let rest = vectors * S::F32_LANES;
        if rest < self.x.columns {
            for r in 0..R {
                let x = simd.partial_load_f32s(&x[r][rest..]);
                for k in 0..C {
                    sums[r][k] = simd.mul_add_f32s(x, simd.partial_load_f32s(&weights[k][rest..]), sums[r][k]);
                }
            }
        }
        for r in 0..R {
            let out = &mut self.out[(i + r) * self.stride + c..][..C];
            for k in 0..C {
                let before = if self.accumulate { out[k] } else { 0.0 };
                out[k] = before + simd.reduce_sum_f32s(sums[r][k]);
            }
        }
    }
}

/// `out[c, j] ← Σ_i delta[i, c] · x[i, j]`, added to what is there if `accumulate`. Rows of `out` start `stride` apart.
pub(super) struct Gradient<'a> {
    pub x: Rows<'a>,
    pub delta: Rows<'a>,
    pub out: &'a mut [f32],
    pub stride: usize,
    pub accumulate: bool,
}

impl pulp::WithSimd for Gradient<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (outputs, features) = (self.delta.columns, self.x.columns);
        if !self.accumulate {
            for c in 0..outputs {
                self.out[c * self.stride..][..features].fill(0.0);
            }
        }
        let mut ahead = Ahead::new(&self.x);
        for start in (0..self.x.rows).step_by(ROWS_AT_A_TIME) {
            let rows = start..self.x.rows.min(start + ROWS_AT_A_TIME);
            let steps = outputs.div_ceil(WIDE) * tiles::<S>(features) * rows.len();
            ahead.plan((start + ROWS_AT_A_TIME) * self.x.stride, ROWS_AT_A_TIME * self.x.stride, steps);
            let whole = outputs - outputs % WIDE;
            for c in (0..whole).step_by(WIDE) {
                self.outputs_from::<S, WIDE>(simd, rows.clone(), c, &mut ahead);
            }
            match outputs - whole {
                1 => self.outputs_from::<S, 1>(simd, rows, whole, &mut ahead),
                2 => self.outputs_from::<S, 2>(simd, rows, whole, &mut ahead),
                3 => self.outputs_from::<S, 3>(simd, rows, whole, &mut ahead),
                4 => self.outputs_from::<S, 4>(simd, rows, whole, &mut ahead),
                _ => {}
            }
        }
    }
}

/// Tiles along the features.
#[inline(always)]
fn tiles<S: Simd>(features: usize) -> usize {
    let vectors = features / S::F32_LANES;
    vectors / TALL + vectors % TALL
}

impl Gradient<'_> {
    #[inline(always)]
    fn outputs_from<S: Simd, const C: usize>(
        &mut self,
        simd: S,
        rows: std::ops::Range<usize>,
        c: usize,
        ahead: &mut Ahead<'_>,
    ) {
        let vectors = self.x.columns / S::F32_LANES;
        let whole = vectors - vectors % TALL;
        for v in (0..whole).step_by(TALL) {
            self.tile::<S, C, TALL>(simd, rows.clone(), c, v, ahead);
        }
        for v in whole..vectors {
            self.tile::<S, C, 1>(simd, rows.clone(), c, v, ahead);
        }
        let rest = vectors * S::F32_LANES;
        if rest < self.x.columns {
            self.last_features::<S, C>(simd, rows, c, rest);
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const C: usize, const V: usize>(
        &mut self,
        simd: S,
        rows: std::ops::Range<usize>,
        c: usize,
        v: usize,
        ahead: &mut Ahead<'_>,
    ) {
        let mut sums = [[simd.splat_f32s(0.0); V]; C];
        for k in 0..C {
            let start = (c + k) * self.stride + v * S::F32_LANES;
            let out = S::as_simd_f32s(&self.out[start..][..V * S::F32_LANES]).0;
            sums[k].copy_from_slice(&out[..V]);
        }
        for i in rows {
            let x = S::as_simd_f32s(&self.x.row(i)[v * S::F32_LANES..][..V * S::F32_LANES]).0;
            ahead.step();
            let delta = &self.delta.row(i)[c..][..C];
            for k in 0..C {
                let factor = simd.splat_f32s(delta[k]);
                for j in 0..V {
                    sums[k][j] = simd.mul_add_f32s(factor, x[j], sums[k][j]);
                }
            }
        }
        for k in 0..C {
            let start = (c + k) * self.stride + v * S::F32_LANES;
            let out = S::as_mut_simd_f32s(&mut self.out[start..][..V * S::F32_LANES]).0;
            out[..V].copy_from_slice(&sums[k]);
        }
    }

    /// The features that do not fill a vector.
    #[inline(always)]
    fn last_features<S: Simd, const C: usize>(&mut self, simd: S, rows: std::ops::Range<usize>, c: usize, rest: usize) {
        let features = self.x.columns;
        let mut sums = [simd.splat_f32s(0.0); C];
        for k in 0..C {
            sums[k] = simd.partial_load_f32s(&self.out[(c + k) * self.stride..][rest..features]);
        }
        for i in rows {
            let x = simd.partial_load_f32s(&self.x.row(i)[rest..]);
            let delta = &self.delta.row(i)[c..][..C];
            for k in 0..C {
                sums[k] = simd.mul_add_f32s(simd.splat_f32s(delta[k]), x, sums[k]);
            }
        }
        for k in 0..C {
            simd.partial_store_f32s(&mut self.out[(c + k) * self.stride..][rest..features], sums[k]);
        }
    }
}
