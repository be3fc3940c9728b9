//! One group: the arms of a loss, data set and seed. The steps before the fork are trained once.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use cmrm_train::model::{Head, Init, ModelConfig};
use cmrm_train::optim::{AdamConfig, OptimiserConfig};
use cmrm_train::schedule::ScheduleConfig;
use cmrm_train::train::{
    Arm, ClassWeights, EpochStats, Examples, Method, Observer, Selection, Silent, TrainConfig, Trainer,
};

use super::judge::judge;
use super::{BinaryCell, LossRow, Phase};
use crate::cell::{Cell, CellConfig, CellResult, Store};
use crate::data::{Split, Table};
use crate::error::Result;
use crate::queue::{Queue, Task};

/// Settings of a training of one phase.
pub(crate) fn model(hidden: &[usize], phase: Phase, seed: u64) -> TrainConfig {
    let head = if hidden.is_empty() { Head::Score } else { Head::Linear };
    TrainConfig {
        model: ModelConfig { hidden: hidden.to_vec(), head, dropout: 0.0, init: Init::Uniform },
        method: Method::Stochastic {
            optimiser: OptimiserConfig::Adam(AdamConfig::default()),
            learning_rate: phase.rate,
            schedule: ScheduleConfig::default(),
            batch_rows: None,
        },
        epochs: phase.steps,
        l2: phase.l2,
        clip: None,
        class_weights: ClassWeights::Equal,
        selection: Selection::Last,
        seed,
        keep_history: false,
    }
}

/// Settings of what follows the fork, and the arm.
pub(crate) fn fork_config(cell: &BinaryCell) -> (TrainConfig, Arm) {
    let arm = Arm { name: "arm".into(), term: cell.term, ..Arm::base(cell.loss) };
    (model(&cell.hidden, cell.phase, cell.seed), arm)
}

/// Rough seconds of a cell on one core at 100 GFLOP/s, for the time that is left.
pub(crate) fn seconds_of(cell: &BinaryCell, rows: usize, width: usize, steps: usize) -> f64 {
    let mut inputs = width;
    let mut parameters = 0;
    for &units in cell.hidden.iter().chain(&[2]) {
        parameters += (inputs + 1) * units;
        inputs = units;
    }
    6.0 * parameters as f64 * rows as f64 * steps as f64 / 1e11 + 1e-3 * steps as f64
}

/// The arms of a loss, data set and seed.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// In words.
    pub label: String,
    /// The loss.
    pub row: LossRow,
    /// The table.
    pub table: Arc<Table>,
    /// Its cells, those with equal settings once.
    pub cells: Vec<Cell>,
    /// Where results go.
    pub store: Store,
}

/// Stops a training at a step.
struct StopAt(usize);

