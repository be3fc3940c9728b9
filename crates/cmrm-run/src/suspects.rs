//! The rows whose labels look wrong, from the record of a single fit.

use cmrm::audit::Evidence;
use serde::{Deserialize, Serialize};

use crate::rows::TrainingRows;

/// Suspects named in a summary.
const TOP: usize = 10;

/// One row whose label looks wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suspect {
    /// Its place in the data.
    pub row: u64,
    /// Its label.
    pub given_label: String,
    /// The label that the model thinks is right.
    pub suggested_label: String,
    /// Its margin: in the last epoch, or by models that have not seen it.
    pub margin: f32,
}

impl Suspect {
    /// The training row at a place in the record.
    pub fn at(rows: &TrainingRows, at: usize) -> Self {
        Suspect {
            row: rows.rows[at],
            given_label: rows.name(rows.labels[at]).into(),
            suggested_label: rows.name(rows.rival[at]).into(),
            margin: rows.margin[at],
        }
    }
}

/// How good a list of suspects is, by the probabilities that the labels of all rows are wrong.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Share of the listed labels that are wrong.
    pub precision: f64,
    /// Share of all wrong labels that are listed.
    pub recall: f64,
}

impl Expected {
    /// Of the rows that are `listed`; nothing if there are none or no label is in doubt.
    pub fn of(wrong_probability: &[f32], listed: impl Iterator<Item = usize>) -> Option<Self> {
        let (mut rows, mut found) = (0usize, 0.0);
        for row in listed {
            rows += 1;
            found += f64::from(*wrong_probability.get(row)?);
        }
        let wrong: f64 = wrong_probability.iter().map(|&p| f64::from(p)).sum();
        (rows > 0 && wrong > 0.0).then(|| Expected { precision: found / rows as f64, recall: found / wrong })
    }
}

/// Of the `contested` rows those whose labels are most likely wrong, the likeliest first: as many as are expected to be wrong with this
/// precision.
pub fn most_likely_wrong(wrong_probability: &[f32], precision: f64, contested: impl Fn(usize) -> bool) -> Vec<usize> {
    let of = |row: usize| wrong_probability[row];
    let mut order: Vec<usize> = (0..wrong_probability.len()).filter(|&row| contested(row)).collect();
    order.sort_by(|&a, &b| of(b).total_cmp(&of(a)).then(a.cmp(&b)));
    let mut found = 0.0;
    let enough = |(before, &row): (usize, &usize)| {
        found += f64::from(of(row));
        found >= precision * (before + 1) as f64
    };
    let listed = order.iter().enumerate().map(enough).take_while(|&enough| enough).count();
    order.truncate(listed);
    order
}

/// All suspects: the training rows where another class is more likely than the given one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suspects {
    /// How many.
    pub count: usize,
    /// Whether none is named because the models tell nothing of the labels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
    /// Their share of the training rows.
    pub share: f64,
    /// Truly wrong labels among them, where that is known.
    pub precision: Option<f64>,
    /// Share of the truly wrong labels that are among them, where that is known.
    pub recall: Option<f64>,
    /// The same two as the models expect them, where the noise in the labels was estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// The most suspicious.
    pub top: Vec<Suspect>,
}

impl Suspects {
    /// Finds them.
    pub fn find(rows: &TrainingRows) -> Self {
        let suspects = rows.suspects();
        let (mut precision, mut recall) = (None, None);
        if let Some(wrong) = &rows.wrong {
            let found = suspects.iter().filter(|&&at| wrong[at]).count() as f64;
            let wrong = wrong.iter().filter(|&&wrong| wrong).count();
            precision = (!suspects.is_empty()).then(|| found / suspects.len() as f64);
            recall = (wrong > 0).then(|| found / wrong as f64);
        }
        let top = suspects.iter().take(TOP).map(|&at| Suspect::at(rows, at));
        let expected = Expected::of(&rows.wrong_probability, suspects.iter().copied());
        let (count, top) = (suspects.len(), top.collect());
        let withheld = rows.evidence().is_some_and(|evidence| evidence.tells_nothing());
        Suspects { count, withheld, share: count as f64 / rows.len() as f64, precision, recall, expected, top }
    }
}

/// A model that tells nothing of the labels, in words.
pub fn no_better_than_chance(evidence: &Evidence) -> String {
    format!(
        "the model predicts the labels no better than chance: it agrees with {:.1} % of the observed labels of {} rows that it had \
         not seen, where always naming the most frequent class agrees with {:.1} %; check that features and labels belong \
         together, or try other features",
        100.0 * evidence.accuracy,
        evidence.rows,
        100.0 * evidence.most_frequent
    )
}
