//! A finished run in one line.

use serde::{Deserialize, Serialize};

use super::judge::Judgement;
use super::training::Training;
use crate::plan::RunSpec;

/// One line of results.jsonl.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The plan.
    pub plan: String,
    /// The arm.
    pub arm: String,
    /// The seed.
    pub seed: u64,
    /// Noise in the training labels.
    pub noise: String,
    /// Epochs in all; nothing is selected, the last one counts.
    pub epochs: usize,
    /// Epoch from which another arm's state was taken over, if so.
    pub forked_at: Option<usize>,
    /// By the test images' clean labels.
    #[serde(flatten)]
    pub judgement: Judgement,
    /// Rows with a weight below one half in the last epoch, with an envelope.
    pub filtered: Option<u64>,
    /// Share of those whose label is known to be wrong.
    pub filtered_wrong_share: Option<f64>,
    /// How numbers were held.
    pub precision: crate::plan::Precision,
    /// Images this run trained on, after any fork.
    pub images: u64,
    /// Seconds that took, beside other runs.
    pub seconds: f64,
    /// Images a second.
    pub images_per_second: f64,
    /// Why there was no graph, on a card.
    pub graph_failure: Option<String>,
}

impl RunResult {
    /// Of a training that is at its end.
    pub fn new(spec: &RunSpec, training: &Training, judgement: Judgement) -> Self {
        let progress = &training.progress;
        let (filtered, wrong) = training.filtered();
        let on = spec.envelope_at(spec.epochs - 1).is_some();
        RunResult {
            plan: spec.plan.clone(),
            arm: spec.arm.clone(),
            seed: spec.seed,
            noise: spec.noise.as_ref().map_or("none".into(), |noise| noise.to_string()),
            epochs: spec.epochs,
            forked_at: spec.fork.as_ref().map(|fork| fork.epoch),
            judgement,
            filtered: on.then_some(filtered),
            filtered_wrong_share: (on && filtered > 0 && spec.noise.is_some()).then(|| wrong as f64 / filtered as f64),
            precision: spec.precision,
            images: progress.images,
            seconds: progress.seconds,
            images_per_second: progress.images as f64 / progress.seconds,
            graph_failure: training.graph_failure.clone(),
        }
    }
}
