//! The training loop: epochs of all arms, their figures, and the models at the end.

use std::ops::ControlFlow;

use cmrm::envelope::{Batch, Objective};
use cmrm::error::{check_length, check_parameter};
use cmrm::loss::Loss;
use cmrm::scores::most_likely;
use cmrm::theory::filter_quality;
use cmrm::{Matrix, Scalar};

use super::arm::{Arm, ArmState, check_no_targets};
use super::config::{CheckedMethod, CheckedTraining, Selection, TrainConfig};
use super::data::Examples;
use super::engine::Engine;
use super::epoch::{EpochRun, EpochStats};
use super::full_batch::FullBatch;
use super::onset::onset;
use super::record::RowRecord;
use super::selection::{Best, consider, exhausted};
use super::stochastic::{Epoch, Stochastic};
use crate::error::{Error, Result};
use crate::model::Network;
use crate::optim::{LbfgsStatus, Snapshot};
use crate::predict::Model;
use crate::stop::Stop;

/// Watches a training.
pub trait Observer<T> {
    /// What asks the training to stop within an epoch, from another thread. That epoch is thrown away: the training then
    /// stands where the last whole one ended, and can be saved and resumed.
    fn stop(&self) -> Option<Stop> {
        None
    }

    /// After every epoch; breaking ends the training here. The trainer can be saved from it.
    fn epoch(&mut self, _trainer: &Trainer<'_, T>, _stats: &[EpochStats]) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    /// After every batch.
    fn batch(&mut self, _done: usize, _of: usize) {}
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl<T> Observer<T> for Silent {}

/// Ends the training when somebody asks for it, and watches nothing else.
impl<T> Observer<T> for Stop {
    fn stop(&self) -> Option<Stop> {
        Some(self.clone())
    }
}

/// One arm, trained.
#[derive(Debug, Clone)]
pub struct Trained<T> {
    /// Name of the arm.
    pub name: String,
    /// The model of the chosen epoch.
    pub model: Model<T>,
    /// What training saw of every row.
    pub record: RowRecord,
    /// The chosen epoch.
    pub epoch: usize,
    /// Why L-BFGS ended, if it was used and has ended by itself.
    pub lbfgs: Option<LbfgsStatus>,
}

/// Parameters of an arm, and its optimisers unless they start afresh.
type ArmAt<T> = (Vec<T>, Option<Vec<Snapshot<T>>>);

/// Where the arms of a training stand: enough to go on from there with other rows.
#[derive(Debug, Clone)]
pub struct Waypoint<T> {
    arms: Vec<ArmAt<T>>,
}

impl<T: Scalar> Waypoint<T> {
    /// From trained models, one an arm; the optimisers start afresh.
    pub fn of_models<'a>(models: impl IntoIterator<Item = &'a Model<T>>) -> Self
    where
        T: 'a,
    {
        Waypoint { arms: models.into_iter().map(|model| (model.network().parameters().to_vec(), None)).collect() }
    }
}

/// A training under way: any number of arms on the same rows.
#[derive(Debug)]
pub struct Trainer<'a, T> {
    pub(crate) config: TrainConfig,
    pub(crate) arms: Vec<Arm>,
    pub(crate) states: Vec<ArmState<T>>,
    pub(crate) train: Examples<'a, T>,
    validation: Option<Examples<'a, T>>,
    weights: Option<Vec<T>>,
    pub(crate) classes: usize,
    pub(crate) engine: Engine<T>,
    pub(crate) records: Vec<RowRecord>,
    pub(crate) best: Vec<Option<Best<T>>>,
    pub(crate) epoch: usize,
    pub(crate) history: Vec<EpochStats>,
    known_wrong: Option<Vec<bool>>,
}

