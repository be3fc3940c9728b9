//! How good sets are: do they hold the true class, and how small are they.

use serde::{Deserialize, Serialize};

use super::sets::PredictionSets;
use crate::error::{Error, Result, check_labels, check_length};

/// Quality of the sets of rows with known labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetReport {
    /// Rows evaluated.
    pub rows: usize,
    /// Share of rows whose set holds the label.
    pub coverage: f64,
    /// Mean set size over all rows; empty sets count 0 (M.APSS).
    pub mean_size: f64,
    /// Share of rows whose set is empty.
    pub empty_rate: f64,
    /// Share of rows whose set holds exactly one class.
    pub singleton_rate: f64,
    /// The same over the rows of each class, by class index. In binary problems entry 1 is the positive class (PC APSS)
    /// and entry 0 the negative class (NC APSS).
    pub per_class: Vec<ClassSets>,
}

/// Quality of the sets of one class's rows; no numbers where the class has no rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassSets {
    /// Rows with this label.
    pub rows: usize,
    /// Share of them whose set holds the label.
    pub coverage: Option<f64>,
    /// Mean size of their sets.
    pub mean_size: Option<f64>,
}

/// Evaluates `sets` against the labels of their rows.
pub fn evaluate(sets: &PredictionSets, labels: &[u32]) -> Result<SetReport> {
    if sets.rows() == 0 {
        return Err(Error::Empty { what: "the list of prediction sets" });
    }
    check_length("labels, one per prediction set", sets.rows(), labels.len())?;
    check_labels(labels, sets.classes())?;

    let mut counts = vec![Counts::default(); sets.classes()];
    let (mut empty, mut singleton) = (0, 0);
    for (i, (size, &label)) in sets.sizes().zip(labels).enumerate() {
        let class = &mut counts[label as usize];
        class.rows += 1;
        class.covered += usize::from(sets.contains(i, label));
        class.size += size;
        empty += usize::from(size == 0);
        singleton += usize::from(size == 1);
    }
    let total = counts.iter().fold(Counts::default(), |a, b| Counts {
        rows: a.rows + b.rows,
        covered: a.covered + b.covered,
        size: a.size + b.size,
    });
    let share = |count: usize| count as f64 / total.rows as f64;
    Ok(SetReport {
        rows: total.rows,
        coverage: share(total.covered),
        mean_size: share(total.size),
        empty_rate: share(empty),
        singleton_rate: share(singleton),
        per_class: counts.iter().map(Counts::report).collect(),
    })
}

#[derive(Debug, Clone, Default)]
struct Counts {
    rows: usize,
    covered: usize,
    size: usize,
}

impl Counts {
    fn report(&self) -> ClassSets {
        let share = |count: usize| (self.rows > 0).then(|| count as f64 / self.rows as f64);
        ClassSets { rows: self.rows, coverage: share(self.covered), mean_size: share(self.size) }
    }
}
