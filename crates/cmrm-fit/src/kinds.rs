//! The settings that are one of a few names.

use serde::{Deserialize, Serialize};

/// Which model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// Several learners, chosen by out-of-sample observed labels, that vote.
    Auto,
    /// Random forest.
    Forest,
    /// Gradient boosting on trees.
    Boosting,
    /// Kernel machine.
    Kernel,
    /// Neural network: hidden layers with ReLU.
    Mlp,
    /// Linear softmax.
    Linear,
    /// Linear support vector machine, for two classes.
    Svm,
    /// Cosine of features and class vectors.
    Cosine,
}

impl ModelKind {
    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            ModelKind::Auto => "auto",
            ModelKind::Forest => "forest",
            ModelKind::Boosting => "boosting",
            ModelKind::Kernel => "kernel",
            ModelKind::Mlp => "mlp",
            ModelKind::Linear => "linear",
            ModelKind::Svm => "svm",
            ModelKind::Cosine => "cosine",
        }
    }

    /// Whether it is a vote of learners that out-of-sample probabilities judge, rather than one network or linear model
    /// trained in epochs. A forest is a vote of one learner.
    pub fn is_vote(self) -> bool {
        matches!(self, ModelKind::Auto | ModelKind::Forest | ModelKind::Boosting | ModelKind::Kernel)
    }
}

/// Learners of one kind, which a vote trains together since they share work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum LearnerKind {
    /// Linear models.
    Linear,
    /// Random forests.
    Forest,
    /// Nearest neighbours.
    Neighbours,
    /// Kernel machines.
    Kernel,
    /// Gradient boosting.
    Boosting,
    /// Networks.
    Network,
}

impl LearnerKind {
    /// All of them, those first that say most in little time.
    pub const ALL: [LearnerKind; 6] = [
        LearnerKind::Linear,
        LearnerKind::Forest,
        LearnerKind::Neighbours,
        LearnerKind::Kernel,
        LearnerKind::Boosting,
        LearnerKind::Network,
    ];

    /// Its name in settings and reports.
    pub fn name(self) -> &'static str {
        match self {
            LearnerKind::Linear => "linear",
            LearnerKind::Forest => "forest",
            LearnerKind::Neighbours => "neighbours",
            LearnerKind::Kernel => "kernel",
            LearnerKind::Boosting => "boosting",
            LearnerKind::Network => "network",
        }
    }
}

/// Which optimiser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum OptimiserKind {
    /// Adam.
    Adam,
    /// Adam with decay apart from the gradient.
    Adamw,
    /// Gradient descent with momentum 0.9.
    Sgd,
    /// L-BFGS on all rows at once.
    Lbfgs,
}

/// In which order rows are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowOrder {
    /// As they stand in the data.
    #[default]
    Given,
    /// By what they hold: the same rows in another order give the same bits.
    Content,
}

/// Whose epoch's model is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// The last epoch's.
    Last,
    /// The epoch's with the best accuracy on the observed labels of the validation rows.
    Best,
}
