//! Losses by name: their parameters in configuration files and on the command line, and the checked loss.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{
    Apl, Backward, BootstrapHard, BootstrapSoft, Cores, CrossEntropy, Elr, Focal, Forward, Gce, Hinge, LabelSmoothing,
    Ldam, Logistic, Loss, Row, RowLoss, Sce, WholeRow,
};
use crate::error::{Error, Result};
use crate::methods::Method;
use crate::noise_model::Transition;
use crate::scalar::Scalar;

/// A base loss as written in a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossConfig {
    /// Cross-entropy.
    CrossEntropy,
    /// Focal loss.
    Focal {
        /// Exponent γ.
        #[serde(default = "default_gamma")]
        gamma: f64,
    },
    /// Generalised cross-entropy.
    Gce {
        /// Exponent q.
        #[serde(default = "default_q")]
        q: f64,
    },
    /// Symmetric cross-entropy.
    Sce {
        /// Weight α of cross-entropy.
        #[serde(default = "default_alpha")]
        alpha: f64,
        /// Weight β of the reverse cross-entropy.
        #[serde(default = "default_beta")]
        beta: f64,
    },
    /// Cross-entropy with smoothed labels.
    LabelSmoothing {
        /// ε: what the label gives to all classes together.
        #[serde(default = "default_epsilon")]
        epsilon: f64,
    },
    /// Early-learning regularisation, which remembers what the model said of each row.
    Elr {
        /// Weight λ of the regularisation.
        #[serde(default = "default_elr_lambda")]
        lambda: f64,
        /// β: what a row's target keeps of itself when the row is met again.
        #[serde(default = "default_elr_beta")]
        beta: f64,
    },
    /// Active–passive loss: normalised and reverse cross-entropy.
    Apl {
        /// Weight of the normalised cross-entropy.
        #[serde(default = "default_apl_a")]
        a: f64,
        /// Weight of the reverse cross-entropy.
        #[serde(default = "default_apl_b")]
        b: f64,
    },
    /// Confidence-regularised cross-entropy.
    Cores {
        /// Weight β of the regularisation.
        #[serde(default = "default_cores_beta")]
        beta: f64,
    },
    /// Soft bootstrapping.
    BootstrapSoft {
        /// The label's share β of the target.
        #[serde(default = "default_soft_beta")]
        beta: f64,
    },
    /// Hard bootstrapping.
    BootstrapHard {
        /// The label's share β of the target.
        #[serde(default = "default_hard_beta")]
        beta: f64,
    },
    /// Forward correction by a transition matrix.
    Forward,
    /// Backward correction by a transition matrix; LNL is its name for two classes.
    #[serde(alias = "lnl")]
    Backward,
    /// Label-distribution-aware margin loss.
    Ldam {
        /// Largest class margin.
        #[serde(default = "default_max_margin")]
        max_margin: f64,
        /// Scale of the cosine logits.
        #[serde(default = "default_scale")]
        scale: f64,
    },
    /// Hinge loss.
    Hinge,
    /// Binary logistic loss.
    Logistic,
}

fn default_gamma() -> f64 {
    Focal::DEFAULT_GAMMA
}
fn default_q() -> f64 {
    Gce::DEFAULT_Q
}
fn default_alpha() -> f64 {
    Sce::DEFAULT_ALPHA
}
fn default_beta() -> f64 {
    Sce::DEFAULT_BETA
}
fn default_epsilon() -> f64 {
    LabelSmoothing::DEFAULT_EPSILON
}
fn default_elr_lambda() -> f64 {
    Elr::DEFAULT_LAMBDA
}
fn default_elr_beta() -> f64 {
    Elr::DEFAULT_BETA
}
fn default_apl_a() -> f64 {
    Apl::DEFAULT_A
}
fn default_apl_b() -> f64 {
    Apl::DEFAULT_B
}
fn default_cores_beta() -> f64 {
    Cores::DEFAULT_BETA
}
fn default_soft_beta() -> f64 {
    BootstrapSoft::DEFAULT_BETA
}
fn default_hard_beta() -> f64 {
    BootstrapHard::DEFAULT_BETA
}
fn default_max_margin() -> f64 {
    Ldam::DEFAULT_MAX_MARGIN
}
fn default_scale() -> f64 {
    Ldam::DEFAULT_SCALE
}

