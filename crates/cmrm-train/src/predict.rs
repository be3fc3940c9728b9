//! A trained model: logits, probabilities and predictions for new rows.

use cmrm::error::check_length;
use cmrm::{Matrix, Scalar};

use crate::error::Result;
use crate::model::{Head, Network, Workspace};
use crate::stop::Stop;

/// Rows evaluated at a time, so that memory does not grow with the data.
const CHUNK_ROWS: usize = 16 * 1024;

/// One trained network and what turns its outputs into probabilities.
#[derive(Debug, Clone)]
pub struct Model<T> {
    network: Network<T>,
    scale: f64,
}

impl<T: Scalar> Model<T> {
    /// A model from a network of one copy and the loss's scale of the logits.
    pub fn new(network: Network<T>, scale: f64) -> Self {
        Model { network, scale }
    }

    /// The network.
    pub fn network(&self) -> &Network<T> {
        &self.network
    }

    /// What logits are multiplied by before the softmax (LDAM's scale; 1 for every other loss).
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.network.layout().classes
    }

    /// Scaled logits, `[rows, classes]`; a score becomes `(0, score)`.
    pub fn logits(&self, x: Matrix<'_, T>) -> Result<Vec<T>> {
        self.logits_unless(x, &Stop::default())
    }

    /// [`Model::logits`], or [`crate::Error::Stopped`] soon after somebody asks to stop.
    pub fn logits_unless(&self, x: Matrix<'_, T>, stop: &Stop) -> Result<Vec<T>> {
        let layout = self.network.layout();
        check_length("features of a row against the model's inputs", layout.inputs(), x.columns())?;
        let scale = T::from_f64(self.scale);
        let mut work = Workspace::default();
        work.stop_on(stop.clone());
        let mut logits = Vec::with_capacity(x.rows() * layout.classes);
        for chunk in x.values().chunks(CHUNK_ROWS * x.columns()) {
            self.network.forward(chunk, None, false, &mut work)?;
            if layout.head == Head::Score {
                logits.extend(work.outputs().iter().flat_map(|&score| [T::ZERO, score * scale]));
            } else {
                logits.extend(work.outputs().iter().map(|&z| z * scale));
            }
        }
        Ok(logits)
    }

    /// Probabilities, `[rows, classes]`.
    pub fn probabilities(&self, x: Matrix<'_, T>) -> Result<Vec<T>> {
        self.probabilities_unless(x, &Stop::default())
    }

    /// [`Model::probabilities`], or [`crate::Error::Stopped`] soon after somebody asks to stop.
    pub fn probabilities_unless(&self, x: Matrix<'_, T>, stop: &Stop) -> Result<Vec<T>> {
        let mut values = self.logits_unless(x, stop)?;
        let classes = self.classes();
        for chunk in values.chunks_mut(CHUNK_ROWS * classes) {
            stop.check()?;
            // Exponentials are fast where the processor's widest vectors are enabled around them.
            pulp::Arch::new().dispatch(|| chunk.chunks_exact_mut(classes).for_each(softmax));
        }
        Ok(values)
    }

    /// The most likely class of each row (lowest index on ties).
    pub fn predict(&self, x: Matrix<'_, T>) -> Result<Vec<u32>> {
        let logits = self.logits(x)?;
        Ok(logits.chunks_exact(self.classes()).map(most_likely).collect())
    }
}

/// Index of the largest number, the lowest on ties.
pub fn most_likely<T: Scalar>(row: &[T]) -> u32 {
    let mut best = 0;
    for (j, &value) in row.iter().enumerate() {
        if value > row[best] {
            best = j;
        }
    }
    best as u32
}

#[inline(always)]
fn softmax<T: Scalar>(row: &mut [T]) {
    let top = row.iter().copied().fold(T::NEG_INFINITY, T::larger);
    let mut sum = T::ZERO;
    for v in row.iter_mut() {
        *v = (*v - top).exp_of_nonpositive();
        sum += *v;
    }
    for v in row {
        *v = *v / sum;
    }
}
