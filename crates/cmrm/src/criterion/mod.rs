//! Which of several models is the best, judged by observed labels alone.
//!
//! Someone with partly wrong labels has no clean ones to choose settings by. What they have: rows that no candidate was
//! trained on, with observed labels, and the candidates' probabilities for them. An [`Ensemble`] is made of all candidates
//! and then judges each by several criteria; every number is a share, and larger is better.
//!
//! | criterion | what it is | what it assumes |
//! |---|---|---|
//! | [`Criterion::Observed`] | share of rows whose observed label is predicted | wrong labels favour no candidate |
//! | [`Criterion::Weighted`] | the same, each row weighted by how far the ensemble's first class leads its second | where the ensemble is sure, labels tell more |
//! | [`Criterion::Corrected`] | clean accuracy, by inverting the estimated noise matrix | labels go wrong by class, and the matrix is right |
//! | [`Criterion::Posterior`] | expected clean accuracy under the ensemble's belief about every row, given its label | the ensemble is right on average |
//!
//! Agreement of models trained on different folds needs no labels at all: [`agreement`].

mod ensemble;
mod noise_matrix;

pub use ensemble::{Ensemble, Verdict};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, check_length};

/// A way to judge by observed labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// Accuracy on the observed labels.
    Observed,
    /// Accuracy on the observed labels, weighted by the ensemble's lead.
    Weighted,
    /// Clean accuracy from the inverse of the estimated noise matrix.
    Corrected,
    /// Expected clean accuracy under the ensemble's belief.
    Posterior,
    /// Share of rows on which models of different folds agree.
    Agreement,
}

impl Criterion {
    /// All of them, in the order of the table above.
    pub const ALL: [Criterion; 5] =
        [Criterion::Observed, Criterion::Weighted, Criterion::Corrected, Criterion::Posterior, Criterion::Agreement];

    /// Name in configuration files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Criterion::Observed => "observed",
            Criterion::Weighted => "weighted",
            Criterion::Corrected => "corrected",
            Criterion::Posterior => "posterior",
            Criterion::Agreement => "agreement",
        }
    }
}

impl std::str::FromStr for Criterion {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        Criterion::ALL.into_iter().find(|criterion| criterion.name() == text).ok_or_else(|| {
            format!("unknown criterion '{text}': expected observed, weighted, corrected, posterior or agreement")
        })
    }
}

/// Share of rows for which two models predict the same class. A model that always says the same agrees with itself, so
/// this tells steady settings from unsteady ones and is no measure of quality alone.
pub fn agreement(first: &[u32], second: &[u32]) -> Result<f64> {
    if first.is_empty() {
        return Err(Error::Empty { what: "the list of predictions" });
    }
    check_length("predictions of the second model", first.len(), second.len())?;
    let same = first.iter().zip(second).filter(|(a, b)| a == b).count();
    Ok(same as f64 / first.len() as f64)
}
