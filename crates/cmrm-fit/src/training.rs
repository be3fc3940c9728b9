//! The training of a fit.

use cmrm_data::Dataset;
use cmrm_run::TrainingRows;
use cmrm_train::train::{Examples, Trained, Trainer};

use crate::arms::arms;
use crate::config::FitConfig;
use crate::error::Result;
use crate::prepare::{Prepared, known_wrong};

/// The rows that a training reads, side by side.
#[derive(Debug, Clone)]
pub struct TrainingParts {
    /// Rows to train on.
    pub train: Dataset,
    /// What they weigh; all one if absent.
    pub weights: Option<Vec<f32>>,
    /// Rows to validate and calibrate by; perhaps none.
    pub validation: Dataset,
}

impl TrainingParts {
    /// Copies them out.
    pub fn of(prepared: &Prepared) -> Result<Self> {
        let of_train = |weights: &Vec<f32>| prepared.split.train.iter().map(|&row| weights[row]).collect();
        Ok(TrainingParts {
            weights: prepared.weights.as_ref().map(of_train),
            train: prepared.data.gather(&prepared.split.train)?,
            validation: prepared.data.gather(&prepared.split.validation)?,
        })
    }

    /// The rows to train on, with what they weigh.
    pub fn examples(&self) -> Result<Examples<'_, f32>> {
        let examples = Examples::new(self.train.matrix()?, &self.train.labels);
        Ok(Examples { row_weights: self.weights.as_deref(), ..examples })
    }
}

/// The training of all arms, ready to run.
pub fn trainer<'a>(config: &FitConfig, prepared: &Prepared, parts: &'a TrainingParts) -> Result<Trainer<'a, f32>> {
    let TrainingParts { train, validation, .. } = parts;
    let held = (!validation.is_empty()).then(|| validation.matrix()).transpose()?;
    let held = held.map(|x| Examples::new(x, &validation.labels));
    let trainer = Trainer::new(config.train_config(), arms(config), train.classes.len(), parts.examples()?, held)?;
    Ok(match known_wrong(prepared) {
        Some(wrong) => trainer.with_known_wrong(wrong)?,
        None => trainer,
    })
}

/// What training saw of the rows of `train`.
pub fn training_rows<'a>(train: &'a Dataset, arm: &'a Trained<f32>, wrong: Option<&'a [bool]>) -> TrainingRows<'a> {
    let record = &arm.record;
    TrainingRows {
        rows: &train.rows,
        files: &[],
        classes: &train.classes,
        labels: &train.labels,
        rival: &record.rival,
        margin: &record.last_margin,
        mean_margin: &record.mean_margin,
        weight: &record.last_weight,
        mean_weight: &record.mean_weight,
        wrong,
    }
}