impl<'a, T: Scalar> Trainer<'a, T> {
    /// Prepares to train `arms` on `train`. `validation` has observed labels too; clean ones have no place here.
    pub fn new(
        config: TrainConfig,
        arms: Vec<Arm>,
        classes: usize,
        train: Examples<'a, T>,
        validation: Option<Examples<'a, T>>,
    ) -> Result<Self> {
        let CheckedTraining { config, model, method } = config.validate()?;
        check_parameter("arms", arms.len() as f64, !arms.is_empty(), "at least one arm")?;
        if let CheckedMethod::FullBatch(_) = method {
            // Within one line search the targets would move with every point that is tried.
            let expected = "0 with L-BFGS, which needs a fixed objective; train in batches, or choose another loss";
            arms.iter().try_for_each(|arm| check_no_targets(&arm.loss, expected))?;
        }
        train.check(classes)?;
        if let Some(validation) = &validation {
            validation.check(classes)?;
            let columns = validation.x.columns();
            check_length("features of a validation row", train.x.columns(), columns)?;
        }
        let needs_validation = config.selection != Selection::Last;
        let given = validation.is_some() || !needs_validation;
        check_parameter("validation rows", 0.0, given, "at least 1, to choose the best epoch")?;
        let weights = train.combined_weights(&config.class_weights, classes)?;
        let counts = train.class_counts(classes);
        // L-BFGS switches a term on at the base's optimum, which is where it would stay by itself.
        let sees_onset = validation.is_some() && matches!(method, CheckedMethod::Stochastic { .. });
        let state = |arm| ArmState::new(arm, &counts, train.rows(), config.epochs, sees_onset);
        let states = arms.iter().map(state).collect::<Result<Vec<_>>>()?;
        let seeds: Vec<u64> = arms.iter().map(|arm| arm.seed.unwrap_or(config.seed)).collect();
        let network = Network::new(&model, train.x.columns(), classes, &seeds)?;
        network.check_rows(train.x)?;
        let engine = match method {
            CheckedMethod::Stochastic { optimiser, schedule, batch_rows } => {
                Engine::Stochastic(Box::new(Stochastic::new(network, optimiser, schedule, batch_rows)))
            }
            CheckedMethod::FullBatch(lbfgs) => Engine::FullBatch(Box::new(FullBatch::new(&network, lbfgs))),
        };
        Ok(Trainer {
            records: arms.iter().map(|_| RowRecord::new(train.rows(), config.keep_history)).collect(),
            best: arms.iter().map(|_| None).collect(),
            config,
            arms,
            states,
            train,
            validation,
            weights,
            classes,
            engine,
            epoch: 0,
            history: Vec::new(),
            known_wrong: None,
        })
    }

    /// Says which training labels are known to be wrong. It goes into the figures of the epochs and nowhere else:
    /// nothing that is learned or chosen depends on it.
    pub fn with_known_wrong(mut self, wrong: Vec<bool>) -> Result<Self> {
        check_length("marks of wrong labels, one per training row", self.train.rows(), wrong.len())?;
        self.known_wrong = Some(wrong);
        Ok(self)
    }

    /// Starts every arm from these parameters, as another training's [`Trainer::parameters_of`] gave them: a fork. What
    /// several arms have in common is then paid for once. Optimisers start fresh.
    pub fn starting_from(mut self, parameters: &[T]) -> Result<Self> {
        check_parameter("epochs before a fork", self.epoch as f64, self.epoch == 0, "0: fork before training")?;
        match &mut self.engine {
            Engine::Stochastic(engine) => {
                (0..self.arms.len()).try_for_each(|copy| engine.network.set_parameters_of(copy, parameters))?;
            }
            Engine::FullBatch(engine) => {
                engine.arms.iter_mut().try_for_each(|arm| arm.network.set_parameters_of(0, parameters))?;
            }
        }
        Ok(self)
    }

    /// The parameters of one arm as they stand, in the layout of a network of its own.
    pub fn parameters_of(&self, arm: usize) -> Vec<T> {
        self.engine.parameters_of(arm)
    }

    /// The model of one arm as it stands, whatever epoch is chosen in the end.
    pub fn current_model(&self, arm: usize) -> Result<Model<T>> {
        self.model_of(arm, self.engine.parameters_of(arm))
    }

    /// Parameters and optimisers of the arms.
    pub fn waypoint(&self) -> Waypoint<T> {
        let one = |copy: usize| (self.engine.parameters_of(copy), Some(self.engine.snapshots(copy)));
        Waypoint { arms: (0..self.arms.len()).map(one).collect() }
    }

    /// Starts where another training of the same model and arms stands, whatever its rows were. L-BFGS, whose memory is
    /// of one objective, starts afresh from the parameters.
    pub fn go_on_from(&mut self, waypoint: &Waypoint<T>) -> Result<()> {
        check_length("arms to continue with", self.arms.len(), waypoint.arms.len())?;
        for (copy, (parameters, optimisers)) in waypoint.arms.iter().enumerate() {
            match (&mut self.engine, optimisers) {
                (engine @ Engine::Stochastic(_), Some(saved)) => engine.restore(copy, parameters, saved, 0)?,
                (Engine::Stochastic(engine), None) => engine.network.set_parameters_of(copy, parameters)?,
                (Engine::FullBatch(engine), _) => engine.arms[copy].network.set_parameters_of(0, parameters)?,
            }
        }
        Ok(())
    }

