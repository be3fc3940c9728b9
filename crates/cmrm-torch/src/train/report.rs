//! What a finished run leaves: a line of results and a table of its rows.

use std::io::Write;
use std::path::Path;

use cmrm_data::{Column, Table};
use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};

use super::judge::Judgement;
use super::training::Training;
use crate::data::ImageSet;
use crate::error::{Error, Result};
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
            filtered_wrong_share: (on && filtered > 0).then(|| wrong as f64 / filtered as f64),
            precision: spec.precision,
            images: progress.images,
            seconds: progress.seconds,
            images_per_second: progress.images as f64 / progress.seconds,
            graph_failure: training.graph_failure.clone(),
        }
    }
}

/// Writes JSON for people to read.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::in_file(path, error))?;
    write_text(path, &(text + "\n"))
}

/// Writes text, whole or not at all.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    cmrm_files::write_atomically(path, |file| file.write_all(text.as_bytes()))
        .map_err(|error: std::io::Error| Error::in_file(path, error))
}

/// The table that `cmrm audit` reads: observed label, rival, margins and weights of every training row.
pub fn write_margins(path: &Path, spec: &RunSpec, set: &ImageSet, training: &Training) -> Result<()> {
    let observed = set.observed(spec.noise.as_ref(), spec.seed)?;
    let records = training.records();
    let numbers = |tensor: &Tensor| -> Result<Vec<f64>> {
        Ok(Vec::<f64>::try_from(&tensor.to_device(Device::Cpu).to_kind(Kind::Double))?)
    };
    let shown = records.shown.clamp_min(1.0);
    let name = |label: usize| set.classes[label.min(set.classes.len() - 1)].as_str();
    let given: Vec<&str> = observed.labels.iter().map(|&label| name(label as usize)).collect();
    let rival: Vec<&str> = numbers(&records.rival)?.into_iter().map(|label| name(label as usize)).collect();
    let mut columns = vec![
        Column::numeric("row", (0..given.len()).map(|row| row as f64).collect()),
        Column::categorical("given_label", &given),
        Column::categorical("rival_label", &rival),
        Column::numeric("margin", numbers(&records.last_margin)?),
        Column::numeric("mean_margin", numbers(&(&records.margin_sum / &shown))?),
        Column::numeric("weight", numbers(&records.last_weight)?),
        Column::numeric("mean_weight", numbers(&(&records.weight_sum / &shown))?),
    ];
    if spec.noise.is_some() {
        let wrong = observed.mask().into_iter().map(|wrong| f64::from(u8::from(wrong))).collect();
        columns.push(Column::numeric("known_wrong", wrong));
    }
    Ok(cmrm_data::write::write_table(path, &Table::new(columns)?)?)
}
