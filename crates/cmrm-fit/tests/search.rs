//! A search trains and judges the rows by their weights, as the fit after it does.

use cmrm::criterion::Criterion;
use cmrm::rng::Rng;
use cmrm_data::table::Values;
use cmrm_data::{Array, Column, Features, Input};
use cmrm_fit::{Fit, FitConfig, Loaded, ModelKind, auto_candidates, search};
use cmrm_train::Stop;
use cmrm_train::tune::{Progress, SearchConfig};

const ROWS: usize = 300;

struct Silent;
impl Progress for Silent {}

/// Two classes that a line separates; every third label is wrong.
fn loaded(weights: Option<Vec<f32>>) -> Loaded {
    let mut rng = Rng::new(3, 0);
    let values: Vec<f32> = (0..2 * ROWS).map(|_| rng.normal() as f32).collect();
    let codes = (0..ROWS).map(|row| u32::from((values[2 * row] > 0.0) != is_wrong(row))).collect();
    let classes: Vec<String> = ["no", "yes"].map(String::from).to_vec();
    let labels = Column::new("label", Values::Categorical { codes, levels: classes.clone() });
    let features = Features::Array(Array::new(values, 2).unwrap());
    let train = Input { features, labels: Some(labels), ids: None, source: "rows".into() };
    Loaded { train, test: None, classes: Some(classes), clean: None, weights, name: "rows".into() }
}

fn is_wrong(row: usize) -> bool {
    row.is_multiple_of(3)
}

/// The best accuracy by observed labels over two folds.
fn best(weights: Option<Vec<f32>>) -> f64 {
    let config = FitConfig { model: Some(ModelKind::Linear), l2: Some(0.01), ..FitConfig::default() };
    let fit = Fit::new(&config, &loaded(weights), &Stop::default()).unwrap().to_search().unwrap();
    let candidates = auto_candidates(&config).unwrap();
    let folds = SearchConfig { folds: 2, finalists: candidates.len(), ..SearchConfig::default() };
    let searched = search(&folds, &candidates, &fit.rows().train, Vec::new(), &mut Silent).unwrap();
    let score = |trial: &cmrm_train::tune::Trial| trial.verdict.unwrap().by(Criterion::Observed).unwrap();
    searched.trials.iter().map(score).fold(0.0, f64::max)
}

#[test]
fn rows_of_little_weight_hardly_count() {
    // Fractions, so that they are weights and not copies.
    let weights = (0..ROWS).map(|row| if is_wrong(row) { 1e-3 } else { 0.5 }).collect();
    let (alike, weighed) = (best(None), best(Some(weights)));
    assert!(alike < 0.75, "{alike}");
    assert!(weighed > 0.95, "{weighed}");
}

#[test]
fn a_search_sees_the_rows_to_train_and_validate_on_in_their_order() {
    let weights: Vec<f32> = (0..ROWS).map(|row| 0.5 + row as f32 / ROWS as f32).collect();
    let config = FitConfig { test_share: Some(0.2), validation_share: Some(0.25), ..FitConfig::default() };
    let fit = Fit::new(&config, &loaded(Some(weights.clone())), &Stop::default()).unwrap();
    let searched = fit.to_search().unwrap();
    let part = &searched.rows().train;
    let (train, validation) = (&fit.rows().train.data, &fit.rows().validation.data);
    assert_eq!(part.data.len(), train.len() + validation.len());
    assert!(!validation.is_empty() && part.data.len() < ROWS && part.data.rows.is_sorted());
    let own: Vec<f32> = part.data.rows.iter().map(|&row| weights[row as usize]).collect();
    assert_eq!(part.weights, Some(own));
    for (at, row) in part.data.rows.iter().enumerate() {
        let (from, place) = match train.rows.binary_search(row) {
            Ok(place) => (train, place),
            Err(_) => (validation, validation.rows.binary_search(row).unwrap()),
        };
        assert_eq!(part.data.features.values()[2 * at..2 * at + 2], from.features.values()[2 * place..2 * place + 2]);
        assert_eq!(part.data.labels[at], from.labels[place]);
    }
}
