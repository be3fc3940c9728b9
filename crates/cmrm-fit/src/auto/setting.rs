//! The learners that may vote, and the settings that each is tried with.

use cmrm::OwnedRows;
use cmrm::loss::{Elr, Gce, LossConfig, Sce};
use cmrm_data::Dataset;
use cmrm_data::preprocess::Preprocess;

use super::scaling::Scaling;
use crate::config::FitConfig;
use crate::kinds::{LearnerKind, ModelKind};
use crate::penalty::STRENGTHS_OF_SPARSE;
use crate::prepare::Prepared;

/// Rows up to which everything is tried; with more of them, time counts and settings matter less.
const SMALL: usize = 20_000;
/// Most codes, over rows, columns, trees and folds, that boosting reads at the roots of its trees: about half a minute of one
/// core.
const MOST_CODES: usize = 1_500_000_000;
/// Widths and penalties of kernel machines.
const GAMMAS: [f64; 4] = [0.06, 0.25, 1.0, 4.0];
/// Most pairs of sparse rows share no word: all lie at the same distance, and narrower kernels would tell nothing apart.
const SPARSE_GAMMAS: [f64; 2] = [0.12, 0.5];
pub(super) const RIDGES: [f64; 4] = [0.01, 0.1, 1.0, 10.0];
/// Penalties of linear models on dense rows.
const STRENGTHS: [f64; 5] = [1000.0, 100.0, 10.0, 1.0, 0.1];
/// Base losses of linear models and networks, cross-entropy first.
const LINEAR_LOSSES: [LossConfig; 3] = [LossConfig::CrossEntropy, SCE, GCE];
const NETWORK_LOSSES: [LossConfig; 3] = [LossConfig::CrossEntropy, GCE, ELR];
const GCE: LossConfig = LossConfig::Gce { q: Gce::DEFAULT_Q };
const SCE: LossConfig = LossConfig::Sce { alpha: Sce::DEFAULT_ALPHA, beta: Sce::DEFAULT_BETA };
const ELR: LossConfig = LossConfig::Elr { lambda: Elr::DEFAULT_LAMBDA, beta: Elr::DEFAULT_BETA };
const FOLDS: usize = 5;
const FEWER_FOLDS: usize = 3;

/// One learner with its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Setting {
    /// A linear model at its optimum; the penalty against the sum of the losses, scikit-learn's 1/C.
    Linear {
        /// The base loss.
        loss: LossConfig,
        /// The penalty.
        strength: f64,
    },
    /// The network of `--model mlp`, with its envelope.
    Network {
        /// The base loss.
        loss: LossConfig,
    },
    /// A random forest.
    Forest {
        /// Fewest rows of a leaf.
        min_leaf: usize,
    },
    /// Gradient boosting.
    Boosting {
        /// Rounds.
        rounds: usize,
    },
    /// Nearest neighbours.
    Neighbours {
        /// The columns that rows are compared by.
        scaling: Scaling,
        /// How many.
        count: usize,
    },
    /// A kernel machine.
    Kernel {
        /// The columns that rows are compared by.
        scaling: Scaling,
        /// γ, as a multiple of one over the variance of a row.
        gamma: f64,
        /// The penalty.
        ridge: f64,
    },
}

impl LearnerKind {
    /// Those that vote: the ones that the settings name, or else all that suit the rows.
    pub(super) fn on(config: &FitConfig, rows: &Prepared) -> Vec<LearnerKind> {
        let named = match config.model() {
            ModelKind::Forest => Some(&[LearnerKind::Forest][..]),
            ModelKind::Boosting => Some(&[LearnerKind::Boosting][..]),
            ModelKind::Kernel => Some(&[LearnerKind::Kernel][..]),
            _ => config.learners.as_deref(),
        };
        let votes = |kind: &LearnerKind| match named {
            Some(named) => named.contains(kind),
            None => kind.suits(&rows.train.data, &rows.preprocess),
        };
        LearnerKind::ALL.into_iter().filter(votes).collect()
    }

    /// Whether it is worth its time on these rows. Words are many, and each says little: trees, which ask for one at a time, and
    /// networks, which learn rare ones by heart, have little to add to linear models and kernels there.
    fn suits(self, data: &Dataset, preprocess: &Preprocess) -> bool {
        match self {
            LearnerKind::Linear | LearnerKind::Kernel | LearnerKind::Neighbours => true,
            LearnerKind::Forest | LearnerKind::Boosting => {
                matches!(data.features, OwnedRows::Dense { .. }) || preprocess.has_other_than_words()
            }
            LearnerKind::Network => matches!(data.features, OwnedRows::Dense { .. }),
        }
    }

