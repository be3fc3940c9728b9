//! One iteration of L-BFGS at a time.

use std::cell::Cell;
use std::sync::Arc;

use cmrm::error::check_length;

use super::history::History;
use super::preconditioner::Preconditioner;
use super::{LbfgsConfig, LbfgsIteration, LbfgsProgress, LbfgsReport, LbfgsStatus};
use crate::checked::Checked;
use crate::error::Result;
use crate::optim::line_search::{Accepted, LineSearch, Outcome, Point};
use crate::optim::snapshot::{Snapshot, mismatch};
use crate::optim::vector::{dot, max_abs, move_along, norm};
use cmrm::Scalar;

/// Iterations in a row that may pass without a lower loss or a smaller gradient before the run counts as converged.
const MOST_IDLE: u64 = 10;

/// L-BFGS between two iterations: the memory, the loss and the gradient at the current parameters, and the counters.
#[derive(Debug, Clone)]
pub struct LbfgsState<T> {
    config: Checked<LbfgsConfig>,
    history: History<T>,
    preconditioner: Option<Arc<Preconditioner<T>>>,
    loss: f64,
    gradient: Vec<T>,
    direction: Vec<T>,
    trial: Vec<T>,
    trial_gradient: Vec<T>,
    started: bool,
    iterations: u64,
    evaluations: u64,
    restarts: u64,
    idle: u64,
    /// Smallest gradient norm so far.
    least_gradient: f64,
    status: Option<LbfgsStatus>,
}

impl<T: Scalar> LbfgsState<T> {
    /// State for `length` parameters. All memory is taken here, (2·history + 4)·length numbers, but for what a preconditioner
    /// needs.
    pub fn new(config: Checked<LbfgsConfig>, length: usize) -> Self {
        let zeros = || vec![T::default(); length];
        LbfgsState {
            config,
            history: History::new(config.history, length),
            preconditioner: None,
            loss: f64::NAN,
            gradient: zeros(),
            direction: zeros(),
            trial: zeros(),
            trial_gradient: zeros(),
            started: false,
            iterations: 0,
            evaluations: 0,
            restarts: 0,
            idle: 0,
            least_gradient: f64::INFINITY,
            status: None,
        }
    }

    /// From now on the memory starts from `preconditioner` instead of a sphere. It is no part of a snapshot: who restores
    /// one gives it again.
    pub fn use_preconditioner(&mut self, preconditioner: Arc<Preconditioner<T>>) -> Result<()> {
        check_length("parameters of the preconditioner", self.gradient.len(), preconditioner.length())?;
        self.preconditioner = Some(preconditioner);
        Ok(())
    }

    /// Loss at the current parameters; NaN before the first step.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// Gradient at the current parameters.
    pub fn gradient(&self) -> &[T] {
        &self.gradient
    }

    /// Iterations that moved the parameters.
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// Why the run ended, if it has.
    pub fn status(&self) -> Option<LbfgsStatus> {
        self.status
    }

    /// The figures so far, with `status` as the reason to end here.
    pub fn report(&self, status: LbfgsStatus) -> LbfgsReport {
        LbfgsReport {
            status,
            iterations: self.iterations,
            evaluations: self.evaluations,
            restarts: self.restarts,
            loss: self.loss,
            gradient_norm: max_abs(&self.gradient),
        }
    }

    /// Evaluates the objective again at the next step, keeping the memory: for an objective that has changed in the
    /// meantime (a threshold that is frozen during an iteration, say). A run that had ended goes on.
    pub fn refresh(&mut self) {
        self.started = false;
        self.status = None;
        self.idle = 0;
        self.least_gradient = f64::INFINITY;
    }

    /// One iteration. After the end, further calls change nothing and repeat the status.
    pub fn step(
        &mut self,
        parameters: &mut [T],
        objective: &mut impl FnMut(&[T], &mut [T]) -> Result<f64>,
    ) -> Result<LbfgsProgress> {
        check_length("parameters given to L-BFGS", self.gradient.len(), parameters.len())?;
        let mut iteration = None;
        if self.status.is_none() {
            self.start(parameters, objective)?;
        }
        if self.status.is_none() && self.iterations >= self.config.max_iterations {
            self.status = Some(LbfgsStatus::IterationLimit);
        }
        if self.status.is_none() {
            iteration = self.advance(parameters, objective)?;
        }
        Ok(LbfgsProgress { iteration, status: self.status })
    }

