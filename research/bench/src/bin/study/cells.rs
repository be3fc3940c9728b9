//! The cells of the study, and the order they run in: any beginning of it is spread evenly over all settings.

use std::ops::Range;

use cmrm::loss::LossConfig;
use cmrm::rng::Rng;
use cmrm_bench::Result;
use cmrm_bench::sets::Set;
use cmrm_fit::ModelKind;

/// Base losses, by the names and with the settings that the command knows.
pub const LOSSES: [&str; 4] = ["cross-entropy", "gce", "sce", ELR];
/// Its targets move, which L-BFGS cannot follow: for the network only.
const ELR: &str = "elr";
/// What stands for 40 % where there are two classes: with half of them wrong their labels say nothing, with 40 % hardly
/// anything.
pub const TWO_CLASS_RATE: f64 = 0.35;
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

/// All arms on the same rows.
pub struct Cell<'a> {
    pub set: &'a Set,
    pub model: ModelKind,
    pub noise: Noise,
    pub rate: f64,
    pub loss: LossConfig,
    pub seed: u64,
}

/// A model's name in results.
pub fn model_name(model: ModelKind) -> &'static str {
    if model == ModelKind::Linear { "linear" } else { "network" }
}

/// Whether a model is trained with a loss.
pub fn has_loss(model: &str, loss: &str) -> bool {
    model != "linear" || loss != ELR
}

impl Cell<'_> {
    /// What tells a cell from every other, as it is written in the results.
    pub fn key(&self) -> String {
        let (set, model, noise) = (self.set.name, model_name(self.model), self.noise.name());
        format!("{set}/{model}/{noise}/{}/{}/{}", self.rate, self.loss.name(), self.seed)
    }
}

/// All cells in the order they run: seed by seed, settings shuffled so that no set and no kind of noise comes first, and the
/// losses of a setting together, since they are compared.
pub fn cells<'a>(sets: &'a [Set], seeds: Range<u64>, losses: &[String]) -> Result<Vec<Cell<'a>>> {
    let losses = losses.iter().map(|loss| loss.parse()).collect::<std::result::Result<Vec<LossConfig>, _>>()?;
    let mut cells = Vec::new();
    for seed in seeds {
        let mut settings: Vec<_> = sets.iter().flat_map(settings).collect();
        Rng::new(seed, ORDER_STREAM).shuffle(&mut settings);
        for (set, model, noise, rate) in settings {
            let of_model = losses.iter().filter(|loss| has_loss(model_name(model), loss.name()));
            cells.extend(of_model.map(|&loss| Cell { set, model, noise, rate, loss, seed }));
        }
    }
    Ok(cells)
}

/// Every model with every noise.
fn settings(set: &Set) -> Vec<(&Set, ModelKind, Noise, f64)> {
    let most = if set.classes == 2 { TWO_CLASS_RATE } else { 0.4 };
    let mut noises = vec![
        (Noise::Clean, 0.0),
        (Noise::Symmetric, 0.2),
        (Noise::Symmetric, most),
        (Noise::Pair, 0.2),
        (Noise::Instance, 0.2),
        (Noise::Instance, most),
    ];
    noises.extend(set.human.iter().map(|(variant, _)| (Noise::Human(variant), 0.0)));
    let with = |model| noises.iter().map(move |&(noise, rate)| (set, model, noise, rate));
    [ModelKind::Mlp, ModelKind::Linear].into_iter().flat_map(with).collect()
}
