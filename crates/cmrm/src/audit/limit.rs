//! Not more flags than there may be wrong labels.

use super::table::Audit;
use crate::error::{Result, check_labels, check_length};

/// Of `suspects`, most suspicious first, those that may be wrong: of every given class no more than may be wrong by chance, by the
/// probability that each label is. So a rare class, whose rows all look like those of a frequent one, is not emptied.
pub fn limit_by_class(
    suspects: &[usize],
    labels: &[u32],
    wrong_probability: &[f32],
    classes: usize,
) -> Result<Vec<usize>> {
    check_length("probabilities of being wrong against labels", labels.len(), wrong_probability.len())?;
    check_labels(labels, classes)?;
    let mut expected = vec![0.0; classes];
    for (&label, &p) in labels.iter().zip(wrong_probability) {
        expected[label as usize] += f64::from(p);
    }
    let mut left: Vec<usize> = expected.into_iter().map(most_by_chance).collect();
    let mut kept = suspects.to_vec();
    kept.retain(|&row| {
        let left = &mut left[labels[row] as usize];
        let some = *left > 0;
        *left = left.saturating_sub(1);
        some
    });
    Ok(kept)
}

impl Audit {
    /// [`limit_by_class`] of the flagged rows of an audit of these labels; scores and ranks stay.
    pub fn limit_by_class(&mut self, labels: &[u32], wrong_probability: &[f32]) -> Result<()> {
        check_length("labels against rows of the audit", self.rows(), labels.len())?;
        let suspects: Vec<usize> = self.issues().map(|row| row as usize).collect();
        let mut flags = vec![false; self.rows()];
        for row in limit_by_class(&suspects, labels, wrong_probability, self.suggestions.classes())? {
            flags[row] = true;
        }
        self.flag(labels, flags)
    }
}

/// How many events there are at most, with a probability of about 90 %, where so many are expected: the bound of a Poisson variable.
fn most_by_chance(expected: f64) -> usize {
    (expected + 1.28 * expected.sqrt() + 2.3) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{MarginOptions, rank_margins};

    #[test]
    fn each_class_keeps_its_most_suspicious() {
        assert_eq!([0.0, 1.0, 100.0].map(most_by_chance), [2, 4, 115]);
        let labels = [0, 1, 0, 1, 0, 1, 0, 1, 0, 1];
        let wrong: Vec<f32> = labels.iter().map(|&label| if label == 0 { 0.0 } else { 1.0 }).collect();
        let suspects = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
        assert_eq!(limit_by_class(&suspects, &labels, &wrong, 2).unwrap(), [9, 8, 7, 6, 5, 3, 1]);
        assert!(limit_by_class(&suspects, &labels, &wrong[1..], 2).is_err());
        assert!(limit_by_class(&suspects, &labels, &wrong, 1).is_err());

        let margins: Vec<f32> = (0..10u8).map(|row| -f32::from(row + 1) / 20.0).collect();
        let rivals: Vec<u32> = labels.iter().map(|label| 1 - label).collect();
        let mut audit = rank_margins(&margins, &rivals, &labels, 2, &MarginOptions::default()).unwrap();
        let (order, all) = (audit.order.clone(), audit.issue_count());
        audit.limit_by_class(&labels, &wrong).unwrap();
        assert_eq!((all, audit.issue_count(), &audit.order), (10, 7, &order));
        assert!(audit.is_label_issue[8] && !audit.is_label_issue[4] && audit.suggested_label[4] == 0);
    }
}
