//! Which parameters weight decay acts on.

use std::ops::Range;

use cmrm::error::Error;

use crate::error::Result;

/// Splits a flat parameter vector into runs that weight decay shrinks and runs that it leaves alone (biases, usually).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecayMask {
    runs: Vec<Run>,
    length: usize,
}

/// Neighbouring parameters that are treated alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) range: Range<usize>,
    pub(crate) decayed: bool,
}

impl DecayMask {
    /// Decay on all of `length` parameters.
    pub fn all(length: usize) -> Self {
        DecayMask { runs: vec![Run { range: 0..length, decayed: true }], length }
    }

    /// Decay on all of `length` parameters except `spared`: ranges in ascending order that do not overlap.
    pub fn sparing(length: usize, spared: &[Range<usize>]) -> Result<Self> {
        let mut runs = Vec::with_capacity(2 * spared.len() + 1);
        let mut position = 0;
        for range in spared {
            if range.start < position || range.end < range.start {
                return Err(refusal("start of a range without weight decay", range.start, "ascending, no overlap"));
            }
            if range.end > length {
                return Err(refusal("end of a range without weight decay", range.end, "at most the parameter count"));
            }
            runs.push(Run { range: position..range.start, decayed: true });
            runs.push(Run { range: range.clone(), decayed: false });
            position = range.end;
        }
        runs.push(Run { range: position..length, decayed: true });
        runs.retain(|run| !run.range.is_empty());
        Ok(DecayMask { runs, length })
    }

    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The runs, in order; together they cover every parameter once.
    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The same parameters as one run, for an optimiser that has no decay to apply.
    pub(crate) fn merged(self) -> Self {
        DecayMask::all(self.length)
    }
}

fn refusal(name: &'static str, value: usize, expected: &'static str) -> crate::Error {
    Error::Parameter { name, value: value as f64, expected }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_cover_every_parameter_once_and_in_order() {
        let mask = DecayMask::sparing(10, &[0..2, 5..5, 6..8, 8..10]).unwrap();
        let seen: Vec<_> = mask.runs().iter().flat_map(|run| run.range.clone().map(|i| (i, run.decayed))).collect();
        let decayed = [2, 3, 4, 5];
        assert_eq!(seen, (0..10).map(|i| (i, decayed.contains(&i))).collect::<Vec<_>>());
    }

    #[test]
    fn bad_ranges_are_refused() {
        assert!(DecayMask::sparing(10, &[3..5, 4..6]).is_err());
        assert!(DecayMask::sparing(10, std::slice::from_ref(&(8..11))).is_err());
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = 5..3;
        assert!(DecayMask::sparing(10, std::slice::from_ref(&reversed)).is_err());
    }

    #[test]
    fn an_empty_vector_is_legal() {
        assert!(DecayMask::sparing(0, &[]).unwrap().runs().is_empty());
        assert!(DecayMask::all(0).is_empty());
    }
}
