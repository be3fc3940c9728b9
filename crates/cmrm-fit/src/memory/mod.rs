//! Whether a fit finds room in memory. What it needs is added up beforehand, since a program that runs out of memory is
//! stopped without a word, perhaps after hours.

mod room;

pub use room::Room;

use cmrm::loss::LossConfig;
use cmrm_train::model::Layout;
use cmrm_train::train::{Method, Selection};

use crate::arms::arms;
use crate::auto::of_vote;
use crate::config::FitConfig;
use crate::error::{Error, Result};
use crate::prepare::Prepared;

/// Fewer classes than this may have few rows each.
const MANY_CLASSES: usize = 50;
/// With fewer rows a class, labels are more likely numbers or names of rows than classes.
const FEW_ROWS: usize = 10;
/// Copies of the parameters that a training holds: their gradient and two moments of the optimiser beside themselves.
const COPIES_OF_PARAMETERS: usize = 4;
/// Copies of ELR's targets: those in use, and those to come back to if an epoch is interrupted.
const COPIES_OF_TARGETS: usize = 2;

/// The large parts of what something needs, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// What it is for: rows and classes.
    what: String,
    parts: Vec<(&'static str, u64)>,
}

impl Need {
    /// Nothing yet, for work on so many rows and classes.
    pub fn new(rows: usize, classes: usize) -> Self {
        Need { what: format!("{rows} rows and {classes} classes"), parts: Vec::new() }
    }

    /// Adds a part of so many 32-bit numbers, given by its factors.
    #[must_use]
    pub fn and(mut self, part: &'static str, factors: &[usize]) -> Self {
        let bytes = factors.iter().fold(4u64, |bytes, &factor| bytes.saturating_mul(factor as u64));
        self.parts.push((part, bytes));
        self
    }

    /// What training needs besides its rows, which are in memory already.
    pub fn of_fit(config: &FitConfig, prepared: &Prepared) -> Result<Self> {
        if config.is_vote() {
            return Ok(of_vote(config, prepared));
        }
        let (data, validation) = (&prepared.train.data, prepared.validation.data.len());
        let (train, arms) = (config.train_config(), arms(config).len());
        let layout = Layout::new(&train.model.validate()?, data.width(), data.classes.len(), arms)?;
        let rows = data.len();
        // L-BFGS takes all rows at once and one arm after the other.
        let (batch, beside) = match train.method {
            Method::Stochastic { batch_rows, .. } => (batch_rows.unwrap_or(rows).min(rows), arms),
            Method::FullBatch(_) => (rows, 1),
        };
        let outputs: usize = layout.single().layers.iter().map(|layer| layer.width()).sum();
        let judged = prepared.test.as_ref().map_or(0, |(test, _)| test.len());
        // Outputs, the same unscaled, and a gradient; probabilities, and a resampled copy of them.
        let all = prepared.split.all();
        let judged = (3 * validation).max(2 * judged);
        let remembered = if matches!(config.loss, LossConfig::Elr { .. }) { COPIES_OF_TARGETS * arms } else { 0 };
        // The best epoch's parameters are kept beside.
        let copies = COPIES_OF_PARAMETERS + usize::from(train.selection != Selection::Last);
        Ok(Need::new(all, data.classes.len())
            .and("the models, their gradients and the optimiser", &[layout.parameters(), copies])
            .and("the outputs of a batch and their gradient", &[2, batch, outputs, beside])
            .and("the targets that the loss elr remembers", &[remembered, rows, data.classes.len()])
            .and("the probabilities of the rows to validate or test on", &[judged, data.classes.len()]))
    }

    fn total(&self) -> u64 {
        self.parts.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// Refuses with the sum, and the parts that matter, where there is less room than needed.
    pub fn check(&self, room: Option<Room>) -> Result<()> {
        let total = self.total();
        let Some(room) = room.filter(|room| room.bytes < total) else { return Ok(()) };
        let mut parts = self.parts.clone();
        parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let parts: Vec<String> = parts
            .iter()
            .filter(|(_, bytes)| *bytes >= total / 20)
            .map(|(part, bytes)| format!("{} for {part}", gigabytes(*bytes)))
            .collect();
        Err(Error::refused(format!(
            "{} need at least {} of memory ({}), but {} {}; check that the label column is the right one, or use fewer \
             rows, fewer classes or a smaller model",
            self.what,
            gigabytes(total),
            parts.join(", "),
            room.whose,
            gigabytes(room.bytes)
        )))
    }
}

/// A word on labels that are hardly classes.
pub fn doubt_about_classes(rows: usize, classes: usize) -> Option<String> {
    (classes >= MANY_CLASSES && rows < FEW_ROWS * classes).then(|| {
        format!(
            "{classes} classes for {rows} rows, {:.1} rows per class: check that the label column is the right one \
             (--label)",
            rows as f64 / classes as f64
        )
    })
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_and_its_large_parts_are_named_where_there_is_no_room() {
        let need = Need::new(60_000, 20_000).and("the probabilities", &[60_000, 20_000]).and("the rest", &[1000]);
        let room = |bytes| Some(Room { bytes, whose: "the limit is" });
        let message = need.check(room(4_000_000_000)).unwrap_err().to_string();
        assert_eq!(
            message,
            "60000 rows and 20000 classes need at least 4.8 GB of memory (4.8 GB for the probabilities), but the limit is \
             4.0 GB; check that the label column is the right one, or use fewer rows, fewer classes or a smaller model"
        );
        assert!(need.check(room(4_800_004_000)).is_ok() && need.check(None).is_ok());
        assert!(Need::new(1, 1).and("all", &[usize::MAX, usize::MAX]).check(room(u64::MAX - 1)).is_err());
    }

    #[test]
    fn few_rows_for_many_classes_are_remarked_on() {
        assert!(doubt_about_classes(60_000, 20_000).unwrap().starts_with("20000 classes for 60000 rows, 3.0 rows per"));
        assert_eq!((doubt_about_classes(60_000, 100), doubt_about_classes(150, 40)), (None, None));
    }
}
