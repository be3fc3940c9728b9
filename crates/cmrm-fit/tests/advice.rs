//! Settings that work, but hardly ever well or not as they may be meant, are remarked upon.

use cmrm_fit::{FitConfig, ModelKind, OptimiserKind};

#[test]
fn lbfgs_without_a_penalty_is_told_to_take_one() {
    let lbfgs = FitConfig { optimiser: Some(OptimiserKind::Lbfgs), ..FitConfig::default() };
    assert!(lbfgs.advice().is_some_and(|word| word.contains("l2 = 0.01")));
    assert_eq!(FitConfig { l2: Some(0.01), ..lbfgs }.advice(), None);
    assert_eq!(FitConfig::default().advice(), None);
}

#[test]
fn settings_that_lbfgs_ignores_are_named() {
    let linear = FitConfig { model: Some(ModelKind::Linear), ..FitConfig::default() };
    assert_eq!(linear.advice(), None);
    let changed = FitConfig { learning_rate: 0.02, batch: 64, ..linear };
    assert!(changed.advice().is_some_and(|word| word.contains("ignores learning-rate, batch;")));
    assert_eq!(FitConfig { optimiser: Some(OptimiserKind::Adam), ..changed.clone() }.advice(), None);
    let dropped = FitConfig { dropout: 0.5, ..changed };
    assert!(dropped.check().is_err_and(|error| error.to_string().contains("set the optimiser to adam")));
}
