//! Full-batch minimisation by limited-memory BFGS with a strong Wolfe line search.
//!
//! [`minimise`] runs to the end; [`LbfgsState`] makes one iteration at a time and can be saved in between. The objective
//! may have kinks, or a gradient that leaves something out: the envelope's threshold is selected without a gradient, so
//! that the slope which the search sees is not exactly the slope of the loss. A failed search therefore drops the memory
//! and tries the steepest descent once (by the preconditioner, if there is one); if that fails too, the run stops with
//! [`LbfgsStatus::LineSearchFailed`] at the best point so far, which for such objectives is a normal end.

mod history;
mod preconditioner;
mod state;

use std::ops::ControlFlow;

use cmrm::error::check_parameter;
use serde::{Deserialize, Serialize};

pub use preconditioner::Preconditioner;
pub use state::LbfgsState;

use super::line_search::Accepted;
use crate::checked::Checked;
use crate::error::Result;
use cmrm::Scalar;

/// Settings of L-BFGS. The defaults suit a mean loss of standardised features.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LbfgsConfig {
    /// Pairs of steps and gradient changes that are remembered, at least 1.
    pub history: usize,
    /// Converged when no entry of the gradient is larger than this.
    pub gradient_tolerance: f64,
    /// Converged when an iteration lowers the loss by no more than this times max(1, |loss|); 0 switches the test off.
    pub function_tolerance: f64,
    /// Converged when no parameter moves by more than this times max(1, largest parameter); 0 asks for no move at all.
    pub step_tolerance: f64,
    /// Most iterations.
    pub max_iterations: u64,
    /// Most evaluations of the objective, over the whole run.
    pub max_evaluations: u64,
    /// Most evaluations of one line search.
    pub max_search_evaluations: u64,
    /// c₁ of the Wolfe conditions, in (0, ½).
    pub sufficient_decrease: f64,
    /// c₂ of the Wolfe conditions, in (c₁, 1).
    pub curvature: f64,
    /// Relative rounding error of the loss, below which the line search trusts slopes more than values. Without a value:
    /// a few units in the last place of the parameters' type.
    pub loss_noise: Option<f64>,
    /// Whether the trainer starts a linear model's memory from the second moments of its features, [`Preconditioner`].
    pub precondition: bool,
}

impl Default for LbfgsConfig {
    fn default() -> Self {
        LbfgsConfig {
            history: 10,
            gradient_tolerance: 1e-6,
            function_tolerance: 1e-10,
            step_tolerance: 0.0,
            max_iterations: 1000,
            max_evaluations: 10_000,
            max_search_evaluations: 25,
            sufficient_decrease: 1e-4,
            curvature: 0.9,
            loss_noise: None,
            precondition: true,
        }
    }
}

