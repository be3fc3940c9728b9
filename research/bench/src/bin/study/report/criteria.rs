//! What a search by observed labels would have chosen among the arms, against the best by clean test labels.

use cmrm::criterion::Criterion;
use cmrm_bench::sets::NAMES;

use super::results::{Results, Setting};
use super::summary::table;
use crate::train::{ArmResult, CellResult};

const LOSS: &str = "cross-entropy";
/// Points from the oracle that count as found.
const CLOSE: f64 = 0.3;

/// Every arm of a setting: means over the seeds.
struct Means<'a> {
    cells: Vec<&'a CellResult>,
    arms: usize,
}

impl<'a> Means<'a> {
    /// Of the cells with the same arms as the first that has the default among them; `None` for fewer than two.
    fn of(cells: &'a [CellResult], default: &str) -> Option<Self> {
        let names = |cell: &'a CellResult| cell.arms.iter().map(|arm| &arm.name[..]).collect::<Vec<_>>();
        let first = cells.iter().find(|cell| names(cell).contains(&default))?;
        let cells: Vec<&CellResult> = cells.iter().filter(|cell| names(cell) == names(first)).collect();
        (cells.len() >= 2).then_some(Means { cells, arms: first.arms.len() })
    }

    fn mean(&self, arm: usize, of: &dyn Fn(&ArmResult) -> f64) -> f64 {
        self.cells.iter().map(|cell| of(&cell.arms[arm])).sum::<f64>() / self.cells.len() as f64
    }

    /// The first of equals, as `tune` has it.
    fn best(&self, of: &dyn Fn(&ArmResult) -> f64) -> usize {
        (0..self.arms).reduce(|a, b| if self.mean(b, of) > self.mean(a, of) { b } else { a }).unwrap_or(0)
    }

    /// How far the arm that is best by `of` is from the oracle, in points.
    fn distance(&self, of: &dyn Fn(&ArmResult) -> f64) -> f64 {
        self.mean(self.best(&test), &test) - self.mean(self.best(of), &test)
    }

    /// Whether `arm` leads `default` by more than the standard error of the lead over the seeds.
    fn clearly_better(&self, arm: usize, default: usize, of: &dyn Fn(&ArmResult) -> f64) -> bool {
        let leads: Vec<f64> = self.cells.iter().map(|cell| of(&cell.arms[arm]) - of(&cell.arms[default])).collect();
        let (count, mean) = (leads.len() as f64, leads.iter().sum::<f64>() / leads.len() as f64);
        let variance = leads.iter().map(|lead| (lead - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        mean > (variance / count).sqrt()
    }
}

fn test(arm: &ArmResult) -> f64 {
    100.0 * arm.test
}

/// All settings with cross-entropy: judged by folds where they were, by a hold-out elsewhere.
fn judged<'a>(studied: &'a Results, searched: &'a Results, default: &str) -> Vec<(&'a Setting, Means<'a>)> {
    let of = |(setting, _): &'a (Setting, _)| {
        let cells = searched.of(setting, LOSS).or_else(|| studied.of(setting, LOSS))?;
        Some((setting, Means::of(cells, default)?))
    };
    studied.settings.iter().filter_map(of).collect()
}

/// The rule 'best by observed' by data set: rows to judge by are few in the small ones.
pub fn by_set(studied: &Results, searched: &Results, default: &str) -> String {
    let settings = judged(studied, searched, default);
    let rows = NAMES.iter().filter_map(|set| {
        let all: Vec<&Means<'_>> = settings.iter().filter(|(setting, _)| setting.set == *set).map(|(_, m)| m).collect();
        let cell = all.first()?.cells[0];
        let judges = if cell.folds > 1 {
            format!("{} in {} folds", cell.train_rows, cell.folds)
        } else {
            cell.validation_rows.to_string()
        };
        let distances: Vec<f64> = all.iter().map(|m| m.distance(&|arm| arm.verdict.observed)).collect();
        let close = distances.iter().filter(|&&distance| distance <= CLOSE).count();
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        Some(vec![
            (*set).to_owned(),
            judges,
            cell.test_rows.to_string(),
            format!("{close} of {}", distances.len()),
            format!("{mean:.2}"),
        ])
    });
    table(
        &["data", "rows to judge by, a seed", "test rows, a seed", "settings within 0.3 points", "mean distance"],
        rows,
    )
}

/// A row for every rule: share of settings within the margin of the oracle, mean and largest distance.
pub fn criteria(studied: &Results, searched: &Results, default: &str) -> String {
    let settings: Vec<Means<'_>> = judged(studied, searched, default).into_iter().map(|(_, means)| means).collect();
    let place =
        |means: &Means<'_>, name: &str| means.cells[0].arms.iter().position(|arm| arm.name == name).unwrap_or(0);
    let row = |name: String, rule: &dyn Fn(&Means<'_>) -> usize| {
        let regrets: Vec<f64> =
            settings.iter().map(|m| m.mean(m.best(&test), &test) - m.mean(rule(m), &test)).collect();
        let close = regrets.iter().filter(|&&regret| regret <= CLOSE).count() as f64 / regrets.len() as f64;
        let mean = regrets.iter().sum::<f64>() / regrets.len() as f64;
        let most = regrets.iter().copied().fold(0.0, f64::max);
        vec![name, format!("{:.0} %", 100.0 * close), format!("{mean:.2}"), format!("{most:.2}")]
    };
    let mut rows = vec![
        row("always base".into(), &|m| place(m, "base")),
        row(format!("always the default, {default}"), &|m| place(m, default)),
    ];
    for criterion in Criterion::ALL.into_iter().filter(|criterion| *criterion != Criterion::Agreement) {
        let score = move |arm: &ArmResult| arm.verdict.by(criterion).unwrap_or(0.0);
        rows.push(row(format!("best by {}", criterion.name()), &|m| m.best(&score)));
        rows.push(row(format!("best by {}, if clearly better than the default", criterion.name()), &|m| {
            let (best, default) = (m.best(&score), place(m, default));
            if m.clearly_better(best, default, &score) { best } else { default }
        }));
    }
    rows.push(alone(&settings));
    table(&["rule", "settings within 0.3 points of the oracle", "mean distance", "largest"], rows)
}

/// What a single seed would have chosen by itself, as someone with one table has it; each seed of a setting counts.
fn alone(settings: &[Means<'_>]) -> Vec<String> {
    let distances = settings.iter().flat_map(|m| {
        let best = m.mean(m.best(&test), &test);
        m.cells.iter().map(move |cell| {
            let better = |a: usize, b: usize| {
                let observed = |arm: usize| cell.arms[arm].verdict.observed;
                if observed(b) > observed(a) { b } else { a }
            };
            let weight = 1.0 / m.cells.len() as f64;
            (weight, best - m.mean((0..m.arms).reduce(better).unwrap_or(0), &test))
        })
    });
    let distances: Vec<(f64, f64)> = distances.collect();
    let sum = |of: &dyn Fn(f64) -> f64| {
        distances.iter().map(|&(weight, distance)| weight * of(distance)).sum::<f64>() / settings.len() as f64
    };
    let close = sum(&|distance| f64::from(u8::from(distance <= CLOSE)));
    let most = distances.iter().map(|&(_, distance)| distance).fold(0.0, f64::max);
    vec![
        "best by observed, each seed alone".into(),
        format!("{:.0} %", 100.0 * close),
        format!("{:.2}", sum(&|distance| distance)),
        format!("{most:.2}"),
    ]
}
