//! How accuracy depends on α and λ: one arm a value, all trained beside each other.

use cmrm::Matrix;
use cmrm::metric::{predicted_classes, wilson};
use cmrm_data::Dataset;
use cmrm_fit::{FitConfig, Prepared, envelope_arm};
use cmrm_report::{Estimate, Sensitivity, Setting};
use cmrm_train::train::{Arm, Examples, Trained, Trainer};

use crate::failure::Result;
use crate::progress::{Stoppable, interrupted};

/// Values tried besides the run's own. A λ of 0 is the base arm.
const ALPHAS: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];
const LAMBDAS: [f64; 7] = [0.0, 0.1, 1.0, 3.0, 10.0, 40.0, 100.0];

/// Trains all arms with the settings of the run, and judges them. Nothing if Ctrl-C was pressed meanwhile: the run itself
/// is trained by then, and worth finishing.
pub fn measure(
    config: &FitConfig,
    prepared: &Prepared,
    train: &Dataset,
    judged: Option<&Dataset>,
    judged_by: &str,
) -> Result<Option<Sensitivity>> {
    let chosen = config.envelope();
    let (alphas, lambdas) = (with(&ALPHAS, chosen.alpha), with(&LAMBDAS, chosen.lambda));
    let mut arms = Vec::new();
    for &alpha in &alphas {
        let envelope = cmrm::envelope::EnvelopeConfig { alpha, ..chosen };
        arms.push(envelope_arm(config, &format!("alpha {alpha}"), envelope));
    }
    for &lambda in &lambdas {
        let envelope = cmrm::envelope::EnvelopeConfig { lambda, ..chosen };
        let arm = if lambda == 0.0 { Arm::base(config.loss) } else { envelope_arm(config, "", envelope) };
        arms.push(Arm { name: format!("lambda {lambda}"), ..arm });
    }
    let validation = prepared.data.gather(&prepared.split.validation)?;
    let held = (!validation.is_empty()).then(|| validation.matrix()).transpose()?;
    let held = held.map(|x| Examples::new(x, &validation.labels));
    let examples = Examples::new(train.matrix()?, &train.labels);
    let mut trainer = Trainer::new(config.train_config(), arms, train.classes.len(), examples, held)?;
    trainer.run(&mut Stoppable)?;
    if interrupted() && !trainer.has_ended() {
        return Ok(None);
    }
    let trained = trainer.finish()?;
    let (along_alpha, along_lambda) = trained.split_at(alphas.len());
    let line = |values: &[f64], own: f64, arms: &[Trained<f32>]| -> Result<Vec<Setting>> {
        let one = |(&value, arm): (&f64, &Trained<f32>)| {
            Ok(Setting {
                value,
                chosen: value == own,
                validation: accuracy(arm, Some(&validation))?,
                judged: accuracy(arm, judged)?,
            })
        };
        values.iter().zip(arms).map(one).collect()
    };
    Ok(Some(Sensitivity {
        alpha: line(&alphas, chosen.alpha, along_alpha)?,
        lambda: line(&lambdas, chosen.lambda, along_lambda)?,
        judged_by: judged_by.into(),
    }))
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

fn accuracy(arm: &Trained<f32>, data: Option<&Dataset>) -> Result<Option<Estimate>> {
    let Some(data) = data.filter(|data| !data.is_empty()) else { return Ok(None) };
    let probabilities = arm.model.probabilities(data.matrix()?)?;
    let predicted = predicted_classes(Matrix::new(&probabilities, data.classes.len())?)?;
    let right = predicted.iter().zip(&data.labels).filter(|(a, b)| a == b).count();
    let interval = wilson(right, data.len(), 0.95)?;
    Ok(Some(Estimate { value: right as f64 / data.len() as f64, low: interval.low, high: interval.high }))
}
