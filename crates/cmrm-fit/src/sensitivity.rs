//! How accuracy depends on α and λ: one arm for each value, all trained side by side.

use cmrm::Matrix;
use cmrm::envelope::EnvelopeConfig;
use cmrm::metric::{predicted_classes, wilson};
use cmrm_data::Dataset;
use cmrm_report::{Estimate, Sensitivity, Setting};
use cmrm_run::judge::LEVEL;
use cmrm_train::Stop;
use cmrm_train::train::{Arm, Observer};

use crate::arms::{base_arm, envelope_arm};
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::outcome::{FitOutcome, FittedArm};

/// Values tried besides the run's own. A λ of 0 is the base arm.
const ALPHAS: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];
const LAMBDAS: [f64; 7] = [0.0, 0.1, 1.0, 3.0, 10.0, 40.0, 100.0];

impl FitOutcome {
    /// Trains all arms with the settings of the run, and judges them. Nothing if `observer` ended the training: the run
    /// itself is worth finishing.
    pub fn sensitivity(&self, observer: &mut dyn Observer<f32>) -> Result<Option<Sensitivity>> {
        let (config, own) = (&self.config, self.config.envelope());
        let (alphas, lambdas) = (with(&ALPHAS, own.alpha), with(&LAMBDAS, own.lambda));
        let mut arms = Vec::new();
        for &alpha in &alphas {
            arms.push(envelope_arm(config, &format!("alpha {alpha}"), EnvelopeConfig { alpha, ..own }));
        }
        for &lambda in &lambdas {
            let envelope = EnvelopeConfig { lambda, ..own };
            // Without a weight the envelope is the base loss, unless the run's own filter acts without one.
            let is_base = lambda == 0.0 && !(own.lambda == 0.0 && own.filter_base);
            let arm = if is_base { base_arm(config) } else { envelope_arm(config, "", envelope) };
            arms.push(Arm { name: format!("lambda {lambda}"), ..arm });
        }
        let fit = Fit { config: config.clone(), arms, rows: self.rows.clone() };
        let arms = match fit.run_training(observer) {
            Err(Error::Train(cmrm_train::Error::Stopped)) => return Ok(None),
            outcome => outcome?.arms,
        };
        let (judged, judged_by) = self.rows.judged();
        let validation = &self.rows.validation.data;
        let (along_alpha, along_lambda) = arms.split_at(alphas.len());
        let line = |values: &[f64], own: f64, arms: &[FittedArm]| -> Result<Vec<Setting>> {
            let one = |(&value, arm): (&f64, &FittedArm)| {
                Ok(Setting {
                    value,
                    chosen: value == own,
                    validation: accuracy(arm, Some(validation))?,
                    judged: accuracy(arm, judged)?,
                })
            };
            values.iter().zip(arms).map(one).collect()
        };
        Ok(Some(Sensitivity {
            alpha: line(&alphas, own.alpha, along_alpha)?,
            lambda: line(&lambdas, own.lambda, along_lambda)?,
            judged_by: judged_by.words().into(),
        }))
    }
}

/// The values with the run's own among them, ascending.
fn with(values: &[f64], own: f64) -> Vec<f64> {
    let mut all = values.to_vec();
    if !all.contains(&own) {
        all.push(own);
        all.sort_by(f64::total_cmp);
    }
    all
}

fn accuracy(arm: &FittedArm, data: Option<&Dataset>) -> Result<Option<Estimate>> {
    let Some(data) = data.filter(|data| !data.is_empty()) else { return Ok(None) };
    let probabilities = arm.model.probabilities(data.x()?, &Stop::default())?;
    let predicted = predicted_classes(Matrix::new(&probabilities, data.classes.len())?)?;
    let right = predicted.iter().zip(&data.labels).filter(|(a, b)| a == b).count();
    let interval = wilson(right, data.len(), LEVEL)?;
    Ok(Some(Estimate { value: right as f64 / data.len() as f64, low: interval.low, high: interval.high }))
}
