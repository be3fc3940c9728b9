//! The transition matrix of a method that needs one: read, given or estimated.

use std::path::PathBuf;

use cmrm::noise_model::Transition;
use cmrm_data::read::read_transition;
use serde::{Deserialize, Serialize};

use crate::config::FitConfig;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::kinds::{LearnerKind, ModelKind};
use crate::progress::Progress;

/// Who judge the rows that the matrix is estimated from: quick ones, of which one suits straight boundaries and one all others.
const JUDGES: [LearnerKind; 2] = [LearnerKind::Linear, LearnerKind::Forest];

/// Where the matrix comes from, as settings say it: `"T.csv"`, the rows themselves, or what a run found
/// (`{ estimated = [[0.9, 0.1], [0.2, 0.8]] }`), so that a run that goes on has the matrix that it began with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum TransitionSetting {
    /// A CSV file ([`read_transition`]).
    File(PathBuf),
    /// The matrix, with the classes in their order.
    Given(Transition),
    /// The same, estimated from the labels.
    Estimated(Transition),
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "a file name, rows such as [[0.9, 0.1], [0.2, 0.8]], or { estimated = rows }")]
enum Written {
    File(PathBuf),
    Given(Vec<Vec<f64>>),
    Estimated { estimated: Vec<Vec<f64>> },
}

impl TryFrom<Written> for TransitionSetting {
    type Error = cmrm::Error;

    fn try_from(written: Written) -> cmrm::Result<Self> {
        Ok(match written {
            Written::File(path) => TransitionSetting::File(path),
            Written::Given(rows) => TransitionSetting::Given(rows.try_into()?),
            Written::Estimated { estimated } => TransitionSetting::Estimated(estimated.try_into()?),
        })
    }
}

impl From<TransitionSetting> for Written {
    fn from(setting: TransitionSetting) -> Self {
        match setting {
            TransitionSetting::File(path) => Written::File(path),
            TransitionSetting::Given(transition) => Written::Given(transition.into()),
            TransitionSetting::Estimated(transition) => Written::Estimated { estimated: transition.into() },
        }
    }
}

impl FitConfig {
    /// The transition matrix, if the method needs one and it is known by now.
    pub fn transition_matrix(&self) -> Option<&Transition> {
        match &self.transition {
            Some(TransitionSetting::Given(found) | TransitionSetting::Estimated(found))
                if self.loss.needs_transition() =>
            {
                Some(found)
            }
            _ => None,
        }
    }
}

impl Fit {
    /// Finds the transition matrix where the method needs one: from the file that the settings name or, if they name none, from the
    /// labels ([`Fit::estimate_transition`]). `watch` hears of the learners that judge them.
    pub fn decide_transition(&mut self, watch: &mut dyn Progress) -> Result<()> {
        if self.config.loss.needs_transition() { self.estimate_transition(watch) } else { Ok(()) }
    }

    /// The same whether or not the configured method needs it, for a search that tries others.
    ///
    /// A vote of a linear model and a forest judges every training row by copies that have not seen it, and
    /// [`cmrm::noise_model::NoiseModel`] finds the noise that explains the observed labels. What it can know and what not is said there.
    pub fn estimate_transition(&mut self, watch: &mut dyn Progress) -> Result<()> {
        let classes = &self.rows.train.data.classes;
        let found = match &self.config.transition {
            Some(TransitionSetting::File(path)) => TransitionSetting::Given(read_transition(path, classes)?),
            Some(known) => known.clone(),
            None => TransitionSetting::Estimated(self.estimated_transition(watch)?),
        };
        if let TransitionSetting::Given(transition) | TransitionSetting::Estimated(transition) = &found
            && transition.classes() != classes.len()
        {
            return Err(Error::refused(format!(
                "the transition matrix has {} classes, the data has {}; give one row and one column for each class",
                transition.classes(),
                classes.len()
            )));
        }
        self.config.transition = Some(found);
        for arm in &mut self.arms {
            *arm = arm.clone().with_transition(self.config.transition_matrix());
        }
        Ok(())
    }

    fn estimated_transition(&self, watch: &mut dyn Progress) -> Result<Transition> {
        let config = FitConfig {
            model: Some(ModelKind::Auto),
            learners: Some(JUDGES.to_vec()),
            seed: self.config.seed,
            ..FitConfig::default()
        };
        let judges = Fit { arms: Vec::new(), config, rows: self.rows.clone() };
        let noise = judges.run_vote(watch)?.noise.ok_or_else(|| {
            Error::refused(format!(
                "the transition matrix of {} cannot be estimated: a first fit tells the labels no better than chance; give one \
                 (--transition FILE), or choose another method",
                self.config.loss.name()
            ))
        })?;
        Ok(noise.estimate.likeliest.transition)
    }
}
