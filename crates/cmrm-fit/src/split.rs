//! Which rows train, which validate and calibrate, which test.

use cmrm::rng::Rng;
use cmrm_train::tune::rows_by_class;

use crate::error::{Error, Result};

/// Stream of the generator that splits are drawn from.
const SPLIT_STREAM: u64 = 0x5911;

/// Positions among the labelled rows, each part ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// Rows to train on.
    pub train: Vec<usize>,
    /// Rows to validate and calibrate by.
    pub validation: Vec<usize>,
    /// Rows to test on.
    pub test: Vec<usize>,
}

impl Split {
    /// Everything to train on: `rows` of them.
    pub fn train_only(rows: usize) -> Self {
        Split { train: (0..rows).collect(), validation: Vec::new(), test: Vec::new() }
    }

    /// Rows of all parts.
    pub(crate) fn all(&self) -> usize {
        self.train.len() + self.validation.len() + self.test.len()
    }
}

/// Draws the parts class by class, so that each has its share of every class.
pub(crate) fn draw(labels: &[u32], classes: &[String], test: f64, validation: f64, seed: u64) -> Result<Split> {
    let mut rng = Rng::new(seed, SPLIT_STREAM);
    let mut split = Split { train: Vec::new(), validation: Vec::new(), test: Vec::new() };
    for (class, mut rows) in rows_by_class(labels, classes.len()).into_iter().enumerate() {
        rng.shuffle(&mut rows);
        let tests = (rows.len() as f64 * test).round() as usize;
        let validations = ((rows.len() - tests) as f64 * validation).round() as usize;
        let left = rows.len() - tests - validations;
        if left == 0 && !rows.is_empty() {
            return Err(Error::refused(format!(
                "class '{}' has {} row{}, too few to leave one for training; collect more, or lower test-share and \
                 validation-share",
                classes[class],
                rows.len(),
                if rows.len() == 1 { "" } else { "s" }
            )));
        }
        let rest = rows.split_off(tests);
        split.test.extend(rows);
        split.validation.extend(&rest[..validations]);
        split.train.extend(&rest[validations..]);
    }
    for part in [&mut split.train, &mut split.validation, &mut split.test] {
        part.sort_unstable();
    }
    if split.train.is_empty() {
        return Err(Error::refused("no rows are left to train on"));
    }
    Ok(split)
}
