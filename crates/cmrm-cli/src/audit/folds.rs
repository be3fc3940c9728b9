//! The audit by cross-fitting: every row is judged by a model that was trained without it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use cmrm::Matrix;
use cmrm::audit::{AuditOptions, rank};
use cmrm::rng::Rng;
use cmrm_data::atomic::atomic_write;
use cmrm_data::preprocess::{Preprocess, in_words};
use cmrm_data::write::NpyWriter;
use cmrm_data::{LabelOptions, LabelledRows, MissingLabels};
use cmrm_fit::{FitConfig, Need, Room, arms, doubt_about_classes, draw, rows_by_class};
use cmrm_train::train::{Arm, Examples, Trainer};
use rayon::prelude::*;

use super::Audited;
use crate::failure::{Failure, Result};
use crate::fold_progress::FoldProgress;
use crate::load::{Loaded, load};
use crate::terminal::Terminal;

/// Stream of the generator that folds are drawn from.
const FOLD_STREAM: u64 = 0xF01D;

/// How to cross-fit.
pub struct Folds<'a> {
    pub config: &'a FitConfig,
    /// Number of folds, at least two.
    pub count: usize,
    /// Whether the base loss is trained alone, as other tools do.
    pub no_envelope: bool,
    pub cache: Option<&'a Path>,
    /// Where the probabilities go, if they are wanted.
    pub probabilities_out: Option<&'a Path>,
}

/// Trains once a fold, in parallel, on the rows outside it; preprocessing is learned there too.
pub fn from_folds(folds: &Folds<'_>, options: &AuditOptions, terminal: &Terminal) -> Result<Audited> {
    let config = folds.config;
    let loaded = load(config, folds.cache)?;
    let missing = if config.hold_out_unlabelled { MissingLabels::HoldOut } else { MissingLabels::Refuse };
    let known = LabelOptions { missing, classes: loaded.classes.clone() };
    let labelled = loaded.train.encode_labels(&known)?;
    let (labels, classes) = (&labelled.labels.indices, &labelled.labels.classes);
    let fold_of =
        assign(labels, classes, folds.count, config.seed).map_err(|failure| failure.in_data(&loaded.train.source))?;
    let arm = arms(config).into_iter().rfind(|_| true).ok_or_else(|| Failure::input("no arm to train"))?;
    let arm = if folds.no_envelope { Arm::base(config.loss) } else { arm };
    terminal.say(format!(
        "{}: {} rows, {} classes; {} folds of {}",
        loaded.name,
        labels.len(),
        classes.len(),
        folds.count,
        if folds.no_envelope { "the base loss alone".into() } else { format!("the envelope ({})", arm.name) }
    ));
    if let Some(doubt) = doubt_about_classes(labels.len(), classes.len()) {
        terminal.say(format!("note: {doubt}"));
    }
    Need::new(labels.len(), classes.len())
        .and("the probabilities of all rows", &[labels.len(), classes.len()])
        .check(Room::now())
        .map_err(|error| error.in_data(&loaded.train.source))?;
    let progress = FoldProgress::new(terminal, folds.count, config.epochs);
    let width = classes.len();
    // Each fold writes the rows that it holds out, and no other.
    let probabilities = Mutex::new(vec![0.0; labels.len() * width]);
    let fold = |fold| Fold {
        config,
        arm: &arm,
        loaded: &loaded,
        labelled: &labelled,
        fold_of: &fold_of,
        probabilities: &probabilities,
        fold,
    };
    // One fold is one task: small trainings do not gain from more threads, several of them do. The order of the results
    // is that of the folds, whichever ends first.
    let notes: Vec<Result<Vec<String>>> =
        (0..folds.count).into_par_iter().with_max_len(1).map(|at| fold(at).judge(&progress)).collect();
    progress.finish();
    let mut said: Vec<String> = notes.into_iter().collect::<Result<Vec<_>>>()?.concat();
    let probabilities = probabilities.into_inner().unwrap_or_else(PoisonError::into_inner);
    said.sort();
    said.dedup();
    said.iter().for_each(|note| terminal.say(format!("note: {note}")));
    if let Some(path) = folds.probabilities_out {
        write_probabilities(path, &probabilities, width)?;
    }
    let audit = rank(Matrix::new(&probabilities, width)?, labels, options)?;
    let first_row = loaded.train.features.first_row();
    Ok(Audited {
        audit,
        rows: labelled.rows.iter().map(|&row| first_row + row as u64).collect(),
        files: Vec::new(),
        labels: labels.clone(),
        classes: classes.clone(),
        more: Vec::new(),
        wrong: known_wrong(&loaded, &labelled)?,
        source: config.data.clone().into(),
    })
}

