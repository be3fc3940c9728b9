//! What should make the user look twice at a fit, by observed labels alone.

use cmrm::audit::Evidence;
use cmrm_run::{BASE, no_better_than_chance};
use cmrm_train::train::EpochStats;

use crate::config::FitConfig;
use crate::defaults::ENOUGH_TO_CHOOSE;
use crate::error::Result;
use crate::giving_way::GaveWay;
use crate::kinds::{Keep, OptimiserKind};
use crate::outcome::FitOutcome;
use crate::transition::TransitionSetting;

/// Standard errors that an accuracy has to fall by before the fall is taken for more than chance.
const BEYOND_CHANCE: f64 = 2.0;
/// A class that keeps its label more often than this has no noise to correct for.
const NO_NOISE: f64 = 0.995;

impl FitOutcome {
    /// One sentence for each, with the way out. There are none where too few rows were held back to tell, or judged by models
    /// that had not seen them.
    pub fn warnings(&self) -> Result<Vec<String>> {
        let (kept, held, train) = (self.envelope_arm()?, &self.rows.validation.data, &self.rows.train.data);
        if kept.out_of_sample.is_some() {
            let evidence = self.training_rows.evidence().filter(Evidence::tells_nothing);
            let words = |evidence| format!("{}; no label is flagged", no_better_than_chance(&evidence));
            return Ok(evidence.map(words).into_iter().collect());
        }
        let no_noise = told_no_noise(&self.config);
        if held.len() < ENOUGH_TO_CHOOSE {
            return Ok(no_noise.into_iter().collect());
        }
        // An arm that gave way has the base arm's model, of the base arm's epoch.
        let trained_as = if self.gave_way.is_some() { BASE } else { &kept.name };
        let history: Vec<&EpochStats> = self.history.iter().filter(|stats| stats.arm == trained_as).collect();
        let accuracy =
            history.iter().find(|stats| Some(stats.epoch) == kept.epoch).and_then(|stats| stats.validation_accuracy);
        let one_class = one_class_accuracy(&train.labels, &held.labels, held.classes.len());
        let rows = format!("{} validation rows", held.len());
        let found = [
            no_noise,
            self.gave_way.map(gave_way),
            learned_by_heart(&self.config, &history, held.len()),
            accuracy.and_then(|accuracy| no_better_than_one_class(accuracy, one_class, &rows)),
        ];
        Ok(found.into_iter().flatten().collect())
    }
}

/// Whether training accuracy rose after the best of the epochs that can be kept, while that of the rows held back fell by more
/// than chance. A model at its optimum has no epochs to speak of.
fn learned_by_heart(config: &FitConfig, history: &[&EpochStats], rows: usize) -> Option<String> {
    let waits = history.iter().any(|stats| stats.envelope_on);
    // The last of equals, as the choice has it.
    let best = history
        .iter()
        .filter(|stats| stats.envelope_on || !waits)
        .max_by(|a, b| a.validation_accuracy.unwrap_or(0.0).total_cmp(&b.validation_accuracy.unwrap_or(0.0)))?;
    let last = history.last()?;
    let (from, to) = (best.validation_accuracy?, last.validation_accuracy?);
    let (trained_from, trained_to) = (best.training_accuracy?, last.training_accuracy?);
    let falls = from - to > BEYOND_CHANCE * standard_error(from, rows);
    if config.optimiser() == OptimiserKind::Lbfgs || !falls || trained_to <= trained_from {
        return None;
    }
    let way_out = match config.keep() {
        Some(Keep::Best) => format!("the model of epoch {} is kept; try fewer steps or an l2 of 0.001", best.epoch + 1),
        _ => "set keep to best, or try fewer steps or an l2 of 0.001".to_owned(),
    };
    Some(format!(
        "the network learned labels by heart: from epoch {} to {}, accuracy on the observed training labels rose from {} to \
         {}, while on the {rows} validation rows it fell from {} to {}, more than chance explains; {way_out}",
        best.epoch + 1,
        last.epoch + 1,
        percent(trained_from),
        percent(trained_to),
        percent(from),
        percent(to)
    ))
}

/// A transition matrix that was estimated, and says that labels are right.
fn told_no_noise(config: &FitConfig) -> Option<String> {
    let Some(TransitionSetting::Estimated(found)) = &config.transition else { return None };
    let right = |class| found.probability(class, class) > NO_NOISE;
    (config.loss.needs_transition() && (0..found.classes()).all(right)).then(|| {
        format!(
            "the labels told no noise, so the method {} is cross-entropy here; if you know which classes are taken for which, \
             give the transition matrix",
            config.loss.name()
        )
    })
}

fn gave_way(GaveWay { rows, base, envelope }: GaveWay) -> String {
    format!(
        "the envelope seems to do harm here: the base arm agrees with {} of the observed labels of the {rows} validation rows, \
         the envelope's with {}; so the base arm's model is kept for both; suspects still come from the envelope: check them \
         first",
        percent(base),
        percent(envelope)
    )
}

