//! The transition matrix of a method: how settings say it, and what it is estimated to be.

use cmrm::loss::LossConfig;
use cmrm::noise_model::Transition;
use cmrm_fit::{Fit, FitConfig, Loaded, ModelKind, OptimiserKind, Progress, TransitionSetting};
use cmrm_train::Stop;

struct Nobody;

impl Progress for Nobody {
    fn step(&mut self, _done: usize, _of: usize, _what: &str) {}

    fn stop(&self) -> Stop {
        Stop::default()
    }
}

#[test]
fn settings_say_it_in_three_ways() {
    let matrix = Transition::try_from(vec![vec![0.9, 0.1], vec![0.25, 0.75]]).unwrap();
    for (text, setting) in [
        ("transition = \"T.csv\"", TransitionSetting::File("T.csv".into())),
        ("transition = [[0.9, 0.1], [0.25, 0.75]]", TransitionSetting::Given(matrix.clone())),
        ("transition = { estimated = [[0.9, 0.1], [0.25, 0.75]] }", TransitionSetting::Estimated(matrix.clone())),
    ] {
        let config = FitConfig::from_toml(&format!("method.name = \"lnl\"\n{text}\n")).unwrap();
        assert_eq!((config.loss, &config.transition), (LossConfig::Backward, &Some(setting.clone())));
        let known = (!matches!(setting, TransitionSetting::File(_))).then_some(&matrix);
        assert_eq!(config.transition_matrix(), known);
        let again = FitConfig::from_toml(&config.to_toml().unwrap()).unwrap();
        assert_eq!((again.loss, again.transition), (config.loss, config.transition));
    }
    let error = FitConfig::from_toml("transition = [[0.5, 0.6], [0.0, 1.0]]").unwrap_err().to_string();
    assert!(error.contains("row 0 sums to 1.1"), "{error}");
    // Without a method that reads it nothing does, and the user hears so.
    let unread = FitConfig { transition: Some(TransitionSetting::Given(matrix)), ..FitConfig::default() };
    assert_eq!(unread.transition_matrix(), None);
    assert!(unread.advice().unwrap().contains("cross-entropy reads no transition matrix"));
}

#[test]
fn methods_with_a_fixed_and_smooth_objective_are_trained_to_their_optimum() {
    for (loss, expected) in [
        (LossConfig::Forward, OptimiserKind::Lbfgs),
        (LossConfig::Backward, OptimiserKind::Lbfgs),
        (LossConfig::Apl { a: 1.0, b: 1.0 }, OptimiserKind::Lbfgs),
        (LossConfig::Cores { beta: 0.1 }, OptimiserKind::Lbfgs),
        (LossConfig::BootstrapHard { beta: 0.8 }, OptimiserKind::Adam),
        (LossConfig::BootstrapSoft { beta: 0.95 }, OptimiserKind::Adam),
    ] {
        let config = FitConfig { model: Some(ModelKind::Linear), loss, ..FitConfig::default() };
        assert_eq!(config.optimiser(), expected, "{}", loss.name());
    }
}

/// Two clouds, a fifth of the labels wrong: the estimate is near, the same every time, and the arms have it.
#[test]
fn the_labels_tell_the_matrix() {
    let mut rng = cmrm::rng::Rng::new(1, 2);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for row in 0..600 {
        let class = row % 2;
        values.extend((0..4).map(|_| (2.0 * class as f64 + rng.uniform() + rng.uniform()) as f32));
        let wrong = rng.uniform() < 0.2;
        labels.push(if (class == 1) != wrong { "yes" } else { "no" });
    }
    let loaded = Loaded::from_array(values, 4, &labels).unwrap();
    let config = FitConfig { loss: LossConfig::Forward, model: Some(ModelKind::Linear), ..FitConfig::default() };
    let estimate = || {
        let mut fit = Fit::new(&config, &loaded, &Stop::default()).unwrap();
        fit.decide_transition(&mut Nobody).unwrap();
        fit.config().transition.clone()
    };
    let Some(TransitionSetting::Estimated(found)) = estimate() else { panic!("nothing was estimated") };
    assert!((found.probability(0, 1) - 0.2).abs() < 0.05, "{found:?}");
    assert_eq!(estimate(), Some(TransitionSetting::Estimated(found.clone())));
    let outcome = config.fit(&loaded).unwrap();
    assert_eq!(outcome.config.transition_matrix(), Some(&found));
    // The models speak of true classes: their own probabilities are surer than what they say of labels.
    let arm = outcome.base_arm().unwrap();
    let x = outcome.rows.train.data.x().unwrap();
    let clean = arm.model.probabilities(x, &Stop::default()).unwrap();
    let observed = outcome.observed_probabilities(arm, x, &Stop::default()).unwrap();
    let sure = |p: &[f32]| p.chunks(2).map(|row| row[0].max(row[1])).sum::<f32>() / (p.len() / 2) as f32;
    assert!(sure(&clean) > 0.95 && (sure(&observed) - 0.8).abs() < 0.05, "{} {}", sure(&clean), sure(&observed));
}
