//! Settings whose default depends on the model.

use cmrm::envelope::Preset;
use cmrm::loss::LossConfig;
use cmrm_fit::{FitConfig, ModelKind, OptimiserKind};
use cmrm_train::optim::LbfgsConfig;
use cmrm_train::train::Method;

fn of(model: ModelKind) -> FitConfig {
    FitConfig { model, ..FitConfig::default() }
}

fn found(config: &FitConfig) -> (OptimiserKind, usize, Option<f64>) {
    (config.optimiser(), config.epochs(), config.l2())
}

const IN_PASSES: (OptimiserKind, usize, Option<f64>) = (OptimiserKind::Adam, 40, Some(0.0));

#[test]
fn a_linear_model_is_fitted_to_its_optimum_and_the_others_in_passes() {
    assert_eq!(found(&of(ModelKind::Linear)), (OptimiserKind::Lbfgs, 1000, None));
    for model in [ModelKind::Mlp, ModelKind::Svm, ModelKind::Cosine] {
        assert_eq!(found(&of(model)), IN_PASSES, "{model:?}");
    }
    // The hinge has kinks, ELR's targets move, chunks come one at a time, and whoever asks for Adam means all of it.
    assert_eq!(found(&FitConfig { loss: LossConfig::Hinge, ..of(ModelKind::Linear) }), IN_PASSES);
    assert_eq!(found(&FitConfig { loss: "elr".parse().unwrap(), ..of(ModelKind::Linear) }), IN_PASSES);
    assert_eq!(found(&of(ModelKind::Linear).in_passes()), IN_PASSES);
    assert_eq!(found(&FitConfig { optimiser: Some(OptimiserKind::Adam), ..of(ModelKind::Linear) }), IN_PASSES);
}

#[test]
fn what_is_said_wins_and_the_file_has_all_of_it() {
    let config = FitConfig { epochs: Some(7), l2: Some(0.0), ..of(ModelKind::Linear) };
    assert_eq!(found(&config), (OptimiserKind::Lbfgs, 7, Some(0.0)));
    let text = config.to_toml().unwrap();
    for line in ["optimiser = \"lbfgs\"", "epochs = 7", "l2 = 0.0", "tolerance = 0.0001"] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    let back = FitConfig::from_toml(&text).unwrap();
    assert_eq!(back.train_config(), config.train_config());
    assert_eq!(back.to_toml().unwrap(), text);
}

#[test]
fn a_linear_model_at_its_optimum_has_a_lighter_envelope_unless_told_otherwise() {
    assert_eq!(of(ModelKind::Linear).envelope().lambda, 3.0);
    assert_eq!(of(ModelKind::Mlp).envelope().lambda, 10.0);
    assert_eq!(of(ModelKind::Linear).in_passes().envelope().lambda, 10.0);
    assert_eq!(FitConfig { preset: Preset::Paper, ..of(ModelKind::Linear) }.envelope().lambda, 0.1);
    assert_eq!(FitConfig { lambda: Some(10.0), ..of(ModelKind::Linear) }.envelope().lambda, 10.0);
}

#[test]
fn the_tolerance_is_that_of_the_gradient() {
    let config = FitConfig { tolerance: 3e-5, ..of(ModelKind::Linear) };
    let Method::FullBatch(lbfgs) = config.train_config().method else { panic!("not by L-BFGS") };
    assert_eq!((lbfgs.gradient_tolerance, lbfgs.function_tolerance), (3e-5, 100.0 * 3e-5f64.powi(2)));
    // The engine's own two are such a pair.
    let own = LbfgsConfig::default();
    assert!((own.function_tolerance / own.gradient_tolerance.powi(2) - 100.0).abs() < 1e-9);
    let refused = FitConfig { tolerance: -1.0, ..config }.check().unwrap_err().to_string();
    assert!(refused.contains("tolerance = -1"), "{refused}");
}