impl Observer<f32> for StopAt {
    fn epoch(&mut self, trainer: &Trainer<'_, f32>, _: &[EpochStats]) -> cmrm_train::Result<ControlFlow<()>> {
        Ok(if trainer.epochs_done() >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

impl Group {
    /// The cells whose results are missing.
    pub fn missing(&self) -> Vec<&Cell> {
        self.cells.iter().filter(|cell| !self.store.has(cell)).collect()
    }

    /// Rough seconds of what is missing, the shared steps once.
    pub fn cost(&self) -> f64 {
        let missing = self.missing();
        let forks = missing.iter().filter(|cell| self.binary(cell).is_some_and(|cell| !self.on_trunk(cell)));
        forks.map(|cell| self.seconds_of_cell(cell)).sum::<f64>() + self.trunk_cost()
    }

    /// Rough seconds of the task that trains the shared steps.
    fn trunk_cost(&self) -> f64 {
        let missing = self.missing();
        let needed = missing.iter().filter_map(|cell| self.binary(cell)).map(|cell| match cell.warm {
            Some(warm) => warm.steps,
            None if self.on_trunk(cell) => cell.phase.steps,
            None => 0,
        });
        let steps = needed.max().unwrap_or(0);
        missing.iter().find_map(|cell| self.binary(cell)).map_or(0.0, |cell| self.seconds(cell, steps))
    }

    fn seconds(&self, cell: &BinaryCell, steps: usize) -> f64 {
        seconds_of(cell, self.table.rows() / 2, self.table.width(), steps)
    }

    fn binary<'a>(&self, cell: &'a Cell) -> Option<&'a BinaryCell> {
        match &cell.config {
            CellConfig::Binary(cell) => Some(cell),
            CellConfig::Probe(_) | CellConfig::Figures(_) => None,
        }
    }

    /// Whether a base arm's first steps are those before the fork.
    fn on_trunk(&self, cell: &BinaryCell) -> bool {
        let warm = self.row.warm;
        cell.warm.is_none()
            && (cell.phase.rate, cell.phase.l2) == (warm.rate, warm.l2)
            && cell.phase.steps >= warm.steps
    }

    /// Trains what is missing: the shared steps here, then the arms that fork off as tasks of their own.
    pub fn task(self: Arc<Self>) -> Task {
        let label = format!("{} up to the fork", self.label);
        Task::new(label, self.trunk_cost(), move |queue| self.clone().begin(queue))
    }

    fn begin(self: Arc<Self>, queue: &Queue<'_>) -> Result<()> {
        let missing: Vec<Cell> = self.missing().into_iter().cloned().collect();
        let Some(first) = missing.iter().find_map(|cell| self.binary(cell)) else { return Ok(()) };
        let split = Arc::new(self.table.split(first.noise, first.seed)?);
        let (forks, bases): (Vec<Cell>, Vec<Cell>) =
            missing.into_iter().partition(|cell| self.binary(cell).is_some_and(|cell| cell.warm.is_some()));
        let (shared, alone): (Vec<Cell>, Vec<Cell>) =
            bases.into_iter().partition(|cell| self.binary(cell).is_some_and(|cell| self.on_trunk(cell)));
        for cell in alone {
            let (group, split) = (self.clone(), split.clone());
            let label = format!("{}, base arm with a rate of its own", self.label);
            queue.next(Task::new(label, self.seconds_of_cell(&cell), move |_| group.train(&cell, &split, None)));
        }
        self.trunk(queue, split, forks, shared)
    }

    fn seconds_of_cell(&self, cell: &Cell) -> f64 {
        self.binary(cell).map_or(0.0, |binary| self.seconds(binary, binary.phase.steps))
    }

    /// The base loss up to the fork, where the others are handed on, and then as far as the base arms go.
    fn trunk(
        self: &Arc<Self>,
        queue: &Queue<'_>,
        split: Arc<Split>,
        forks: Vec<Cell>,
        mut shared: Vec<Cell>,
    ) -> Result<()> {
        let steps_of = |cell: &Cell| self.binary(cell).map_or(0, |cell| cell.phase.steps);
        shared.sort_by_key(steps_of);
        let fork_at = if forks.is_empty() { 0 } else { self.row.warm.steps };
        let most = shared.last().map_or(0, steps_of).max(fork_at);
        let Some(seed) = self.cells.first().and_then(|cell| self.binary(cell)).map(|cell| cell.seed) else {
            return Ok(());
        };
        if most == 0 {
            return Ok(());
        }
        let config = model(&self.row.hidden, Phase { steps: most, ..self.row.warm }, seed);
        let examples = Examples::new(split.x()?, &split.observed);
        let mut since = Instant::now();
        let mut trainer = Trainer::new(config, vec![Arm::base(self.row.loss)], 2, examples, None)?;
        let mut stops: Vec<usize> = shared.iter().map(steps_of).chain((fork_at > 0).then_some(fork_at)).collect();
        stops.sort_unstable();
        stops.dedup();
        for stop in stops {
            trainer.run(&mut StopAt(stop))?;
            for cell in shared.iter().filter(|cell| steps_of(cell) == stop) {
                let metrics = judge(&trainer.current_model(0)?, &split, seed)?;
                self.store.write(cell, &CellResult::new(cell, metrics, since.elapsed()))?;
                since = Instant::now();
            }
            if stop == fork_at {
                let parameters = Arc::new(trainer.parameters_of(0));
                for cell in forks.iter().rev() {
                    let (group, cell, split, parameters) =
                        (self.clone(), cell.clone(), split.clone(), parameters.clone());
                    let label = format!("{}, {}", self.label, cell.label());
                    let cost = self.seconds_of_cell(&cell);
                    queue.next(Task::new(label, cost, move |_| group.train(&cell, &split, Some(&parameters))));
                }
            }
        }
        Ok(())
    }

    /// Trains one cell, from given parameters or from its seed.
    fn train(&self, cell: &Cell, split: &Split, from: Option<&[f32]>) -> Result<()> {
        // A trunk that failed after its fork is trained again and hands out its arms again.
        let Some(binary) = self.binary(cell).filter(|_| !self.store.has(cell)) else { return Ok(()) };
        let start = Instant::now();
        let (config, arm) = fork_config(binary);
        let examples = Examples::new(split.x()?, &split.observed);
        let mut trainer = Trainer::new(config, vec![arm], 2, examples, None)?;
        if let Some(from) = from {
            trainer = trainer.starting_from(from)?;
        }
        trainer.run(&mut Silent)?;
        let metrics = judge(&trainer.current_model(0)?, split, binary.seed)?;
        self.store.write(cell, &CellResult::new(cell, metrics, start.elapsed()))
    }
}
