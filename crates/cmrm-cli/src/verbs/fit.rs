//! `cmrm fit`: train the envelope and the fair base arm beside it, judge both, keep everything in a run's folder.

use std::process::ExitCode;

use cmrm::Matrix;
use cmrm::noise::{NoiseConfig, NoiseContext};
use cmrm_data::preprocess::Preprocess;
use cmrm_data::{Dataset, Fingerprint, LabelOptions, LabelledRows, MissingLabels};
use cmrm_run::MARGINS;
use cmrm_train::Checkpoint;
use cmrm_train::train::{EpochStats, Examples, Trained, Trainer};
use cmrm_train::tune::{SearchConfig, Setting, choose};

use crate::args::FitArgs;
use crate::arms::{BASE, arms};
use crate::calibration::Calibration;
use crate::config::FitConfig;
use crate::failure::{Failure, Result, in_stored};
use crate::load::{Loaded, load};
use crate::margins::{known_wrong, training_rows};
use crate::progress::{Watch, interrupted, watch_interrupts};
use crate::reporting::{self, Material, sensitivity};
use crate::run_dir::{RunDir, RunInfo};
use crate::split::{Split, draw};
use crate::summarise::{Parts, summarise};
use crate::summary::{FitSummary, Labels};
use crate::terminal::Terminal;
use crate::tuning::{auto_candidates, rows_to_search, run_search};