    /// Loss and gradient at the first point.
    fn start(&mut self, parameters: &[T], objective: &mut impl FnMut(&[T], &mut [T]) -> Result<f64>) -> Result<()> {
        if self.started {
            return Ok(());
        }
        self.evaluations += 1;
        self.loss = objective(parameters, &mut self.gradient)?;
        self.started = true;
        if !self.loss.is_finite() || !norm(&self.gradient).is_finite() {
            self.status = Some(LbfgsStatus::NonFinite);
        } else if max_abs(&self.gradient) <= self.config.gradient_tolerance {
            self.status = Some(LbfgsStatus::GradientTolerance);
        }
        Ok(())
    }

    /// Searches along the quasi-Newton direction, then, if that fails, along the steepest descent.
    fn advance(
        &mut self,
        parameters: &mut [T],
        objective: &mut impl FnMut(&[T], &mut [T]) -> Result<f64>,
    ) -> Result<Option<LbfgsIteration>> {
        loop {
            let steepest = self.history.is_empty();
            self.history.direction(&self.gradient, self.preconditioner.as_deref(), &mut self.direction);
            let slope = dot(&self.gradient, &self.direction);
            if slope < 0.0 && slope.is_finite() {
                let left = self.config.max_evaluations.saturating_sub(self.evaluations);
                if left == 0 {
                    self.status = Some(LbfgsStatus::EvaluationLimit);
                    return Ok(None);
                }
                match self.search(parameters, slope, steepest, left, objective)? {
                    Outcome::Found(point, accepted) => return Ok(Some(self.accept(parameters, point, accepted))),
                    // One evaluation may be left over: it was held back for the search.
                    Outcome::Failed if self.evaluations + 1 >= self.config.max_evaluations => {
                        self.status = Some(LbfgsStatus::EvaluationLimit);
                        return Ok(None);
                    }
                    Outcome::Failed => {}
                }
            }
            if steepest {
                self.status = Some(LbfgsStatus::LineSearchFailed);
                return Ok(None);
            }
            self.history.clear();
            self.restarts += 1;
        }
    }

    /// The line search; leaves the accepted point and its gradient in the trial buffers.
    fn search(
        &mut self,
        parameters: &[T],
        slope: f64,
        steepest: bool,
        left: u64,
        objective: &mut impl FnMut(&[T], &mut [T]) -> Result<f64>,
    ) -> Result<Outcome> {
        let noise = self.config.loss_noise.unwrap_or(default_noise::<T>()) * self.loss.abs();
        let rule = LineSearch {
            sufficient_decrease: self.config.sufficient_decrease,
            curvature: self.config.curvature,
            noise,
            resolution: 0.5 * T::EPSILON * max_abs(parameters) / max_abs(&self.direction),
            // One evaluation is held back for the repetition below; a search of one evaluation never needs it.
            budget: self.config.max_search_evaluations.min(left.saturating_sub(1).max(1)),
        };
        // With neither memory nor preconditioner the direction has the length of the gradient, which says nothing about
        // the scale of a step: at most a unit step, as is usual.
        let first = if steepest && self.preconditioner.is_none() { (1.0 / norm(&self.gradient)).min(1.0) } else { 1.0 };
        let LbfgsState { direction, trial, trial_gradient, evaluations, loss, .. } = self;
        let last = Cell::new(0.0);
        let mut evaluate = |t: f64| {
            last.set(t);
            move_along(trial, parameters, t, direction);
            *evaluations += 1;
            let loss = objective(trial, trial_gradient)?;
            Ok(Point { t, loss, slope: dot(trial_gradient, direction) })
        };
        let outcome = rule.run(Point { t: 0.0, loss: *loss, slope }, first, &mut evaluate)?;
        match outcome {
            // The last resort need not be the point evaluated last. Rare, so its gradient is computed again, which saves a
            // buffer.
            Outcome::Found(point, accepted) if point.t != last.get() => {
                Ok(Outcome::Found(evaluate(point.t)?, accepted))
            }
            outcome => Ok(outcome),
        }
    }