impl LossConfig {
    /// Checks the parameters; `class_counts` are the observed counts of the training labels (LDAM and CORES read them).
    pub fn validate(&self, class_counts: &[f64]) -> Result<BaseLoss> {
        self.validate_with(class_counts, None)
    }

    /// The same for a loss that may need a transition matrix ([`LossConfig::needs_transition`]). Like the class counts it is a
    /// matter of the data, not of the settings; a loss that does not read it is not disturbed by it.
    pub fn validate_with(&self, class_counts: &[f64], transition: Option<&Transition>) -> Result<BaseLoss> {
        let needed = || {
            let reason = format!("the loss {} needs one; none was given", self.name());
            transition.ok_or(Error::Invalid { what: "transition matrix", reason })
        };
        Ok(match *self {
            LossConfig::CrossEntropy => BaseLoss::CrossEntropy(CrossEntropy),
            LossConfig::Focal { gamma } => BaseLoss::Focal(Focal::new(gamma)?),
            LossConfig::Gce { q } => BaseLoss::Gce(Gce::new(q)?),
            LossConfig::Sce { alpha, beta } => BaseLoss::Sce(Sce::new(alpha, beta)?),
            LossConfig::LabelSmoothing { epsilon } => BaseLoss::LabelSmoothing(LabelSmoothing::new(epsilon)?),
            LossConfig::Elr { lambda, beta } => BaseLoss::Elr(Elr::new(lambda, beta)?),
            LossConfig::Apl { a, b } => BaseLoss::Apl(Apl::new(a, b)?),
            LossConfig::Cores { beta } => BaseLoss::Cores(Cores::new(beta, class_counts)?),
            LossConfig::BootstrapSoft { beta } => BaseLoss::BootstrapSoft(BootstrapSoft::new(beta)?),
            LossConfig::BootstrapHard { beta } => BaseLoss::BootstrapHard(BootstrapHard::new(beta)?),
            LossConfig::Forward => BaseLoss::Forward(Forward::new(needed()?)),
            LossConfig::Backward => BaseLoss::Backward(Backward::new(needed()?.clone())),
            LossConfig::Ldam { max_margin, scale } => BaseLoss::Ldam(Ldam::new(max_margin, scale, class_counts)?),
            LossConfig::Hinge => BaseLoss::Hinge(Hinge),
            LossConfig::Logistic => BaseLoss::Logistic(Logistic),
        })
    }

    /// Whether the loss is made for one kind of noise, which a transition matrix has to tell it.
    pub fn needs_transition(&self) -> bool {
        matches!(self, LossConfig::Forward | LossConfig::Backward)
    }

    /// The name in configuration files and on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            LossConfig::CrossEntropy => "cross-entropy",
            LossConfig::Focal { .. } => "focal",
            LossConfig::Gce { .. } => "gce",
            LossConfig::Sce { .. } => "sce",
            LossConfig::LabelSmoothing { .. } => "label-smoothing",
            LossConfig::Elr { .. } => "elr",
            LossConfig::Apl { .. } => "apl",
            LossConfig::Cores { .. } => "cores",
            LossConfig::BootstrapSoft { .. } => "bootstrap-soft",
            LossConfig::BootstrapHard { .. } => "bootstrap-hard",
            LossConfig::Forward => "forward",
            LossConfig::Backward => "backward",
            LossConfig::Ldam { .. } => "ldam",
            LossConfig::Hinge => "hinge",
            LossConfig::Logistic => "logistic",
        }
    }
}

