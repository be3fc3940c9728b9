//! Who is taken for whom.

use serde::Serialize;

use super::check::{check_predicted, check_rows};
use crate::error::{Error, Result, check_labels, check_parameter};

/// More classes than this would ask for a table of over a gigabyte.
const MAX_CLASSES: usize = 10_000;

/// Counts of rows by label (row of the table) and predicted class (column).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Confusion {
    classes: usize,
    counts: Vec<u64>,
}

impl Confusion {
    /// Counts the rows. Every label and prediction must be below `classes`, which is at most 10,000.
    pub fn new(predicted: &[u32], labels: &[u32], classes: usize) -> Result<Self> {
        check_parameter("classes", classes as f64, (1..=MAX_CLASSES).contains(&classes), "between 1 and 10000")?;
        check_rows(predicted.len(), labels)?;
        check_labels(labels, classes)?;
        check_predicted(predicted, classes)?;
        let mut counts = vec![0; classes * classes];
        for (&p, &y) in predicted.iter().zip(labels) {
            counts[y as usize * classes + p as usize] += 1;
        }
        Ok(Confusion { classes, counts })
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The counts, a row of `classes` numbers per label.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Rows of class `label` that were predicted as `predicted`.
    pub fn count(&self, label: u32, predicted: u32) -> Result<u64> {
        for (row, class) in [label, predicted].into_iter().enumerate() {
            if class as usize >= self.classes {
                return Err(Error::Label { row, label: class, classes: self.classes });
            }
        }
        Ok(self.counts[label as usize * self.classes + predicted as usize])
    }

    /// Right predictions of a class, rows of it, predictions of it.
    fn sums(&self, class: usize) -> (u64, u64, u64) {
        let right = self.counts[class * self.classes + class];
        let labelled = self.counts[class * self.classes..(class + 1) * self.classes].iter().sum();
        let predicted = self.counts.iter().skip(class).step_by(self.classes).sum();
        (right, labelled, predicted)
    }

    /// Share of the rows of every class that were predicted as it; none for a class without rows.
    pub fn recalls(&self) -> Vec<Option<f64>> {
        self.per_class(|right, labelled, _| share(right, labelled))
    }

    /// Share of the predictions of every class that were right; none for a class never predicted.
    pub fn precisions(&self) -> Vec<Option<f64>> {
        self.per_class(|right, _, predicted| share(right, predicted))
    }

    /// F1 of every class, `2·right/(labelled + predicted)`; none for a class neither labelled nor predicted.
    pub fn f1_scores(&self) -> Vec<Option<f64>> {
        self.per_class(|right, labelled, predicted| share(2 * right, labelled + predicted))
    }

    fn per_class(&self, value: impl Fn(u64, u64, u64) -> Option<f64>) -> Vec<Option<f64>> {
        (0..self.classes)
            .map(|class| {
                let (right, labelled, predicted) = self.sums(class);
                value(right, labelled, predicted)
            })
            .collect()
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Mean of the values there are. There is one whenever the table has a row, and it always has.
pub(super) fn mean_defined(values: &[Option<f64>]) -> f64 {
    let defined: Vec<f64> = values.iter().copied().flatten().collect();
    defined.iter().sum::<f64>() / defined.len() as f64
}
