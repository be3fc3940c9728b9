//! How sure linear models are: at the temperature that rows say which were held back.

use cmrm::metric::log_loss;
use cmrm::rng::Rng;
use cmrm_data::table::Values;
use cmrm_data::{Array, Column, Features, Input};
use cmrm_fit::{Fit, FitConfig, FitOutcome, Loaded, ModelKind, OptimiserKind};
use cmrm_train::train::Silent;
use cmrm_train::{Model, Predictor, Stop};

const WIDTH: usize = 64;
const CLASSES: usize = 5;

/// Rows of five clouds, a share `wrong` of their labels drawn anew, and as many to test on whose labels are right.
fn loaded(rows: usize, wrong: f64) -> Loaded {
    let mut rng = Rng::new(6, 0);
    let centres: Vec<f64> = (0..CLASSES * WIDTH).map(|_| 0.4 * rng.normal()).collect();
    let classes: Vec<String> = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
    let mut draw = |wrong: f64| {
        let (mut values, mut codes) = (Vec::new(), Vec::new());
        for row in 0..rows {
            let class = row % CLASSES;
            values.extend((0..WIDTH).map(|at| (centres[class * WIDTH + at] + rng.normal()) as f32));
            codes.push(if rng.uniform() < wrong { rng.below(CLASSES) } else { class } as u32);
        }
        let labels = Column::new("label", Values::Categorical { codes, levels: classes.clone() });
        let features = Features::Array(Array::new(values, WIDTH).unwrap());
        Input { features, labels: Some(labels), ids: None, source: "rows".into() }
    };
    let (train, test) = (draw(wrong), draw(0.0));
    Loaded { test: Some(test), classes: Some(classes), ..Loaded::new("rows", train) }
}

fn linear() -> FitConfig {
    FitConfig { model: Some(ModelKind::Linear), ..FitConfig::default() }
}

fn fit(config: &FitConfig, loaded: &Loaded) -> FitOutcome {
    Fit::new(config, loaded, &Stop::default()).unwrap().run(&mut Silent).unwrap()
}

fn models(outcome: &FitOutcome) -> impl Iterator<Item = &Model<f32>> {
    outcome.arms.iter().map(|arm| match &arm.model {
        Predictor::Network(model) => model,
        Predictor::Vote(_) => unreachable!("a linear model"),
    })
}

#[test]
fn clean_labels_are_told_better_and_predicted_the_same() {
    let outcome = fit(&linear(), &loaded(1000, 0.4));
    let test = &outcome.rows.test.as_ref().unwrap().0;
    for model in models(&outcome) {
        let as_trained = model.clone().at_temperature(model.scale());
        assert_eq!(as_trained.scale(), 1.0);
        let loss = |model: &Model<f32>| {
            let said = model.probabilities(test.x().unwrap()).unwrap();
            log_loss(cmrm::Matrix::new(&said, CLASSES).unwrap(), &test.labels).unwrap()
        };
        let (before, after) = (loss(&as_trained), loss(model));
        assert!(after < 0.9 * before, "{before} became {after} at scale {}", model.scale());
        let predicted = |model: &Model<f32>| model.predict(test.x().unwrap()).unwrap();
        assert_eq!(predicted(&as_trained), predicted(model));
    }
}

#[test]
fn other_models_and_few_rows_are_left_as_they_are() {
    let few = loaded(400, 0.4);
    let adam = FitConfig { optimiser: Some(OptimiserKind::Adam), epochs: Some(2), ..linear() };
    let network = FitConfig { model: Some(ModelKind::Mlp), epochs: Some(2), ..FitConfig::default() };
    let plenty = loaded(1000, 0.4);
    for (config, rows) in [(&linear(), &few), (&adam, &plenty), (&network, &plenty)] {
        assert!(models(&fit(config, rows)).all(|model| model.scale() == 1.0));
    }
}