/// Deals the rows of every class out to the folds, one after the other, so that each fold has its share of all classes.
fn assign(labels: &[u32], classes: &[String], folds: usize, seed: u64) -> Result<Vec<usize>> {
    if folds < 2 || folds > labels.len() {
        return Err(Failure::input(format!(
            "--folds {folds} is out of range: expected 2 to {}, the number of labelled rows",
            labels.len()
        )));
    }
    let mut rng = Rng::new(seed, FOLD_STREAM);
    let mut fold_of = vec![0; labels.len()];
    let mut next = 0;
    for (name, mut rows) in classes.iter().zip(rows_by_class(labels, classes.len())) {
        if rows.len() == 1 {
            return Err(Failure::input(format!(
                "class '{name}' has a single row, {}; without it no model would know the class: collect more rows, or \
                 drop it",
                rows[0]
            )));
        }
        rng.shuffle(&mut rows);
        for row in rows {
            fold_of[row] = next % folds;
            next += 1;
        }
    }
    Ok(fold_of)
}

/// One fold: what it is held out of, and everything that is shared with the others.
struct Fold<'a> {
    config: &'a FitConfig,
    arm: &'a Arm,
    loaded: &'a Loaded,
    labelled: &'a LabelledRows,
    fold_of: &'a [usize],
    /// Of all rows; this fold writes those that it holds out.
    probabilities: &'a Mutex<Vec<f32>>,
    fold: usize,
}

impl Fold<'_> {
    /// Trains, writes what the model says of the held-out rows, and gives the notes on the way.
    fn judge(&self, progress: &FoldProgress) -> Result<Vec<String>> {
        let (held, outside): (Vec<usize>, Vec<usize>) =
            (0..self.fold_of.len()).partition(|&row| self.fold_of[row] == self.fold);
        let (train, validation) = self.split(outside)?;
        let learned_on: Vec<usize> = train.iter().map(|&at| self.labelled.rows[at]).collect();
        let input = &self.loaded.train;
        let (preprocess, notes) = Preprocess::fit(&input.features, &learned_on, &self.config.preprocess)
            .map_err(|error| error.in_file(&input.source))?;
        let (data, more) = preprocess.dataset(input, self.labelled)?;
        let (train, validation, held_out) = (data.gather(&train)?, data.gather(&validation)?, data.gather(&held)?);
        drop(data);
        let validation_x = (!validation.is_empty()).then(|| validation.matrix()).transpose()?;
        let validation = validation_x.map(|x| Examples::new(x, &validation.labels));
        let examples = Examples::new(train.matrix()?, &train.labels);
        let arms = vec![self.arm.clone()];
        let mut trainer = Trainer::new(self.config.train_config(), arms, train.classes.len(), examples, validation)?;
        trainer.run(&mut progress.watch())?;
        let trained = trainer.finish()?.pop().ok_or_else(|| Failure::input("no arm was trained"))?;
        progress.fold_done(self.fold);
        let mut rows = held.iter();
        trained.model.each_probabilities(held_out.matrix()?, |block| {
            let width = block.columns();
            let mut probabilities = self.probabilities.lock().unwrap_or_else(PoisonError::into_inner);
            for (found, &row) in block.iter_rows().zip(rows.by_ref()) {
                probabilities[row * width..(row + 1) * width].copy_from_slice(found);
            }
        })?;
        Ok(in_words(notes.iter().chain(&more)))
    }

    /// Rows to learn from, and rows to stop by if stopping early was asked for.
    fn split(&self, outside: Vec<usize>) -> Result<(Vec<usize>, Vec<usize>)> {
        if self.config.patience.is_none() {
            return Ok((outside, Vec::new()));
        }
        let labels = &self.labelled.labels;
        let own: Vec<u32> = outside.iter().map(|&row| labels.indices[row]).collect();
        let split = draw(&own, &labels.classes, 0.0, self.config.validation_share, self.config.seed)?;
        let rows = |part: &[usize]| part.iter().map(|&at| outside[at]).collect();
        Ok((rows(&split.train), rows(&split.validation)))
    }
}

fn write_probabilities(path: &Path, probabilities: &[f32], width: usize) -> Result<()> {
    Ok(atomic_write(path, |file| {
        let mut writer = NpyWriter::new(file, width)?;
        writer.write(probabilities)?;
        writer.finish()
    })?)
}

/// Which labels are wrong, for data sets that say so.
fn known_wrong(loaded: &Loaded, labelled: &LabelledRows) -> Result<Option<Vec<bool>>> {
    let Some(clean) = &loaded.clean else { return Ok(None) };
    let known = LabelOptions { missing: MissingLabels::Refuse, classes: Some(labelled.labels.classes.clone()) };
    let clean = LabelledRows::encode(clean, 0, &known)?.labels.indices;
    Ok(Some(labelled.rows.iter().zip(&labelled.labels.indices).map(|(&row, &label)| clean[row] != label).collect()))
}
