//! What a fit leaves to predict with: one network, or a vote.

use cmrm::scores::most_likely;
use cmrm::{Matrix, Rows};

use super::Vote;
use crate::error::Result;
use crate::predict::Model;
use crate::stop::Stop;

/// Least probability whose logarithm is taken.
const LEAST_PROBABILITY: f32 = 1e-30;

/// A trained classifier of any kind.
#[derive(Debug, Clone)]
pub enum Predictor {
    /// A linear model or a network.
    Network(Model<f32>),
    /// A vote of several learners.
    Vote(Vote),
}

impl From<Model<f32>> for Predictor {
    fn from(model: Model<f32>) -> Self {
        Predictor::Network(model)
    }
}

impl From<Vote> for Predictor {
    fn from(vote: Vote) -> Self {
        Predictor::Vote(vote)
    }
}

impl Predictor {
    /// Number of features.
    pub fn inputs(&self) -> usize {
        match self {
            Predictor::Network(model) => model.network().layout().inputs(),
            Predictor::Vote(vote) => vote.inputs(),
        }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        match self {
            Predictor::Network(model) => model.classes(),
            Predictor::Vote(vote) => vote.classes(),
        }
    }

    /// Probabilities, `[rows, classes]`, or [`crate::Error::Stopped`] soon after somebody asks to stop.
    pub fn probabilities<'x>(&self, x: impl Into<Rows<'x, f32>>, stop: &Stop) -> Result<Vec<f32>> {
        let x = x.into();
        let mut values = Vec::with_capacity(x.rows() * self.classes());
        self.each_probabilities(x, stop, |chunk| values.extend_from_slice(chunk.values()))?;
        Ok(values)
    }

    /// Hands the probabilities of the rows to `take`, some rows at a time and in order.
    pub fn each_probabilities<'x>(
        &self,
        x: impl Into<Rows<'x, f32>>,
        stop: &Stop,
        take: impl FnMut(Matrix<'_, f32>),
    ) -> Result<()> {
        let x = x.into();
        match self {
            Predictor::Network(model) => model.each_probabilities_unless(x, stop, take),
            Predictor::Vote(vote) => vote.each_probabilities(x, stop, take),
        }
    }

    /// Probabilities of the labels that the model learned from, wrong ones among them: the same as [`Predictor::probabilities`],
    /// unless that of a vote are corrected for the noise.
    pub fn observed_probabilities<'x>(&self, x: impl Into<Rows<'x, f32>>, stop: &Stop) -> Result<Vec<f32>> {
        let x = x.into();
        match self {
            Predictor::Network(_) => self.probabilities(x, stop),
            Predictor::Vote(vote) => {
                let mut values = Vec::with_capacity(x.rows() * vote.classes());
                vote.each_observed_probabilities(x, stop, |chunk| values.extend_from_slice(chunk.values()))?;
                Ok(values)
            }
        }
    }

    /// Scaled logits, `[rows, classes]`; of a vote the logarithms of its probabilities.
    pub fn logits<'x>(&self, x: impl Into<Rows<'x, f32>>, stop: &Stop) -> Result<Vec<f32>> {
        match self {
            Predictor::Network(model) => model.logits_unless(x, stop),
            Predictor::Vote(_) => {
                let probabilities = self.probabilities(x, stop)?;
                Ok(probabilities.into_iter().map(|p| p.max(LEAST_PROBABILITY).ln()).collect())
            }
        }
    }

    /// The most likely class of each row (lowest index on ties).
    pub fn predict<'x>(&self, x: impl Into<Rows<'x, f32>>) -> Result<Vec<u32>> {
        let probabilities = self.probabilities(x, &Stop::default())?;
        Ok(probabilities.chunks_exact(self.classes()).map(most_likely).collect())
    }

    /// The model's file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match self {
            Predictor::Network(model) => model.to_bytes(),
            Predictor::Vote(vote) => vote.to_bytes(),
        }
    }

    /// Reads a model's file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if Vote::is_kind_of(bytes)? {
            Ok(Vote::from_bytes(bytes)?.into())
        } else {
            Ok(Model::from_bytes(bytes)?.into())
        }
    }
}
