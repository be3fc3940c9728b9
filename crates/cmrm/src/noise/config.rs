//! Noise as a choice: one line of text in a command or a file, applied to labels.

use serde::{Deserialize, Serialize};

use super::class_map::check_transitions;
use super::{
    ClassMap, NoisyLabels, Rate, RateOf, Superclasses, TransitionMatrix, binary_flip, circular, class_map,
    instance_dependent, superclass, symmetric, transition,
};
use crate::error::{Error, Result, check_length};
use crate::matrix::Matrix;
use crate::rows::Rows;

/// A kind of noise with its parameters.
///
/// Its text form is the same everywhere, on the command line ([`std::str::FromStr`]), in files (serde) and in reports
/// ([`std::fmt::Display`]):
///
/// | text | noise |
/// |---|---|
/// | `symmetric:0.4` | [`symmetric`] |
/// | `circular:0.4` | [`circular`] |
/// | `superclass:0.2` | [`superclass`], with the data's own coarse classes |
/// | `blocks-of-five:0.2` | [`superclass`] with [`Superclasses::blocks_of_five`], for comparison only |
/// | `class-map:0.4:3-5,5-3` | [`class_map`], 3 to 5 and 5 to 3 |
/// | `cifar10-pairs:0.4` | [`class_map`] with [`ClassMap::cifar10`] |
/// | `cifar10-pairs-without-deer:0.4` | [`class_map`] with [`ClassMap::cifar10_without_deer`] |
/// | `matrix:0.9,0.1/0.2,0.8` | [`transition`], rows divided by `/` |
/// | `binary-flip:0.2` | [`binary_flip`] |
/// | `instance:0.3` | [`instance_dependent`] |
///
/// The three class maps take `:eligible` at the end, for [`RateOf::EligibleRows`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum NoiseConfig {
    /// Any other class.
    Symmetric {
        /// Share of rows.
        rate: Rate,
    },
    /// The next class.
    Circular {
        /// Share of rows.
        rate: Rate,
    },
    /// Another class of the same coarse class; [`NoiseContext::superclasses`] is needed.
    Superclass {
        /// Share of rows.
        rate: Rate,
    },
    /// Another class of the same five consecutive ones.
    BlocksOfFive {
        /// Share of rows.
        rate: Rate,
    },
    /// Along given transitions.
    ClassMap {
        /// Share of rows.
        rate: Rate,
        /// Of which rows.
        of: RateOf,
        /// `(from, to)`.
        transitions: Vec<(u32, u32)>,
    },
    /// Along the CIFAR-10 transitions of the method.
    Cifar10Pairs {
        /// Share of rows.
        rate: Rate,
        /// Of which rows.
        of: RateOf,
    },
    /// Along the CIFAR-10 transitions of the authors' code.
    Cifar10PairsWithoutDeer {
        /// Share of rows.
        rate: Rate,
        /// Of which rows.
        of: RateOf,
    },
    /// From a K×K matrix of probabilities.
    Matrix {
        /// The probabilities of the observed classes, for every true class.
        rows: Vec<Vec<f64>>,
    },
    /// 0 to 1 and 1 to 0.
    BinaryFlip {
        /// Share of rows.
        rate: Rate,
    },
    /// By the features; [`NoiseContext::features`] is needed.
    Instance {
        /// Share of rows.
        rate: Rate,
    },
}

/// What is known of the data besides its labels.
#[derive(Debug, Clone, Copy)]
pub struct NoiseContext<'a> {
    /// Number of classes.
    pub classes: usize,
    /// Which classes belong together, where the data says so.
    pub superclasses: Option<&'a Superclasses>,
    /// The features, a row per label, where there are any.
    pub features: Option<Rows<'a, f32>>,
}

impl<'a> NoiseContext<'a> {
    /// Knows the number of classes and nothing else, which is enough for all but superclass and instance noise.
    pub fn new(classes: usize) -> Self {
        NoiseContext { classes, superclasses: None, features: None }
    }

    /// Adds which classes belong together.
    pub fn with_superclasses(self, superclasses: &'a Superclasses) -> Self {
        NoiseContext { superclasses: Some(superclasses), ..self }
    }

