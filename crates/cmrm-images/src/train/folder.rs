//! The folder of a finished run, in the form that `cmrm audit`, `cmrm review` and `cmrm report` read.

use std::path::Path;
use std::sync::Mutex;

use cmrm::Matrix;
use cmrm::envelope::Preset;
use cmrm::scores::strongest_other;
use cmrm_data::files::atomic_write;
use cmrm_data::read::{ReadOptions, read_path};
use cmrm_data::write::NpyWriter;
use cmrm_data::{Features, Fingerprint};
use cmrm_report::Envelope;
use cmrm_run::compare::compare;
use cmrm_run::corrected::risk_coverage;
use cmrm_run::judge::measure;
use cmrm_run::names::{CARDS, MARGINS, TEST_PROBABILITIES};
use cmrm_run::summary::{ArmSummary, DataSummary, FitSummary, Labels, SCHEMA};
use cmrm_run::{
    Confidences, PICTURE_BYTES, ReportParts, RunDir, RunInfo, RunKind, SUSPECTS, Suspects, TrainingRows, fitting,
};
use cmrm_train::train::EpochStats;
use tch::{Kind, Tensor};

use super::cards::suspects;
use super::judge::numbers;
use super::training::Training;
use crate::data::{ImageSet, Resident};
use crate::error::{Error, Result};
use crate::plan::RunSpec;

/// Writes all files of a finished run but its settings, model and metrics.
pub fn write_run(run: &RunDir, spec: &RunSpec, set: &ImageSet, training: &Training, test: &Resident) -> Result<()> {
    let observed = set.observed(spec.noise.as_ref(), spec.seed)?;
    let seen = training.see_training_images();
    let probabilities = seen.probabilities()?;
    let wrong = spec.noise.is_some().then(|| observed.mask());
    let rows = TrainingRows {
        rows: (0..set.train.len()).map(|at| set.train.row(at)).collect(),
        files: set.train.files.clone(),
        classes: set.classes.clone(),
        wrong,
        ..recorded(training, &probabilities, &observed.labels, set.classes.len())?
    };
    rows.write(&run.file(MARGINS))?;
    let judged = training.see(test).probabilities()?;
    write_array(&run.file(TEST_PROBABILITIES), &judged, set.classes.len())?;

    let width = set.train.height * set.train.width * set.train.channels;
    let fingerprint = Fingerprint::of_bytes(&set.train.pixels, width, &observed.labels, &set.classes).0;
    let info = RunInfo::new(set.classes.clone(), vec![spec.arm.clone()], spec.arm.clone(), fingerprint.clone());
    let info = RunInfo { kind: RunKind::Images, ..info };
    let said = Matrix::new(&judged, set.classes.len())?;
    let summary = FitSummary {
        schema: SCHEMA.into(),
        run: run.path().display().to_string(),
        data: DataSummary {
            name: format!("{}, {}", spec.plan, spec.arm),
            train_rows: rows.len(),
            validation_rows: 0,
            judged_rows: set.test.len(),
            unlabelled_rows: 0,
            features: width,
            classes: set.classes.len(),
            noise: spec.noise.as_ref().map(ToString::to_string),
            wrong_share: rows.wrong.as_ref().map(|_| observed.flipped.len() as f64 / rows.len() as f64),
            columns: None,
        },
        judged_by: Labels::Clean,
        arms: vec![ArmSummary {
            name: spec.arm_in_reports().into(),
            epoch: Some(spec.epochs - 1),
            metrics: measure(said, &set.test.labels, spec.seed)?,
            risk_coverage: risk_coverage(said, &set.test.labels, spec.seed)?,
            ..ArmSummary::default()
        }],
        members: Vec::new(),
        difference: None,
        noise: None,
        transition: None,
        suspects: Suspects::find(&rows),
        warnings: Vec::new(),
        seed: spec.seed,
        threads: tch::get_num_threads() as usize,
        version: info.version.clone(),
        fingerprint,
    };
    let cards = suspects(&set.train, &rows, &seen)?;
    let history: Vec<EpochStats> = training.progress.epochs.iter().map(|epoch| epoch.stats.clone()).collect();
    let report = cmrm_run::report(ReportParts {
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
        history: &history,
        suspects: fitting(cards.iter().take(SUSPECTS).cloned().collect(), PICTURE_BYTES),
        sensitivity: None,
        config: spec.settings.clone(),
    })?;
    run.write_summary(&summary)?;
    run.write_report(&report)?;
    run.write_json(CARDS, &cards)?;
    Ok(run.finish(&info)?)
}

