//! Boosting on noisy labels: the loss alone, the envelope in its gradients, and the envelope as weights from out-of-sample
//! margins (`--model boosting`). The first two read flags of names as numbers, the last as names.
//!
//!     boosting_forms PATH... [--seeds N] [--first-seed N]
//!
//! What a PATH is, and how rows are drawn: [`cmrm_bench::noisy`].

use cmrm::envelope::{Objective, Preset, RowMemory, RunningMargins};
use cmrm::loss::LossConfig;
use cmrm::metric::accuracy;
use cmrm_bench::Result;
use cmrm_bench::noisy::Means;
use cmrm_data::Dataset;
use cmrm_fit::{Fit, FitConfig, Loaded, ModelKind};
use cmrm_train::Stop;
use cmrm_train::train::Silent;
use cmrm_train::trees::{Bins, Boosting, BoostingConfig, BoostingObjective, CrossEntropy, Enveloped, TreeColumns};

const ARMS: [&str; 5] = [
    "cross-entropy, 100 rounds",
    "cross-entropy, 30 rounds",
    "envelope in the gradients, 100 rounds",
    "envelope in the gradients, 30 rounds",
    "`--model boosting`: weights, rounds by observed labels",
];
const ROUNDS: usize = 100;
const FEWER: usize = 30;

fn main() -> Result<()> {
    Means::measure(ARMS, |loaded, seed| measure(&loaded, seed))?.print();
    Ok(())
}

fn measure(loaded: &Loaded, seed: u64) -> Result<[f64; 5]> {
    let config = FitConfig { model: Some(ModelKind::Boosting), seed, ..FitConfig::default() };
    let fit = Fit::new(&config, loaded, &Stop::default())?;
    let (train, classes) = (fit.rows().train.data.clone(), fit.rows().train.data.classes.len());
    let outcome = fit.run(&mut Silent)?;
    let (test, _) = outcome.rows.test.as_ref().ok_or("no test rows")?;
    let weighed = outcome.envelope_arm()?.model.predict(test.x()?)?;
    let mut plain = CrossEntropy::new(&train.labels, classes, None)?;
    let [long, short] = boost(&train, test, &mut plain, seed)?;
    let envelope_config = Preset::Robust.config(&LossConfig::CrossEntropy);
    let objective = Objective::with_envelope(cmrm::loss::CrossEntropy, envelope_config.validate()?);
    let running = envelope_config.running.map(|beta| RunningMargins::new(train.len(), beta));
    let memory = RowMemory { running, ..RowMemory::default() };
    let mut enveloped = Enveloped::new(objective, &train.labels, classes, None, memory)?;
    let [enveloped, enveloped_short] = boost(&train, test, &mut enveloped, seed)?;
    Ok([long, short, enveloped, enveloped_short, accuracy(&weighed, &test.labels)?])
}

/// Accuracy after all rounds, and after fewer.
fn boost(train: &Dataset, test: &Dataset, objective: &mut dyn BoostingObjective, seed: u64) -> Result<[f64; 2]> {
    let bins = Bins::learn(train.x()?, &TreeColumns::numbers(train.width()), None)?;
    let codes = bins.codes(train.x()?)?;
    let config = BoostingConfig { rounds: ROUNDS, seed, ..BoostingConfig::default() };
    let mut model = Boosting::fit(&bins, &codes, objective, &config, None, &Stop::default())?.model;
    let right = |model: &Boosting| -> Result<f64> {
        let said = model.probabilities(test.x()?)?;
        let predicted = said.chunks_exact(model.classes()).map(cmrm::scores::most_likely).collect::<Vec<u32>>();
        Ok(accuracy(&predicted, &test.labels)?)
    };
    let long = right(&model)?;
    model.truncate(FEWER);
    Ok([long, right(&model)?])
}