    /// Epochs done.
    pub fn epochs_done(&self) -> usize {
        self.epoch
    }

    /// Epochs in all.
    pub fn epochs(&self) -> usize {
        self.config.epochs
    }

    /// The figures of all epochs so far.
    pub fn history(&self) -> &[EpochStats] {
        &self.history
    }

    /// Whether nothing is left to do.
    pub fn has_ended(&self) -> bool {
        let converged = match &self.engine {
            Engine::FullBatch(engine) => engine.has_ended(&self.states),
            Engine::Stochastic(_) => false,
        };
        let last = self.epoch.saturating_sub(1);
        let patience_lost =
            self.epoch > 0 && self.best.iter().all(|best| exhausted(self.config.selection, best.as_ref(), last));
        self.epoch >= self.config.epochs || converged || patience_lost
    }

    /// Trains to the end, or until the observer breaks or asks to stop.
    pub fn run(&mut self, observer: &mut dyn Observer<T>) -> Result<()> {
        let stop = observer.stop();
        while !self.has_ended() && !stop.as_ref().is_some_and(Stop::is_requested) {
            let before = stop.as_ref().and_then(|_| self.engine.before_epoch(self.train.x));
            let memories: Vec<_> = match &before {
                Some(_) => self.states.iter().map(|state| state.memory.clone()).collect(),
                None => Vec::new(),
            };
            let within = stop.clone().filter(|_| before.is_some()).unwrap_or_default();
            let stats = match (self.run_epoch(&mut |done, of| observer.batch(done, of), &within), before) {
                (Err(Error::Stopped), Some(before)) => {
                    self.states.iter_mut().zip(memories).for_each(|(state, memory)| state.memory = memory);
                    return self.engine.come_back(&before);
                }
                (stats, _) => stats?,
            };
            if observer.epoch(self, &stats)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// One epoch of all arms. Stopped within it, only the engine and what the arms remember of rows have changed.
    fn run_epoch(&mut self, on_batch: &mut dyn FnMut(usize, usize), stop: &Stop) -> Result<Vec<EpochStats>> {
        let run = Epoch {
            config: &self.config,
            arms: &self.arms,
            states: &mut self.states,
            train: self.train,
            weights: self.weights.as_deref(),
            epoch: self.epoch,
            on_batch,
            stop,
        };
        let EpochRun { sums, places } = match &mut self.engine {
            Engine::Stochastic(engine) => engine.run_epoch(run)?,
            Engine::FullBatch(engine) => engine.run_epoch(run)?,
        };
        let eligible = (0..self.arms.len())
            .all(|copy| !self.states[copy].comes_on || self.is_on(copy) || self.states[copy].awaits_onset());
        let judged = (0..self.arms.len()).map(|copy| self.judge(copy, stop)).collect::<Result<Vec<_>>>()?;
        // From here on nothing asks to stop, so that the epoch counts as a whole.
        for (record, state) in self.records.iter_mut().zip(&self.states) {
            record.close_epoch(&state.scratch.seen, places.as_deref());
        }
        let mut stats = Vec::with_capacity(sums.len());
        for (copy, (sum, judged)) in sums.into_iter().zip(judged).enumerate() {
            if let Some((accuracy, _)) = judged
                && eligible
                && self.config.selection != Selection::Last
                && !exhausted(self.config.selection, self.best[copy].as_ref(), self.epoch.saturating_sub(1))
            {
                let engine = &self.engine;
                consider(&mut self.best[copy], self.epoch, accuracy, || engine.parameters_of(copy));
            }
            // An arm that has ended while others go on keeps its figures.
            let before = self.history.len().checked_sub(self.arms.len()).map(|start| &self.history[start + copy]);
            if let (true, Some(before)) = (sum.rows == 0.0, before) {
                stats.push(EpochStats { epoch: self.epoch, ..before.clone() });
                continue;
            }
            let rows = sum.rows.max(1.0);
            stats.push(EpochStats {
                arm: self.arms[copy].name.clone(),
                epoch: self.epoch,
                envelope_on: self.is_on(copy),
                base: sum.base / rows,
                risk: sum.risk / rows,
                total: sum.total / rows,
                tau: sum.last.tau,
                tau_plus: sum.last.tau_plus,
                tau_minus: sum.last.tau_minus,
                filtered: sum.filtered / rows,
                wrong_among_filtered: match &self.known_wrong {
                    Some(wrong) => filter_quality(&self.records[copy].last_weight, wrong)?.precision,
                    None => None,
                },
                learning_rate: sum.learning_rate,
                training_accuracy: self.states[copy].scratch.accuracy(),
                validation_accuracy: judged.map(|(accuracy, _)| accuracy),
                validation_loss: judged.map(|(_, loss)| loss),
            });
        }
        self.epoch += 1;
        self.history.extend_from_slice(&stats);
        for copy in self.notice_onsets() {
            // What was best without the term is not what the arm is for, if any epoch is left for it.
            if self.epoch < self.config.epochs {
                self.best[copy] = None;
            }
        }
        Ok(stats)
    }

    /// Switches on the terms whose onset the figures so far show, and returns their arms. Nothing else is stored of it: a
    /// resumed training reads it from the same figures.
    pub(crate) fn notice_onsets(&mut self) -> Vec<usize> {
        let arms = self.arms.len();
        let mut noticed = Vec::new();
        for (copy, state) in self.states.iter_mut().enumerate().filter(|(_, state)| state.awaits_onset()) {
            let of_arm: Vec<&EpochStats> = self.history.iter().skip(copy).step_by(arms).collect();
            state.start = state.onset.and_then(|gap| onset(&of_arm, gap));
            if state.start.is_some() {
                noticed.push(copy);
            }
        }
        noticed
    }

    /// Whether one arm's term is on in the epoch under way.
    fn is_on(&self, copy: usize) -> bool {
        match &self.engine {
            Engine::Stochastic(_) => self.states[copy].is_on(self.epoch),
            Engine::FullBatch(engine) => engine.arms[copy].rounds > 0,
        }
    }

    /// Accuracy and mean base loss of one arm on the validation rows, by their observed labels.
    fn judge(&self, copy: usize, stop: &Stop) -> Result<Option<(f64, f64)>> {
        let Some(validation) = &self.validation else { return Ok(None) };
        let model = self.model_of(copy, self.engine.parameters_of(copy))?;
        let logits = model.logits_in_blocks(validation.x, stop)?;
        let right = logits
            .chunks_exact(self.classes)
            .zip(validation.labels)
            .filter(|(row, label)| most_likely(row) == **label)
            .count();
        // The logits are scaled already; the loss is the base loss of the unscaled outputs.
        let inverse = T::from_f64(1.0 / model.scale());
        let unscaled: Vec<T> = logits.iter().map(|&z| z * inverse).collect();
        let batch = Batch::new(Matrix::new(&unscaled, self.classes)?, validation.labels);
        let mut grad = vec![T::ZERO; unscaled.len()];
        let outcome = Objective::base(&self.states[copy].loss).evaluate(&batch, &mut grad, &mut Default::default())?;
        Ok(Some((right as f64 / validation.rows() as f64, outcome.base)))
    }

    fn model_of(&self, copy: usize, parameters: Vec<T>) -> Result<Model<T>> {
        let layout = match &self.engine {
            Engine::Stochastic(engine) => engine.network.layout().single(),
            Engine::FullBatch(engine) => engine.arms[copy].network.layout().clone(),
        };
        let scale: T = self.states[copy].loss.scale();
        Ok(Model::new(Network::from_parameters(layout, parameters)?, scale.to_f64()))
    }

    /// The arms as they stand: the chosen epoch's model and the records of all rows.
    pub fn finish(self) -> Result<Vec<Trained<T>>> {
        let mut trained = Vec::with_capacity(self.arms.len());
        for copy in 0..self.arms.len() {
            let (epoch, parameters) = match &self.best[copy] {
                Some(best) => (best.epoch, best.parameters.clone()),
                None => (self.epoch.saturating_sub(1), self.engine.parameters_of(copy)),
            };
            trained.push(Trained {
                name: self.arms[copy].name.clone(),
                model: self.model_of(copy, parameters)?,
                record: self.records[copy].clone(),
                epoch,
                lbfgs: match &self.engine {
                    Engine::FullBatch(engine) => engine.arms[copy].lbfgs.status(),
                    Engine::Stochastic(_) => None,
                },
            });
        }
        Ok(trained)
    }
}
