//! How good an audit is: wrong labels are planted, the settings fitted again, and those counted that come back as suspects.
//!
//! The flips imitate the noise that the run has estimated. With `p` the probability that a row's label is wrong and `T` the transition
//! matrix, a row labelled `y` is drawn in proportion to `(1 − p)(1 − T[y][y])`, and its new label by the rest of `T[y]`. So every row that
//! is right stands the chance that noise would have given it, hard rows included; flips among the surest rows alone would come back more
//! often than real errors do. Rows that are wrong already are drawn seldom, and count as much as they are doubted to be.
//!
//! What the planted labels tell of the run:
//!
//! - recall: the share of them that are suspects of the second fit (Wilson's interval). That fit has more noise to bear than the run;
//! - recall of hard rows: the same of the third of them whose own labels the run was least sure of, which is nearer to the errors of people;
//! - precision: `recall · rate · rows / suspects`, with the run's own rate of wrong labels and number of suspects. The relative errors of
//!   recall and rate are independent, and are added as such.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cmrm::metric::wilson;
use cmrm::noise_model::Transition;
use cmrm::rng::Rng;
use cmrm_report::{Estimate, SELF_CHECK_SCHEMA, SelfCheck};
use cmrm_run::summary::NoiseSummary;
use cmrm_run::{Expected, TrainingRows};

use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::progress::Progress;

/// The stream of random numbers that flips are drawn from.
const STREAM: u64 = 0x66_6c_69_70_73;
/// Share of the rows that are flipped, and at most how many: the fewer, the less they disturb the fit; the more, the narrower the intervals.
const SHARE: f64 = 0.1;
const MOST: usize = 500;
/// With fewer flips the interval of the recall says nothing.
const FEWEST: usize = 10;
/// Of every class at most one row in so many is flipped.
const ONE_IN: usize = 3;
/// One in so many of the flips is on a hard row.
const HARD_ONE_IN: usize = 3;
/// Confidence of the intervals: that of the estimated noise.
const LEVEL: f64 = 0.9;
/// A label that is wrong with a lower probability looks right.
const LOOKS_RIGHT: f64 = 0.1;

/// What an audit found before anything was planted.
#[derive(Debug, Clone, Copy)]
pub struct Audited<'a> {
    /// What the models say of the training rows.
    pub rows: &'a TrainingRows,
    /// How many labels are wrong.
    pub noise: NoiseSummary,
    /// Which classes are taken for which, where that is known.
    pub transition: Option<&'a Transition>,
    /// The precision that the list of suspects is cut for; nothing for the usual list.
    pub precision: Option<f64>,
}

impl Fit {
    /// Plants wrong labels among the training rows, fits them, and counts those that are found. `audited` is what this very fit has found;
    /// it must be a vote's.
    pub fn self_check(mut self, audited: &Audited<'_>, watch: &mut dyn Progress) -> Result<SelfCheck> {
        let Audited { rows: before, noise, precision, .. } = *audited;
        let train = &self.rows.train.data;
        let fits = before.labels == train.labels && before.rows == train.rows;
        if !fits || before.wrong_probability.len() != before.len() {
            return Err(Error::refused(
                "a self-check needs the rows that the run was trained on, and how likely each of their labels is wrong; fit again, \
                 with auto, forest, boosting or kernel",
            ));
        }
        let planted = plant(audited, self.config.seed)?;
        let rows = Arc::make_mut(&mut self.rows);
        // Every copy of a row that counts several times.
        let flips: HashMap<u64, u32> = planted.iter().map(|&(row, label)| (before.rows[row], label)).collect();
        for (label, place) in rows.train.data.labels.iter_mut().zip(&before.rows) {
            *label = flips.get(place).copied().unwrap_or(*label);
        }
        let after = self.run_vote(watch)?.training_rows;

        let suspects: HashSet<usize> = before.listed(precision).into_iter().collect();
        let listed: HashSet<usize> = after.listed(precision).into_iter().collect();
        let found = planted.iter().filter(|(row, _)| listed.contains(row)).count();
        let recall = estimate(found, planted.len())?;
        let mut hard: Vec<usize> = planted.iter().map(|flip| flip.0).collect();
        hard.sort_by(|&a, &b| before.margin[a].total_cmp(&before.margin[b]));
        hard.truncate(planted.len() / HARD_ONE_IN);
        let found_hard = hard.iter().filter(|row| listed.contains(row)).count();
        let looked_right: Vec<usize> = (0..before.len())
            .filter(|row| {
                f64::from(before.wrong_probability[*row]) < LOOKS_RIGHT
                    && before.margin[*row] > 0.0
                    && !flips.contains_key(&before.rows[*row])
            })
            .collect();
        let false_alarms = looked_right.iter().filter(|row| listed.contains(row)).count();
        let expected = Expected::of(&before.wrong_probability, suspects.iter().copied());
        let mean = |rows: &mut dyn Iterator<Item = usize>| mean_of(&after.wrong_probability, rows);
        Ok(SelfCheck {
            schema: SELF_CHECK_SCHEMA.into(),
            wanted_precision: precision,
            suspects: suspects.len(),
            planted: planted.len(),
            found,
            recall,
            recall_of_hard: estimate(found_hard, hard.len())?,
            expected_recall: expected.map_or(0.0, |expected| expected.recall),
            precision: (!suspects.is_empty()).then(|| precision_of(recall, noise, before.len(), suspects.len())),
            expected_precision: expected.map(|expected| expected.precision),
            looked_right: looked_right.len(),
            false_alarms,
            noise_before: noise.rate,
            noise_due: noise.rate + added(before, &planted) / before.len() as f64,
            noise_found: mean(&mut (0..before.len())),
            planted_wrong_probability: mean(&mut planted.iter().map(|&(row, _)| row)),
            right_wrong_probability: mean(&mut looked_right.iter().copied()),
        })
    }
}

