//! The fused kernel against a plain copy of the same numbers, to measure how near it is to the speed of memory.

use cmrm::Matrix;
use cmrm::envelope::{Batch, Objective, Scratch};
use cmrm::loss::CrossEntropy;
use cmrm::rng::Rng;

const ROWS: usize = 8192;
const CLASSES: usize = 100;

/// The fused kernel on 8192 rows of 100 logits, and a plain copy of the same numbers to hold it against.
///
/// Calls rotate over several pairs of buffers, so that kernel and copy find their numbers equally far away.
#[derive(Debug)]
pub struct Stream {
    pairs: Vec<(Vec<f32>, Vec<f32>)>,
    labels: Vec<u32>,
    scratch: Scratch<f32>,
    next: usize,
}

impl Stream {
    /// Pairs of 6.6 MB that together are larger than a last-level cache: numbers come from memory.
    pub const FROM_MEMORY: usize = 24;
    /// One pair, which stays in the last-level cache.
    pub const FROM_CACHE: usize = 1;

    /// Random logits in `pairs` buffers, each with a buffer for the results.
    pub fn new(pairs: usize) -> Self {
        let mut rng = Rng::new(0, 1);
        let logits = crate::normal(&mut rng, ROWS * CLASSES, 2.0);
        Stream {
            pairs: (0..pairs).map(|_| (logits.clone(), vec![0.0; ROWS * CLASSES])).collect(),
            labels: (0..ROWS).map(|_| rng.below(CLASSES) as u32).collect(),
            scratch: Scratch::default(),
            next: 0,
        }
    }

    /// Reads the logits once and writes as many numbers.
    pub fn copy(&mut self) -> f32 {
        let (logits, out) = self.rotate();
        out.copy_from_slice(logits);
        out[0]
    }

    /// Base loss, risk, threshold, weights and gradient.
    pub fn kernel(&mut self) -> f64 {
        let objective = Objective::with_envelope(CrossEntropy, crate::envelope());
        let i = self.advance();
        let (logits, grad) = &mut self.pairs[i];
        let logits = Matrix::new(logits, CLASSES).expect("a whole number of rows");
        objective
            .evaluate(&Batch::new(logits, &self.labels), grad, &mut self.scratch)
            .expect("finite logits and labels in range")
            .total
    }

    fn advance(&mut self) -> usize {
        self.next = (self.next + 1) % self.pairs.len();
        self.next
    }

    fn rotate(&mut self) -> (&[f32], &mut [f32]) {
        let i = self.advance();
        let (logits, out) = &mut self.pairs[i];
        (logits, out)
    }
}