    /// Adds the features.
    pub fn with_features(self, features: impl Into<Rows<'a, f32>>) -> Self {
        NoiseContext { features: Some(features.into()), ..self }
    }
}

impl NoiseConfig {
    /// Checks what can be checked before the data is there. Text that was parsed has passed already.
    pub fn check(&self) -> Result<()> {
        match self {
            NoiseConfig::ClassMap { transitions, .. } => check_transitions(transitions),
            NoiseConfig::Matrix { rows } => matrix_of(rows).map(drop),
            _ => Ok(()), // a rate is checked by its type
        }
    }

    /// The rate, for the kinds that have one.
    pub fn rate(&self) -> Option<Rate> {
        match self {
            NoiseConfig::Symmetric { rate }
            | NoiseConfig::Circular { rate }
            | NoiseConfig::Superclass { rate }
            | NoiseConfig::BlocksOfFive { rate }
            | NoiseConfig::ClassMap { rate, .. }
            | NoiseConfig::Cifar10Pairs { rate, .. }
            | NoiseConfig::Cifar10PairsWithoutDeer { rate, .. }
            | NoiseConfig::BinaryFlip { rate }
            | NoiseConfig::Instance { rate } => Some(*rate),
            NoiseConfig::Matrix { .. } => None,
        }
    }

    /// Makes the noise, on the training labels.
    pub fn apply(&self, labels: &[u32], context: &NoiseContext<'_>, seed: u64) -> Result<NoisyLabels> {
        let classes = context.classes;
        match self {
            NoiseConfig::Symmetric { rate } => symmetric(labels, classes, *rate, seed),
            NoiseConfig::Circular { rate } => circular(labels, classes, *rate, seed),
            NoiseConfig::Superclass { rate } => {
                let groups = context.superclasses.ok_or_else(|| missing("superclass noise", "coarse classes"))?;
                check_length("classes of the superclasses", classes, groups.classes())?;
                superclass(labels, groups, *rate, seed)
            }
            NoiseConfig::BlocksOfFive { rate } => {
                superclass(labels, &Superclasses::blocks_of_five(classes)?, *rate, seed)
            }
            NoiseConfig::ClassMap { rate, of, transitions } => {
                class_map(labels, &ClassMap::new(classes, transitions)?, *rate, *of, seed)
            }
            NoiseConfig::Cifar10Pairs { rate, of } => {
                check_length("classes for the CIFAR-10 pairs", 10, classes)?;
                class_map(labels, &ClassMap::cifar10(), *rate, *of, seed)
            }
            NoiseConfig::Cifar10PairsWithoutDeer { rate, of } => {
                check_length("classes for the CIFAR-10 pairs", 10, classes)?;
                class_map(labels, &ClassMap::cifar10_without_deer(), *rate, *of, seed)
            }
            NoiseConfig::Matrix { rows } => {
                let matrix = matrix_of(rows)?;
                check_length("classes for the transition matrix", matrix.classes(), classes)?;
                transition(labels, &matrix, seed)
            }
            NoiseConfig::BinaryFlip { rate } => {
                check_length("classes for a binary flip", 2, classes)?;
                binary_flip(labels, *rate, seed)
            }
            NoiseConfig::Instance { rate } => {
                let features = context.features.ok_or_else(|| missing("instance-dependent noise", "features"))?;
                instance_dependent(labels, classes, features, *rate, seed)
            }
        }
    }
}

fn missing(what: &'static str, needed: &str) -> Error {
    Error::Invalid {
        what,
        reason: format!("it needs {needed}, which the data does not have; choose another kind, such as symmetric:0.2"),
    }
}

fn matrix_of(rows: &[Vec<f64>]) -> Result<TransitionMatrix> {
    if rows.is_empty() {
        return Err(Error::Empty { what: "the transition matrix" });
    }
    if let Some(row) = rows.iter().position(|row| row.len() != rows.len()) {
        return Err(Error::Invalid {
            what: "transition matrix",
            reason: format!(
                "row {row} has {} numbers, but there are {} rows; the matrix must be square",
                rows[row].len(),
                rows.len()
            ),
        });
    }
    TransitionMatrix::new(Matrix::new(&rows.concat(), rows.len())?)
}
