//! The cells of the study, and the order they run in: any beginning of it is spread evenly over all settings.

use std::ops::Range;

use cmrm::loss::LossConfig;
use cmrm::rng::Rng;
use cmrm_bench::sets::Set;
use serde::{Deserialize, Serialize};

/// Seeds of every setting with cross-entropy.
pub const SEEDS: u64 = 5;
const ORDER_STREAM: u64 = 0x0cde;

/// How labels go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    Clean,
    Symmetric,
    Pair,
    Instance,
    Human(&'static str),
}

impl Noise {
    pub fn name(self) -> &'static str {
        match self {
            Noise::Clean => "clean",
            Noise::Symmetric => "symmetric",
            Noise::Pair => "pair",
            Noise::Instance => "instance",
            Noise::Human(variant) => variant,
        }
    }
}

/// Which model, with its recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    Linear,
    Mlp,
}

/// One training of all arms.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Index among the sets that are loaded.
    pub set: usize,
    pub model: Model,
    pub noise: Noise,
    pub rate: f64,
    pub loss: LossConfig,
    pub seed: u64,
}

impl Cell {
    /// What tells a cell from every other, as it is written in the results.
    pub fn key(&self, sets: &[Set]) -> String {
        let model = if self.model == Model::Linear { "linear" } else { "mlp" };
        let (set, noise) = (sets[self.set].name, self.noise.name());
        format!("{set}/{model}/{noise}/{}/{}/{}", self.rate, self.loss.name(), self.seed)
    }
}

/// All cells in the order they run: cross-entropy first, the other losses as soon as it has been seen twice.
pub fn cells(sets: &[Set], seeds: Range<u64>, losses: Option<&[String]>) -> Vec<Cell> {
    let ce = LossConfig::CrossEntropy;
    let others = [LossConfig::Gce { q: 0.7 }, LossConfig::Focal { gamma: 2.0 }];
    let mut rounds: Vec<(LossConfig, u64)> = Vec::new();
    for seed in seeds.clone() {
        rounds.push((ce, seed));
        if seed > seeds.start {
            rounds.extend(others.map(|loss| (loss, seed - 1)));
        }
    }
    rounds.extend(seeds.last().into_iter().flat_map(|seed| others.map(|loss| (loss, seed))));
    let wanted = |loss: &LossConfig| losses.is_none_or(|names| names.iter().any(|name| name == loss.name()));
    rounds.into_iter().filter(|(loss, _)| wanted(loss)).flat_map(|(loss, seed)| round(sets, loss, seed)).collect()
}

/// Every setting once, shuffled so that no set and no kind of noise comes first.
fn round(sets: &[Set], loss: LossConfig, seed: u64) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (set, data) in sets.iter().enumerate() {
        for model in [Model::Linear, Model::Mlp] {
            let mut push = |noise, rate| cells.push(Cell { set, model, noise, rate, loss, seed });
            push(Noise::Clean, 0.0);
            for rate in [0.1, 0.2, 0.4] {
                [Noise::Symmetric, Noise::Pair, Noise::Instance].into_iter().for_each(|noise| push(noise, rate));
            }
            data.human.iter().for_each(|(variant, _)| push(Noise::Human(variant), 0.0));
        }
    }
    Rng::new(seed, ORDER_STREAM).shuffle(&mut cells);
    cells
}