impl LbfgsConfig {
    /// The checked form, from which a [`LbfgsState`] is made; refuses settings out of range.
    pub fn validate(&self) -> Result<Checked<Self>> {
        let at_least_one = |name, value: u64| check_parameter(name, value as f64, value >= 1, "1 or more");
        let tolerance = |name, value: f64| check_parameter(name, value, value >= 0.0, "0 or above");
        at_least_one("history", self.history as u64)?;
        at_least_one("max_iterations", self.max_iterations)?;
        at_least_one("max_evaluations", self.max_evaluations)?;
        at_least_one("max_search_evaluations", self.max_search_evaluations)?;
        tolerance("gradient_tolerance", self.gradient_tolerance)?;
        tolerance("function_tolerance", self.function_tolerance)?;
        tolerance("step_tolerance", self.step_tolerance)?;
        let (c1, c2) = (self.sufficient_decrease, self.curvature);
        check_parameter("sufficient_decrease", c1, c1 > 0.0 && c1 < 0.5, "above 0 and below 0.5")?;
        check_parameter("curvature", c2, c2 > c1 && c2 < 1.0, "above sufficient_decrease and below 1")?;
        if let Some(noise) = self.loss_noise {
            check_parameter("loss_noise", noise, (0.0..0.1).contains(&noise), "0 to below 0.1")?;
        }
        Ok(Checked::new(*self))
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LbfgsStatus {
    /// No entry of the gradient is above the tolerance.
    GradientTolerance,
    /// The loss does not decrease any more.
    FunctionTolerance,
    /// The parameters do not move any more.
    StepTolerance,
    /// The iterations are used up.
    IterationLimit,
    /// The evaluations are used up.
    EvaluationLimit,
    /// Neither the quasi-Newton direction nor the steepest descent lowers the loss: a kink, a gradient that does not match
    /// the loss, or the limit of the precision.
    LineSearchFailed,
    /// The loss or its gradient is not finite at the first point.
    NonFinite,
    /// The observer asked to stop.
    Stopped,
}

impl LbfgsStatus {
    /// Whether a tolerance was met.
    pub fn converged(self) -> bool {
        matches!(self, LbfgsStatus::GradientTolerance | LbfgsStatus::FunctionTolerance | LbfgsStatus::StepTolerance)
    }

    const ALL: [LbfgsStatus; 8] = [
        LbfgsStatus::GradientTolerance,
        LbfgsStatus::FunctionTolerance,
        LbfgsStatus::StepTolerance,
        LbfgsStatus::IterationLimit,
        LbfgsStatus::EvaluationLimit,
        LbfgsStatus::LineSearchFailed,
        LbfgsStatus::NonFinite,
        LbfgsStatus::Stopped,
    ];

    /// Number in a snapshot; 0 stands for a run that has not ended.
    fn code(status: Option<LbfgsStatus>) -> u64 {
        status
            .and_then(|status| Self::ALL.iter().position(|&other| other == status))
            .map_or(0, |place| place as u64 + 1)
    }

    fn from_code(code: u64) -> Option<Option<LbfgsStatus>> {
        if code == 0 { Some(None) } else { Self::ALL.get(usize::try_from(code - 1).ok()?).copied().map(Some) }
    }
}

/// One iteration, for the observer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LbfgsIteration {
    /// Iterations so far, this one included.
    pub iteration: u64,
    /// Evaluations of the objective so far.
    pub evaluations: u64,
    /// Loss after the iteration.
    pub loss: f64,
    /// Largest absolute entry of the gradient after the iteration.
    pub gradient_norm: f64,
    /// Step length along the direction.
    pub step: f64,
    /// Which conditions the step satisfies.
    pub accepted: Accepted,
}

/// What one call of [`LbfgsState::step`] did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LbfgsProgress {
    /// The iteration, if the parameters moved.
    pub iteration: Option<LbfgsIteration>,
    /// Set when the run has ended.
    pub status: Option<LbfgsStatus>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LbfgsReport {
    /// Why it ended.
    pub status: LbfgsStatus,
    /// Iterations that moved the parameters.
    pub iterations: u64,
    /// Evaluations of the objective.
    pub evaluations: u64,
    /// Times that the memory was dropped after a failed line search.
    pub restarts: u64,
    /// Final loss.
    pub loss: f64,
    /// Largest absolute entry of the final gradient.
    pub gradient_norm: f64,
}

/// Minimises `objective` from `parameters`, in place.
///
/// `objective` writes the gradient at its first argument into its second and returns the loss. Values that are not finite
/// are legal away from the first point: the line search backs off. An error of the objective ends the run with that
/// error; the parameters are then those of the last finished iteration. `observe` is called after every iteration.
pub fn minimise<T: Scalar>(
    config: LbfgsConfig,
    parameters: &mut [T],
    mut objective: impl FnMut(&[T], &mut [T]) -> Result<f64>,
    mut observe: impl FnMut(&LbfgsIteration) -> ControlFlow<()>,
) -> Result<LbfgsReport> {
    let mut state = LbfgsState::new(config.validate()?, parameters.len());
    loop {
        let progress = state.step(parameters, &mut objective)?;
        if let Some(iteration) = progress.iteration
            && observe(&iteration).is_break()
            && progress.status.is_none()
        {
            return Ok(state.report(LbfgsStatus::Stopped));
        }
        if let Some(status) = progress.status {
            return Ok(state.report(status));
        }
    }
}