    /// The settings to try on these rows, where they can be read in these ways.
    pub(super) fn settings(self, config: &FitConfig, data: &Dataset, scalings: &[Scaling]) -> Vec<Setting> {
        // Among all kinds of learners the others say more in the same time.
        let named = config.learners.is_some();
        let small = data.len() <= SMALL;
        let sparse = matches!(data.features, OwnedRows::Sparse(_));
        match self {
            LearnerKind::Linear => {
                let strengths = if sparse { &STRENGTHS_OF_SPARSE[..] } else { &STRENGTHS };
                let with =
                    |&loss: &LossConfig| strengths.iter().map(move |&strength| Setting::Linear { loss, strength });
                losses(&LINEAR_LOSSES, named).iter().flat_map(with).collect()
            }
            LearnerKind::Network => {
                losses(&NETWORK_LOSSES, named).iter().map(|&loss| Setting::Network { loss }).collect()
            }
            LearnerKind::Neighbours if !small => Vec::new(),
            LearnerKind::Neighbours => {
                let one = |&scaling: &Scaling| [5, 15, 40].map(|count| Setting::Neighbours { scaling, count });
                scalings.iter().flat_map(one).collect()
            }
            LearnerKind::Forest => {
                let leaves: &[usize] = if small { &[1, 3, 10] } else { &[5] };
                leaves.iter().map(|&min_leaf| Setting::Forest { min_leaf }).collect()
            }
            LearnerKind::Boosting => {
                let mut rounds = vec![15, 30, 60, 100];
                rounds.retain(|&rounds| rounds == 15 || codes_read(data, rounds) <= MOST_CODES);
                rounds.into_iter().map(|rounds| Setting::Boosting { rounds }).collect()
            }
            LearnerKind::Kernel => {
                let of_width = |scaling, gamma| RIDGES.map(|ridge| Setting::Kernel { scaling, gamma, ridge });
                let gammas = if sparse { &SPARSE_GAMMAS[..] } else { &GAMMAS };
                let of_scaling = |&scaling: &Scaling| gammas.iter().flat_map(move |&gamma| of_width(scaling, gamma));
                scalings.iter().flat_map(of_scaling).collect()
            }
        }
    }
}

impl Setting {
    /// Its kind.
    pub fn kind(self) -> LearnerKind {
        match self {
            Setting::Linear { .. } => LearnerKind::Linear,
            Setting::Network { .. } => LearnerKind::Network,
            Setting::Forest { .. } => LearnerKind::Forest,
            Setting::Boosting { .. } => LearnerKind::Boosting,
            Setting::Kernel { .. } => LearnerKind::Kernel,
            Setting::Neighbours { .. } => LearnerKind::Neighbours,
        }
    }

    /// In reports.
    pub fn name(self) -> String {
        let kind = self.kind().name();
        match self {
            Setting::Linear { loss, strength } => format!("{kind}{}, penalty {strength}", of_loss(loss)),
            Setting::Network { loss } => format!("{kind}{}", of_loss(loss)),
            Setting::Forest { min_leaf } => format!("{kind}, leaves of {min_leaf}"),
            Setting::Boosting { rounds } => format!("{kind}, {rounds} rounds"),
            Setting::Neighbours { scaling, count } => format!("{count} {kind}{}", words(scaling)),
            Setting::Kernel { scaling, gamma, ridge } => {
                format!("{kind}, width {gamma}, ridge {ridge}{}", words(scaling))
            }
        }
    }

    /// The columns that rows are compared by; learners that do not compare rows do not care.
    pub fn scaling(self) -> Scaling {
        match self {
            Setting::Neighbours { scaling, .. } | Setting::Kernel { scaling, .. } => scaling,
            _ => Scaling::Standard,
        }
    }
}

/// How many codes boosting of so many rounds reads at the roots of its trees, in all folds.
pub(super) fn codes_read(data: &Dataset, rounds: usize) -> usize {
    let trees = if data.classes.len() == 2 { 1 } else { data.classes.len() };
    let factors = [data.width(), trees, folds(data.len()), rounds];
    factors.iter().fold(data.len(), |codes, &by| codes.saturating_mul(by))
}

/// The first of the losses, or all of them where the user has named the kind.
fn losses(all: &[LossConfig], named: bool) -> &[LossConfig] {
    if named { all } else { &all[..1] }
}

/// Cross-entropy goes without saying.
fn of_loss(loss: LossConfig) -> String {
    if loss == LossConfig::CrossEntropy { String::new() } else { format!(", {}", loss.name()) }
}

fn words(scaling: Scaling) -> &'static str {
    match scaling {
        Scaling::Standard => "",
        Scaling::AsGiven => ", columns as given",
    }
}

/// Folds for so many rows: with many, fewer models that see fewer of them are as good, and twice as fast.
pub(super) fn folds(rows: usize) -> usize {
    if rows > SMALL { FEWER_FOLDS } else { FOLDS.min(rows / 2).max(2) }
}
