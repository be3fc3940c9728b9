//! Settings that work, but hardly ever well, are remarked upon.

use cmrm_fit::{FitConfig, OptimiserKind};

#[test]
fn lbfgs_without_a_penalty_is_told_to_take_one() {
    let lbfgs = FitConfig { optimiser: OptimiserKind::Lbfgs, ..FitConfig::default() };
    assert!(lbfgs.advice().is_some_and(|word| word.contains("l2 = 0.01")));
    assert_eq!(FitConfig { l2: 0.01, ..lbfgs }.advice(), None);
    assert_eq!(FitConfig::default().advice(), None);
}
