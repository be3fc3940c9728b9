//! Fits of the probes, and the tasks they come in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use cmrm::Matrix;
use cmrm::conformal::{CalibrationSplit, ConformalConfig, RepeatConfig, repeat_splits};
use cmrm::envelope::EnvelopeConfig;
use cmrm::loss::LossConfig;
use cmrm_train::Model;
use cmrm_train::model::ModelConfig;
use cmrm_train::optim::LbfgsConfig;
use cmrm_train::train::{Arm, ClassWeights, Examples, Method, Selection, Silent, Term, TrainConfig, Trainer};

use super::{Probe, ProbeArm, ProbeCell, Probed, Variant};
use crate::cell::{Cell, CellConfig, CellResult, Store};
use crate::error::Result;
use crate::queue::{Queue, Task};

/// The base arm or one envelope of one kind of labels.
pub(crate) struct ProbeGroup {
    pub probe: Probe,
    pub variant: Variant,
    /// The envelope; none is the base arm.
    pub arm: Option<ProbeArm>,
    pub data: Arc<Probed>,
    pub store: Store,
}

/// Key of the held-out accuracy of a setting.
pub(crate) fn held_key(at: usize) -> String {
    format!("held-{at:03}")
}

/// The setting with the best mean accuracy on held-out observed labels, the first of equals.
pub(crate) fn choose(folds: &[BTreeMap<String, f64>], settings: usize) -> Option<usize> {
    let mean = |at: usize| folds.iter().map(|fold| fold.get(&held_key(at)).copied()).sum::<Option<f64>>();
    let mut best: Option<(usize, f64)> = None;
    for at in 0..settings {
        let score = mean(at)?;
        if best.is_none_or(|(_, most)| score > most) {
            best = Some((at, score));
        }
    }
    best.map(|(at, _)| at)
}

impl ProbeGroup {
    fn name(&self) -> &str {
        self.arm.as_ref().map_or("base", |arm| &arm.name)
    }

    fn label(&self) -> String {
        format!("{} {}, {}", self.probe.set, self.variant.name, self.name())
    }

    fn cell(&self, what: &str, config: ProbeCell) -> Cell {
        let name = format!("{}.{}.{}.{what}", self.probe.set, self.variant.name, self.name());
        Cell { name, config: CellConfig::Probe(config), data: self.data.checksum.clone() }
    }

    /// The parts of the cross-validation; none where there is nothing to choose.
    fn folds(&self) -> Vec<Cell> {
        let Some(arm) = self.arm.as_ref().filter(|arm| arm.settings().len() > 1) else { return Vec::new() };
        let cell = |fold| self.cell(&format!("fold{fold}"), self.probe.fold(&self.variant, arm, fold));
        (0..self.probe.folds).map(cell).collect()
    }

    /// The fit on all rows; nothing while the cross-validation is not done.
    fn last(&self) -> Option<Cell> {
        let Some(arm) = &self.arm else { return Some(self.cell("fit", self.probe.base(&self.variant))) };
        let settings = arm.settings();
        let chosen: EnvelopeConfig = match self.folds() {
            folds if folds.is_empty() => settings[0],
            folds => {
                let found: Option<Vec<_>> = folds.iter().map(|cell| self.store.read(cell)).collect();
                settings[choose(&found?.into_iter().map(|result| result.metrics).collect::<Vec<_>>(), settings.len())?]
            }
        };
        Some(self.cell("fit", self.probe.chosen(&self.variant, chosen)))
    }

    /// Whether anything is left to do.
    pub fn is_missing(&self) -> bool {
        self.last().is_none_or(|cell| !self.store.has(&cell))
    }

    /// Rough seconds of what is missing.
    pub fn cost(&self) -> f64 {
        let folds = self.folds().iter().filter(|cell| !self.store.has(cell)).count();
        let settings = self.arm.as_ref().map_or(1, |arm| arm.settings().len());
        self.seconds(1) * 2.0 + folds as f64 * self.seconds(settings + 1)
    }