/// `name` or `name:parameter`, as on the command line; `_` is read as `-`.
impl FromStr for LossConfig {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, parameter) = text.split_once(':').map_or((text, None), |(name, parameter)| (name, Some(parameter)));
        let number = |default: f64| match parameter {
            None => Ok(default),
            Some(text) => text.parse::<f64>().map_err(|_| format!("'{text}' is not a number")),
        };
        let loss = match name.replace('_', "-").as_str() {
            "cross-entropy" | "ce" => LossConfig::CrossEntropy,
            "focal" => LossConfig::Focal { gamma: number(Focal::DEFAULT_GAMMA)? },
            "gce" => LossConfig::Gce { q: number(Gce::DEFAULT_Q)? },
            "sce" => LossConfig::Sce { alpha: Sce::DEFAULT_ALPHA, beta: Sce::DEFAULT_BETA },
            "label-smoothing" => LossConfig::LabelSmoothing { epsilon: number(LabelSmoothing::DEFAULT_EPSILON)? },
            "elr" => LossConfig::Elr { lambda: number(Elr::DEFAULT_LAMBDA)?, beta: Elr::DEFAULT_BETA },
            "apl" => LossConfig::Apl { a: Apl::DEFAULT_A, b: Apl::DEFAULT_B },
            "cores" => LossConfig::Cores { beta: number(Cores::DEFAULT_BETA)? },
            "bootstrap-soft" => LossConfig::BootstrapSoft { beta: number(BootstrapSoft::DEFAULT_BETA)? },
            "bootstrap-hard" => LossConfig::BootstrapHard { beta: number(BootstrapHard::DEFAULT_BETA)? },
            "forward" => LossConfig::Forward,
            "backward" | "lnl" => LossConfig::Backward,
            "ldam" => LossConfig::Ldam { max_margin: number(Ldam::DEFAULT_MAX_MARGIN)?, scale: Ldam::DEFAULT_SCALE },
            "hinge" => LossConfig::Hinge,
            "logistic" => LossConfig::Logistic,
            _ => {
                let known: Vec<&str> = Method::ALL.iter().map(|method| method.name).collect();
                return Err(format!("unknown loss '{name}': expected one of {}", known.join(", ")));
            }
        };
        let Some(_) = parameter else { return Ok(loss) };
        let settings = match loss {
            LossConfig::CrossEntropy
            | LossConfig::Hinge
            | LossConfig::Logistic
            | LossConfig::Forward
            | LossConfig::Backward => return Err(format!("the loss {name} takes no parameter")),
            LossConfig::Sce { alpha, beta } => format!("alpha = {alpha}, beta = {beta}"),
            LossConfig::Apl { a, b } => format!("a = {a}, b = {b}"),
            _ => return Ok(loss),
        };
        Err(format!(
            "the loss {name} takes no parameter here; it has two, which are settings of a configuration file: \
             loss = {{ name = \"{name}\", {settings} }}"
        ))
    }
}

/// The text that is read back; LDAM's scale, ELR's β and the parameters of SCE and APL are not in it.
impl fmt::Display for LossConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            LossConfig::Focal { gamma } => write!(f, "{name}:{gamma}"),
            LossConfig::Gce { q } => write!(f, "{name}:{q}"),
            LossConfig::LabelSmoothing { epsilon } => write!(f, "{name}:{epsilon}"),
            LossConfig::Elr { lambda, .. } => write!(f, "{name}:{lambda}"),
            LossConfig::Cores { beta } | LossConfig::BootstrapSoft { beta } | LossConfig::BootstrapHard { beta } => {
                write!(f, "{name}:{beta}")
            }
            LossConfig::Ldam { max_margin, .. } => write!(f, "{name}:{max_margin}"),
            _ => f.write_str(name),
        }
    }
}

/// Any of the built-in losses, checked.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // each variant is the loss of that name
pub enum BaseLoss {
    CrossEntropy(CrossEntropy),
    Focal(Focal),
    Gce(Gce),
    Sce(Sce),
    LabelSmoothing(LabelSmoothing),
    Elr(Elr),
    Apl(Apl),
    Cores(Cores),
    BootstrapSoft(BootstrapSoft),
    BootstrapHard(BootstrapHard),
    Forward(Forward),
    Backward(Backward),
    Ldam(Ldam),
    Hinge(Hinge),
    Logistic(Logistic),
}

