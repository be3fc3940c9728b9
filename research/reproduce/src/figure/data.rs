//! From two traced trainings to the data of their figures.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cmrm::Matrix;
use cmrm_datasets::Cache;
use cmrm_report::{Arm, Audit, Envelope, Epoch, Origin, Report, SCHEMA, Sensitivity, Sizes};
use cmrm_run::{Confidences, DistributionParts, TrainingRows, distributions};
use cmrm_train::Model;
use cmrm_train::train::{EpochStats, RowRecord};

use super::FigureCell;
use crate::cell::{Cell, CellResult, Store};
use crate::data::Table;
use crate::error::Result;
use crate::probe::Probed;
use crate::queue::Task;

/// The data of a set of figures.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// A table of the catalogue.
    Table(Arc<Table>),
    /// Frozen features.
    Features(Arc<Probed>),
}

impl Source {
    /// Loads what a cell needs.
    pub fn load(cell: &FigureCell, cache: &Cache, folder: &Path) -> Result<Self> {
        Ok(match cell {
            FigureCell::Binary(cell) => Source::Table(Arc::new(Table::load(&cell.data, cache)?)),
            FigureCell::Probe { cell, .. } => {
                let column = |name: &str| crate::probe::Variant { name: name.into(), column: name.into() };
                let columns = [column(&cell.column), column(super::probe::CLEAN)];
                Source::Features(Arc::new(Probed::load(folder, &cell.files, &columns)?))
            }
        })
    }

    /// SHA-256 of the data.
    pub fn checksum(&self) -> &str {
        match self {
            Source::Table(table) => &table.checksum,
            Source::Features(features) => &features.checksum,
        }
    }
}

/// One set of figures to make.
#[derive(Debug, Clone)]
pub(crate) struct FigureGroup {
    pub cell: Cell,
    pub figures: FigureCell,
    pub source: Source,
    pub store: Store,
}

impl FigureGroup {
    /// Whether it is left to do.
    pub fn is_missing(&self) -> bool {
        !self.store.has(&self.cell)
    }

    /// Rough seconds.
    pub fn cost(&self) -> f64 {
        match (&self.figures, &self.source) {
            (FigureCell::Binary(cell), Source::Table(table)) => {
                let steps = cell.warm.map_or(0, |warm| warm.steps) + 2 * cell.phase.steps;
                crate::binary::seconds_of(cell, table.rows() / 2, table.width(), steps)
            }
            _ => 60.0,
        }
    }

    /// Makes it.
    pub fn task(self) -> Task {
        Task::new(format!("figures {}", self.cell.label()), self.cost(), move |_| {
            let start = Instant::now();
            let report = match (&self.figures, &self.source) {
                (FigureCell::Binary(cell), Source::Table(table)) => super::binary::report(cell, table)?,
                (FigureCell::Probe { cell, alphas, lambdas }, Source::Features(data)) => {
                    super::probe::report(cell, alphas, lambdas, data)?
                }
                _ => return Ok(()),
            };
            let mut result = CellResult::new(&self.cell, BTreeMap::new(), start.elapsed());
            result.figures = Some(Box::new(report));
            self.store.write(&self.cell, &result)
        })
    }
}

/// What figures are drawn from.
pub(super) struct Traced<'a> {
    /// Name of the data.
    pub data: String,
    /// Training rows.
    pub x: Matrix<'a, f32>,
    /// Observed and clean labels.
    pub observed: &'a [u32],
    pub clean: &'a [u32],
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Test rows, for the size.
    pub test_rows: usize,
    /// The arm's name, model, record; the base's model.
    pub arm: &'a str,
    pub model: Model<f32>,
    pub record: RowRecord,
    pub base: Model<f32>,
    /// Steps of both arms.
    pub history: Vec<Epoch>,
    pub envelope: Envelope,
    pub sensitivity: Option<Sensitivity>,
    pub seed: u64,
}

/// One step of a training, under the name of an arm and counted from `first`.
pub(super) fn epoch(arm: &str, first: usize, stats: &EpochStats) -> Epoch {
    Epoch {
        arm: arm.into(),
        epoch: first + stats.epoch,
        // The rows that judge a table are its test rows, and no epoch looks at them.
        validation_accuracy: None,
        ..cmrm_run::epoch(stats)
    }
}

/// Everything but the numbers that other pages have: no metrics, no suspects.
pub(super) fn assemble(traced: Traced<'_>) -> Result<Report> {
    let (observed, clean, classes, record) = (traced.observed, traced.clean, traced.classes, traced.record);
    let wrong: Vec<bool> = observed.iter().zip(clean).map(|(a, b)| a != b).collect();
    let rows = TrainingRows {
        rows: (0..observed.len() as u64).collect(),
        classes: classes.clone(),
        labels: observed.to_vec(),
        rival: record.rival,
        margin: record.last_margin,
        mean_margin: record.mean_margin,
        weight: record.last_weight,
        mean_weight: record.mean_weight,
        wrong: Some(wrong.clone()),
        ..TrainingRows::default()
    };
    let (own, base) = (traced.model.probabilities(traced.x)?, traced.base.probabilities(traced.x)?);
    let (own, base) = (Matrix::new(&own, classes.len())?, Matrix::new(&base, classes.len())?);
    let shapes = distributions(&DistributionParts {
        rows: &rows,
        confidences: &Confidences::of(own, observed, Some(clean)),
        base: Some(&Confidences::of(base, observed, None)),
        alpha: traced.envelope.alpha,
        batch: 0,
        seed: traced.seed,
    })?;
    let arm = |name: &str, is_base| Arm {
        name: name.into(),
        is_base,
        epoch: Some(0),
        metrics: Vec::new(),
        corrected_metrics: Vec::new(),
        sets: None,
        corrected_sets: None,
        risk_coverage: None,
    };
    Ok(Report {
        schema: SCHEMA.into(),
        data: traced.data,
        sizes: Sizes {
            train: observed.len(),
            validation: 0,
            judged: traced.test_rows,
            unlabelled: 0,
            features: traced.x.columns(),
            classes: classes.clone(),
        },
        noise: None,
        wrong_share: Some(wrong.iter().filter(|&&wrong| wrong).count() as f64 / wrong.len() as f64),
        judged_by: "clean test labels".into(),
        arms: vec![arm("base", true), arm(traced.arm, false)],
        members: Vec::new(),
        difference: None,
        audit: Audit {
            rows: observed.len(),
            issues: 0,
            out_of_sample: false,
            noise: None,
            expected: None,
            precision: None,
            recall: None,
            pairs: Vec::new(),
        },
        self_check: None,
        warnings: Vec::new(),
        suspects: Vec::new(),
        history: traced.history,
        envelope: traced.envelope,
        margins: shapes.margins,
        density: shapes.density,
        confidence: shapes.confidence,
        sensitivity: traced.sensitivity,
        origin: Origin {
            seed: traced.seed,
            threads: 1,
            version: env!("CARGO_PKG_VERSION").into(),
            fingerprint: String::new(),
            rows_fingerprint: None,
            config: String::new(),
        },
    })
}
