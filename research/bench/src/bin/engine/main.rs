//! Our side of `research/peers/run`: reads jobs as lines of JSON, does them, answers with a line of JSON each.
//!
//! The peers read the same lines, so data and hyper-parameters are the same by construction.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use cmrm::Matrix;
use cmrm::envelope::{EnvelopeConfig, Preset, Start};
use cmrm::loss::LossConfig;
use cmrm_bench::{Clock, Result, Time, npy};
use cmrm_train::matmul::{View, ViewMut, multiply};
use cmrm_train::model::{Init, ModelConfig};
use cmrm_train::optim::{AdamConfig, LbfgsConfig, OptimiserConfig};
use cmrm_train::schedule::{Decay, ScheduleConfig};
use cmrm_train::train::{Arm, ClassWeights, Examples, Method, Selection, Silent, TrainConfig, Trainer};
use serde::{Deserialize, Serialize};

mod grid;

/// One thing to measure.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum Job {
    /// Adam, in batches or on all rows.
    Train {
        #[serde(flatten)]
        data: DataOf,
        hidden: Vec<usize>,
        /// Rows in a batch; none for all rows.
        batch: Option<usize>,
        epochs: usize,
        lr: f64,
        /// One arm for each; `null` is the base loss alone.
        envelopes: Vec<Option<Form>>,
    },
    /// Logistic regression by L-BFGS.
    Fit {
        #[serde(flatten)]
        data: DataOf,
        iterations: usize,
        l2: f64,
    },
    /// A grid of envelopes over folds, linear, by Adam in batches; the answer holds held-out accuracies.
    Grid {
        #[serde(flatten)]
        data: DataOf,
        envelopes: Vec<Knobs>,
        folds: usize,
        batch: usize,
        epochs: usize,
        lr: f64,
        l2: f64,
    },
    /// A matrix product, for the rate of this machine.
    Product { rows: usize, inner: usize, columns: usize, repeats: usize },
}

#[derive(Deserialize)]
struct DataOf {
    x: PathBuf,
    y: PathBuf,
    classes: usize,
}

/// Which envelope.
#[derive(Deserialize, Clone, Copy)]
#[serde(untagged)]
enum Form {
    /// The paper's, with settings.
    Paper(Knobs),
    /// By its name: a preset as it is.
    Named(Preset),
}

/// The settings of the paper's form that are varied.
#[derive(Deserialize, Clone, Copy)]
struct Knobs {
    lambda: f64,
    alpha: f64,
    temperature: f64,
}

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    time: Time,
    /// Mean total of the last epoch (iteration) of the first arm, without the penalty on the weights.
    loss: f64,
    /// Parameters of the model, of a fit.
    parameters: Vec<f32>,
    /// Held-out accuracy by envelope and fold, of a grid.
    accuracies: Vec<Vec<f64>>,
}

/// Files that were read once stay.
#[derive(Default)]
struct Files {
    features: HashMap<PathBuf, npy::Array>,
    labels: HashMap<PathBuf, Vec<u32>>,
}

impl Files {
    fn load(&mut self, data: &DataOf) -> Result<()> {
        if !self.features.contains_key(&data.x) {
            self.features.insert(data.x.clone(), npy::read(&data.x)?);
        }
        if !self.labels.contains_key(&data.y) {
            self.labels.insert(data.y.clone(), npy::read_labels(&data.y)?);
        }
        Ok(())
    }

    fn examples(&self, x: &Path, y: &Path) -> Result<Examples<'_, f32>> {
        let (array, labels) = (&self.features[x], &self.labels[y]);
        Ok(Examples::new(Matrix::new(&array.values, array.columns)?, labels))
    }
}

fn main() -> Result<()> {
    let mut files = Files::default();
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let answer = measure(serde_json::from_str(&line?)?, &mut files)?;
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
        out.flush()?;
    }
    Ok(())
}

