//! Noise along given transitions.

use super::{NoisyLabels, Rate, RateOf, STREAM, check_classes, check_input, flip_eligible};
use crate::error::{Error, Result};
use crate::rng::Rng;

/// For some classes, the one class that their wrong labels name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassMap {
    target: Vec<Option<u32>>,
}

impl ClassMap {
    /// From `(from, to)` transitions among `classes` classes. A class may be a target often but a source once; a class
    /// without a transition keeps its labels. Chains are not followed: `0→1, 1→2` sends a 0 to 1.
    pub fn new(classes: usize, transitions: &[(u32, u32)]) -> Result<Self> {
        check_classes(classes)?;
        check_transitions(transitions)?;
        let mut target = vec![None; classes];
        for (place, &(from, to)) in transitions.iter().enumerate() {
            if let Some(outside) = [from, to].into_iter().find(|&class| class as usize >= classes) {
                return Err(Error::Invalid {
                    what: "class map",
                    reason: format!(
                        "transition {place}, {from}-{to}: class {outside} is not below the number of classes {classes}"
                    ),
                });
            }
            target[from as usize] = Some(to);
        }
        Ok(ClassMap { target })
    }

    /// Every pair in both directions: `(3, 5)` makes 3 into 5 and 5 into 3.
    pub fn pairs(classes: usize, pairs: &[(u32, u32)]) -> Result<Self> {
        let both: Vec<(u32, u32)> = pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        Self::new(classes, &both)
    }

    /// CIFAR-10: truck→automobile, bird→airplane, deer→horse, cat↔dog (method, "Noise", pair).
    pub fn cifar10() -> Self {
        Self::of_cifar10(&[(9, 1), (2, 0), (4, 7), (3, 5), (5, 3)])
    }

    /// [`ClassMap::cifar10`] without deer→horse, as in the authors' code.
    pub fn cifar10_without_deer() -> Self {
        Self::of_cifar10(&[(9, 1), (2, 0), (3, 5), (5, 3)])
    }

    fn of_cifar10(transitions: &[(u32, u32)]) -> Self {
        let mut target = vec![None; 10];
        for &(from, to) in transitions {
            target[from as usize] = Some(to);
        }
        ClassMap { target }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.target.len()
    }

    /// Where `class` goes, if anywhere.
    pub fn target(&self, class: u32) -> Option<u32> {
        self.target.get(class as usize).copied().flatten()
    }
}

/// What can be checked without the number of classes: sources named once, targets that differ, at least one.
pub(super) fn check_transitions(transitions: &[(u32, u32)]) -> Result<()> {
    if transitions.is_empty() {
        return Err(Error::Empty { what: "the list of class transitions" });
    }
    let mut seen: std::collections::BTreeMap<u32, u32> = std::collections::BTreeMap::new();
    for (place, &(from, to)) in transitions.iter().enumerate() {
        if from == to {
            return Err(Error::Invalid {
                what: "class map",
                reason: format!("transition {place}, {from}-{to}, does not change the label; remove it"),
            });
        }
        if let Some(earlier) = seen.insert(from, to) {
            return Err(Error::Invalid {
                what: "class map",
                reason: format!(
                    "transition {place}, {from}-{to}: class {from} is already mapped to {earlier}; \
                     use a transition matrix to split a class"
                ),
            });
        }
    }
    Ok(())
}

/// Moves rows along the map (method, "Noise", pair / class map).
///
/// Only rows whose class has a transition can be chosen. With [`RateOf::AllRows`] exactly `⌊ρn⌋` of them are, n
/// counting *all* rows, so that the data has the stated share of wrong labels; the error for a rate that the mapped
/// rows cannot supply says how many there are. With [`RateOf::EligibleRows`] n counts the mapped rows only.
pub fn class_map(labels: &[u32], map: &ClassMap, rate: Rate, of: RateOf, seed: u64) -> Result<NoisyLabels> {
    check_input(labels, map.classes())?;
    let eligible: Vec<usize> = (0..labels.len()).filter(|&row| map.target(labels[row]).is_some()).collect();
    let mut rng = Rng::new(seed, STREAM);
    flip_eligible("class-map noise", labels, &eligible, (rate, of), &mut rng, |_, label| {
        map.target(label).unwrap_or(label) // every eligible row has a target
    })
}
