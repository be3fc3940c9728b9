//! Results by setting: means over the seeds, gains over the base arm, and the best plain loss in hindsight.

use std::collections::BTreeMap;
use std::path::Path;

use cmrm_bench::Result;
use cmrm_bench::sets::{CHOSEN_ON, TABLES, TREC, is_left_out};

use crate::arms::{BASE, ROBUST};
use crate::cells::{LOSSES, has_loss};
use crate::train::{ArmResult, CellResult};

/// The loss that `robust` is compared on.
pub const OWN_LOSS: &str = LOSSES[0];
/// The levels of noise.
pub const LEVELS: [u32; 3] = [0, 20, 40];

/// Which accuracy of an arm.
pub type Measure = fn(&ArmResult) -> f64;

/// Data, model and noise, with every arm of every loss and seed.
pub struct Setting {
    pub set: String,
    pub model: String,
    pub noise: String,
    pub rate: f64,
    /// 0, 20 or 40, the nearest to the share of wrong labels in percent.
    pub level: u32,
    /// By loss and arm, then by seed.
    arms: BTreeMap<(String, String), BTreeMap<u64, ArmResult>>,
}

impl Setting {
    fn of(cell: &CellResult) -> Self {
        // Human labels are never clean, however few of them are wrong.
        let share = match cell.noise.as_str() {
            "clean" => 0.0,
            "symmetric" | "pair" | "instance" => cell.rate,
            _ => cell.wrong.max(0.2),
        };
        Setting {
            set: cell.set.clone(),
            model: cell.model.clone(),
            noise: cell.noise.clone(),
            rate: cell.rate,
            level: 20 * (5.0 * share).round() as u32,
            arms: BTreeMap::new(),
        }
    }

    /// `adult network symmetric 40 %`.
    pub fn name(&self) -> String {
        let rate = if self.rate > 0.0 { format!(" {:.0} %", 100.0 * self.rate) } else { String::new() };
        format!("{} {} {}{rate}", self.set, self.model, self.noise)
    }

    /// Whether defaults were chosen on its data.
    pub fn is_chosen_on(&self) -> bool {
        CHOSEN_ON.contains(&self.set.as_str())
    }

    /// Whether nothing was chosen on its data.
    pub fn is_left_out(&self) -> bool {
        is_left_out(&self.set)
    }

    /// What its data are.
    pub fn kind(&self) -> &'static str {
        match self.set.as_str() {
            TREC => "embeddings",
            "cifar10" | "cifar100" => "features",
            set if is_left_out(set) => "left out",
            set if TABLES.contains(&set) => "tables",
            _ => "others",
        }
    }

    fn arm(&self, loss: &str, arm: &str) -> Option<&BTreeMap<u64, ArmResult>> {
        self.arms.get(&(loss.to_owned(), arm.to_owned()))
    }

    /// What an arm gains over the base arm, in points: the mean over the seeds that have both.
    pub fn gain(&self, loss: &str, arm: &str, of: Measure) -> Option<f64> {
        let (arm, base) = (self.arm(loss, arm)?, self.arm(loss, BASE)?);
        mean(arm.iter().filter_map(|(seed, arm)| Some(of(arm) - of(base.get(seed)?))))
    }

    /// Mean of an arm over the seeds that can be compared, in points.
    pub fn mean(&self, loss: &str, arm: &str, of: Measure) -> Option<f64> {
        let (arm, seeds) = (self.arm(loss, arm)?, self.seeds());
        mean(seeds.iter().filter_map(|seed| Some(of(arm.get(seed)?))))
    }

    /// The plain losses of the model.
    fn losses(&self) -> impl Iterator<Item = &'static str> {
        LOSSES.into_iter().filter(|loss| has_loss(&self.model, loss))
    }

    /// Seeds with every plain loss.
    fn seeds(&self) -> Vec<u64> {
        let Some(own) = self.arm(OWN_LOSS, BASE) else { return Vec::new() };
        let has_all =
            |seed: &&u64| self.losses().all(|loss| self.arm(loss, BASE).is_some_and(|b| b.contains_key(seed)));
        own.keys().filter(has_all).copied().collect()
    }

    /// The plain loss with the best mean of clean test labels at its chosen epochs: what nobody knows beforehand.
    pub fn best_plain(&self) -> Option<(&'static str, f64)> {
        let of = |loss| Some((loss, self.mean(loss, BASE, |arm| arm.chosen)?));
        self.losses().filter_map(of).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// How far an arm is above the best plain loss, in points.
    pub fn above_plain(&self, loss: &str, arm: &str) -> Option<f64> {
        Some(self.mean(loss, arm, |arm| arm.chosen)? - self.best_plain()?.1)
    }

    /// Whether the observed validation labels are for `robust` as much as for any plain loss.
    pub fn picks_robust(&self) -> Option<bool> {
        let robust = self.mean(OWN_LOSS, ROBUST, |arm| arm.observed)?;
        Some(self.losses().filter_map(|loss| self.mean(loss, BASE, |arm| arm.observed)).all(|plain| robust >= plain))
    }
}