    /// Moves to the trial point and tests for convergence.
    fn accept(&mut self, parameters: &mut [T], point: Point, accepted: Accepted) -> LbfgsIteration {
        let moved = point.t * max_abs(&self.direction);
        let unmoved = parameters.iter().zip(&self.trial).all(|(old, new)| old == new);
        let size = max_abs(parameters).max(1.0);
        self.history.push(parameters, &self.trial, &self.gradient, &self.trial_gradient);
        parameters.copy_from_slice(&self.trial);
        std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
        let decrease = self.loss - point.loss;
        self.loss = point.loss;
        self.iterations += 1;
        let gradient_norm = max_abs(&self.gradient);
        self.idle = if decrease > 0.0 || gradient_norm < self.least_gradient { 0 } else { self.idle + 1 };
        self.least_gradient = self.least_gradient.min(gradient_norm);
        let tolerance = self.config.function_tolerance;
        self.status = if gradient_norm <= self.config.gradient_tolerance {
            Some(LbfgsStatus::GradientTolerance)
        } else if (tolerance > 0.0 && decrease <= tolerance * self.loss.abs().max(1.0)) || self.idle >= MOST_IDLE {
            Some(LbfgsStatus::FunctionTolerance)
        } else if unmoved || moved <= self.config.step_tolerance * size {
            Some(LbfgsStatus::StepTolerance)
        } else if self.iterations >= self.config.max_iterations {
            Some(LbfgsStatus::IterationLimit)
        } else if self.evaluations >= self.config.max_evaluations {
            Some(LbfgsStatus::EvaluationLimit)
        } else {
            None
        };
        let LbfgsState { iterations, evaluations, loss, .. } = *self;
        LbfgsIteration { iteration: iterations, evaluations, loss, gradient_norm, step: point.t, accepted }
    }

    /// The state, for a checkpoint next to the parameters.
    pub fn snapshot(&self) -> Snapshot<T> {
        let (steps, changes) = self.history.export();
        Snapshot::new("lbfgs")
            .with_counter("started", u64::from(self.started))
            .with_counter("iterations", self.iterations)
            .with_counter("evaluations", self.evaluations)
            .with_counter("restarts", self.restarts)
            .with_counter("idle", self.idle)
            .with_counter("status", LbfgsStatus::code(self.status))
            .with_counter("loss_bits", self.loss.to_bits())
            .with_counter("least_gradient_bits", self.least_gradient.to_bits())
            .with_buffer("gradient", &self.gradient)
            .with_buffer("steps", &steps)
            .with_buffer("changes", &changes)
    }

    /// Continues from a snapshot, with the parameters that were saved next to it. A run that had reached a limit goes on
    /// if this state's limits are larger. A refused snapshot changes nothing.
    pub fn restore(&mut self, snapshot: &Snapshot<T>) -> Result<()> {
        snapshot.check_kind("lbfgs")?;
        let length = self.gradient.len();
        let gradient = snapshot.buffer_of("gradient", length)?;
        let steps = snapshot.buffer("steps")?;
        let changes = snapshot.buffer_of("changes", steps.len())?;
        if (length == 0 && !steps.is_empty()) || (length > 0 && steps.len() % length != 0) {
            return Err(mismatch("length of buffer `steps`", format!("a multiple of {length}"), steps.len()));
        }
        let code = snapshot.counter("status")?;
        let status = LbfgsStatus::from_code(code).ok_or_else(|| mismatch("counter `status`", "0 to 8", code))?;
        let started = snapshot.counter("started")? != 0;
        let (iterations, evaluations) = (snapshot.counter("iterations")?, snapshot.counter("evaluations")?);
        let (restarts, idle) = (snapshot.counter("restarts")?, snapshot.counter("idle")?);
        let loss = f64::from_bits(snapshot.counter("loss_bits")?);
        let least_gradient = f64::from_bits(snapshot.counter("least_gradient_bits")?);
        // Everything has been read and checked; from here on nothing can fail.
        (self.started, self.iterations, self.evaluations, self.restarts) = (started, iterations, evaluations, restarts);
        (self.idle, self.loss, self.least_gradient) = (idle, loss, least_gradient);
        self.gradient.copy_from_slice(gradient);
        self.history.import(steps, changes);
        // Limits are judged anew, with the limits of this state.
        self.status = match status {
            Some(LbfgsStatus::IterationLimit | LbfgsStatus::EvaluationLimit | LbfgsStatus::Stopped) => self.limit(),
            other => other,
        };
        Ok(())
    }

    /// The limit that has been reached. One evaluation may be left over: it is held back for the search.
    fn limit(&self) -> Option<LbfgsStatus> {
        if self.iterations >= self.config.max_iterations {
            return Some(LbfgsStatus::IterationLimit);
        }
        (self.evaluations + 1 >= self.config.max_evaluations).then_some(LbfgsStatus::EvaluationLimit)
    }
}

/// Relative rounding error to expect of a mean loss that is computed in `T` with 64-bit sums.
fn default_noise<T: Scalar>() -> f64 {
    if size_of::<T>() == 4 { 4.0 * T::EPSILON } else { 64.0 * T::EPSILON }
}
