//! A range with a level of confidence.

use serde::{Deserialize, Serialize};

use crate::error::{Result, check_parameter};

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The confidence it was made for, such as 0.95.
    pub level: f64,
}

impl Interval {
    /// Whether `value` lies in it, ends included.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

pub(super) fn check_level(level: f64) -> Result<()> {
    check_parameter("level", level, level > 0.0 && level < 1.0, "strictly between 0 and 1, such as 0.95")
}
