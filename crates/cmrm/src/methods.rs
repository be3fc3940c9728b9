//! The methods by name: what each is, what it takes for granted and asks for, what it costs, and where it was measured.
//!
//! One list for the command (`cmrm methods`), its settings and its documentation. Every method here is a base loss
//! ([`LossConfig`](crate::loss::LossConfig)) that the envelope can wrap.

use serde::Serialize;

/// A method against wrong labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Method {
    /// Its name in settings and on the command line.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: &'static [&'static str],
    /// What it does, in a line.
    pub idea: &'static str,
    /// What it takes for granted.
    pub assumption: &'static str,
    /// What it has to be given, or what is estimated where it is not given.
    pub needs: &'static str,
    /// The time of one training, relative to cross-entropy's.
    pub cost: Option<f64>,
    /// Where its results are.
    pub measured: Option<&'static str>,
}

impl Method {
    /// All methods: those against wrong labels, those that ask for a model of the noise, and those for other ends.
    pub const ALL: &'static [Method] = &[
        Method {
            name: "cross-entropy",
            aliases: &["ce"],
            idea: "the negative logarithm of the label's probability",
            assumption: "labels are right",
            needs: NOTHING,
            cost: Some(1.0),
            measured: STUDY,
        },
        Method {
            name: "gce",
            aliases: &[],
            idea: "generalised cross-entropy: between cross-entropy and the absolute error",
            assumption: ALIKE,
            needs: NOTHING,
            cost: None,
            measured: STUDY,
        },
        Method {
            name: "sce",
            aliases: &[],
            idea: "symmetric cross-entropy: cross-entropy, and the same with label and prediction exchanged",
            assumption: ALIKE,
            needs: NOTHING,
            cost: None,
            measured: STUDY,
        },
        Method {
            name: "apl",
            aliases: &[],
            idea: "active and passive: cross-entropy divided by that of all labels, and reverse cross-entropy",
            assumption: ALIKE,
            needs: NOTHING,
            cost: None,
            measured: None,
        },
        Method {
            name: "elr",
            aliases: &[],
            idea: "early-learning regularisation: stays near what the model said of a row before",
            assumption: "what is learned first is right",
            needs: "a memory of every row; not for L-BFGS",
            cost: None,
            measured: STUDY,
        },
        Method {
            name: "label-smoothing",
            aliases: &[],
            idea: "every class has a small share of every label",
            assumption: ALIKE,
            needs: NOTHING,
            cost: None,
            measured: None,
        },
        Method {
            name: "bootstrap-soft",
            aliases: &[],
            idea: "the label is mixed with what the model says",
            assumption: "the model is right more often than it is sure",
            needs: "nothing; not for L-BFGS",
            cost: None,
            measured: None,
        },
        Method {
            name: "bootstrap-hard",
            aliases: &[],
            idea: "the label is mixed with the class that the model predicts",
            assumption: "the model is right more often than it is sure",
            needs: NOTHING,
            cost: None,
            measured: None,
        },
        Method {
            name: "cores",
            aliases: &[],
            idea: "cross-entropy less what an average label would have cost, so that sure predictions are rewarded",
            assumption: "wrong labels are less common than the right one in every class",
            needs: "the shares of the observed classes, which the data gives",
            cost: None,
            measured: None,
        },
        Method {
            name: "forward",
            aliases: &[],
            idea: "the model speaks of true classes, and a transition matrix says how they are observed",
            assumption: "noise depends on the class alone",
            needs: MATRIX,
            cost: None,
            measured: None,
        },
        Method {
            name: "backward",
            aliases: &["lnl"],
            idea: "an unbiased estimate of cross-entropy on true classes, by the inverse of a transition matrix; LNL for two classes",
            assumption: "noise depends on the class alone",
            needs: MATRIX,
            cost: None,
            measured: None,
        },
        Method {
            name: "focal",
            aliases: &[],
            idea: "rows that are predicted well count less",
            assumption: "labels are right, and easy rows many",
            needs: NOTHING,
            cost: None,
            measured: REPRODUCTION,
        },
        Method {
            name: "ldam",
            aliases: &[],
            idea: "rare classes are asked for larger margins",
            assumption: "labels are right, and some classes rare",
            needs: "the counts of the observed classes, which the data gives; made for the model cosine",
            cost: None,
            measured: REPRODUCTION,
        },
        Method {
            name: "hinge",
            aliases: &[],
            idea: "the margin of a support vector machine",
            assumption: "labels are right",
            needs: NOTHING,
            cost: None,
            measured: REPRODUCTION,
        },
        Method {
            name: "logistic",
            aliases: &[],
            idea: "cross-entropy of two classes",
            assumption: "labels are right",
            needs: "two classes",
            cost: None,
            measured: None,
        },
    ];

    /// The method of that name or other name; `_` is read as `-`.
    pub fn named(name: &str) -> Option<&'static Method> {
        let name = name.replace('_', "-");
        Method::ALL.iter().find(|method| method.name == name || method.aliases.contains(&name.as_str()))
    }

    /// All names, the other ones too.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Method::ALL.iter().flat_map(|method| std::iter::once(method.name).chain(method.aliases.iter().copied()))
    }
}

const NOTHING: &str = "nothing";
const ALIKE: &str = "wrong labels are of all other classes alike";
const MATRIX: &str = "a transition matrix, given or estimated";
const STUDY: Option<&str> = Some("research/study.md");
const REPRODUCTION: Option<&str> = Some("research/reproduce/report");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossConfig;

    #[test]
    fn every_name_is_a_loss_and_every_loss_is_here() {
        for method in Method::ALL {
            for name in std::iter::once(&method.name).chain(method.aliases) {
                let loss: LossConfig = name.parse().unwrap();
                assert_eq!(loss.name(), method.name, "{name}");
                assert_eq!(Method::named(&name.replace('-', "_")), Some(method));
            }
        }
        // serde lists all the names that settings may have.
        let refused = serde_json::from_str::<LossConfig>(r#"{"name": "none"}"#).unwrap_err().to_string();
        let known = refused.split('`').skip(1).step_by(2).skip(1);
        let known: Vec<&str> = known.collect();
        assert!(known.len() >= Method::ALL.len(), "{refused}");
        known.iter().for_each(|name| assert!(Method::named(name).is_some(), "{name} is not listed"));
    }
}
