//! The learners that may vote, and the settings that each is tried with.

use cmrm::OwnedRows;
use cmrm_data::Dataset;
use cmrm_data::preprocess::Preprocess;

use super::scaling::Scaling;
use crate::kinds::ModelKind;
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
const FOLDS: usize = 5;
const FEWER_FOLDS: usize = 3;

/// One learner with its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Setting {
    /// A linear model at its optimum; the penalty against the sum of the losses, scikit-learn's 1/C.
    Linear {
        /// The penalty.
        strength: f64,
    },
    /// The network of `--model mlp`, with its envelope.
    Network,
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

/// Learners of one kind, trained together since they share work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Linear models.
    Linear,
    /// Gradient boosting.
    Boosting,
    /// Random forests.
    Forest,
    /// Kernel machines.
    Kernel,
    /// Nearest neighbours.
    Neighbours,
    /// Networks.
    Network,
}

impl Family {
    /// All of them, those first that say most in little time.
    pub const ALL: [Family; 6] =
        [Family::Linear, Family::Forest, Family::Neighbours, Family::Kernel, Family::Boosting, Family::Network];

    /// Those that a model of the settings votes with: of all, those that suit the rows; one that is named always.
    pub fn on(model: ModelKind, rows: &Prepared) -> Vec<Family> {
        match model {
            ModelKind::Forest => vec![Family::Forest],
            ModelKind::Boosting => vec![Family::Boosting],
            ModelKind::Kernel => vec![Family::Kernel],
            _ => Family::ALL.into_iter().filter(|family| family.suits(&rows.train.data, &rows.preprocess)).collect(),
        }
    }

    /// In reports.
    pub fn name(self) -> &'static str {
        match self {
            Family::Linear => "linear",
            Family::Boosting => "boosting",
            Family::Forest => "forest",
            Family::Kernel => "kernel",
            Family::Neighbours => "neighbours",
            Family::Network => "network",
        }
    }

    /// Whether it is worth its time on these rows. Words are many, and each says little: trees, which ask for one at a time, and
    /// networks, which learn rare ones by heart, have little to add to linear models and kernels there.
    fn suits(self, data: &Dataset, preprocess: &Preprocess) -> bool {
        match self {
            Family::Linear | Family::Kernel | Family::Neighbours => true,
            Family::Forest | Family::Boosting => {
                matches!(data.features, OwnedRows::Dense { .. }) || preprocess.has_other_than_words()
            }
            Family::Network => matches!(data.features, OwnedRows::Dense { .. }),
        }
    }

    /// The settings to try on these rows, where they can be read in these ways.
    pub fn settings(self, data: &Dataset, scalings: &[Scaling]) -> Vec<Setting> {
        let small = data.len() <= SMALL;
        let sparse = matches!(data.features, OwnedRows::Sparse(_));
        match self {
            Family::Linear if sparse => STRENGTHS_OF_SPARSE.map(|strength| Setting::Linear { strength }).to_vec(),
            Family::Linear => [1000.0, 100.0, 10.0, 1.0, 0.1].map(|strength| Setting::Linear { strength }).to_vec(),
            Family::Network => vec![Setting::Network],
            Family::Neighbours if !small => Vec::new(),
            Family::Neighbours => {
                let one = |&scaling: &Scaling| [5, 15, 40].map(|count| Setting::Neighbours { scaling, count });
                scalings.iter().flat_map(one).collect()
            }
            Family::Forest => {
                let leaves: &[usize] = if small { &[1, 3, 10] } else { &[5] };
                leaves.iter().map(|&min_leaf| Setting::Forest { min_leaf }).collect()
            }
            Family::Boosting => {
                let mut rounds = vec![15, 30, 60, 100];
                rounds.retain(|&rounds| rounds == 15 || codes_read(data, rounds) <= MOST_CODES);
                rounds.into_iter().map(|rounds| Setting::Boosting { rounds }).collect()
            }
            Family::Kernel => {
                let of_width = |scaling, gamma| RIDGES.map(|ridge| Setting::Kernel { scaling, gamma, ridge });
                let gammas = if sparse { &SPARSE_GAMMAS[..] } else { &GAMMAS };
                let of_scaling = |&scaling: &Scaling| gammas.iter().flat_map(move |&gamma| of_width(scaling, gamma));
                scalings.iter().flat_map(of_scaling).collect()
            }
        }
    }
}

impl Setting {
    /// Its family.
    pub fn family(self) -> Family {
        match self {
            Setting::Linear { .. } => Family::Linear,
            Setting::Network => Family::Network,
            Setting::Forest { .. } => Family::Forest,
            Setting::Boosting { .. } => Family::Boosting,
            Setting::Kernel { .. } => Family::Kernel,
            Setting::Neighbours { .. } => Family::Neighbours,
        }
    }

    /// In reports.
    pub fn name(self) -> String {
        let family = self.family().name();
        match self {
            Setting::Linear { strength } => format!("{family}, penalty {strength}"),
            Setting::Network => family.into(),
            Setting::Forest { min_leaf } => format!("{family}, leaves of {min_leaf}"),
            Setting::Boosting { rounds } => format!("{family}, {rounds} rounds"),
            Setting::Neighbours { scaling, count } => format!("{count} {family}{}", words(scaling)),
            Setting::Kernel { scaling, gamma, ridge } => {
                format!("{family}, width {gamma}, ridge {ridge}{}", words(scaling))
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
