//! A trained model: logits, probabilities and predictions for new rows.

use cmrm::error::check_length;
use cmrm::scores::{most_likely, softmax};
use cmrm::{Matrix, Rows, Scalar};

use crate::error::Result;
use crate::model::{BLOCK_ROWS, Head, Network, Workspace};
use crate::stop::Stop;

/// Most rows evaluated at a time, so that memory does not grow with the data.
const CHUNK_ROWS: usize = 16 * 1024;
/// Most outputs evaluated at a time: with more classes than a few thousand, the rows are fewer.
const CHUNK_OUTPUTS: usize = 1 << 25;

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

    /// The same model with its logits divided by `temperature`: below one it is surer of itself. What it predicts stays.
    #[must_use]
    pub fn at_temperature(self, temperature: f64) -> Self {
        Model { scale: self.scale / temperature, ..self }
    }

    /// The network.
    pub fn network(&self) -> &Network<T> {
        &self.network
    }

    /// What logits are multiplied by before the softmax: LDAM's scale, 1 for every other loss; divided by the temperature.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.network.layout().classes
    }

    /// Scaled logits, `[rows, classes]`; a score becomes `(0, score)`. Here and below a row comes out the same to the last bit, alone or
    /// among others; only [`Model::logits_in_blocks`] and [`Model::probabilities_in_blocks`] are as training computes them.
    pub fn logits<'x>(&self, x: impl Into<Rows<'x, T>>) -> Result<Vec<T>> {
        self.logits_unless(x, &Stop::default())
    }

    /// [`Model::logits`], or [`crate::Error::Stopped`] soon after somebody asks to stop.
    pub fn logits_unless<'x>(&self, x: impl Into<Rows<'x, T>>, stop: &Stop) -> Result<Vec<T>> {
        self.all_logits(x.into(), true, stop)
    }

    /// Logits by the products that training takes: fast, and in the last digits other ones in another batch. For rows that decide how
    /// training goes on.
    pub fn logits_in_blocks<'x>(&self, x: impl Into<Rows<'x, T>>, stop: &Stop) -> Result<Vec<T>> {
        self.all_logits(x.into(), false, stop)
    }

    fn all_logits(&self, x: Rows<'_, T>, by_row: bool, stop: &Stop) -> Result<Vec<T>> {
        let mut logits = Vec::with_capacity(x.rows() * self.classes());
        self.each_logits(x, by_row, stop, |chunk| {
            logits.extend_from_slice(chunk);
            Ok(())
        })?;
        Ok(logits)
    }

    /// Hands the scaled logits of the rows to `take`, some rows at a time and in order, to be changed at will.
    fn each_logits(
        &self,
        x: Rows<'_, T>,
        by_row: bool,
        stop: &Stop,
        mut take: impl FnMut(&mut [T]) -> Result<()>,
    ) -> Result<()> {
        let layout = self.network.layout();
        check_length("features of a row against the model's inputs", layout.inputs(), x.columns())?;
        let scale = T::from_f64(self.scale);
        let (mut work, mut logits) = (Workspace::default(), Vec::new());
        work.stop_on(stop.clone());
        if by_row {
            work.row_by_row();
        }
        // Whole blocks: training rounds a row the same whatever other blocks are evaluated beside its own.
        let blocks = (CHUNK_OUTPUTS / layout.classes / BLOCK_ROWS).clamp(1, CHUNK_ROWS / BLOCK_ROWS);
        for from in (0..x.rows()).step_by(blocks * BLOCK_ROWS) {
            let chunk = x.slice(from..(from + blocks * BLOCK_ROWS).min(x.rows()));
            self.network.forward(chunk, None, false, &mut work)?;
            logits.clear();
            if layout.head == Head::Score {
                logits.extend(work.outputs().iter().flat_map(|&score| [T::ZERO, score * scale]));
            } else {
                logits.extend(work.outputs().iter().map(|&z| z * scale));
            }
            take(&mut logits)?;
        }
        Ok(())
    }

    /// Probabilities, `[rows, classes]`.
    pub fn probabilities<'x>(&self, x: impl Into<Rows<'x, T>>) -> Result<Vec<T>> {
        self.probabilities_unless(x, &Stop::default())
    }

    /// [`Model::probabilities`], or [`crate::Error::Stopped`] soon after somebody asks to stop.
    pub fn probabilities_unless<'x>(&self, x: impl Into<Rows<'x, T>>, stop: &Stop) -> Result<Vec<T>> {
        let x: Rows<'_, T> = x.into();
        let mut values = Vec::with_capacity(x.rows() * self.classes());
        self.each_probabilities_unless(x, stop, |chunk| values.extend_from_slice(chunk.values()))?;
        Ok(values)
    }

    /// Probabilities of [`Model::logits_in_blocks`].
    pub fn probabilities_in_blocks<'x>(&self, x: impl Into<Rows<'x, T>>, stop: &Stop) -> Result<Vec<T>> {
        let mut values = self.logits_in_blocks(x, stop)?;
        soften(&mut values, self.classes());
        Ok(values)
    }

    /// Hands the probabilities of the rows to `take`, some rows at a time and in order: what one row after the other can
    /// be judged by does not need the memory of rows times classes.
    pub fn each_probabilities<'x>(&self, x: impl Into<Rows<'x, T>>, take: impl FnMut(Matrix<'_, T>)) -> Result<()> {
        self.each_probabilities_unless(x, &Stop::default(), take)
    }

    /// [`Model::each_probabilities`], or [`crate::Error::Stopped`] soon after somebody asks to stop.
    pub fn each_probabilities_unless<'x>(
        &self,
        x: impl Into<Rows<'x, T>>,
        stop: &Stop,
        mut take: impl FnMut(Matrix<'_, T>),
    ) -> Result<()> {
        let classes = self.classes();
        self.each_logits(x.into(), true, stop, |chunk| {
            soften(chunk, classes);
            take(Matrix::new(chunk, classes)?);
            Ok(())
        })
    }

    /// The most likely class of each row (lowest index on ties).
    pub fn predict<'x>(&self, x: impl Into<Rows<'x, T>>) -> Result<Vec<u32>> {
        let logits = self.logits(x)?;
        Ok(logits.chunks_exact(self.classes()).map(most_likely).collect())
    }
}

/// Logits as probabilities.
fn soften<T: Scalar>(logits: &mut [T], classes: usize) {
    // Exponentials are fast where the processor's widest vectors are enabled around them.
    pulp::Arch::new().dispatch(|| logits.chunks_exact_mut(classes).for_each(softmax));
}
