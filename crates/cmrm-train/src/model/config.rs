//! The parameters of a model: hidden layers, head, dropout and initial weights.

use cmrm::error::check_parameter;
use serde::{Deserialize, Serialize};

use crate::checked::Checked;
use crate::error::Result;

/// What stands on top of the hidden layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Head {
    /// One logit a class, `W h + b`.
    Linear,
    /// One logit a class, the cosine between `h` and the class's weight vector; no bias (for LDAM).
    Cosine,
    /// One score for two classes (the linear SVM); class 0 has the logit 0, class 1 the score.
    Score,
}

/// How weights start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// Normal with variance `2 / inputs` under a ReLU and `1 / inputs` in the head; biases zero.
    Kaiming,
    /// Uniform within `±1/√inputs`, weights and biases alike: the default of PyTorch's linear layers.
    Uniform,
    /// All zero; only for models without hidden layers, whose layers would otherwise stay equal forever.
    Zeros,
}

/// A model as written in a configuration file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Widths of the hidden layers; none is a linear model.
    pub hidden: Vec<usize>,
    /// What stands on top.
    pub head: Head,
    /// Share of the hidden units that are dropped in each training step.
    pub dropout: f64,
    /// How weights start.
    pub init: Init,
}

impl ModelConfig {
    /// Largest width of a hidden layer that is believed to be meant.
    pub const MAX_WIDTH: usize = 1 << 20;

    /// Linear softmax, from zero.
    pub fn linear() -> Self {
        ModelConfig { hidden: Vec::new(), head: Head::Linear, dropout: 0.0, init: Init::Zeros }
    }

    /// Linear support vector machine, from zero; use it with the hinge loss.
    pub fn svm() -> Self {
        ModelConfig { head: Head::Score, ..ModelConfig::linear() }
    }

    /// Cosine classifier on the inputs.
    pub fn cosine() -> Self {
        ModelConfig { head: Head::Cosine, init: Init::Kaiming, ..ModelConfig::linear() }
    }

    /// Multi-layer perceptron with a linear head.
    pub fn mlp(hidden: &[usize]) -> Self {
        ModelConfig { hidden: hidden.to_vec(), init: Init::Kaiming, ..ModelConfig::linear() }
    }

    /// The checked form, from which a [`Layout`](super::Layout) or [`Network`](super::Network) is made; refuses widths,
    /// dropout rates and starts that cannot work.
    pub fn validate(&self) -> Result<Checked<Self>> {
        for &width in &self.hidden {
            let holds = (1..=Self::MAX_WIDTH).contains(&width);
            check_parameter("hidden width", width as f64, holds, "1 to 1,048,576 units")?;
        }
        check_parameter("dropout", self.dropout, (0.0..1.0).contains(&self.dropout), "a number in [0, 1)")?;
        let starts = self.init != Init::Zeros || (self.hidden.is_empty() && self.head != Head::Cosine);
        check_parameter(
            "hidden layers started from zero",
            self.hidden.len() as f64,
            starts,
            "0 with a linear or score head; choose init = \"kaiming\"",
        )?;
        Ok(Checked::new(self.clone()))
    }
}

impl Default for ModelConfig {
    fn default() -> Self {
        ModelConfig::linear()
    }
}
