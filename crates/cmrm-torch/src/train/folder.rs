//! The folder of a finished run, in the form that `cmrm audit` and `cmrm report` read.

use std::path::Path;
use std::sync::Mutex;

use cmrm::Matrix;
use cmrm::envelope::Preset;
use cmrm::metric::predicted_classes;
use cmrm_data::atomic::atomic_write;
use cmrm_data::read::{ReadOptions, read_path};
use cmrm_data::write::NpyWriter;
use cmrm_data::{Features, Fingerprint};
use cmrm_report::{Envelope, Epoch, Estimate, Report};
use cmrm_run::judge::{compare, measure};
use cmrm_run::summary::{ArmSummary, DataSummary, FitSummary, Labels, SCHEMA};
use cmrm_run::{
    BASE, CARDS, Confidences, Found, MARGINS, PICTURE_BYTES, RunInfo, RunKind, SUSPECTS, Suspects, TrainingRows,
    fitting,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tch::{Kind, Tensor};

use super::cards::doubted;
use super::judge::numbers;
use super::report::{write_json, write_text};
use super::training::Training;
use crate::data::{ImageSet, Resident};
use crate::error::{Error, Result};
use crate::plan::RunSpec;

/// The last file of a run to be written.
const RUN: &str = "run.json";
const SUMMARY: &str = "summary.json";
const REPORT: &str = "report.json";
const TEST: &str = "test-probabilities.npy";

/// Writes all files of a finished run but its model and metrics.
pub fn write_run(path: &Path, spec: &RunSpec, set: &ImageSet, training: &Training, test: &Resident) -> Result<()> {
    let observed = set.observed(spec.noise.as_ref(), spec.seed)?;
    let seen = training.see_training_images();
    let probabilities = seen.probabilities()?;
    let record = Record::new(training, &probabilities, &observed.labels, set.classes.len())?;
    let positions: Vec<u64> = (0..set.train.len()).map(|at| set.train.row(at)).collect();
    let wrong = observed.mask();
    let rows = TrainingRows {
        rows: &positions,
        files: &set.train.files,
        classes: &set.classes,
        labels: &observed.labels,
        rival: &record.rival,
        margin: &record.margin,
        mean_margin: &record.mean_margin,
        weight: &record.weight,
        mean_weight: &record.mean_weight,
        wrong: spec.noise.is_some().then_some(wrong.as_slice()),
    };
    rows.write(&path.join(MARGINS))?;
    write_text(&path.join("config.toml"), &spec.settings)?;
    let judged = training.see(test).probabilities()?;
    write_array(&path.join(TEST), &judged, set.classes.len())?;

    let width = set.train.height * set.train.width * set.train.channels;
    let fingerprint = Fingerprint::of_bytes(&set.train.pixels, width, &observed.labels, &set.classes).0;
    let info = RunInfo::new(set.classes.clone(), vec![spec.arm.clone()], spec.arm.clone(), fingerprint.clone());
    let info = RunInfo { kind: RunKind::Images, ..info };
    let name = if spec.envelope.is_some() { spec.arm.as_str() } else { BASE };
    let metrics = measure(Matrix::new(&judged, set.classes.len())?, &set.test.labels, spec.seed)?;
    let summary = FitSummary {
        schema: SCHEMA.into(),
        run: path.display().to_string(),
        data: DataSummary {
            name: format!("{}, {}", spec.plan, spec.arm),
            train_rows: rows.len(),
            validation_rows: 0,
            judged_rows: set.test.len(),
            unlabelled_rows: 0,
            features: width,
            classes: set.classes.len(),
            noise: spec.noise.as_ref().map(ToString::to_string),
            wrong_share: rows.wrong.map(|_| observed.flipped.len() as f64 / rows.len() as f64),
        },
        judged_by: Labels::Clean,
        arms: vec![ArmSummary { name: name.into(), epoch: spec.epochs - 1, metrics, sets: None }],
        difference: None,
        suspects: Suspects::find(&rows),
        seed: spec.seed,
        threads: tch::get_num_threads() as usize,
        version: info.version.clone(),
        fingerprint,
    };
    let doubted = doubted(&set.train, &observed.labels, &set.classes, &seen, record.cards())?;
    let report = cmrm_run::report(Found {
        summary: &summary,
        rows: &rows,
        confidences: &Confidences::of(
            Matrix::new(&probabilities, set.classes.len())?,
            &observed.labels,
            spec.noise.is_some().then_some(set.train.labels.as_slice()),
        ),
        base: None,
        envelope: envelope(spec),
        batch: spec.batch,
        history: training.progress.metrics.iter().map(|line| epoch(line, name, spec, rows.len())).collect(),
        suspects: fitting(doubted.iter().take(SUSPECTS).cloned().collect(), PICTURE_BYTES),
        sensitivity: None,
        config: spec.settings.clone(),
    })?;
    write_words(path, &summary, &report)?;
    write_json(&path.join(CARDS), &doubted)?;
    write_json(&path.join(RUN), &info)
}

/// One comparison at a time: two runs that end together may both want to change the same report.
static COMPARING: Mutex<()> = Mutex::new(());

/// Puts the fair control beside a run with an envelope, once both are finished.
pub fn add_base(path: &Path, base: &Path, labels: &[u32]) -> Result<()> {
    let _alone = COMPARING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !path.join(RUN).exists() || !base.join(RUN).exists() {
        return Ok(());
    }
    let (mut summary, base_summary): (FitSummary, FitSummary) = (read(path, SUMMARY)?, read(base, SUMMARY)?);
    let (mut report, base_report): (Report, Report) = (read(path, REPORT)?, read(base, REPORT)?);
    if summary.arms.len() > 1 {
        return Ok(());
    }
    let predictions = |folder: &Path| -> Result<Vec<u32>> {
        let file = folder.join(TEST);
        match read_path(&file, &ReadOptions::default())?.features {
            Features::Array(array) => Ok(predicted_classes(array.matrix()?)?),
            Features::Table(_) => Err(Error::in_file(&file, "not an array")),
        }
    };
    let difference = compare(&predictions(base)?, &predictions(path)?, labels, summary.seed)?;
    report.difference = Some(Estimate { value: difference.accuracy, low: difference.low, high: difference.high });
    report.arms.splice(0..0, base_report.arms);
    report.history.splice(0..0, base_report.history);
    summary.difference = Some(difference);
    summary.arms.splice(0..0, base_summary.arms);
    write_words(path, &summary, &report)
}

fn write_words(path: &Path, summary: &FitSummary, report: &Report) -> Result<()> {
    write_json(&path.join(SUMMARY), summary)?;
    write_text(&path.join("report.md"), &summary.to_markdown())?;
    write_json(&path.join(REPORT), report)?;
    write_text(&path.join("report.html"), &cmrm_report::page(report))
}

fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<T> {
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path).map_err(|error| Error::in_file(&path, error))?;
    serde_json::from_str(&text).map_err(|error| Error::in_file(&path, error))
}

