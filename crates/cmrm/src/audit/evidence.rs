//! Whether a model tells anything of the labels at all: one that does not would call most of them wrong.

use crate::error::{Error, Result, check_labels, check_length};
use crate::matrix::Matrix;
use crate::scores::most_likely;

/// Standard errors by which a model has to be better than one that has not looked at the rows. Three, since a vote is the best
/// of dozens of learners by the same labels.
const BEYOND_CHANCE: f64 = 3.0;
/// Fewer rows prove nothing.
const FEWEST_ROWS: usize = 50;
/// Least probability that counts: a sure model that is wrong once must not outweigh all other rows.
const LEAST: f64 = 1e-3;

/// How a model's out-of-sample predictions compare, by observed labels, with those of someone who knows the shares of the classes
/// and nothing else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Rows that were judged.
    pub rows: usize,
    /// Share of the labels that the model agrees with.
    pub accuracy: f64,
    /// Share of the labels that are of the most frequent class.
    pub most_frequent: f64,
    /// Mean over the rows of the logarithm of the label's probability, minus that of its class's share.
    pub gain: f64,
    /// Standard error of the gain.
    pub gain_error: f64,
}

impl Evidence {
    /// From what a model says of every row: the probability of its label, and whether it agrees with the label.
    pub fn of_labels(
        confidence: &[f32],
        agrees: impl Fn(usize) -> bool,
        labels: &[u32],
        classes: usize,
    ) -> Result<Self> {
        check_length("confidences against labels", labels.len(), confidence.len())?;
        check_labels(labels, classes)?;
        if labels.is_empty() {
            return Err(Error::Empty { what: "the set of labels" });
        }
        let rows = labels.len() as f64;
        let mut counts = vec![0usize; classes];
        labels.iter().for_each(|&label| counts[label as usize] += 1);
        let shares: Vec<f64> = counts.iter().map(|&count| count as f64 / rows).collect();
        let gains = confidence.iter().zip(labels).map(|(&p, &label)| {
            // A model that says nothing but the shares has a gain of zero, however rare the class.
            let share = shares[label as usize];
            f64::from(p).max(LEAST.min(share)).ln() - share.ln()
        });
        let (mut sum, mut squares) = (0.0, 0.0);
        for gain in gains {
            sum += gain;
            squares += gain * gain;
        }
        let gain = sum / rows;
        let variance = (squares / rows - gain * gain).max(0.0);
        Ok(Evidence {
            rows: labels.len(),
            accuracy: (0..labels.len()).filter(|&row| agrees(row)).count() as f64 / rows,
            most_frequent: shares.into_iter().fold(0.0, f64::max),
            gain,
            gain_error: (variance / rows).sqrt(),
        })
    }

    /// From out-of-sample probabilities, `[rows, classes]`.
    pub fn of(probabilities: Matrix<'_, f32>, labels: &[u32]) -> Result<Self> {
        check_length("rows of probabilities against labels", labels.len(), probabilities.rows())?;
        check_labels(labels, probabilities.columns())?;
        let rows = probabilities.iter_rows().zip(labels);
        let confidence: Vec<f32> = rows.map(|(row, &label)| row[label as usize]).collect();
        let agrees = |row: usize| most_likely(probabilities.row(row)) == labels[row];
        Evidence::of_labels(&confidence, agrees, labels, probabilities.columns())
    }

    /// Whether there are enough rows, and the model tells enough of the labels, to ask it how many of them are wrong.
    pub fn tells_of_noise(&self) -> bool {
        self.rows >= FEWEST_ROWS && !self.tells_nothing()
    }

    /// Whether the model predicts the labels no better than chance: it agrees with no more of them than the most frequent class does,
    /// and its probabilities fit them no better than the classes' shares do. The latter tells for a good model of rare classes,
    /// which may never name one. A few rows can prove nothing, and are not held against the model.
    pub fn tells_nothing(&self) -> bool {
        // By Agresti and Coull: not zero where all rows are of one class.
        let (rows, share) = (self.rows as f64 + 4.0, self.most_frequent);
        let share_error =
            ((share * self.rows as f64 + 2.0) / rows * ((1.0 - share) * self.rows as f64 + 2.0) / rows / rows).sqrt();
        let agrees = self.accuracy - share > BEYOND_CHANCE * share_error;
        let fits = self.gain > 0.0 && self.gain > BEYOND_CHANCE * self.gain_error;
        self.rows >= FEWEST_ROWS && !agrees && !fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn evidence(probabilities: &[f32], labels: &[u32], classes: usize) -> Evidence {
        Evidence::of(Matrix::new(probabilities, classes).unwrap(), labels).unwrap()
    }

    #[test]
    fn guesses_tell_nothing_and_a_model_does() {
        let mut rng = Rng::new(1, 0);
        let labels: Vec<u32> = (0..2000).map(|_| (rng.uniform() * 4.0) as u32).collect();
        let guess: Vec<f32> = (0..8000).map(|_| rng.uniform() as f32).collect();
        let guess: Vec<f32> =
            guess.chunks_exact(4).flat_map(|row| row.iter().map(|p| p / row.iter().sum::<f32>())).collect();
        assert!(evidence(&guess, &labels, 4).tells_nothing());
        assert!(evidence(&[0.25; 8000], &labels, 4).tells_nothing());
        // Right in a third of the rows, where chance has a quarter.
        let better: Vec<f32> = labels
            .iter()
            .flat_map(|&label| {
                let said = if rng.uniform() < 0.12 { label } else { (rng.uniform() * 4.0) as u32 };
                (0..4).map(move |class| if class == said { 0.4 } else { 0.2 })
            })
            .collect();
        let found = evidence(&better, &labels, 4);
        assert!(!found.tells_nothing() && found.accuracy < 0.4, "{found:?}");
    }

    #[test]
    fn a_rare_class_that_is_never_named_can_be_told_all_the_same() {
        // One row in twenty, at 0.4 among rows at 0.02.
        let labels: Vec<u32> = (0..2000).map(|row| u32::from(row % 20 == 0)).collect();
        let said = |&label: &u32| if label == 1 { [0.6, 0.4] } else { [0.98, 0.02] };
        let found = evidence(&labels.iter().flat_map(said).collect::<Vec<f32>>(), &labels, 2);
        assert!(found.accuracy == found.most_frequent && !found.tells_nothing(), "{found:?}");
        assert!(evidence(&[0.95, 0.05].repeat(2000), &labels, 2).tells_nothing());
    }

    #[test]
    fn few_rows_prove_little() {
        let one_class = |rows: usize| evidence(&[0.6, 0.4].repeat(rows), &vec![0; rows], 2);
        assert!(!one_class(FEWEST_ROWS - 1).tells_nothing() && one_class(FEWEST_ROWS).tells_nothing());
        assert!(Evidence::of_labels(&[], |_| true, &[], 2).is_err());
        assert!(Evidence::of_labels(&[0.5], |_| true, &[2], 2).is_err());
    }
}
