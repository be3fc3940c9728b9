//! Noise within a coarse class.

use std::collections::BTreeMap;

use super::{NoisyLabels, Rate, RateOf, STREAM, check_classes, check_input, flip_eligible};
use crate::error::{Error, Result, check_length};
use crate::rng::Rng;

/// Which fine classes belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superclasses {
    /// For every fine class, its place in `groups`.
    group_of: Vec<usize>,
    /// The fine classes of every coarse class, ascending.
    groups: Vec<Vec<u32>>,
}

impl Superclasses {
    /// From the coarse class of every fine class: `coarse_of[fine]`. Coarse numbers may have gaps.
    pub fn new(coarse_of: &[u32]) -> Result<Self> {
        Self::from_optional(coarse_of.iter().map(|&coarse| Some(coarse)), coarse_of.len())
    }

    /// From the two label columns of the data (CIFAR-100 has both), for `classes` fine classes.
    ///
    /// A fine class without a row is in no coarse class and never becomes a new label. A fine class with two coarse
    /// ones is an error that names the row.
    pub fn from_rows(fine: &[u32], coarse: &[u32], classes: usize) -> Result<Self> {
        check_input(fine, classes)?;
        check_length("coarse labels for the fine ones", fine.len(), coarse.len())?;
        let mut coarse_of: Vec<Option<u32>> = vec![None; classes];
        for (row, (&fine, &coarse)) in fine.iter().zip(coarse).enumerate() {
            match coarse_of[fine as usize].replace(coarse) {
                Some(earlier) if earlier != coarse => {
                    return Err(Error::Invalid {
                        what: "superclasses",
                        reason: format!(
                            "row {row}: class {fine} has the coarse class {coarse} here and {earlier} in an earlier row; \
                             every fine class must have one coarse class"
                        ),
                    });
                }
                _ => {}
            }
        }
        Self::from_optional(coarse_of.into_iter(), classes)
    }

    /// Consecutive classes by five: 0–4, 5–9 and so on.
    ///
    /// For comparison only. The authors' code uses these blocks for CIFAR-100, whose classes are numbered by the
    /// alphabet, so that its blocks are not its superclasses (method, "Noise").
    pub fn blocks_of_five(classes: usize) -> Result<Self> {
        Self::from_optional((0..classes).map(|class| Some((class / 5) as u32)), classes)
    }

    fn from_optional(coarse_of: impl Iterator<Item = Option<u32>>, classes: usize) -> Result<Self> {
        check_classes(classes)?;
        let mut known: BTreeMap<u32, usize> = BTreeMap::new();
        let mut group_of = Vec::with_capacity(classes);
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for (fine, coarse) in coarse_of.enumerate() {
            let next = groups.len();
            let group = match coarse {
                Some(coarse) => *known.entry(coarse).or_insert(next),
                None => next,
            };
            if group == next {
                groups.push(Vec::new());
            }
            groups[group].push(fine as u32);
            group_of.push(group);
        }
        Ok(Superclasses { group_of, groups })
    }

    /// Number of fine classes.
    pub fn classes(&self) -> usize {
        self.group_of.len()
    }

    /// The fine classes that share the coarse class of `fine`, itself included; empty for a class there is not.
    pub fn members(&self, fine: u32) -> &[u32] {
        self.group_of.get(fine as usize).map_or(&[], |&group| &self.groups[group])
    }
}

/// Gives `⌊ρn⌋` rows a uniformly chosen different fine class of the same coarse class (method, "Noise", superclass).
///
/// `n` counts all rows. Rows whose class is alone in its coarse class cannot be chosen; if fewer than `⌊ρn⌋` rows
/// remain, the error says how many do.
pub fn superclass(labels: &[u32], superclasses: &Superclasses, rate: Rate, seed: u64) -> Result<NoisyLabels> {
    check_input(labels, superclasses.classes())?;
    let eligible: Vec<usize> = (0..labels.len()).filter(|&row| superclasses.members(labels[row]).len() > 1).collect();
    let mut rng = Rng::new(seed, STREAM);
    flip_eligible("superclass noise", labels, &eligible, (rate, RateOf::AllRows), &mut rng, |rng, label| {
        let members = superclasses.members(label);
        // Draw among the others: the last member stands in for the label's own place.
        let drawn = members[rng.below(members.len() - 1)];
        if drawn == label { members[members.len() - 1] } else { drawn }
    })
}
