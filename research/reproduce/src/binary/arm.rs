//! The arms of a binary table: their names, and which comparison each belongs to.

use serde::{Deserialize, Serialize};

/// An arm of a binary table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArmName {
    /// The authors' base arm: the base loss for all its steps, one optimiser.
    Base,
    /// The base loss stopped where the others fork off.
    BaseWarm,
    /// The fair base arm: forks off like the envelopes, with their rate and a fresh optimiser, and without an envelope.
    BaseFresh,
    /// The envelope of the authors' code: penalise, mean over the tail, thresholds by index.
    Penalise,
    /// The same, but a tail's mean is over the rows strictly beyond the threshold: rows on it are not counted.
    PenaliseStrict,
    /// The envelope of the paper's text: relax, mean over all rows, conformal thresholds.
    Relax,
    /// The paper's sign with the authors' mean over the tail.
    RelaxTail,
    /// The preset `robust`: the margin envelope of this project, on the same steps.
    Robust,
}

impl ArmName {
    /// All arms in the order of reports.
    pub const ALL: [ArmName; 8] = [
        ArmName::Base,
        ArmName::BaseWarm,
        ArmName::BaseFresh,
        ArmName::Penalise,
        ArmName::PenaliseStrict,
        ArmName::Relax,
        ArmName::RelaxTail,
        ArmName::Robust,
    ];

    /// What a loss has unless it says otherwise.
    pub(crate) fn usual() -> Vec<ArmName> {
        ArmName::ALL.into_iter().filter(|arm| *arm != ArmName::RelaxTail).collect()
    }

    /// Name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            ArmName::Base => "base",
            ArmName::BaseWarm => "base-warm",
            ArmName::BaseFresh => "base-fresh",
            ArmName::Penalise => "penalise",
            ArmName::PenaliseStrict => "penalise-strict",
            ArmName::Relax => "relax",
            ArmName::RelaxTail => "relax-tail",
            ArmName::Robust => "robust",
        }
    }

    /// Whether no protocol needs it: other forms of the envelope, to compare with.
    pub(crate) fn stands_beside(self) -> bool {
        matches!(self, ArmName::PenaliseStrict | ArmName::Relax | ArmName::RelaxTail | ArmName::Robust)
    }

    /// Whether it has an envelope.
    pub fn is_envelope(self) -> bool {
        !matches!(self, ArmName::Base | ArmName::BaseWarm | ArmName::BaseFresh)
    }
}
