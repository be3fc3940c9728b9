//! Experiments as they are written in TOML files.

use std::path::Path;

use serde::Deserialize;

use crate::binary::{ArmName, LossRow};
use crate::data::TableData;
use crate::error::{Error, Result};
use crate::figure::Figures;
use crate::probe::Probe;
use crate::report::Images;

/// The experiments of the repository, by name and text.
pub(crate) const EMBEDDED: &[(&str, &str)] = &[
    ("binary-adult", include_str!("../experiments/binary-adult.toml")),
    ("binary-email", include_str!("../experiments/binary-email.toml")),
    ("binary-credit", include_str!("../experiments/binary-credit.toml")),
    ("probe-cifar10n", include_str!("../experiments/probe-cifar10n.toml")),
    ("probe-cifar100n", include_str!("../experiments/probe-cifar100n.toml")),
    ("images-cifar100", include_str!("../experiments/images-cifar100.toml")),
    ("images-mini-imagenet", include_str!("../experiments/images-mini-imagenet.toml")),
    ("images-food-101", include_str!("../experiments/images-food-101.toml")),
    ("figures-adult", include_str!("../experiments/figures-adult.toml")),
    ("figures-cifar10n", include_str!("../experiments/figures-cifar10n.toml")),
];

/// A table or figure of the paper.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// Its name on the command line.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Where it stands in the paper.
    pub paper: String,
    /// What a reader must know: deviations, quirks, what is not available.
    #[serde(default)]
    pub notes: Vec<String>,
    /// A table of binary problems.
    pub binary: Option<Binary>,
    /// A table of linear probes.
    pub probe: Option<Probe>,
    /// A table of image runs that were made elsewhere.
    pub images: Option<Images>,
    /// Figures.
    pub figures: Option<Figures>,
}

/// A table of one binary data set: losses × arms × metrics.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Binary {
    /// The data.
    pub data: TableData,
    /// Share of the training labels that are flipped.
    pub noise: f64,
    /// Seeds 0 to one less than this.
    pub seeds: u64,
    /// Seeds of the arms that stand beside the protocols; as many if absent.
    pub side_seeds: Option<u64>,
    /// The losses.
    pub rows: Vec<LossRow>,
}

impl Experiment {
    /// Reads the text of a file; `file` is for messages.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let experiment: Experiment = toml::from_str(text).map_err(|error| Error::experiment(file, error))?;
        experiment.check(file)?;
        Ok(experiment)
    }

    /// Refuses what cannot be run, before anything is trained.
    fn check(&self, file: &str) -> Result<()> {
        let in_file = |error: Error| Error::experiment(file, error);
        match (&self.binary, &self.probe, &self.images, &self.figures) {
            (Some(binary), None, None, None) => binary.check().map_err(in_file),
            (None, Some(probe), None, None) => probe.check().map_err(in_file),
            (None, None, Some(_), None) => Ok(()),
            (None, None, None, Some(figures)) => figures.check().map_err(in_file),
            _ => Err(Error::experiment(file, "needs one section of [binary], [probe], [images] and [figures]")),
        }
    }

    /// Arms that some loss of the table has, in their order.
    pub fn arms(&self) -> Vec<ArmName> {
        let rows = self.binary.iter().flat_map(|binary| &binary.rows);
        let used: Vec<ArmName> = rows.flat_map(|row| row.arms.clone()).collect();
        ArmName::ALL.into_iter().filter(|arm| used.contains(arm)).collect()
    }
}

impl Binary {
    fn check(&self) -> Result<()> {
        cmrm::noise::Rate::new(self.noise)?;
        self.data.check()?;
        if self.rows.is_empty() || self.seeds == 0 {
            return Err(Error::Unknown("needs at least one loss and one seed".into()));
        }
        for row in &self.rows {
            row.check().map_err(|error| Error::Unknown(format!("loss {}: {error}", row.name)))?;
            if self.rows.iter().filter(|other| other.name == row.name).count() > 1 {
                return Err(Error::Unknown(format!("two losses are named {}", row.name)));
            }
        }
        Ok(())
    }

    /// Whether an arm is trained with a seed: those that only stand beside the protocols may have fewer.
    pub(crate) fn has(&self, arm: ArmName, seed: u64) -> bool {
        !arm.stands_beside() || self.side_seeds.is_none_or(|seeds| seed < seeds)
    }
}

/// All experiments that the program holds.
pub fn all() -> Result<Vec<Experiment>> {
    EMBEDDED.iter().map(|(name, text)| Experiment::parse(&format!("experiments/{name}.toml"), text)).collect()
}

/// An experiment by its name, or by the path of its file.
pub fn find(name: &str) -> Result<Experiment> {
    let path = Path::new(name);
    if path.extension().is_some_and(|extension| extension == "toml") {
        let text = std::fs::read_to_string(path).map_err(|error| Error::file(path, error))?;
        return Experiment::parse(name, &text);
    }
    let known = EMBEDDED.iter().find(|(known, _)| *known == name);
    let (_, text) = known.ok_or_else(|| {
        let names: Vec<&str> = EMBEDDED.iter().map(|(name, _)| *name).collect();
        Error::Unknown(format!("unknown experiment '{name}'; use one of {}, or a .toml file", names.join(", ")))
    })?;
    Experiment::parse(&format!("experiments/{name}.toml"), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_repository_parses_and_is_called_as_its_file() {
        for (name, text) in EMBEDDED {
            assert_eq!(Experiment::parse(name, text).unwrap().name, *name);
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            if path.extension().is_some_and(|extension| extension == "toml") && name != "printed" {
                assert!(EMBEDDED.iter().any(|(known, _)| *known == name), "{name} is not embedded");
            }
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_place() {
        let good = EMBEDDED[0].1;
        for (from, to, expected) in [
            ("set = \"adult\"", "set = \"adlut\"", "did you mean 'adult'"),
            ("positive = \"<=50K\"", "positive = \"rich\"", "rich"),
            ("noise = 0.2", "noise = 1.5", "1.5"),
            ("name = \"cross-entropy\"", "name = \"crossentropy\"", "crossentropy"),
            ("alpha-plus = 0.3", "alpha-plus = 1.3", "1.3"),
            ("noise = 0.2", "nois = 0.2", "nois"),
        ] {
            assert!(good.contains(from), "{from}");
            let message = Experiment::parse("x.toml", &good.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(message.contains(expected) && message.contains("x.toml"), "{message}");
        }
    }
}
