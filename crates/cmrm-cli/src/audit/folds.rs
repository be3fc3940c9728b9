//! The audit by cross-fitting: every row is judged by a model that was trained without it.

use std::path::Path;

use cmrm::Matrix;
use cmrm::audit::{AuditOptions, rank};
use cmrm::rng::Rng;
use cmrm_data::atomic::atomic_write;
use cmrm_data::preprocess::Preprocess;
use cmrm_data::write::NpyWriter;
use cmrm_data::{LabelOptions, LabelledRows, MissingLabels};
use cmrm_fit::{FitConfig, arms, draw, with_penalty};
use cmrm_train::train::{Arm, Examples, Silent, Trainer};
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
    let progress = FoldProgress::new(terminal, folds.count, config.epochs());
    let fold = |fold| Fold { config, arm: &arm, loaded: &loaded, labelled: &labelled, fold_of: &fold_of, fold };
    // One fold is one task: small trainings do not gain from more threads, several of them do. The order of the results
    // is that of the folds, whichever ends first.
    let judged: Vec<Result<Judged>> =
        (0..folds.count).into_par_iter().with_max_len(1).map(|at| fold(at).judge(&progress)).collect();
    progress.finish();
    let width = classes.len();
    let mut probabilities = vec![0.0; labels.len() * width];
    let mut said: Vec<String> = Vec::new();
    for judged in judged {
        let judged = judged?;
        for (&row, found) in judged.rows.iter().zip(judged.probabilities.chunks_exact(width)) {
            probabilities[row * width..(row + 1) * width].copy_from_slice(found);
        }
        said.extend(judged.notes);
    }
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
    for (class, name) in classes.iter().enumerate() {
        let mut rows: Vec<usize> = (0..labels.len()).filter(|&row| labels[row] as usize == class).collect();
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
    fold: usize,
}

/// The held-out rows of a fold and what the model without them says.
struct Judged {
    rows: Vec<usize>,
    probabilities: Vec<f32>,
    notes: Vec<String>,
}

impl Fold<'_> {
    fn judge(&self, progress: &FoldProgress) -> Result<Judged> {
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
        let classes = train.classes.len();
        // The rows outside the fold decide, as if the fold did not exist.
        let config = with_penalty(self.config, examples, classes, &mut Silent)?;
        let mut trainer = Trainer::new(config.train_config(), arms, classes, examples, validation)?;
        trainer.run(&mut progress.watch())?;
        let trained = trainer.finish()?.pop().ok_or_else(|| Failure::input("no arm was trained"))?;
        progress.fold_done(self.fold);
        Ok(Judged {
            rows: held,
            probabilities: trained.model.probabilities(held_out.matrix()?)?,
            notes: notes.iter().chain(&more).map(ToString::to_string).collect(),
        })
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
