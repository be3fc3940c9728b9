//! The audit by cross-fitting: every row is judged by a model that was trained without it.

use std::path::Path;

use cmrm::Matrix;
use cmrm::audit::{AuditOptions, Evidence, rank};
use cmrm_data::preprocess::Summary;
use cmrm_data::write::NpyWriter;
use cmrm_data::{Column, Features, LabelledRows};
use cmrm_fit::{Balance, CrossFit, FitConfig};

use super::{Audited, Doubts};
use crate::failure::Result;
use crate::fold_progress::FoldProgress;
use crate::load::load;
use crate::outputs::OutFile;
use crate::prediction_writer::in_output;
use crate::terminal::Terminal;

/// How to cross-fit.
pub struct Folds<'a> {
    pub config: &'a FitConfig,
    /// Number of folds, at least two.
    pub count: usize,
    /// Whether the base loss is trained alone, as other tools do.
    pub no_envelope: bool,
    pub cache: Option<&'a Path>,
    /// Where the probabilities go, if they are wanted.
    pub probabilities_out: Option<OutFile>,
}

/// Trains once for each fold, and ranks the rows by what the models say of them.
pub fn from_folds(folds: &Folds<'_>, options: &AuditOptions, terminal: &Terminal) -> Result<Audited> {
    let config = folds.config;
    let loaded = load(config, folds.cache)?;
    let cross_fit = CrossFit::new(config, &loaded, folds.count, !folds.no_envelope)?;
    let LabelledRows { labels, rows, .. } = &cross_fit.labelled;
    let (labels, classes) = (&labels.indices, &labels.classes);
    let arm = cross_fit.arm();
    terminal.say(format!(
        "{}: {} rows, {} classes; {} folds of {}",
        loaded.name,
        labels.len(),
        classes.len(),
        folds.count,
        if folds.no_envelope { "the base loss alone".into() } else { format!("the envelope ({arm})") }
    ));
    if let Features::Table(_) = &loaded.train.features {
        terminal.say(Summary::of(&loaded.train.features).to_string().trim_end());
    }
    match cross_fit.doubt() {
        Some(doubt) => terminal.say(format!("note: {doubt}")),
        None => cross_fit.labelled.labels.doubts().iter().for_each(|doubt| terminal.say(format!("note: {doubt}"))),
    }
    let progress = FoldProgress::new(terminal, folds.count, cross_fit.epochs());
    let fitted = cross_fit.run(&progress);
    progress.finish();
    let fitted = fitted?;
    fitted.notes.iter().for_each(|note| terminal.say(format!("note: {note}")));
    if let Some(out) = &folds.probabilities_out {
        write_probabilities(out, &fitted.probabilities, classes.len())?;
    }
    let probabilities = Matrix::new(&fitted.probabilities, classes.len())?;
    let audit = rank(probabilities, labels, options)?;
    let balance = Balance::of(labels, classes.len(), config.balance_classes);
    let evidence = Evidence::of(Matrix::new(&balance.observed(probabilities), classes.len())?, labels)?;
    let doubts = Doubts::estimate(probabilities, labels, balance)?;
    if doubts.is_some() && !folds.no_envelope {
        terminal.say(format!(
            "note: the model {arm} doubts labels, so that more may seem wrong than are; --no-envelope, or an audit of a run of auto, \
             estimates their share better"
        ));
    }
    let first_row = loaded.train.features.first_row();
    Ok(Audited {
        data: None,
        audit,
        rows: rows.iter().map(|&row| first_row + row as u64).collect(),
        ids: loaded.train.ids.as_ref().map(|ids| texts(ids, rows)).unwrap_or_default(),
        files: Vec::new(),
        labels: labels.clone(),
        classes: classes.clone(),
        more: Vec::new(),
        doubts,
        noise: None,
        wrong: cross_fit.known_wrong()?,
        source: config.data.clone().into(),
        evidence: Some(evidence),
        new_rows: None,
    })
}

fn write_probabilities(out: &OutFile, probabilities: &[f32], width: usize) -> Result<()> {
    let written = out.write_with(|file| {
        let mut writer = NpyWriter::new(file, width)?;
        writer.write(probabilities)?;
        writer.finish()
    });
    written.map_err(|error| in_output(error, out.path().display()))
}

/// The cells of these rows; a missing one is empty.
fn texts(column: &Column, rows: &[usize]) -> Vec<String> {
    rows.iter().map(|&row| column.text(row).unwrap_or_default().into_owned()).collect()
}