pub fn run(args: FitArgs, terminal: &Terminal) -> Result<ExitCode> {
    let mut config = FitConfig::resolve(&args)?;
    if args.dry_run {
        terminal.data(config.to_toml()?.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let loaded = load(&config, args.read.cache.as_deref())?;
    let prepared = prepare(&config, loaded, terminal)?;
    let run = RunDir::create(args.out.as_deref(), &prepared.name, args.resume)?;
    // A run that goes on has the settings that were found when it began.
    if args.auto && !args.resume {
        config = search_first(&config, &prepared, terminal)?;
    }
    run.write("config.toml", &config.to_toml()?)?;

    let (trained, history) = train(&config, &prepared, &run, args.resume, terminal)?;
    let summary = finish(&args, &config, &prepared, &run, &trained, &history, terminal)?;
    terminal.result(&summary, &summary.to_text())?;
    Ok(ExitCode::SUCCESS)
}

/// Settings by a short search: six of them, three folds of the rows that are not for testing, observed labels only.
fn search_first(config: &FitConfig, prepared: &Prepared, terminal: &Terminal) -> Result<FitConfig> {
    let candidates = auto_candidates(config)?;
    let data = rows_to_search(prepared)?;
    let search = SearchConfig { folds: 3, finalists: candidates.len(), seed: config.seed, ..SearchConfig::default() };
    watch_interrupts();
    let searched = run_search(&search, &candidates, &data, Vec::new(), terminal, &mut |_| Ok(()))?;
    if !searched.complete {
        return Err(Failure::interrupted("interrupted while searching for settings; nothing was trained"));
    }
    let settings: Vec<Setting> = candidates.iter().map(|candidate| candidate.setting.clone()).collect();
    let choice = choose(&settings, &searched.trials, search.criterion)
        .ok_or_else(|| Failure::input("no setting could be judged; fit without --auto"))?;
    terminal.say(format!("chosen by observed labels: {}", choice.setting));
    let chosen = candidates.into_iter().find(|candidate| candidate.setting.name == choice.setting);
    Ok(chosen.map_or_else(|| config.clone(), |candidate| candidate.config))
}

/// Data ready to train on.
pub struct Prepared {
    pub name: String,
    pub preprocess: Preprocess,
    /// Every labelled row, with observed labels.
    pub data: Dataset,
    /// Labels before any noise, or known to be right; one a row of `data`.
    pub clean: Option<Vec<u32>>,
    pub split: Split,
    /// Test rows from a file of their own.
    pub test: Option<Dataset>,
    pub unlabelled: usize,
}

pub fn prepare(config: &FitConfig, loaded: Loaded, terminal: &Terminal) -> Result<Prepared> {
    let missing = if config.hold_out_unlabelled { MissingLabels::HoldOut } else { MissingLabels::Refuse };
    let options = LabelOptions { missing, classes: loaded.classes.clone() };
    let labelled = loaded.train.encode_labels(&options)?;
    let LabelledRows { labels, rows, unlabelled } = &labelled;
    let has_test = loaded.test.is_some();
    let split =
        draw(&labels.indices, &labels.classes, config.test_share(has_test), config.validation_share, config.seed)
            .map_err(|failure| failure.in_data(&loaded.train.source))?;
    let training_rows: Vec<usize> = split.train.iter().map(|&i| rows[i]).collect();
    let (preprocess, notes) = Preprocess::fit(&loaded.train.features, &training_rows, &config.preprocess)
        .map_err(|error| error.in_file(&loaded.train.source))?;
    let (mut data, more) = preprocess.dataset(&loaded.train, &labelled)?;
    for note in notes.iter().chain(&more) {
        terminal.say(format!("note: {note}"));
    }
    if !unlabelled.is_empty() {
        terminal.say(format!("note: {} rows without a label are held out", unlabelled.len()));
    }
    let classes = data.classes.clone();
    let mut clean = match &loaded.clean {
        None => None,
        Some(column) => {
            let options = LabelOptions { missing: MissingLabels::Refuse, classes: Some(classes.clone()) };
            Some(LabelledRows::encode(column, 0, &options)?.labels.indices)
        }
    };
    if let Some(noise) = &config.noise {
        inject(config, noise, &split, &mut data, &mut clean)?;
    }
    let test = match &loaded.test {
        None => None,
        Some(input) => {
            let known = LabelOptions { missing: MissingLabels::Refuse, classes: Some(classes) };
            Some(preprocess.dataset(input, &input.encode_labels(&known)?)?.0)
        }
    };
    terminal.say(format!(
        "{}: {} rows to train on, {} to validate, {} to test; {} features, {} classes",
        loaded.name,
        split.train.len(),
        split.validation.len(),
        test.as_ref().map_or(split.test.len(), Dataset::len),
        data.width(),
        data.classes.len()
    ));
    Ok(Prepared { name: loaded.name, preprocess, data, clean, split, test, unlabelled: unlabelled.len() })
}

/// Makes labels of the training and validation rows wrong; test rows keep theirs.
fn inject(
    config: &FitConfig,
    noise: &NoiseConfig,
    split: &Split,
    data: &mut Dataset,
    clean: &mut Option<Vec<u32>>,
) -> Result<()> {
    let mut rows: Vec<usize> = split.train.iter().chain(&split.validation).copied().collect();
    rows.sort_unstable();
    let labels: Vec<u32> = rows.iter().map(|&i| data.labels[i]).collect();
    let features: Vec<f32> =
        rows.iter().flat_map(|&i| data.features[i * data.width()..(i + 1) * data.width()].iter().copied()).collect();
    let context = NoiseContext::new(data.classes.len()).with_features(Matrix::new(&features, data.width())?);
    let made = noise.apply(&labels, &context, config.seed)?;
    clean.get_or_insert_with(|| data.labels.clone());
    for (at, &row) in rows.iter().enumerate() {
        data.labels[row] = made.labels[at];
    }
    Ok(())
}

fn train(
    config: &FitConfig,
    prepared: &Prepared,
    run: &RunDir,
    resume: bool,
    terminal: &Terminal,
) -> Result<(Vec<Trained<f32>>, Vec<EpochStats>)> {
    let train = prepared.data.gather(&prepared.split.train)?;
    let validation = prepared.data.gather(&prepared.split.validation)?;
    let classes = prepared.data.classes.len();
    let held = (!validation.is_empty()).then(|| validation.matrix()).transpose()?;
    let held = held.map(|x| Examples::new(x, &validation.labels));
    let examples = Examples::new(train.matrix()?, &train.labels);
    let mut trainer = Trainer::new(config.train_config(), arms(config), classes, examples, held)?;
    if let Some(clean) = &prepared.clean {
        let wrong = |&i: &usize| clean[i] != prepared.data.labels[i];
        trainer = trainer.with_known_wrong(prepared.split.train.iter().map(wrong).collect())?;
    }
    let checkpoint = run.checkpoint();
    if resume && checkpoint.exists() {
        Checkpoint::read(&checkpoint)
            .and_then(|saved| saved.resume(&mut trainer))
            .map_err(|error| in_stored(&checkpoint, error))?;
        terminal.say(format!("resumed after epoch {}", trainer.epochs_done()));
    }
    watch_interrupts();
    let mut watch = Watch::new(terminal, config.epochs, checkpoint.clone());
    let outcome = trainer.run(&mut watch);
    watch.finish();
    outcome.map_err(|error| {
        let kept = if checkpoint.exists() {
            format!("; the last good checkpoint is {}", checkpoint.display())
        } else {
            String::new()
        };
        Failure::input(format!("{error}{kept}"))
    })?;
    if interrupted() && !trainer.has_ended() {
        return Err(Failure::interrupted(format!(
            "interrupted after epoch {}; go on with `cmrm fit --resume --out {}`",
            trainer.epochs_done(),
            run.path().display()
        )));
    }
    let mut lines = String::new();
    for stats in trainer.history() {
        lines += &serde_json::to_string(stats).map_err(|e| Failure::input(format!("metrics.jsonl: {e}")))?;
        lines.push('\n');
    }
    run.write("metrics.jsonl", &lines)?;
    let history = trainer.history().to_vec();
    let trained = trainer.finish()?;
    // A finished run is described by its models; the checkpoint is only for going on.
    if checkpoint.exists() {
        std::fs::remove_file(&checkpoint).map_err(|error| crate::failure::in_file(&checkpoint, error))?;
    }
    Ok((trained, history))
}

/// Writes models, records, calibration and the report, and sums the run up.
fn finish(
    args: &FitArgs,
    config: &FitConfig,
    prepared: &Prepared,
    run: &RunDir,
    trained: &[Trained<f32>],
    history: &[EpochStats],
    terminal: &Terminal,
) -> Result<FitSummary> {
    let data = &prepared.data;
    let chosen = config.preset.name();
    let train = data.gather(&prepared.split.train)?;
    let fingerprint = Fingerprint::of(&train);
    let names = trained.iter().map(|arm| arm.name.clone()).collect();
    let info = RunInfo::new(data.classes.clone(), names, chosen.into(), fingerprint.0);
    for arm in trained {
        arm.model.write(&run.model_file(&arm.name, chosen))?;
    }
    run.write("preprocess.json", &(prepared.preprocess.to_json()? + "\n"))?;
    let robust = trained.iter().rfind(|arm| arm.name != BASE || trained.len() == 1);
    let robust = robust.ok_or_else(|| Failure::input("no arm was trained"))?;
    let wrong = known_wrong(prepared);
    let rows = training_rows(&train, robust, wrong.as_deref());
    rows.write(&run.file(MARGINS))?;
    if !prepared.split.validation.is_empty() {
        let validation = data.gather(&prepared.split.validation)?;
        for arm in trained {
            let probabilities = arm.model.probabilities(validation.matrix()?)?;
            Calibration { probabilities, labels: validation.labels.clone(), classes: data.classes.len() }
                .write(&run.calibration_file(&arm.name, chosen))?;
        }
    }
    let (test, labels) = judged(prepared)?;
    let test = test.as_ref();
    let summary = summarise(Parts { config, prepared, run, trained, rows: &rows, test, labels, info: &info })?;
    run.write_json("summary.json", &summary)?;
    run.write("report.md", &summary.to_markdown())?;
    let sensitivity = if args.sensitivity {
        terminal.say("training with other values of α and λ …");
        let measured = sensitivity::measure(config, prepared, &train, test, labels.words())?;
        if measured.is_none() {
            terminal.say("note: interrupted; the run is finished without them");
        }
        measured
    } else {
        None
    };
    let material = Material {
        config,
        prepared,
        train: &train,
        trained,
        robust,
        rows: &rows,
        history,
        summary: &summary,
        sensitivity,
    };
    reporting::write(run, material, args.read.cache.as_deref(), terminal)?;
    // Last of all: a folder with this file is a finished run.
    run.write_json("run.json", &info)?;
    Ok(summary)
}

/// The rows that the arms are judged on, and which labels those rows have.
fn judged(prepared: &Prepared) -> Result<(Option<Dataset>, Labels)> {
    let data = &prepared.data;
    Ok(match &prepared.test {
        Some(test) => (Some(test.clone()), Labels::Test),
        None if !prepared.split.test.is_empty() => {
            let mut test = data.gather(&prepared.split.test)?;
            if let Some(clean) = &prepared.clean {
                test.labels = prepared.split.test.iter().map(|&i| clean[i]).collect();
            }
            (Some(test), if prepared.clean.is_some() { Labels::Clean } else { Labels::Observed })
        }
        None if !prepared.split.validation.is_empty() => {
            (Some(data.gather(&prepared.split.validation)?), Labels::ObservedValidation)
        }
        None => (None, Labels::None),
    })
}