    fn seconds(&self, fits: usize) -> f64 {
        let numbers = self.data.observed(&self.variant.column).len() * self.data.width;
        0.3 * fits as f64 * self.probe.iterations as f64 * numbers as f64 * (4.0 + self.probe.classes as f64) / 4e9
    }

    /// The parts of the cross-validation as tasks; the one that ends last hands on the fit on all rows.
    pub fn task(self: Arc<Self>) -> Task {
        Task::new(format!("{}: what is to be done", self.label()), 0.0, move |queue| self.clone().begin(queue))
    }

    fn begin(self: Arc<Self>, queue: &Queue<'_>) -> Result<()> {
        let folds: Vec<Cell> = self.folds().into_iter().filter(|cell| !self.store.has(cell)).collect();
        if folds.is_empty() {
            self.finish(queue);
            return Ok(());
        }
        let left = Arc::new(AtomicUsize::new(folds.len()));
        for cell in folds.into_iter().rev() {
            let (group, left) = (self.clone(), left.clone());
            let cost = self.seconds(1 + self.arm.as_ref().map_or(1, |arm| arm.settings().len()));
            let label = format!("{}, {}", self.label(), cell.label());
            queue.next(Task::new(label, cost, move |queue| {
                group.train(&cell)?;
                if left.fetch_sub(1, Ordering::SeqCst) == 1 {
                    group.clone().finish(queue);
                }
                Ok(())
            }));
        }
        Ok(())
    }

    fn finish(self: Arc<Self>, queue: &Queue<'_>) {
        if let Some(cell) = self.last().filter(|cell| !self.store.has(cell)) {
            let label = format!("{}, all rows", self.label());
            let cost = self.seconds(2);
            queue.next(Task::new(label, cost, move |_| self.train(&cell)));
        }
    }

    fn train(&self, cell: &Cell) -> Result<()> {
        let CellConfig::Probe(config) = &cell.config else { return Ok(()) };
        let start = Instant::now();
        let metrics = match config.fold {
            Some(fold) => hold_out(&self.data, config, fold)?,
            None => on_all_rows(&self.data, config)?,
        };
        self.store.write(cell, &CellResult::new(cell, metrics, start.elapsed()))
    }
}

/// The fold of each row: within each observed class, in the order of the rows, as equal parts.
fn folds_of(labels: &[u32], classes: usize, folds: usize) -> Vec<usize> {
    let mut counts = vec![0usize; classes];
    labels.iter().for_each(|&label| counts[label as usize] += 1);
    let mut seen = vec![0usize; classes];
    let place = |&label: &u32| {
        let class = label as usize;
        let fold = seen[class] * folds / counts[class];
        seen[class] += 1;
        fold
    };
    labels.iter().map(place).collect()
}

/// Settings of a fit.
pub(crate) fn settings(config: &ProbeCell) -> TrainConfig {
    TrainConfig {
        model: ModelConfig::linear(),
        method: Method::FullBatch(LbfgsConfig::default()),
        epochs: config.iterations,
        l2: 1.0 / config.c,
        clip: None,
        class_weights: ClassWeights::Equal,
        selection: Selection::Last,
        seed: 0,
        keep_history: false,
    }
}

/// One fit, from given parameters or from zero.
pub(crate) fn fit(
    x: Matrix<'_, f32>,
    labels: &[u32],
    config: &ProbeCell,
    term: Term,
    from: Option<&[f32]>,
) -> Result<(Model<f32>, Vec<f32>)> {
    let arm = Arm { name: "arm".into(), term, ..Arm::base(LossConfig::CrossEntropy) };
    let mut trainer = Trainer::new(settings(config), vec![arm], config.classes, Examples::new(x, labels), None)?;
    if let Some(from) = from {
        trainer = trainer.starting_from(from)?;
    }
    trainer.run(&mut Silent)?;
    Ok((trainer.current_model(0)?, trainer.parameters_of(0)))
}