/// One comparison at a time: two runs that end together may both want to change the same report.
static COMPARING: Mutex<()> = Mutex::new(());

/// Puts the fair control beside a run with an envelope, once both are finished.
pub fn add_base(run: &Path, base: &Path, labels: &[u32]) -> Result<()> {
    let _alone = COMPARING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (run, base) = (RunDir::at(run), RunDir::at(base));
    if !run.is_finished() || !base.is_finished() {
        return Ok(());
    }
    let (mut summary, mut report) = (run.read_summary()?, run.read_report()?);
    if summary.arms.len() > 1 {
        return Ok(());
    }
    let (base_summary, base_report) = (base.read_summary()?, base.read_report()?);
    let probabilities = |run: &RunDir| -> Result<_> {
        let file = run.file(TEST_PROBABILITIES);
        match read_path(&file, &ReadOptions::default())?.features {
            Features::Array(array) => Ok(array),
            _ => Err(Error::in_file(&file, "not an array")),
        }
    };
    let (base_said, said) = (probabilities(&base)?, probabilities(&run)?);
    let difference = compare(base_said.matrix()?, said.matrix()?, labels, summary.seed)?;
    report.difference = Some(difference.into());
    report.arms.splice(0..0, base_report.arms);
    report.history.splice(0..0, base_report.history);
    summary.difference = Some(difference);
    summary.arms.splice(0..0, base_summary.arms);
    Ok(run.replace_summary_and_report(&summary, &report)?)
}

/// Writes rows of `width` numbers as NPY.
pub fn write_array(path: &Path, values: &[f32], width: usize) -> Result<()> {
    Ok(atomic_write(path, |file| {
        let mut writer = NpyWriter::new(file, width)?;
        writer.write(values)?;
        writer.finish()
    })?)
}

/// What training recorded of the rows, with their labels. Rows that no batch has held (an epoch leaves out what is less than a
/// batch) are looked at now, with a weight of 1.
fn recorded(training: &Training, probabilities: &[f32], labels: &[u32], classes: usize) -> Result<TrainingRows> {
    let records = training.records();
    let shown = numbers(&records.shown)?;
    let mean = |sum: &Tensor| numbers(&(sum / records.shown.clamp_min(1.0)));
    let rivals = Vec::<i64>::try_from(&records.rival.to_kind(Kind::Int64).to_device(tch::Device::Cpu))?;
    let mut rows = TrainingRows {
        labels: labels.to_vec(),
        margin: numbers(&records.last_margin)?,
        mean_margin: mean(&records.margin_sum)?,
        weight: numbers(&records.last_weight)?,
        mean_weight: mean(&records.weight_sum)?,
        rival: rivals.into_iter().map(|rival| rival as u32).collect(),
        ..TrainingRows::default()
    };
    for row in (0..labels.len()).filter(|&row| shown[row] == 0.0) {
        let (label, said) = (labels[row] as usize, &probabilities[row * classes..(row + 1) * classes]);
        let rival = strongest_other(said, label).unwrap_or(label);
        rows.rival[row] = rival as u32;
        rows.margin[row] = said[label] - said[rival];
        rows.mean_margin[row] = rows.margin[row];
        rows.weight[row] = 1.0;
        rows.mean_weight[row] = 1.0;
    }
    Ok(rows)
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