/// The rows to flip, ascending, with their new labels. Of a row that counts several times the first copy stands for all.
fn plant(audited: &Audited<'_>, seed: u64) -> Result<Vec<(usize, u32)>> {
    let Audited { rows, transition, .. } = *audited;
    let classes = rows.classes.len();
    // Without noise there is nothing to imitate but the simplest.
    let transition = transition.filter(|matrix| (0..classes).any(|class| matrix.probability(class, class) < 1.0));
    let chance = |of: u32, as_class: usize| match transition {
        _ if as_class == of as usize => 0.0,
        Some(matrix) => matrix.probability(of as usize, as_class),
        None => 1.0,
    };
    let share = |of: u32| (0..classes).map(|class| chance(of, class)).sum::<f64>();
    let shares: Vec<f64> = (0..classes as u32).map(share).collect();
    let mut rng = Rng::new(seed, STREAM);
    let mut places = HashSet::new();
    let mut left = vec![0usize; classes];
    let mut drawn: Vec<(f64, usize)> = Vec::new();
    for row in 0..rows.len() {
        if !places.insert(rows.rows[row]) {
            continue;
        }
        let label = rows.labels[row];
        left[label as usize] += 1;
        let weight = f64::from(1.0 - rows.wrong_probability[row]) * shares[label as usize];
        // The least of these keys are a draw without replacement by weight (Efraimidis and Spirakis).
        let key = -(1.0 - rng.uniform()).ln() / weight;
        if weight > 0.0 {
            drawn.push((key, row));
        }
    }
    left.iter_mut().for_each(|rows| *rows /= ONE_IN);
    let wanted = ((SHARE * places.len() as f64) as usize).min(MOST);
    drawn.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut planted = Vec::with_capacity(wanted);
    for (_, row) in drawn {
        let label = rows.labels[row];
        if planted.len() == wanted || left[label as usize] == 0 {
            continue;
        }
        left[label as usize] -= 1;
        planted.push((row, new_label(classes, rng.uniform() * shares[label as usize], |class| chance(label, class))));
    }
    if planted.len() < FEWEST {
        return Err(Error::refused(format!(
            "a self-check flips a tenth of the rows, and of no class more than a third; {} rows allow {} flips, and it takes at least \
             {FEWEST}; collect more rows",
            places.len(),
            planted.len()
        )));
    }
    planted.sort_unstable();
    Ok(planted)
}

/// The class at which the chances add up to `point`.
fn new_label(classes: usize, point: f64, chance: impl Fn(usize) -> f64) -> u32 {
    let (mut sum, mut last) = (0.0, 0);
    for class in (0..classes).filter(|&class| chance(class) > 0.0) {
        sum += chance(class);
        last = class as u32;
        if point < sum {
            break;
        }
    }
    last
}

/// How many more labels are wrong by the flips: one that was right is wrong now, and one that was wrong may have been put right, for which
/// all other classes are held to be alike.
fn added(before: &TrainingRows, planted: &[(usize, u32)]) -> f64 {
    let put_right = 1.0 / (before.classes.len() - 1).max(1) as f64;
    let of_row = |&(row, _): &(usize, u32)| {
        let wrong = f64::from(before.wrong_probability[row]);
        1.0 - wrong - wrong * put_right
    };
    planted.iter().map(of_row).sum()
}

/// Share of so many suspects that are wrong.
fn precision_of(recall: Estimate, noise: NoiseSummary, rows: usize, suspects: usize) -> Estimate {
    let wrong = rows as f64 / suspects as f64;
    let value = recall.value * noise.rate * wrong;
    let reach = |recall_end: f64, rate_end: f64| {
        let relative = |end: f64, value: f64| if value > 0.0 { end / value - 1.0 } else { 0.0 };
        value * relative(recall_end, recall.value).hypot(relative(rate_end, noise.rate))
    };
    let [rate_low, rate_high] = noise.interval;
    let (low, mut high) = (value - reach(recall.low, rate_low), value + reach(recall.high, rate_high));
    if value == 0.0 {
        // Nothing was found, or no label is wrong: relative errors have no meaning.
        high = recall.high * rate_high * wrong;
    }
    let [value, low, high] = [value, low, high].map(|share| share.clamp(0.0, 1.0));
    Estimate { value, low, high }
}