fn measure(job: Job, files: &mut Files) -> Result<Answer> {
    match job {
        Job::Train { data, hidden, batch, epochs, lr, envelopes } => {
            files.load(&data)?;
            let method = Method::Stochastic {
                optimiser: OptimiserConfig::Adam(AdamConfig::default()),
                learning_rate: lr,
                schedule: ScheduleConfig::default(),
                batch_rows: batch,
            };
            let config =
                settings(ModelConfig { init: Init::Kaiming, ..ModelConfig::mlp(&hidden) }, method, epochs, 0.0);
            let arms = envelopes.into_iter().enumerate().map(|(i, form)| arm(i, form)).collect();
            let mut trainer = Trainer::new(config, arms, data.classes, files.examples(&data.x, &data.y)?, None)?;
            let clock = Clock::start();
            trainer.run(&mut Silent)?;
            Ok(Answer {
                time: clock.stop(),
                loss: last_total(&trainer),
                parameters: Vec::new(),
                accuracies: Vec::new(),
            })
        }
        Job::Fit { data, iterations, l2 } => {
            files.load(&data)?;
            // Tolerances off: the number of iterations says when to stop.
            let lbfgs = LbfgsConfig { gradient_tolerance: 0.0, function_tolerance: 0.0, ..LbfgsConfig::default() };
            let config = settings(ModelConfig::linear(), Method::FullBatch(lbfgs), iterations, l2);
            let examples = files.examples(&data.x, &data.y)?;
            // The check of the data counts, as it does inside scikit-learn's `fit`.
            let clock = Clock::start();
            let mut trainer =
                Trainer::new(config, vec![Arm::base(LossConfig::CrossEntropy)], data.classes, examples, None)?;
            trainer.run(&mut Silent)?;
            let time = clock.stop();
            let loss = last_total(&trainer);
            let parameters = trainer.finish()?.remove(0).model.network().parameters().to_vec();
            Ok(Answer { time, loss, parameters, accuracies: Vec::new() })
        }
        Job::Grid { data, envelopes, folds, batch, epochs, lr, l2 } => {
            files.load(&data)?;
            let method = Method::Stochastic {
                optimiser: OptimiserConfig::Adam(AdamConfig::default()),
                learning_rate: lr,
                schedule: ScheduleConfig { decay: Decay::Cosine { floor_fraction: 0.0 }, ..ScheduleConfig::default() },
                batch_rows: Some(batch),
            };
            let config = settings(ModelConfig::linear(), method, epochs, l2);
            let arms: Vec<Arm> =
                envelopes.into_iter().enumerate().map(|(i, knobs)| arm(i, Some(Form::Paper(knobs)))).collect();
            let examples = files.examples(&data.x, &data.y)?;
            let clock = Clock::start();
            let accuracies = grid::grid(&config, &arms, folds, examples, data.classes)?;
            Ok(Answer { time: clock.stop(), loss: 0.0, parameters: Vec::new(), accuracies })
        }
        Job::Product { rows, inner, columns, repeats } => {
            let a: Vec<f32> = (0..rows * inner).map(|i| (i as f32 * 0.37).sin()).collect();
            let b: Vec<f32> = (0..inner * columns).map(|i| (i as f32 * 0.21).cos()).collect();
            let mut out = vec![0.0; rows * columns];
            let clock = Clock::start();
            for _ in 0..repeats {
                let target = ViewMut::rows(&mut out, rows, columns, columns);
                multiply(target, View::rows(&a, rows, inner, inner), View::rows(&b, inner, columns, columns), false);
            }
            let time = clock.stop();
            Ok(Answer { time, loss: f64::from(out[0]), parameters: Vec::new(), accuracies: Vec::new() })
        }
    }
}

fn settings(model: ModelConfig, method: Method, epochs: usize, l2: f64) -> TrainConfig {
    TrainConfig {
        model,
        method,
        epochs,
        l2,
        clip: None,
        class_weights: ClassWeights::Equal,
        selection: Selection::Last,
        seed: 1,
        keep_history: false,
    }
}

fn arm(index: usize, form: Option<Form>) -> Arm {
    let loss = LossConfig::CrossEntropy;
    let Some(form) = form else { return Arm::base(loss) };
    let config = match form {
        Form::Paper(Knobs { lambda, alpha, temperature }) => {
            EnvelopeConfig { lambda, alpha, temperature, ..Preset::Paper.config(&loss) }
        }
        Form::Named(preset) => preset.config(&loss),
    };
    // From the start, so that every step that is timed has it.
    Arm::envelope(format!("arm {index}"), loss, EnvelopeConfig { start: Start::Epoch(0), ..config })
}

/// Mean total of the first arm in the last epoch.
fn last_total(trainer: &Trainer<'_, f32>) -> f64 {
    let last = trainer.epochs_done().saturating_sub(1);
    trainer.history().iter().find(|stats| stats.epoch == last).map_or(f64::NAN, |stats| stats.total)
}
