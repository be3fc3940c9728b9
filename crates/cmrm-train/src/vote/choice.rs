//! Which learners vote, and how much each counts: greedy selection by out-of-sample probabilities (Caruana et al., 2004).

use rayon::prelude::*;

/// Scores that differ by less are equal: the mean of a learner with itself is that learner but for its last bits.
const ROUNDING: f64 = 1e-7;

/// The learners that vote.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// Their places among the candidates, ascending, with how often each was taken.
    pub votes: Vec<(usize, usize)>,
    /// Out-of-sample probabilities of the vote.
    pub out_of_sample: Vec<f32>,
    /// Its Brier score by the observed labels.
    pub brier: f64,
}

/// Chooses among learners by their out-of-sample probabilities, `[rows, classes]` each.
///
/// Takes up to `most` of them one after the other, each perhaps more than once: always the one whose vote brings the mean of
/// those taken nearest to the observed labels, by the Brier score. Of all the means on the way the best is kept, of equals the
/// shortest. Under symmetric noise the score of observed labels is least for the probabilities that are right for the clean ones
/// too, up to noise that is the same for every class.
pub fn choose(candidates: &[&[f32]], labels: &[u32], weights: Option<&[f32]>, classes: usize, most: usize) -> Chosen {
    let mut sum = vec![0.0f32; labels.len() * classes];
    let mut taken = Vec::new();
    let mut best = Chosen { votes: Vec::new(), out_of_sample: Vec::new(), brier: f64::INFINITY };
    for count in 1..=most {
        let scale = 1.0 / count as f32;
        let score = |candidate: &&[f32]| {
            let mean = |at: usize| (sum[at] + candidate[at]) * scale;
            brier(mean, labels, weights, classes)
        };
        let scores: Vec<f64> = candidates.par_iter().map(score).collect();
        let Some(next) = (0..scores.len()).min_by(|&a, &b| scores[a].total_cmp(&scores[b])) else { break };
        sum.iter_mut().zip(candidates[next]).for_each(|(sum, p)| *sum += p);
        taken.push(next);
        if scores[next] < best.brier - ROUNDING {
            let mut votes: Vec<(usize, usize)> = Vec::new();
            let mut sorted = taken.clone();
            sorted.sort_unstable();
            for place in sorted {
                match votes.last_mut() {
                    Some((last, times)) if *last == place => *times += 1,
                    _ => votes.push((place, 1)),
                }
            }
            best = Chosen { votes, out_of_sample: sum.iter().map(|v| v * scale).collect(), brier: scores[next] };
        }
    }
    best
}

/// Mean over the rows of the squared distance between probabilities, `[rows, classes]`, and the one-hot label.
pub fn brier_score(probabilities: &[f32], labels: &[u32], weights: Option<&[f32]>, classes: usize) -> f64 {
    brier(|at| probabilities[at], labels, weights, classes)
}

fn brier(p: impl Fn(usize) -> f32, labels: &[u32], weights: Option<&[f32]>, classes: usize) -> f64 {
    let (mut sum, mut all) = (0.0, 0.0);
    for (row, &label) in labels.iter().enumerate() {
        let weight = weights.map_or(1.0, |weights| f64::from(weights[row]));
        let mut distance = 0.0;
        for class in 0..classes {
            let wanted = f32::from(u8::from(class == label as usize));
            distance += f64::from(p(row * classes + class) - wanted).powi(2);
        }
        sum += weight * distance;
        all += weight;
    }
    if all > 0.0 { sum / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vote_is_better_than_each_voter_and_a_useless_one_is_left_out() {
        // Two learners err on different rows; a third always guesses.
        let labels = [0, 1, 0, 1];
        let first = [0.9, 0.1, 0.1, 0.9, 0.4, 0.6, 0.1, 0.9];
        let second = [0.4, 0.6, 0.1, 0.9, 0.9, 0.1, 0.1, 0.9];
        let guess = [0.5; 8];
        let found = choose(&[&guess, &first, &second], &labels, None, 2, 8);
        assert_eq!(found.votes.iter().map(|&(place, _)| place).collect::<Vec<_>>(), [1, 2]);
        let alone = choose(&[&first], &labels, None, 2, 8);
        assert_eq!(alone.votes, [(0, 1)]);
        assert!(found.brier < alone.brier);
        // Rows of no weight have no say.
        let weights = [1.0, 1.0, 0.0, 1.0];
        assert_eq!(choose(&[&first, &second], &labels, Some(&weights), 2, 8).votes, [(0, 1)]);
    }
}