/// In points; nothing for no shares at all.
fn mean(shares: impl Iterator<Item = f64>) -> Option<f64> {
    let shares: Vec<f64> = shares.collect();
    (!shares.is_empty()).then(|| 100.0 * shares.iter().sum::<f64>() / shares.len() as f64)
}

/// All cells, by setting.
pub struct Results {
    pub settings: Vec<Setting>,
    pub cells: usize,
    /// Fewest and most seeds that can be compared.
    pub seeds: (usize, usize),
    pub seconds: f64,
}

impl Results {
    pub fn read(paths: &[impl AsRef<Path>]) -> Result<Self> {
        let mut cells = Vec::new();
        for path in paths {
            cells.extend(read_lines(path.as_ref())?);
        }
        Ok(Results::of(cells))
    }

    fn of(cells: Vec<CellResult>) -> Self {
        // One cell may stand in several lines, each with other arms.
        let mut settings: BTreeMap<String, Setting> = BTreeMap::new();
        let keys: std::collections::BTreeSet<&str> = cells.iter().map(|cell| cell.key.as_str()).collect();
        let (count, seconds) = (keys.len(), cells.iter().map(|cell| cell.seconds).sum());
        for cell in cells {
            let own = Setting::of(&cell);
            let setting = settings.entry(own.name()).or_insert(own);
            for arm in cell.arms {
                let arms = setting.arms.entry((cell.loss.clone(), arm.name.clone())).or_default();
                arms.insert(cell.seed, arm);
            }
        }
        let settings: Vec<Setting> = settings.into_values().collect();
        let seeds = settings.iter().map(|setting| setting.seeds().len());
        let seeds = (seeds.clone().min().unwrap_or(0), seeds.max().unwrap_or(0));
        Results { settings, cells: count, seeds, seconds }
    }
}

/// The lines of a file of results.
pub fn read_lines(path: &Path) -> Result<Vec<CellResult>> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let parse = |(row, line)| {
        serde_json::from_str(line).map_err(|error| format!("{}: line {}: {error}", path.display(), row + 1).into())
    };
    text.lines().enumerate().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line with these arms: name, and accuracy on observed and on clean labels.
    fn line(loss: &str, seed: u64, noise: &str, wrong: f64, arms: &[(&str, f64, f64)]) -> CellResult {
        let arm = |&(name, observed, chosen): &(&str, f64, f64)| ArmResult {
            name: name.into(),
            epoch: 1,
            observed,
            chosen,
            last: chosen - 0.1,
        };
        CellResult {
            key: format!("{loss}/{noise}/{seed}"),
            set: "digits".into(),
            model: "linear".into(),
            noise: noise.into(),
            rate: 0.0,
            loss: loss.into(),
            seed,
            wrong,
            train_rows: 1,
            validation_rows: 1,
            test_rows: 1,
            epochs: 2,
            seconds: 1.0,
            arms: arms.iter().map(arm).collect(),
        }
    }

    #[test]
    fn gains_are_paired_and_the_best_plain_loss_is_over_the_seeds_that_have_all() {
        let lines = vec![
            line("cross-entropy", 0, "clean", 0.0, &[("base", 0.6, 0.5), ("robust", 0.6, 0.7)]),
            line("cross-entropy", 1, "clean", 0.0, &[("base", 0.9, 0.1), ("robust", 0.1, 0.2)]),
            line("gce", 0, "clean", 0.0, &[("base", 0.5, 0.6), ("robust", 0.5, 0.65)]),
            line("sce", 0, "clean", 0.0, &[("base", 0.5, 0.55)]),
            // The same cell again with another arm.
            line("cross-entropy", 0, "clean", 0.0, &[("before", 0.5, 0.45)]),
        ];
        let results = Results::of(lines);
        assert_eq!((results.settings.len(), results.cells, results.seeds, results.seconds), (1, 4, (1, 1), 5.0));
        let setting = &results.settings[0];
        let near = |found: Option<f64>, expected: f64| assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?}");
        near(setting.gain("cross-entropy", "robust", |arm| arm.chosen), 15.0);
        near(setting.gain("cross-entropy", "before", |arm| arm.last), -5.0);
        assert_eq!(setting.best_plain().unwrap().0, "gce");
        near(setting.above_plain("cross-entropy", "robust"), 10.0);
        near(setting.above_plain("cross-entropy", "base"), -10.0);
        assert_eq!(setting.picks_robust(), Some(true));
    }

    #[test]
    fn human_labels_count_under_the_nearest_level_that_is_not_clean() {
        let level = |noise, wrong| Setting::of(&line("gce", 0, noise, wrong, &[])).level;
        assert_eq!(
            [level("clean", 0.0), level("aggre", 0.09), level("random1", 0.17), level("worst", 0.4)],
            [0, 20, 20, 40]
        );
        let two_classes = CellResult { rate: 0.35, ..line("gce", 0, "symmetric", 0.35, &[]) };
        assert_eq!(Setting::of(&two_classes).level, 40);
    }
}
