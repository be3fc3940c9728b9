//! An envelope that does harm gives way to the base arm, by held-back rows.

use cmrm::envelope::{Fade, Preset, Scale, Scope};
use cmrm::rng::Rng;
use cmrm_data::table::Values;
use cmrm_data::{Array, Column, Features, Input};
use cmrm_fit::{Fit, FitConfig, FitOutcome, Keep, Loaded, ModelKind};
use cmrm_train::Stop;
use cmrm_train::train::Silent;

const WIDTH: usize = 4;

/// A rare class beside a frequent one, with some overlap and correct labels.
fn rare_class() -> Loaded {
    let mut rng = Rng::new(3, 0);
    let (mut values, mut codes) = (Vec::new(), Vec::new());
    for row in 0..3000 {
        let rare = row % 5 == 0;
        values.extend((0..WIDTH).map(|_| (rng.normal() + if rare { 1.0 } else { 0.0 }) as f32));
        codes.push(u32::from(rare));
    }
    let classes = ["frequent", "rare"].map(String::from).to_vec();
    let labels = Column::new("label", Values::Categorical { codes, levels: classes.clone() });
    let features = Features::Array(Array::new(values, WIDTH).unwrap());
    let input = Input { features, labels: Some(labels), ids: None, source: "rows".into() };
    Loaded { classes: Some(classes), ..Loaded::new("rows", input) }
}

/// An envelope without the safeguards of `robust`: one threshold for both classes, always in full force, so that nearly every
/// row of the rare class counts as wrongly labelled.
fn harmful(model: ModelKind) -> FitConfig {
    FitConfig {
        model: Some(model),
        alpha: Some(0.85),
        temperature: Some(0.02),
        scope: Some(Scope::Batch),
        ceiling: Some(1.0),
        scale: Some(Scale::Fixed),
        fade: Some(Fade { margin: 1.0, share: 0.01 }),
        start: Some(0.1),
        epochs: Some(if model == ModelKind::Mlp { 20 } else { 200 }),
        ..FitConfig::default()
    }
}

fn fit(config: &FitConfig) -> FitOutcome {
    Fit::new(config, &rare_class(), &Stop::default()).unwrap().run(&mut Silent).unwrap()
}

/// Classes that the arms predict for the training rows.
fn predicted(outcome: &FitOutcome) -> [Vec<u32>; 2] {
    let rows = &outcome.rows.train.data;
    [0, 1].map(|arm| outcome.arms[arm].model.predict(rows.x().unwrap()).unwrap())
}

#[test]
fn the_base_arms_model_is_kept_and_said_so() {
    for model in [ModelKind::Linear, ModelKind::Mlp] {
        let outcome = fit(&harmful(model));
        let found = outcome.gave_way.expect("the envelope drops the rare class");
        assert!(found.base > found.envelope && found.rows == outcome.rows.validation.data.len(), "{found:?}");
        let [base, envelope] = predicted(&outcome);
        assert_eq!(base, envelope);
        assert!(base.contains(&1), "the base arm knows the rare class");
        assert_eq!(outcome.arms[1].epoch, outcome.arms[0].epoch);
        assert_eq!(outcome.arms[1].name, "robust");
        let warnings = outcome.warnings().unwrap();
        assert!(warnings.iter().any(|words| words.contains("the base arm's model is kept for both")), "{warnings:?}");
        // What the envelope saw is still its own.
        assert!(outcome.training_rows.weight.iter().any(|&weight| weight < 0.5));
    }
}

#[test]
fn what_asks_for_no_choice_is_left_alone() {
    let network = harmful(ModelKind::Mlp);
    let paper = FitConfig { preset: Preset::Paper, ..harmful(ModelKind::Linear) };
    for config in [FitConfig { keep: Some(Keep::Last), ..network }, paper] {
        assert_eq!(fit(&config).gave_way, None);
    }
    // With the safeguards nothing is lost, and nothing gives way.
    assert_eq!(fit(&FitConfig { model: Some(ModelKind::Linear), ..FitConfig::default() }).gave_way, None);
}
