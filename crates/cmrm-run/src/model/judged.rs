//! Labels of new rows, judged.

use cmrm::Matrix;
use cmrm::error::{check_labels, check_length};
use cmrm::noise_model::NoiseModel;
use cmrm::scores::strongest_other;

use crate::error::Result;

/// What a model says of the label of a row that it has not seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedLabel {
    /// Probability of the label minus that of the strongest other class; below zero the label looks wrong.
    pub margin: f32,
    /// Probability of the label.
    pub confidence: f32,
    /// The class that the row rather has: the strongest other one where the margin is below zero, else the label.
    pub suggested: u32,
    /// How likely the label is wrong, where the model knows the noise in the labels that it learned from: new labels are taken to be as
    /// noisy as those.
    pub wrong_probability: Option<f32>,
}

/// Judges labels by probabilities of labels as they are observed, wrong ones among them: those of the record of the training rows too.
pub(super) fn judge(said: Matrix<'_, f32>, labels: &[u32], noise: Option<&NoiseModel>) -> Result<Vec<JudgedLabel>> {
    check_length("labels against rows", said.rows(), labels.len())?;
    check_labels(labels, said.columns())?;
    let wrong = noise.map(|noise| noise.wrong_probabilities(said, labels)).transpose()?;
    let one = |(at, (row, &label)): (usize, (&[f32], &u32))| {
        let confidence = row[label as usize];
        let rival = strongest_other(row, label as usize).unwrap_or(label as usize);
        let margin = confidence - row[rival];
        let suggested = if margin < 0.0 { rival as u32 } else { label };
        JudgedLabel { margin, confidence, suggested, wrong_probability: wrong.as_ref().map(|wrong| wrong[at]) }
    };
    Ok(said.iter_rows().zip(labels).enumerate().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_judged_by_the_probabilities_of_their_rows() {
        let said = [0.7f32, 0.2, 0.1, 0.1, 0.6, 0.3];
        let said = Matrix::new(&said, 3).unwrap();
        let found = judge(said, &[0, 2], None).unwrap();
        assert!((found[0].margin - 0.5).abs() < 1e-6 && found[0].suggested == 0 && found[0].confidence == 0.7);
        assert!((found[1].margin + 0.3).abs() < 1e-6 && found[1].suggested == 1);
        assert_eq!(found[1].wrong_probability, None);
        let transition = cmrm::noise_model::Transition::uniform(3, 0.2).unwrap();
        let noise = NoiseModel::known(transition, &[1.0 / 3.0; 3]).unwrap();
        let found = judge(said, &[0, 2], Some(&noise)).unwrap();
        let wrong: Vec<f32> = found.iter().map(|judged| judged.wrong_probability.unwrap()).collect();
        assert_eq!(wrong, noise.wrong_probabilities(said, &[0, 2]).unwrap());
        assert!(wrong[0] < 0.2 && wrong[1] > wrong[0], "{wrong:?}");
        assert!(judge(said, &[0], None).is_err() && judge(said, &[0, 3], None).is_err());
    }
}