/// Writes rows of `width` numbers as NPY.
pub fn write_array(path: &Path, values: &[f32], width: usize) -> Result<()> {
    Ok(atomic_write(path, |file| {
        let mut writer = NpyWriter::new(file, width)?;
        writer.write(values)?;
        writer.finish()
    })?)
}

/// What training recorded, row by row.
struct Record {
    margin: Vec<f32>,
    mean_margin: Vec<f32>,
    weight: Vec<f32>,
    mean_weight: Vec<f32>,
    rival: Vec<u32>,
}

impl Record {
    /// Rows that no batch has held (an epoch leaves out what is less than a batch) are looked at now, with a weight of 1.
    fn new(training: &Training, probabilities: &[f32], labels: &[u32], classes: usize) -> Result<Self> {
        let records = training.records();
        let shown = numbers(&records.shown)?;
        let mean = |sum: &Tensor| numbers(&(sum / records.shown.clamp_min(1.0)));
        let rivals = Vec::<i64>::try_from(&records.rival.to_kind(Kind::Int64).to_device(tch::Device::Cpu))?;
        let mut record = Record {
            margin: numbers(&records.last_margin)?,
            mean_margin: mean(&records.margin_sum)?,
            weight: numbers(&records.last_weight)?,
            mean_weight: mean(&records.weight_sum)?,
            rival: rivals.into_iter().map(|rival| rival as u32).collect(),
        };
        for row in (0..labels.len()).filter(|&row| shown[row] == 0.0) {
            let (label, row_of) = (labels[row] as usize, &probabilities[row * classes..(row + 1) * classes]);
            let others = (0..classes).filter(|&class| class != label);
            let rival = others.max_by(|&a, &b| row_of[a].total_cmp(&row_of[b])).unwrap_or_default();
            record.rival[row] = rival as u32;
            record.margin[row] = row_of[label] - row_of[rival];
            record.mean_margin[row] = record.margin[row];
            record.weight[row] = 1.0;
            record.mean_weight[row] = 1.0;
        }
        Ok(record)
    }

    fn cards(&self) -> cmrm_run::Record {
        let Record { margin, weight, rival, .. } = self;
        cmrm_run::Record { margin: margin.clone(), rival: rival.clone(), weight: weight.clone() }
    }
}

/// The settings of a run's envelope; a run without one is looked at with the default's threshold.
fn envelope(spec: &RunSpec) -> Envelope {
    let default = Preset::Robust.config(&spec.loss);
    let (config, lambda) = match &spec.envelope {
        Some((envelope, _)) => (*envelope.config(), envelope.config().lambda),
        None => (default, 0.0),
    };
    Envelope { lambda, alpha: config.alpha, temperature: config.temperature, ceiling: config.ceiling }
}

/// A line of metrics as the report wants it.
fn epoch(line: &Value, arm: &str, spec: &RunSpec, rows: usize) -> Epoch {
    let number = |name: &str| line[name].as_f64();
    let (base, risk) = (number("base_loss").unwrap_or_default(), number("risk").unwrap_or_default());
    let filtered = number("filtered").unwrap_or_default();
    let wrong = number("filtered_wrong").filter(|_| spec.noise.is_some() && filtered > 0.0);
    Epoch {
        arm: arm.into(),
        epoch: line["epoch"].as_u64().unwrap_or_default().saturating_sub(1) as usize,
        on: line.get("risk").is_some(),
        base,
        risk,
        total: base + envelope(spec).lambda * risk,
        tau: None,
        tau_plus: None,
        tau_minus: None,
        filtered: filtered / rows as f64,
        wrong_among_filtered: wrong.map(|wrong| wrong / filtered),
        validation_accuracy: None,
    }
}
