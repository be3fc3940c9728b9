//! The noise in the labels of the training rows, as a vote tells it.

use std::borrow::Cow;

use cmrm::Matrix;
use cmrm::noise_model::{NoiseModel, wrong_probabilities};
use cmrm_data::Dataset;

use crate::error::Result;

/// What out-of-sample probabilities say of the noise.
#[derive(Debug, Clone)]
pub struct Noise {
    /// Its rate and form.
    pub model: NoiseModel,
    /// How likely each class is the true one of each training row, `[rows, classes]`.
    pub posteriors: Vec<f32>,
    /// The shares of the classes in the labels, where the models were trained as if these were equal.
    shares: Option<Vec<f32>>,
}

impl Noise {
    /// From probabilities of the training rows by models that have not seen them, trained with classes that weigh alike if
    /// `balanced`.
    pub fn estimate(said: &[f32], train: &Dataset, balanced: bool) -> Result<Self> {
        let classes = train.classes.len();
        let shares = balanced.then(|| {
            let mut counts = vec![0u32; classes];
            train.labels.iter().for_each(|&label| counts[label as usize] += 1);
            counts.into_iter().map(|count| count as f32 / train.len() as f32).collect()
        });
        let observed = as_observed(Matrix::new(said, classes)?, shares.as_deref());
        let observed = Matrix::new(&observed, classes)?;
        let model = NoiseModel::estimate(observed, &train.labels)?;
        let posteriors = model.posteriors(observed, &train.labels)?;
        Ok(Noise { model, posteriors, shares })
    }

    /// How likely each class is the true one of rows with these labels, of which the models say `said`.
    pub fn posteriors_of(&self, said: Matrix<'_, f32>, labels: &[u32]) -> Result<Vec<f32>> {
        let observed = as_observed(said, self.shares.as_deref());
        Ok(self.model.posteriors(Matrix::new(&observed, said.columns())?, labels)?)
    }

    /// How likely the labels of the training rows are wrong.
    pub fn wrong_probabilities(&self, train: &Dataset) -> Vec<f32> {
        wrong_probabilities(&self.posteriors, &train.labels, train.classes.len())
    }

    /// The model that undoes the noise in predictions; nothing where these are of classes that weigh alike, since noise as it was
    /// found is that of the labels as they are.
    pub fn undoing(&self) -> Option<&NoiseModel> {
        self.shares.is_none().then_some(&self.model)
    }
}

/// Probabilities of labels with their own shares of the classes, from those of classes that weigh alike: `p[k] · share[k]`, normalised.
fn as_observed<'a>(said: Matrix<'a, f32>, shares: Option<&[f32]>) -> Cow<'a, [f32]> {
    let Some(shares) = shares else { return Cow::Borrowed(said.values()) };
    let mut observed = said.values().to_vec();
    for row in observed.chunks_exact_mut(shares.len()) {
        row.iter_mut().zip(shares).for_each(|(p, share)| *p *= share);
        let sum: f32 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    }
    Cow::Owned(observed)
}
