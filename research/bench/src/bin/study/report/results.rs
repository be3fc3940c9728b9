//! Results by setting, loss and seed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cmrm_bench::Result;
use cmrm_bench::sets::NAMES;

use crate::cells::Model;
use crate::train::CellResult;

/// What a default meets: data, model and noise. Loss and seed are not part of it.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub struct Setting {
    pub set: String,
    pub model: Model,
    pub noise: String,
    pub rate: f64,
    /// 0, 10, 20 or 40: the rate in percent, or for human labels the nearest of these to the share that is wrong.
    pub level: u32,
}

/// The levels of noise.
pub const LEVELS: [u32; 4] = [0, 10, 20, 40];

impl Setting {
    fn of(cell: &CellResult) -> Self {
        let is_human = !["clean", "symmetric", "pair", "instance"].contains(&&cell.noise[..]);
        let share = 100.0 * if is_human { cell.wrong } else { cell.rate };
        let distance = |level: &&u32| ((f64::from(**level) - share).abs() * 1000.0) as u64;
        let level = LEVELS.iter().min_by_key(distance).copied().unwrap_or(0);
        Setting { set: cell.set.clone(), model: cell.model, noise: cell.noise.clone(), rate: cell.rate, level }
    }

    /// Whether both are the same; the level of human labels may differ by seed.
    fn is(&self, other: &Setting) -> bool {
        (&other.set, other.model, &other.noise, other.rate) == (&self.set, self.model, &self.noise, self.rate)
    }

    /// Whether the default is chosen on it; it is judged on the others. Like the colours of a chessboard, so that every
    /// data set, model, noise and rate is in both halves.
    pub fn chooses(&self) -> bool {
        let place = |list: &[&str], name: &str| list.iter().position(|&other| other == name).unwrap_or(0);
        let noises = ["clean", "pair", "instance", "random1", "random2", "random3", "worst"];
        let rate = (self.rate * 10.0).round() as usize / 2;
        let field =
            place(&NAMES, &self.set) + usize::from(self.model == Model::Mlp) + place(&noises, &self.noise) + rate;
        field.is_multiple_of(2)
    }
}

/// All cells, by setting and loss.
pub struct Results {
    pub settings: Vec<(Setting, BTreeMap<String, Vec<CellResult>>)>,
    pub cells: usize,
    pub seconds: f64,
}

impl Results {
    /// The cells of the files that pass.
    pub fn read(paths: &[impl AsRef<Path>], pass: impl Fn(&CellResult) -> bool) -> Result<Self> {
        // The same cell may have been run again with other arms.
        let mut cells: BTreeMap<(String, Vec<String>), CellResult> = BTreeMap::new();
        for path in paths {
            let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.as_ref().display()))?;
            for (row, line) in text.lines().enumerate() {
                let cell: CellResult = serde_json::from_str(line)
                    .map_err(|error| format!("{}: line {}: {error}", path.as_ref().display(), row + 1))?;
                if !pass(&cell) {
                    continue;
                }
                let arms = cell.arms.iter().map(|arm| arm.name.clone()).collect();
                cells.insert((cell.key.clone(), arms), cell);
            }
        }
        let (count, seconds) = (cells.len(), cells.values().map(|cell| cell.seconds).sum());
        let mut settings: Vec<(Setting, BTreeMap<String, Vec<CellResult>>)> = Vec::new();
        for cell in cells.into_values() {
            let setting = Setting::of(&cell);
            let at = settings.iter().position(|(other, _)| other.is(&setting));
            let at = at.unwrap_or_else(|| {
                settings.push((setting, BTreeMap::new()));
                settings.len() - 1
            });
            settings[at].1.entry(cell.loss.clone()).or_default().push(cell);
        }
        for cells in settings.iter_mut().flat_map(|(_, by_loss)| by_loss.values_mut()) {
            cells.sort_by_key(|cell| cell.seed);
        }
        settings.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal));
        Ok(Results { settings, cells: count, seconds })
    }

    /// Mean gain over the base arm in points, setting by setting, for the settings that pass.
    pub fn gains(&self, loss: &str, arm: &str, pass: impl Fn(&Setting) -> bool) -> Vec<(&Setting, f64)> {
        let of_setting = |(setting, by_loss): &'_ (Setting, BTreeMap<String, Vec<CellResult>>)| {
            let cells = by_loss.get(loss)?;
            // Arms that were added later are not in every cell.
            let gains: Vec<f64> = cells.iter().filter_map(|cell| gain(cell, arm)).collect();
            (!gains.is_empty()).then(|| gains.iter().sum::<f64>() / gains.len() as f64).filter(|_| pass(setting))
        };
        self.settings.iter().filter_map(|entry| Some((&entry.0, of_setting(entry)?))).collect()
    }

    /// The cells of a setting with this loss.
    pub fn of(&self, setting: &Setting, loss: &str) -> Option<&[CellResult]> {
        let (_, by_loss) = self.settings.iter().find(|(other, _)| other.is(setting))?;
        by_loss.get(loss).map(Vec::as_slice)
    }

    /// Fewest and most seeds of a setting with this loss.
    pub fn seeds(&self, loss: &str) -> (usize, usize) {
        let seeds = |cells: &Vec<CellResult>| cells.iter().map(|cell| cell.seed).collect::<BTreeSet<_>>().len();
        let counts = self.settings.iter().map(|(_, by_loss)| by_loss.get(loss).map_or(0, seeds));
        (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0))
    }
}

/// Gain of an arm over the base arm of the same training, in points of accuracy.
pub fn gain(cell: &CellResult, arm: &str) -> Option<f64> {
    let of = |name: &str| cell.arms.iter().find(|arm| arm.name == name).map(|arm| arm.test);
    Some(100.0 * (of(arm)? - of("base")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_halves_hold_every_set_model_noise_and_rate() {
        let mut all = Vec::new();
        for set in NAMES {
            for model in [Model::Linear, Model::Mlp] {
                let mut push = |noise: &str, rate: f64| {
                    let level = (100.0 * rate).round() as u32;
                    all.push(Setting { set: set.into(), model, noise: noise.into(), rate, level });
                };
                push("clean", 0.0);
                for rate in [0.1, 0.2, 0.4] {
                    ["symmetric", "pair", "instance"].into_iter().for_each(|noise| push(noise, rate));
                }
            }
        }
        for half in [true, false] {
            let has = |is: &dyn Fn(&Setting) -> bool| all.iter().any(|s| s.chooses() == half && is(s));
            for set in NAMES {
                assert!(LEVELS.iter().all(|&level| has(&|s| s.set == set && s.level == level)), "{set}");
            }
            for noise in ["clean", "symmetric", "pair", "instance"] {
                for model in [Model::Linear, Model::Mlp] {
                    assert!(has(&|s| s.noise == noise && s.model == model), "{noise} {model:?}");
                }
            }
        }
        let chosen = all.iter().filter(|s| s.chooses()).count();
        assert_eq!(chosen, all.len() / 2);
    }
}
