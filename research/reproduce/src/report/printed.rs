//! The numbers that the paper prints, and those of another run to compare with.

use serde::Deserialize;

use crate::binary::METRICS;
use crate::error::{Error, Result};

/// The arm of the paper's method in [`Printed::arm`].
pub(super) const ENVELOPE: &str = "cmrm";

/// A number from elsewhere.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// The experiment it belongs to; `headline` for claims of the paper as a whole.
    pub experiment: String,
    /// Row of the table.
    pub row: String,
    /// The arm: `base` or `cmrm` in the paper, one of ours for another run.
    #[serde(default)]
    pub arm: String,
    /// Which of several settings of the row, where there are several.
    #[serde(default)]
    pub setting: String,
    /// The metric.
    pub metric: String,
    /// The number.
    pub value: f64,
    /// Its standard deviation over seeds, where it is printed.
    #[serde(default)]
    pub deviation: Option<f64>,
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
    /// The number with its unit and its spread.
    pub fn text(&self) -> String {
        let spread = self.deviation.map_or_else(String::new, |deviation| format!(" ± {deviation}"));
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        format!("{}{spread}{unit}", self.value)
    }
}

/// All of them: the paper's tables in their order, then what stands elsewhere.
pub fn printed() -> Result<Vec<Printed>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        printed: Vec<Printed>,
    }
    let mut numbers = tables()?;
    let file = "experiments/printed.toml";
    let text = include_str!("../../experiments/printed.toml");
    numbers.extend(toml::from_str::<File>(text).map_err(|error| Error::experiment(file, error))?.printed);
    Ok(numbers)
}

/// A line of `printed.csv`, in the words of the paper.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    table: String,
    data: String,
    noise_percent: Option<u32>,
    row: String,
    arm: String,
    metric: String,
    value: f64,
    std: Option<f64>,
}

fn tables() -> Result<Vec<Printed>> {
    let file = "experiments/printed.csv";
    let mut reader = csv::Reader::from_reader(include_str!("../../experiments/printed.csv").as_bytes());
    let lines = reader.deserialize().map(|line: std::result::Result<Line, _>| {
        let line = line.map_err(|error| Error::experiment(file, error))?;
        line.number().ok_or_else(|| Error::experiment(file, format!("table {}, data {}", line.table, line.data)))
    });
    lines.collect()
}

impl Line {
    /// The number under the names that the experiments have; nothing where no experiment is about it.
    fn number(&self) -> Option<Printed> {
        let (experiment, row) = match (self.table.as_str(), self.data.as_str()) {
            ("binary", data) => (format!("binary-{}", data.to_lowercase()), self.row.clone()),
            ("human", "CIFAR-100N") => ("probe-cifar100n".to_owned(), "human".to_owned()),
            ("human", data) => ("probe-cifar10n".to_owned(), labels_of(data)?.to_owned()),
            ("synthetic" | "noise-rates" | "seeds", data) => (format!("images-{}", folded(data)), self.row.clone()),
            _ => return None,
        };
        let metric = METRICS.iter().find(|metric| metric.key == self.metric)?;
        // Shares of binary tables are printed as such, and shown in percent as everywhere.
        let scale = if self.table == "binary" { metric.scale } else { 1.0 };
        // As the paper rounds it, without the digits that binary fractions add.
        let scaled = |value: f64| (value * scale * 1e6).round() / 1e6;
        let setting = match (self.table.as_str(), self.noise_percent) {
            ("binary" | "human", _) | (_, None) => String::new(),
            (_, Some(0)) => "clean labels, 200 epochs".to_owned(),
            (_, Some(percent)) => format!("{percent} %, 200 epochs"),
        };
        let place = match self.table.as_str() {
            "binary" => format!("binary tables, {}", self.data),
            "human" => format!("table of human labels, {}", self.data),
            "synthetic" => format!("table of synthetic noise, {}", self.data),
            "noise-rates" => "table of noise rates".to_owned(),
            _ => "table of seeds".to_owned(),
        };
        Some(Printed {
            experiment,
            row,
            arm: self.arm.clone(),
            setting,
            metric: metric.name.to_owned(),
            value: scaled(self.value),
            deviation: self.std.map(scaled),
            unit: String::new(),
            place,
            elsewhere: false,
        })
    }
}

/// The experiment's name for a kind of human labels.
fn labels_of(data: &str) -> Option<&'static str> {
    let kinds =
        [("aggregate", "aggre"), ("random1", "rand1"), ("random2", "rand2"), ("random3", "rand3"), ("worst", "worst")];
    let kind = data.strip_prefix("CIFAR-10N ")?;
    kinds.iter().find(|(paper, _)| *paper == kind).map(|(_, own)| *own)
}

/// `CIFAR-100` as the experiments write it: `cifar100`; `Food-101` and `mini-ImageNet` keep the dash.
fn folded(data: &str) -> String {
    let lower = data.to_lowercase();
    lower.strip_prefix("cifar-").map_or(lower.clone(), |rest| format!("cifar{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::EMBEDDED;

    #[test]
    fn every_number_of_the_paper_belongs_to_an_experiment() {
        let numbers = printed().unwrap();
        assert_eq!(numbers.iter().filter(|number| !number.elsewhere && number.experiment != "headline").count(), 368);
        for number in numbers.iter().filter(|number| number.experiment != "headline") {
            assert!(EMBEDDED.iter().any(|(name, _)| *name == number.experiment), "{number:?}");
            assert!(number.elsewhere || number.arm == "base" || number.arm == ENVELOPE, "{number:?}");
        }
    }

    #[test]
    fn numbers_keep_their_places_and_become_percent() {
        let numbers = printed().unwrap();
        let of = |experiment: &str, row: &str, setting: &str, arm: &str, metric: &str| {
            let same = |n: &&Printed| {
                (n.experiment.as_str(), n.row.as_str(), n.setting.as_str(), n.arm.as_str(), n.metric.as_str())
                    == (experiment, row, setting, arm, metric)
                    && !n.elsewhere
            };
            numbers.iter().filter(same).map(Printed::text).collect::<Vec<_>>()
        };
        assert_eq!(of("binary-adult", "LR", "", "cmrm", "accuracy"), ["83.3"]);
        assert_eq!(of("binary-adult", "SVM", "", "base", "NC APSS"), ["1.512"]);
        assert_eq!(of("probe-cifar10n", "worst", "", "base", "accuracy"), ["95.71"]);
        assert_eq!(of("images-cifar100", "CE", "40 %, 200 epochs", "base", "accuracy"), ["62.63"]);
        // Three tables have this one.
        assert_eq!(of("images-cifar100", "CE", "20 %, 200 epochs", "base", "accuracy").last().unwrap(), "64.74 ± 0.5");
    }
}
