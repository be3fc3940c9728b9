//! How strong the penalty on a linear model's weights is: what rows that were held back say, by their observed labels.

use cmrm::loss::LossConfig;
use cmrm::noise_model::Transition;
use cmrm::rng::Rng;
use cmrm::{Matrix, OwnedRows};
use cmrm_train::Stop;
use cmrm_train::train::{Arm, Examples, Method, Observer, Selection, TrainConfig, Trainer};
use cmrm_train::tune::Folds;
use cmrm_train::vote::{Calibration, brier_score};

use crate::arms::base_arm;
use crate::config::FitConfig;
use crate::error::Result;

/// Penalties to try, the strongest first, as `l2` times the number of rows: scikit-learn's 1/C. Against the sum of the
/// losses a penalty weighs the same whatever the number of rows, so that what a part of them says holds for all.
const STRENGTHS: [f64; 5] = [1000.0, 300.0, 100.0, 10.0, 1.0];
/// Penalties that any number of rows may choose. Few rows with many wrong labels cannot tell how good a stronger one is: it takes twice
/// its strength of them.
const STRONGEST_OF_FEW_ROWS: f64 = 100.0;
/// Sparse rows have the length of one, and want weaker penalties than columns of equal spread.
pub(crate) const STRENGTHS_OF_SPARSE: [f64; 5] = [10.0, 3.0, 1.0, 0.3, 0.1];
/// Where rows cannot say: scikit-learn's default.
const USUAL_STRENGTH: f64 = 1.0;
const FOLDS: usize = 5;
/// Most rows to choose by. Many rows want a somewhat stronger penalty than few, and these are enough to tell.
const MOST_ROWS: usize = 8000;
/// Stream of the generator that these rows are drawn from.
const ROWS_STREAM: u64 = 0xbe7a;

/// The settings with their penalty, which `rows` decide where it was left open: the one whose probabilities are nearest to
/// the observed labels over five folds, by the Brier score, once they are calibrated. As they are, a strong penalty would
/// seldom be chosen: where labels are wrong it makes the better model, but one too unsure of itself to be paid for it. Each
/// training starts where that of the next stronger penalty ended. An `observer` that breaks ends the search; what was found
/// so far stands.
pub fn with_penalty(
    config: &FitConfig,
    rows: Examples<'_, f32>,
    classes: usize,
    observer: &mut dyn Observer<f32>,
) -> Result<FitConfig> {
    if config.l2().is_some() {
        return Ok(config.clone());
    }
    let strength = Search::new(config, &rows, classes)
        .and_then(|search| search.best(observer))
        // Rows too few for folds, or a fold that cannot be trained on. If all rows have the same fault, the fit says so.
        .unwrap_or(USUAL_STRENGTH);
    // Three digits are as many as the choice has, and they read better.
    let l2 = format!("{:.2e}", strength / rows.rows().max(1) as f64).parse().ok();
    Ok(FitConfig { l2, ..config.clone() })
}

/// The rows of one fold, to train on and to judge by.
struct Fold {
    train: Part,
    held: Part,
}

struct Search {
    train: TrainConfig,
    arm: Arm,
    folds: Vec<Fold>,
    classes: usize,
    /// How the true classes that a corrected model speaks of are observed.
    transition: Option<Transition>,
}

impl Search {
    fn new(config: &FitConfig, rows: &Examples<'_, f32>, classes: usize) -> Result<Self> {
        let mut chosen = Rng::new(config.seed, ROWS_STREAM).permutation(rows.rows());
        chosen.truncate(MOST_ROWS);
        chosen.sort_unstable();
        let rows = Part::gather(rows, &chosen);
        let drawn = Folds::draw(&rows.labels, classes, FOLDS, 0.5, config.seed)?;
        let whole = rows.examples()?;
        let fold =
            |at| Fold { train: Part::gather(&whole, &drawn.training(at)), held: Part::gather(&whole, &drawn.held(at)) };
        let method = Method::FullBatch(config.lbfgs_to_compare(whole.x));
        let train = TrainConfig { method, selection: Selection::Last, ..config.train_config() };
        Ok(Search {
            train,
            arm: base_arm(config),
            folds: (0..FOLDS).map(fold).collect(),
            classes,
            transition: config.transition_matrix().cloned(),
        })
    }

    fn best(&self, observer: &mut dyn Observer<f32>) -> Result<f64> {
        let sparse = self.folds.iter().any(|fold| matches!(fold.train.x, OwnedRows::Sparse(_)));
        let strengths = if sparse { &STRENGTHS_OF_SPARSE[..] } else { &STRENGTHS };
        let held: Vec<&Part> = self.folds.iter().map(|fold| &fold.held).collect();
        let labels: Vec<u32> = held.iter().flat_map(|part| &part.labels).copied().collect();
        let weights: Option<Vec<f32>> =
            held.iter().map(|part| part.weights.as_deref()).collect::<Option<Vec<_>>>().map(|parts| parts.concat());
        // Losses that hold back from unlikely labels pull little at zero weights, where a strong penalty would leave them for good.
        let holds_back =
            matches!(self.arm.loss, LossConfig::Gce { .. } | LossConfig::Sce { .. } | LossConfig::Apl { .. });
        let strongest = if holds_back { 0.0 } else { 0.5 * labels.len() as f64 }.max(STRONGEST_OF_FEW_ROWS);
        let strengths = || strengths.iter().copied().filter(|&strength| strength <= strongest);
        let mut found = (f64::INFINITY, strengths().next().unwrap_or(USUAL_STRENGTH));
        let mut parameters: Vec<Option<Vec<f32>>> = vec![None; self.folds.len()];
        for strength in strengths() {
            let mut said = Vec::with_capacity(labels.len() * self.classes);
            for (fold, parameters) in self.folds.iter().zip(&mut parameters) {
                let train = TrainConfig { l2: strength / fold.train.labels.len() as f64, ..self.train.clone() };
                let mut trainer =
                    Trainer::new(train, vec![self.arm.clone()], self.classes, fold.train.examples()?, None)?;
                if let Some(parameters) = parameters {
                    trainer = trainer.starting_from(parameters)?;
                }
                trainer.run(observer)?;
                if !trainer.has_ended() {
                    return Ok(found.1);
                }
                *parameters = Some(trainer.parameters_of(0));
                let model = trainer.current_model(0)?;
                said.extend(model.probabilities_in_blocks(fold.held.x.view()?, &Stop::default())?);
            }
            if let Some(transition) = &self.transition {
                said = transition.observed_probabilities(Matrix::new(&said, self.classes)?)?;
            }
            let weights = weights.as_deref();
            Calibration::fit(&said, &labels, weights, self.classes).apply(&mut said, self.classes);
            let score = brier_score(&said, &labels, weights, self.classes);
            if score < found.0 {
                found = (score, strength);
            }
        }
        Ok(found.1)
    }
}

/// Some of the rows.
struct Part {
    x: OwnedRows<f32>,
    labels: Vec<u32>,
    weights: Option<Vec<f32>>,
}

impl Part {
    fn gather(rows: &Examples<'_, f32>, wanted: &[usize]) -> Self {
        Part {
            x: rows.x.gather(wanted),
            labels: wanted.iter().map(|&row| rows.labels[row]).collect(),
            weights: rows.row_weights.map(|weights| wanted.iter().map(|&row| weights[row]).collect()),
        }
    }

    fn examples(&self) -> Result<Examples<'_, f32>> {
        Ok(Examples { row_weights: self.weights.as_deref(), ..Examples::new(self.x.view()?, &self.labels) })
    }
}
