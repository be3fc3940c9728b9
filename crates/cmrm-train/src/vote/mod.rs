//! Votes: several learners, each the mean of copies that have seen different rows, and how much each counts.

mod calibration;
mod choice;
mod member;
mod predictor;
mod stored;

pub use calibration::Calibration;
pub use choice::{Chosen, brier_score, choose};
pub use member::Member;
pub use predictor::Predictor;

use cmrm::error::check_parameter;
use cmrm::noise_model::NoiseModel;
use cmrm::{Matrix, OwnedRows, Rows};

use crate::error::Result;
use crate::stop::Stop;

/// What the sum of all shares may differ from one by.
const ROUNDING: f64 = 1e-9;
/// Rows evaluated at a time.
const CHUNK_ROWS: usize = 16 * 1024;

/// Learners whose probabilities are averaged by their shares.
#[derive(Debug, Clone)]
pub struct Vote {
    inputs: usize,
    classes: usize,
    voters: Vec<Voter>,
    noise: Option<NoiseModel>,
}

/// One learner of a vote.
#[derive(Debug, Clone)]
pub struct Voter {
    /// What it is called in reports.
    pub name: String,
    /// How much it counts; the shares of a vote add up to one.
    pub share: f64,
    /// What the features are multiplied by before its copies see them; as they are if absent.
    pub scales: Option<Vec<f32>>,
    /// Its copies, which count alike.
    pub copies: Vec<Member>,
    /// What becomes of their mean.
    pub calibration: Calibration,
}

impl Vote {
    /// A vote of these learners, whose shares are divided by their sum.
    pub fn new(mut voters: Vec<Voter>) -> Result<Self> {
        let sum: f64 = voters.iter().map(|voter| voter.share).sum();
        let sound = voters.iter().all(|voter| voter.share > 0.0 && !voter.copies.is_empty()) && sum.is_finite();
        check_parameter("shares of a vote", sum, sound && sum > 0.0, "positive numbers, one for each voter")?;
        // Shares from a file add up to one but for rounding, and stay as they are to the last bit.
        if (sum - 1.0).abs() > ROUNDING {
            voters.iter_mut().for_each(|voter| voter.share /= sum);
        }
        let first = &voters[0].copies[0];
        let (inputs, classes) = (first.inputs(), first.classes());
        for member in voters.iter().flat_map(|voter| &voter.copies) {
            cmrm::error::check_length("features of a voter", inputs, member.inputs())?;
            cmrm::error::check_length("classes of a voter", classes, member.classes())?;
        }
        for voter in &voters {
            voter.calibration.check()?;
            let Some(scales) = &voter.scales else { continue };
            cmrm::error::check_length("scales of a voter's features", inputs, scales.len())?;
            if let Some(at) = scales.iter().position(|scale| !scale.is_finite()) {
                return Err(cmrm::Error::non_finite("scale", 0, at, f64::from(scales[at])).into());
            }
        }
        Ok(Vote { inputs, classes, voters, noise: None })
    }

    /// The same vote, whose probabilities are those of true classes by this model of the noise in the labels that it learned from.
    pub fn corrected(self, noise: NoiseModel) -> Result<Self> {
        cmrm::error::check_length("classes of the noise model", self.classes, noise.transition.classes())?;
        let sharp = noise.sharpness > 0.0 && noise.sharpness.is_finite();
        check_parameter("sharpness of the noise model", noise.sharpness, sharp, "a finite positive number")?;
        Ok(Vote { noise: Some(noise), ..self })
    }

    /// The noise that probabilities are corrected for.
    pub fn noise(&self) -> Option<&NoiseModel> {
        self.noise.as_ref()
    }

    /// Number of features.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The learners.
    pub fn voters(&self) -> &[Voter] {
        &self.voters
    }

    /// Hands the probabilities of the rows to `take`, some rows at a time and in order: those of true classes if the vote is
    /// [`Vote::corrected`], else those of observed labels.
    pub fn each_probabilities<'x>(
        &self,
        x: impl Into<Rows<'x, f32>>,
        stop: &Stop,
        mut take: impl FnMut(Matrix<'_, f32>),
    ) -> Result<()> {
        let Some(noise) = &self.noise else { return self.each_observed_probabilities(x, stop, take) };
        let mut outcome = Ok(());
        self.each_observed_probabilities(x, stop, |observed| {
            let clean = noise.clean_probabilities(observed);
            match clean.as_ref().map_err(Clone::clone).and_then(|clean| Matrix::new(clean, self.classes)) {
                Ok(clean) => take(clean),
                Err(error) => outcome = Err(error),
            }
        })?;
        Ok(outcome?)
    }

    /// The same for the labels that the vote learned from, wrong ones among them.
    pub fn each_observed_probabilities<'x>(
        &self,
        x: impl Into<Rows<'x, f32>>,
        stop: &Stop,
        mut take: impl FnMut(Matrix<'_, f32>),
    ) -> Result<()> {
        let x = x.into();
        cmrm::error::check_length("features of a row against the model's inputs", self.inputs, x.columns())?;
        let (mut sums, mut mean) = (Vec::new(), Vec::new());
        for first in (0..x.rows()).step_by(CHUNK_ROWS) {
            let rows = x.slice(first..(first + CHUNK_ROWS).min(x.rows()));
            sums.clear();
            sums.resize(rows.rows() * self.classes, 0.0);
            for voter in &self.voters {
                let scaled = voter.scales.as_ref().map(|scales| scaled(rows, scales));
                let rows = match &scaled {
                    Some(scaled) => scaled.view()?,
                    None => rows,
                };
                mean.clear();
                mean.resize(sums.len(), 0.0);
                let part = 1.0 / voter.copies.len() as f32;
                for copy in &voter.copies {
                    stop.check()?;
                    let found = copy.probabilities(rows, stop)?;
                    mean.iter_mut().zip(&found).for_each(|(mean, p)| *mean += part * p);
                }
                voter.calibration.apply(&mut mean, self.classes);
                let share = voter.share as f32;
                sums.iter_mut().zip(&mean).for_each(|(sum, p)| *sum += share * p);
            }
            take(Matrix::new(&sums, self.classes)?);
        }
        Ok(())
    }
}

/// The rows with their features multiplied by `scales`, one for each column.
pub fn scaled(rows: Rows<'_, f32>, scales: &[f32]) -> OwnedRows<f32> {
    match rows {
        Rows::Dense(matrix) => {
            let mut values = matrix.values().to_vec();
            scale_features(&mut values, scales);
            OwnedRows::Dense { values, width: matrix.columns() }
        }
        Rows::Sparse(matrix) => {
            let mut owned = matrix.to_rows();
            let columns = matrix.iter_rows().flat_map(|row| row.columns);
            owned.values_mut().iter_mut().zip(columns).for_each(|(value, &column)| *value *= scales[column as usize]);
            OwnedRows::Sparse(owned)
        }
    }
}

/// Multiplies the features of dense rows by their scales.
pub fn scale_features(rows: &mut [f32], scales: &[f32]) {
    for row in rows.chunks_exact_mut(scales.len()) {
        row.iter_mut().zip(scales).for_each(|(value, scale)| *value *= scale);
    }
}
