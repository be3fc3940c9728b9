//! The noise in the labels, as models tell it of rows that they have not seen.

use std::borrow::Cow;

use cmrm::Matrix;
use cmrm::noise_model::{NoiseModel, PlausibleNoise};

use crate::error::Result;

/// What out-of-sample probabilities say of the noise.
#[derive(Debug, Clone)]
pub struct Noise {
    /// Its rate and form.
    pub estimate: PlausibleNoise,
    /// How likely each class is the true one of each row that it was estimated from, `[rows, classes]`, over all plausible rates.
    pub posteriors: Vec<f32>,
    /// The shares of the classes in the labels, where the models were trained as if these were equal.
    shares: Option<Vec<f32>>,
}

impl Noise {
    /// From probabilities of rows with these labels by models that have not seen them, trained with classes that weigh alike if
    /// `balanced`.
    pub fn estimate(said: Matrix<'_, f32>, labels: &[u32], balanced: bool) -> Result<Self> {
        let shares = balanced.then(|| {
            let mut counts = vec![0u32; said.columns()];
            labels.iter().for_each(|&label| counts[label as usize] += 1);
            counts.into_iter().map(|count| count as f32 / labels.len() as f32).collect()
        });
        let observed = as_observed(said, shares.as_deref());
        let observed = Matrix::new(&observed, said.columns())?;
        let estimate = PlausibleNoise::of(observed, labels)?;
        let posteriors = estimate.posteriors(observed, labels)?;
        Ok(Noise { estimate, posteriors, shares })
    }

    /// How likely each class is the true one of rows with these labels, of which the models say `said`; over all plausible rates.
    pub fn posteriors_of(&self, said: Matrix<'_, f32>, labels: &[u32]) -> Result<Vec<f32>> {
        let observed = as_observed(said, self.shares.as_deref());
        Ok(self.estimate.posteriors(Matrix::new(&observed, said.columns())?, labels)?)
    }

    /// How likely labels are wrong, of rows of which the models say `said`.
    pub fn wrong_probabilities(&self, said: Matrix<'_, f32>, labels: &[u32]) -> Result<Vec<f32>> {
        let observed = as_observed(said, self.shares.as_deref());
        Ok(self.estimate.likeliest.wrong_probabilities(Matrix::new(&observed, said.columns())?, labels)?)
    }

    /// The model that undoes the noise in what an arm predicts; nothing where that is of classes that weigh alike, since noise as it was
    /// found is that of the labels as they are. `judge` and `arm` are what the models that tell the noise and the arm say of the same
    /// rows, which the former have not seen: it says how sure the arm may be.
    pub fn undoing(&self, judge: Matrix<'_, f32>, arm: Matrix<'_, f32>) -> Result<Option<NoiseModel>> {
        if self.shares.is_some() {
            return Ok(None);
        }
        let model = &self.estimate.likeliest;
        let clean = model.clean_probabilities(judge)?;
        Ok(Some(model.as_sure_as(arm, Matrix::new(&clean, judge.columns())?)?))
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
