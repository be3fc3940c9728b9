//! The numbers that the paper prints, as far as they are known here.

use serde::Deserialize;

use crate::error::{Error, Result};

/// A number that the paper prints.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// The experiment it belongs to; `headline` for claims of the paper as a whole.
    pub experiment: String,
    /// Row of the table.
    pub row: String,
    /// The arm.
    #[serde(default)]
    pub arm: String,
    /// Which of several settings of the row, where there are several.
    #[serde(default)]
    pub setting: String,
    /// The metric.
    pub metric: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// Where it stands: a table of the paper, or whose other run it is.
    pub place: String,
    /// Whether it is another run's and not the paper's.
    #[serde(default)]
    pub elsewhere: bool,
}

impl Printed {
    /// The number with its unit.
    pub fn text(&self) -> String {
        if self.unit.is_empty() { self.value.to_string() } else { format!("{} {}", self.value, self.unit) }
    }
}

/// All of them.
pub fn printed() -> Result<Vec<Printed>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        printed: Vec<Printed>,
    }
    let file = "experiments/printed.toml";
    let text = include_str!("../../experiments/printed.toml");
    toml::from_str::<File>(text).map(|file| file.printed).map_err(|error| Error::experiment(file, error))
}
