//! The transition matrix of a method that needs one, in the summary of a fit.

use std::fmt::Write;

use cmrm::noise_model::Transition;
use serde::{Deserialize, Serialize};

use crate::summary::{Style, write_rows};

/// The most classes whose matrix is kept, and whose matrix is shown.
const MOST_ROWS: usize = 100;
const MOST_SHOWN: usize = 10;
/// The most confusions that are named.
const MOST_CONFUSIONS: usize = 3;

/// How the method takes the classes to be observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransitionSummary {
    /// Whether the matrix was estimated from the labels; else it was given.
    pub estimated: bool,
    /// The classes, in the order of rows and columns.
    pub classes: Vec<String>,
    /// The matrix: a row for every true class, the probabilities of what it is observed as. Left out of more than 100 classes; the run's
    /// settings have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<Vec<f64>>>,
    /// How often a class keeps its label: the least and the largest entry of the diagonal.
    pub kept: [f64; 2],
    /// The most common confusions: true class, observed class, probability.
    pub confusions: Vec<(String, String, f64)>,
}

impl TransitionSummary {
    /// Of this matrix.
    pub fn new(transition: &Transition, classes: &[String], estimated: bool) -> Self {
        let count = classes.len();
        let kept = (0..count).map(|class| transition.probability(class, class));
        let mut pairs: Vec<(usize, usize)> =
            (0..count * count).map(|at| (at / count, at % count)).filter(|(of, as_)| of != as_).collect();
        // Stable, so that pairs that are as common stay in order.
        let common = |&(of, observed): &(usize, usize)| transition.probability(of, observed);
        pairs.sort_by(|a, b| common(b).total_cmp(&common(a)));
        pairs.truncate(MOST_CONFUSIONS);
        pairs.retain(|pair| common(pair) > 0.0);
        let in_words = |pair: &(usize, usize)| (classes[pair.0].clone(), classes[pair.1].clone(), common(pair));
        TransitionSummary {
            estimated,
            classes: classes.to_vec(),
            rows: (count <= MOST_ROWS).then(|| transition.clone().into()),
            kept: [kept.clone().fold(1.0, f64::min), kept.fold(0.0, f64::max)],
            confusions: pairs.iter().map(in_words).collect(),
        }
    }

    /// Adds what there is to say of it, and the matrix if it is small.
    pub(crate) fn write(&self, out: &mut String, style: Style) {
        let source = if self.estimated { "estimated from the labels" } else { "given" };
        let [low, high] = self.kept;
        let _ = write!(
            out,
            "\nTransition matrix ({source}): a class keeps its label with probability {low:.3}{}",
            if low == high { String::new() } else { format!(" to {high:.3}") }
        );
        let confusion = |(of, observed, probability): &(String, String, f64)| {
            format!("{} as {} {probability:.3}", style.value(of), style.value(observed))
        };
        let confusions: Vec<String> = self.confusions.iter().map(confusion).collect();
        let _ = match confusions.is_empty() {
            true => writeln!(out, "."),
            false => writeln!(out, "; most often {}.", confusions.join(", ")),
        };
        if let Some(rows) = self.rows.as_ref().filter(|rows| rows.len() <= MOST_SHOWN) {
            out.push('\n');
            let head: Vec<String> = std::iter::once("true \\ observed".to_owned())
                .chain(self.classes.iter().map(|class| style.value(class)))
                .collect();
            let row = |(class, row): (&String, &Vec<f64>)| -> Vec<String> {
                std::iter::once(style.value(class)).chain(row.iter().map(|p| format!("{p:.3}"))).collect()
            };
            write_rows(out, style, &head, &self.classes.iter().zip(rows).map(row).collect::<Vec<_>>());
        }
    }
}
