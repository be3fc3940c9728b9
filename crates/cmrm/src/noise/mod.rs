//! Label noise with a known answer: which rows were made wrong, and nothing else touched.
//!
//! Exactly `⌊ρn⌋` of the labels passed in are made wrong; a seed draws them, without replacement.
//! Pass the training split only; the test labels stay clean. [`Rate::count`] says how the floor is taken.
//!
//! | kind | new label of a chosen row | rows that can be chosen |
//! |---|---|---|
//! | [`symmetric`] | any other class, uniformly | all |
//! | [`circular`] | `(y + 1) mod K` | all |
//! | [`superclass`] | another fine class of the same coarse class, uniformly | those with such a class |
//! | [`class_map`] | the class that the map names | those whose class is mapped |
//! | [`binary_flip`] | `1 − y` | all |
//! | [`instance_dependent`] | a class that the row's features favour | all, with unequal probability |
//! | [`transition`] | drawn from the label's row of a K×K matrix | all; no rate, so no exact count |
//!
//! The row draw depends on seed, number of rows and eligibility only. So, for the kinds with a rate, the rows chosen
//! at a low rate are a subset of those chosen at a higher one: a sweep over rates adds noise and never moves it.

mod binary;
mod circular;
mod class_map;
mod config;
mod instance;
mod parse;
mod rate;
mod superclass;
mod symmetric;
mod transition;

pub use binary::binary_flip;
pub use circular::circular;
pub use class_map::{ClassMap, class_map};
pub use config::{NoiseConfig, NoiseContext};
pub use instance::instance_dependent;
pub use rate::{Rate, RateOf};
pub use superclass::{Superclasses, superclass};
pub use symmetric::symmetric;
pub use transition::{TransitionMatrix, transition};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, check_labels, check_length, check_parameter};
use crate::rng::Rng;

/// The stream of [`Rng`] that noise draws from; no other part of the library uses it.
const STREAM: u64 = 0x6e_6f69_7365;

/// Labels after noise, and the record of what was done to them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoisyLabels {
    /// The observed labels, in the order of the clean ones.
    pub labels: Vec<u32>,
    /// The rows whose label differs from the clean one, ascending.
    pub flipped: Vec<usize>,
}

impl NoisyLabels {
    /// The record for labels that were not made here (human annotations): the flipped rows are those that differ.
    pub fn between(clean: &[u32], observed: &[u32]) -> Result<Self> {
        check_length("observed labels for the clean ones", clean.len(), observed.len())?;
        let flipped = (0..clean.len()).filter(|&row| clean[row] != observed[row]).collect();
        Ok(NoisyLabels { labels: observed.to_vec(), flipped })
    }

    /// Share of rows with a wrong label; 0 for no rows.
    pub fn rate(&self) -> f64 {
        if self.labels.is_empty() { 0.0 } else { self.flipped.len() as f64 / self.labels.len() as f64 }
    }

    /// For every row, whether its label was changed.
    pub fn mask(&self) -> Vec<bool> {
        let mut mask = vec![false; self.labels.len()];
        for &row in &self.flipped {
            // The fields are public; a record that someone else wrote may name rows that there are not.
            if let Some(flipped) = mask.get_mut(row) {
                *flipped = true;
            }
        }
        mask
    }
}

/// Refuses an empty list, labels outside `0..classes`, and a class count that makes no sense.
fn check_input(labels: &[u32], classes: usize) -> Result<()> {
    if labels.is_empty() {
        return Err(Error::Empty { what: "the list of labels" });
    }
    check_classes(classes)?;
    check_labels(labels, classes)
}

/// More classes than any label set has; a mistaken number must not become an allocation that kills the process.
const MAX_CLASSES: usize = 1 << 24;

fn check_classes(classes: usize) -> Result<()> {
    check_parameter("classes", classes as f64, (1..=MAX_CLASSES).contains(&classes), "between 1 and 2^24")
}

/// Draws `rate` of all rows and gives each the label that `replace` says, which must differ from the old one.
fn flip_any(labels: &[u32], rate: Rate, rng: &mut Rng, replace: impl FnMut(&mut Rng, u32) -> u32) -> NoisyLabels {
    let rows = rng.choose(labels.len(), rate.count(labels.len()));
    rewrite(labels, rows, rng, replace)
}

/// Like [`flip_any`] for noise that only some rows can suffer.
fn flip_eligible(
    what: &'static str,
    labels: &[u32],
    eligible: &[usize],
    (rate, of): (Rate, RateOf),
    rng: &mut Rng,
    replace: impl FnMut(&mut Rng, u32) -> u32,
) -> Result<NoisyLabels> {
    let count = match of {
        RateOf::AllRows => rate.count(labels.len()),
        RateOf::EligibleRows => rate.count(eligible.len()),
    };
    if count > eligible.len() {
        return Err(Error::Invalid {
            what,
            reason: format!(
                "rate {rate} of {} rows asks for {count} flips, but only {} rows have a class to change to; \
                 lower the rate to at most {}",
                labels.len(),
                eligible.len(),
                eligible.len() as f64 / labels.len() as f64,
            ),
        });
    }
    let rows = rng.choose(eligible.len(), count).into_iter().map(|i| eligible[i]).collect();
    Ok(rewrite(labels, rows, rng, replace))
}

fn rewrite(
    labels: &[u32],
    flipped: Vec<usize>,
    rng: &mut Rng,
    mut replace: impl FnMut(&mut Rng, u32) -> u32,
) -> NoisyLabels {
    let mut labels = labels.to_vec();
    for &row in &flipped {
        labels[row] = replace(rng, labels[row]);
    }
    NoisyLabels { labels, flipped }
}

/// Noise that leaves the class needs a second class, unless nothing is to be flipped.
fn check_two_classes(labels: &[u32], classes: usize, rate: Rate) -> Result<()> {
    let possible = classes >= 2 || rate.count(labels.len()) == 0;
    check_parameter("classes", classes as f64, possible, "at least 2, so that a label can change")
}