fn no_better_than_one_class(accuracy: f64, one_class: f64, rows: &str) -> Option<String> {
    (accuracy <= one_class).then(|| {
        format!(
            "the model is no better than always predicting the most frequent class: it agrees with {} of the observed labels of \
             the {rows}, that class with {}; check that features and labels belong together, or try another \
             model",
            percent(accuracy),
            percent(one_class)
        )
    })
}

/// Accuracy on the rows held back of whoever always names the most frequent class of the training labels.
fn one_class_accuracy(train: &[u32], held: &[u32], classes: usize) -> f64 {
    let mut counts = vec![0usize; classes];
    train.iter().for_each(|&label| counts[label as usize] += 1);
    let most = (0..classes).max_by_key(|&class| counts[class]).unwrap_or(0);
    held.iter().filter(|&&label| label as usize == most).count() as f64 / held.len().max(1) as f64
}

/// Of an accuracy on so many rows, by Agresti and Coull: not zero where all rows are right.
fn standard_error(accuracy: f64, rows: usize) -> f64 {
    let rows = rows as f64;
    let share = (accuracy * rows + 2.0) / (rows + 4.0);
    (share * (1.0 - share) / (rows + 4.0)).sqrt()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Training and validation accuracy of the epochs; the envelope is on from the second.
    fn history(figures: &[(f64, f64)]) -> Vec<EpochStats> {
        let one = |(epoch, &(training, validation)): (usize, &(f64, f64))| EpochStats {
            arm: "robust".into(),
            epoch,
            envelope_on: epoch > 0,
            base: 0.5,
            risk: 0.0,
            total: 0.5,
            tau: None,
            tau_plus: None,
            tau_minus: None,
            filtered: 0.0,
            wrong_among_filtered: None,
            learning_rate: 1e-3,
            training_accuracy: Some(training),
            validation_accuracy: Some(validation),
            validation_loss: Some(1.0),
        };
        figures.iter().enumerate().map(one).collect()
    }

    fn by_heart(config: &FitConfig, figures: &[(f64, f64)], rows: usize) -> Option<String> {
        learned_by_heart(config, &history(figures).iter().collect::<Vec<_>>(), rows)
    }

    #[test]
    fn learning_by_heart_is_a_fall_beyond_chance_while_training_rises() {
        let keeps = |keep| FitConfig { keep: Some(keep), ..FitConfig::default() };
        let falling = [(0.4, 0.9), (0.6, 0.7), (0.6, 0.7), (0.99, 0.5)];
        // The first epoch, before the envelope, cannot be kept; of the two equals the later one counts.
        let words = by_heart(&keeps(Keep::Best), &falling, 100).unwrap();
        assert_eq!(
            words,
            "the network learned labels by heart: from epoch 3 to 4, accuracy on the observed training labels rose from 60.0 % \
             to 99.0 %, while on the 100 validation rows it fell from 70.0 % to 50.0 %, more than chance explains; the model \
             of epoch 3 is kept; try fewer steps or an l2 of 0.001"
        );
        assert!(
            by_heart(&keeps(Keep::Last), &falling, 100)
                .unwrap()
                .ends_with("set keep to best, or try fewer steps or an l2 of 0.001")
        );
        // Two standard errors are 0.09 with 100 rows and 0.13 with 50: the same fall is chance with fewer rows.
        let gentle = [(0.4, 0.3), (0.6, 0.7), (0.99, 0.59)];
        assert!(by_heart(&keeps(Keep::Best), &gentle, 100).is_some());
        assert_eq!(by_heart(&keeps(Keep::Best), &gentle, 50), None);
        // Training that falls too has not learned by heart, and one that rises with validation least of all.
        assert_eq!(by_heart(&keeps(Keep::Best), &[(0.4, 0.9), (0.6, 0.7), (0.5, 0.5)], 100), None);
        assert_eq!(by_heart(&keeps(Keep::Best), &[(0.4, 0.3), (0.6, 0.7), (0.9, 0.8)], 100), None);
        let lbfgs = FitConfig { optimiser: Some(OptimiserKind::Lbfgs), ..keeps(Keep::Best) };
        assert_eq!(by_heart(&lbfgs, &falling, 100), None);
        assert_eq!(by_heart(&keeps(Keep::Best), &[], 100), None);
    }

    #[test]
    fn a_model_is_to_beat_the_most_frequent_class_of_training() {
        let one_class = one_class_accuracy(&[0, 1, 1, 2], &[1, 0, 0, 1, 0], 3);
        assert_eq!(one_class, 0.4);
        assert!(no_better_than_one_class(0.4, one_class, "5 rows").unwrap().contains("agrees with 40.0 % of"));
        assert_eq!(no_better_than_one_class(0.6, one_class, "5 rows"), None);
    }

    #[test]
    fn all_rows_right_leaves_room_for_chance() {
        assert!(standard_error(1.0, 50) > 0.02 && standard_error(1.0, 50) < 0.05);
        assert!((standard_error(0.5, 100) - 0.049).abs() < 1e-3);
    }
}