fn estimate(found: usize, of: usize) -> Result<Estimate> {
    let interval = wilson(found, of, LEVEL)?;
    Ok(Estimate { value: found as f64 / of as f64, low: interval.low, high: interval.high })
}

/// The mean over these rows, if there are numbers of them.
fn mean_of(values: &[f32], rows: &mut dyn Iterator<Item = usize>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0usize);
    for row in rows {
        sum += f64::from(*values.get(row)?);
        count += 1;
    }
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmrm::Matrix;

    fn audited(rows: &TrainingRows, transition: Option<&Transition>) -> Result<Vec<(usize, u32)>> {
        let noise = NoiseSummary { rate: 0.2, interval: [0.15, 0.25], by_pair: false };
        plant(&Audited { rows, noise, transition, precision: None }, 3)
    }

    /// Rows of three classes in turn; every fourth is wrong for sure.
    fn rows(count: usize) -> TrainingRows {
        TrainingRows {
            rows: (0..count as u64).collect(),
            classes: ["a", "b", "c"].map(String::from).into(),
            labels: (0..count as u32).map(|row| row % 3).collect(),
            wrong_probability: (0..count).map(|row| if row % 4 == 0 { 1.0 } else { 0.1 }).collect(),
            ..TrainingRows::default()
        }
    }

    #[test]
    fn flips_fall_on_labels_that_may_be_right_and_make_others_of_them() {
        let rows = rows(600);
        let planted = audited(&rows, None).unwrap();
        assert_eq!(planted.len(), 60);
        assert!(planted.iter().all(|&(row, label)| row % 4 != 0 && label != rows.labels[row] && label < 3));
        assert_eq!(planted, audited(&rows, None).unwrap());
        // Both other classes.
        let ones: HashSet<u32> = planted.iter().filter(|flip| rows.labels[flip.0] == 0).map(|flip| flip.1).collect();
        assert_eq!(ones.len(), 2);
        assert!((added(&rows, &planted) - 60.0 * (0.9 - 0.05)).abs() < 1e-3);
    }

    #[test]
    fn flips_follow_the_transition_matrix() {
        // Labels a are taken for b alone, b and c for nothing.
        let matrix = [0.8, 0.2, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let matrix = Transition::new(Matrix::new(&matrix, 3).unwrap()).unwrap();
        let rows = rows(600);
        let planted = audited(&rows, Some(&matrix)).unwrap();
        assert!(planted.iter().all(|&(row, label)| rows.labels[row] == 0 && label == 1));
        // At most a third of the 200 rows of the class.
        assert_eq!(planted.len(), 60);
        let few = TrainingRows { labels: (0..600).map(|row| u32::from(row >= 90)).collect(), ..rows };
        assert_eq!(audited(&few, Some(&matrix)).unwrap().len(), 30);
    }

    #[test]
    fn copies_of_a_row_count_once_and_few_rows_are_refused() {
        let twice = TrainingRows { rows: (0..200).map(|row| row / 2).collect(), ..rows(200) };
        let planted = audited(&twice, None).unwrap();
        assert!(planted.len() == 10 && planted.iter().all(|(row, _)| row % 2 == 0), "{planted:?}");
        let refused = audited(&rows(99), None).unwrap_err().to_string();
        assert!(refused.contains("99 rows allow 9 flips"), "{refused}");
    }

    #[test]
    fn precision_is_the_share_of_the_suspects_that_recall_and_rate_explain() {
        let recall = Estimate { value: 0.8, low: 0.72, high: 0.88 };
        let noise = NoiseSummary { rate: 0.2, interval: [0.2, 0.2], by_pair: false };
        let close = |found: Estimate, expected: [f64; 3]| {
            [found.low, found.value, found.high]
                .iter()
                .zip(expected)
                .for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{found:?}"));
        };
        close(precision_of(recall, noise, 1000, 200), [0.72, 0.8, 0.88]);
        close(precision_of(recall, noise, 1000, 150), [0.96, 1.0, 1.0]);
        // Two errors of a tenth.
        let unsure = NoiseSummary { interval: [0.18, 0.22], ..noise };
        let reach = 0.08 * 2.0_f64.sqrt();
        close(precision_of(recall, unsure, 1000, 200), [0.8 - reach, 0.8, 0.8 + reach]);
        let none = Estimate { value: 0.0, low: 0.0, high: 0.1 };
        close(precision_of(none, unsure, 1000, 200), [0.0, 0.0, 0.11]);
    }
}