macro_rules! each {
    ($self:expr, $loss:ident => $body:expr) => {
        match $self {
            BaseLoss::CrossEntropy($loss) => $body,
            BaseLoss::Focal($loss) => $body,
            BaseLoss::Gce($loss) => $body,
            BaseLoss::Sce($loss) => $body,
            BaseLoss::LabelSmoothing($loss) => $body,
            BaseLoss::Elr($loss) => $body,
            BaseLoss::Apl($loss) => $body,
            BaseLoss::Cores($loss) => $body,
            BaseLoss::BootstrapSoft($loss) => $body,
            BaseLoss::BootstrapHard($loss) => $body,
            BaseLoss::Forward($loss) => $body,
            BaseLoss::Backward($loss) => $body,
            BaseLoss::Ldam($loss) => $body,
            BaseLoss::Hinge($loss) => $body,
            BaseLoss::Logistic($loss) => $body,
        }
    };
}

impl<T: Scalar> Loss<T> for BaseLoss {
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        each!(self, loss => loss.row(row))
    }

    fn scale(&self) -> T {
        each!(self, loss => Loss::<T>::scale(loss))
    }

    fn check_classes(&self, classes: usize) -> Result<()> {
        each!(self, loss => Loss::<T>::check_classes(loss, classes))
    }

    fn is_dense(&self) -> bool {
        each!(self, loss => Loss::<T>::is_dense(loss))
    }

    fn target_momentum(&self) -> Option<f64> {
        each!(self, loss => Loss::<T>::target_momentum(loss))
    }

    fn dense_value(&self, row: &Row<T>, whole: WholeRow<'_, T>) -> T {
        each!(self, loss => loss.dense_value(row, whole))
    }

    fn add_dense(&self, row: &Row<T>, whole: WholeRow<'_, T>, factor: T, grad: &mut [T]) {
        each!(self, loss => loss.add_dense(row, whole, factor, grad));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_or_without_its_parameter() {
        assert_eq!("cross_entropy".parse(), Ok(LossConfig::CrossEntropy));
        assert_eq!("focal:1".parse(), Ok(LossConfig::Focal { gamma: 1.0 }));
        assert_eq!("gce".parse(), Ok(LossConfig::Gce { q: 0.7 }));
        for text in [
            "cross-entropy",
            "focal:1.5",
            "gce:0.5",
            "sce",
            "label-smoothing:0.2",
            "elr:2.5",
            "apl",
            "cores:0.5",
            "bootstrap-soft:0.9",
            "bootstrap-hard:0.7",
            "forward",
            "backward",
            "ldam:0.3",
            "hinge",
            "logistic",
        ] {
            assert_eq!(text.parse::<LossConfig>().unwrap().to_string(), text);
        }
        assert!("focal:much".parse::<LossConfig>().unwrap_err().contains("'much' is not a number"));
        assert!("hinge:1".parse::<LossConfig>().unwrap_err().contains("takes no parameter"));
        assert_eq!("sce".parse(), Ok(LossConfig::Sce { alpha: 0.1, beta: 1.0 }));
        assert_eq!("label_smoothing".parse(), Ok(LossConfig::LabelSmoothing { epsilon: 0.1 }));
        assert_eq!("elr".parse(), Ok(LossConfig::Elr { lambda: 3.0, beta: 0.7 }));
        assert_eq!("lnl".parse(), Ok(LossConfig::Backward));
        assert!("sce:0.5".parse::<LossConfig>().unwrap_err().contains("settings of a configuration file"));
        assert!("apl:0.5".parse::<LossConfig>().unwrap_err().contains("{ name = \"apl\", a = 1, b = 1 }"));
        assert!("forward:0.2".parse::<LossConfig>().unwrap_err().contains("takes no parameter"));
        assert!("l2".parse::<LossConfig>().unwrap_err().contains("unknown loss 'l2'"));
    }
}
