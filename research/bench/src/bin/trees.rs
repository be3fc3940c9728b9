//! The engine's half of `research/peers/trees`: trains and predicts as it is told, one line of JSON at a time.
//!
//! Numbers lie in files as they lie in memory: features as 32-bit floats, row after row, labels as 32-bit integers.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use cmrm::Matrix;
use cmrm_bench::{Clock, Result, Time};
use cmrm_train::Stop;
use cmrm_train::trees::{Bins, Boosting, BoostingConfig, CrossEntropy, Forest, ForestConfig, TreeColumns};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    columns: usize,
    classes: usize,
    train: PathBuf,
    labels: PathBuf,
    test: PathBuf,
    /// Where the probabilities of the test rows go.
    probabilities: PathBuf,
    model: Settings,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Settings {
    Boosting(BoostingConfig),
    Forest(ForestConfig),
}

fn main() -> Result<()> {
    let mut out = io::stdout();
    for line in io::stdin().lock().lines() {
        writeln!(out, "{}", run(&serde_json::from_str(&line?)?)?)?;
        out.flush()?;
    }
    Ok(())
}

fn run(job: &Job) -> Result<serde_json::Value> {
    let (train, test) = (floats(&job.train)?, floats(&job.test)?);
    let labels: Vec<u32> = words(&job.labels)?.map(u32::from_le_bytes).collect();
    let (train, test) = (Matrix::new(&train, job.columns)?, Matrix::new(&test, job.columns)?);
    let stop = Stop::default();

    let clock = Clock::start();
    let bins = Bins::learn(train, &TreeColumns::numbers(job.columns), None)?;
    let codes = bins.codes(train)?;
    let (trained, predicted, probabilities) = match &job.model {
        Settings::Boosting(config) => {
            let mut objective = CrossEntropy::new(&labels, job.classes, None)?;
            let model = Boosting::fit(&bins, &codes, &mut objective, config, None, &stop)?.model;
            timed(clock, || model.probabilities(test))
        }
        Settings::Forest(config) => {
            let (model, _) = Forest::fit(&bins, &codes, &labels, job.classes, None, config, &stop)?;
            timed(clock, || model.probabilities(test))
        }
    };
    let probabilities = probabilities?;
    fs::write(&job.probabilities, probabilities.iter().flat_map(|p| p.to_le_bytes()).collect::<Vec<u8>>())?;
    Ok(serde_json::json!({ "train": trained, "predict": predicted }))
}

/// Stops the clock of the training and starts that of the prediction.
fn timed<T>(training: Clock, predict: impl FnOnce() -> T) -> (Time, Time, T) {
    let trained = training.stop();
    let clock = Clock::start();
    let made = predict();
    (trained, clock.stop(), made)
}

fn floats(path: &PathBuf) -> Result<Vec<f32>> {
    Ok(words(path)?.map(f32::from_le_bytes).collect())
}

fn words(path: &PathBuf) -> Result<impl Iterator<Item = [u8; 4]> + use<>> {
    let bytes = fs::read(path)?;
    Ok((0..bytes.len() / 4).map(move |at| [bytes[4 * at], bytes[4 * at + 1], bytes[4 * at + 2], bytes[4 * at + 3]]))
}