/// Accuracy of every setting on the observed labels that were held out.
fn hold_out(data: &Probed, config: &ProbeCell, fold: usize) -> Result<BTreeMap<String, f64>> {
    let observed = data.observed(&config.column);
    let folds = folds_of(observed, config.classes, config.folds);
    let part = |held: bool| {
        let rows: Vec<usize> = (0..observed.len()).filter(|&row| (folds[row] == fold) == held).collect();
        let x: Vec<f32> = rows.iter().flat_map(|&row| &data.train[row * data.width..][..data.width]).copied().collect();
        let labels: Vec<u32> = rows.iter().map(|&row| observed[row]).collect();
        (x, labels)
    };
    let ((x, labels), (x_held, held)) = (part(false), part(true));
    let (x, x_held) = (Matrix::new(&x, data.width)?, Matrix::new(&x_held, data.width)?);
    let (_, start) = fit(x, &labels, config, Term::Base, None)?;
    let mut found = BTreeMap::new();
    for (at, &term) in config.terms.iter().enumerate() {
        let (model, _) = fit(x, &labels, config, term, Some(&start))?;
        found.insert(held_key(at), cmrm::metric::accuracy(&model.predict(x_held)?, &held)?);
    }
    Ok(found)
}

/// Metrics by clean test labels, and how often the arm and the base disagree in who is right.
fn on_all_rows(data: &Probed, config: &ProbeCell) -> Result<BTreeMap<String, f64>> {
    let (x, test) = (Matrix::new(&data.train, data.width)?, Matrix::new(&data.test, data.width)?);
    let labels = data.observed(&config.column);
    let (base, start) = fit(x, labels, config, Term::Base, None)?;
    let term = config.terms.first().copied().unwrap_or(Term::Base);
    let model = if term == Term::Base { base.clone() } else { fit(x, labels, config, term, Some(&start))?.0 };
    let (ours, theirs) = (model.predict(test)?, base.predict(test)?);
    let right = |predicted: &[u32], other: &[u32]| {
        let rows = predicted.iter().zip(other).zip(&data.truth);
        rows.filter(|((a, b), truth)| a == truth && b != truth).count() as f64
    };
    let probabilities = model.probabilities(test)?;
    let conformal = ConformalConfig::default().validate()?;
    let repeat = RepeatConfig { split: CalibrationSplit::PerClass(config.calibration), ..RepeatConfig::default() };
    let sets = repeat_splits(&conformal, Matrix::new(&probabilities, config.classes)?, &data.truth, &repeat)?;
    Ok(BTreeMap::from([
        ("accuracy".to_owned(), cmrm::metric::accuracy(&ours, &data.truth)?),
        ("m-apss".to_owned(), sets.mean_size.mean),
        ("coverage".to_owned(), sets.coverage.mean),
        ("m-apss-deviation".to_owned(), sets.mean_size.standard_deviation),
        ("wins".to_owned(), right(&ours, &theirs)),
        ("losses".to_owned(), right(&theirs, &ours)),
        ("test-rows".to_owned(), data.truth.len() as f64),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_are_equal_parts_of_every_class_in_order() {
        let labels: Vec<u32> = (0..30).map(|i| u32::from(i >= 20)).collect();
        let folds = folds_of(&labels, 2, 5);
        for fold in 0..5 {
            let of = |class| (0..30).filter(|&i| folds[i] == fold && labels[i] == class).count();
            assert_eq!((of(0), of(1)), (4, 2));
        }
        assert!(folds.windows(2).filter(|pair| pair[0] > pair[1]).count() > 0, "class by class");
    }

    #[test]
    fn the_first_of_the_best_settings_is_chosen_and_a_missing_part_chooses_nothing() {
        let fold = |scores: [f64; 3]| (0..3).map(|at| (held_key(at), scores[at])).collect::<BTreeMap<_, _>>();
        assert_eq!(choose(&[fold([0.5, 0.75, 0.25]), fold([0.5, 0.25, 0.75])], 3), Some(0));
        assert_eq!(choose(&[fold([0.5, 0.75, 0.25]), fold([0.5, 0.75, 0.75])], 3), Some(1));
        assert_eq!(choose(&[fold([0.5, 0.75, 0.25])], 4), None);
    }
}
