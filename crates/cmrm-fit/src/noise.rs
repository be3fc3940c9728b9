//! The noise in the labels, as models tell it of rows that they have not seen.

use std::borrow::Cow;

use cmrm::Matrix;
use cmrm::audit::Evidence;
use cmrm::noise_model::{NoiseModel, PlausibleNoise};

use crate::error::Result;

/// With more classes the matrices of the noise take more memory than the rows.
const MOST_CLASSES: usize = 1000;

/// What probabilities of models that were trained with classes that weigh alike, or with classes as they are, say of labels.
#[derive(Debug, Clone, Default)]
pub struct Balance {
    /// The shares of the classes in the labels, where the models were trained as if these were equal.
    shares: Option<Vec<f32>>,
}

impl Balance {
    /// Of models that were trained on these labels, with classes that weigh alike if `balanced`.
    pub fn of(labels: &[u32], classes: usize, balanced: bool) -> Self {
        let shares = balanced.then(|| {
            // No class is impossible, even if it is not among these labels.
            let mut counts = vec![1u32; classes];
            labels.iter().for_each(|&label| counts[label as usize] += 1);
            counts.into_iter().map(|count| count as f32 / (labels.len() + classes) as f32).collect()
        });
        Balance { shares }
    }

    /// Probabilities of labels with their own shares of the classes: `p[k] · share[k]`, normalised.
    pub fn observed<'a>(&self, said: Matrix<'a, f32>) -> Cow<'a, [f32]> {
        let Some(shares) = &self.shares else { return Cow::Borrowed(said.values()) };
        let mut observed = said.values().to_vec();
        for row in observed.chunks_exact_mut(shares.len()) {
            row.iter_mut().zip(shares).for_each(|(p, share)| *p *= share);
            let sum: f32 = row.iter().sum();
            if sum > 0.0 {
                row.iter_mut().for_each(|p| *p /= sum);
            }
        }
        Cow::Owned(observed)
    }

    fn is_even(&self) -> bool {
        self.shares.is_some()
    }
}

/// What out-of-sample probabilities say of the noise.
#[derive(Debug, Clone)]
pub struct Noise {
    /// Its rate and form.
    pub estimate: PlausibleNoise,
    /// How likely each class is the true one of each row that it was estimated from, `[rows, classes]`, over all plausible rates.
    pub posteriors: Vec<f32>,
    balance: Balance,
}

impl Noise {
    /// From probabilities of rows with these labels by models that have not seen them. Nothing where they tell too little of the labels,
    /// or of more than 1000 classes.
    pub fn estimate(said: Matrix<'_, f32>, labels: &[u32], balance: Balance) -> Result<Option<Self>> {
        let observed = balance.observed(said);
        let observed = Matrix::new(&observed, said.columns())?;
        if said.columns() > MOST_CLASSES || !Evidence::of(observed, labels)?.tells_of_noise() {
            return Ok(None);
        }
        let estimate = PlausibleNoise::of(observed, labels)?;
        let posteriors = estimate.posteriors(observed, labels)?;
        Ok(Some(Noise { estimate, posteriors, balance }))
    }

    /// How likely each class is the true one of rows with these labels, of which the models say `said`; over all plausible rates.
    pub fn posteriors_of(&self, said: Matrix<'_, f32>, labels: &[u32]) -> Result<Vec<f32>> {
        Ok(self.estimate.posteriors(Matrix::new(&self.balance.observed(said), said.columns())?, labels)?)
    }

    /// How likely labels are wrong, of rows of which the models say `said`.
    pub fn wrong_probabilities(&self, said: Matrix<'_, f32>, labels: &[u32]) -> Result<Vec<f32>> {
        let observed = self.balance.observed(said);
        Ok(self.estimate.likeliest.wrong_probabilities(Matrix::new(&observed, said.columns())?, labels)?)
    }

    /// The model that undoes the noise in what an arm predicts; nothing where that is of classes that weigh alike, since noise as it was
    /// found is that of the labels as they are. `judge` and `arm` are what the models that tell the noise and the arm say of the same
    /// rows, which the former have not seen: it says how sure the arm may be.
    pub fn undoing(&self, judge: Matrix<'_, f32>, arm: Matrix<'_, f32>) -> Result<Option<NoiseModel>> {
        if self.balance.is_even() {
            return Ok(None);
        }
        let model = &self.estimate.likeliest;
        let clean = model.clean_probabilities(judge)?;
        Ok(Some(model.as_sure_as(arm, Matrix::new(&clean, judge.columns())?)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_models_are_heard_as_speaking_of_labels_as_they_are() {
        let labels: Vec<u32> = (0..98).map(|row| u32::from(row % 49 == 0)).collect();
        let balance = Balance::of(&labels, 3, true);
        let said = [0.5f32, 0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        let observed = balance.observed(Matrix::new(&said, 3).unwrap());
        assert!((observed[0] - 0.97).abs() < 1e-6 && (observed[1] - 0.03).abs() < 1e-6, "{observed:?}");
        // A class that no label has, and a row of which nothing is left.
        assert_eq!(&observed[3..], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(&*Balance::of(&labels, 3, false).observed(Matrix::new(&said, 3).unwrap()), said);
    }
}
