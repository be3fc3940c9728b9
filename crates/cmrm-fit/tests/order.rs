//! Rows in any order, and weights as copies.

use cmrm_data::table::{ColumnBuilder, Values};
use cmrm_data::{Array, Column, Features, Input, Kind, Table};
use cmrm_fit::{Fit, FitConfig, Loaded, Part, Prepared, Result, RowOrder};
use cmrm_train::Stop;
use cmrm_train::train::Silent;

const ROWS: usize = 40;

/// Rows that differ, three classes in turn.
fn loaded(order: &[usize], weights: Option<Vec<f32>>) -> Loaded {
    let values = order.iter().flat_map(|&row| [row as f32, (row * row % 17) as f32, (row % 5) as f32]).collect();
    let codes = order.iter().map(|&row| row as u32 % 3).collect();
    let classes: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
    let labels = Column::new("label", Values::Categorical { codes, levels: classes.clone() });
    let features = Features::Array(Array::new(values, 3).unwrap());
    let train = Input { features, labels: Some(labels), ids: None, source: "rows".into() };
    Loaded { train, test: None, classes: Some(classes), clean: None, weights, name: "rows".into() }
}

fn config(row_order: RowOrder) -> FitConfig {
    FitConfig { row_order, epochs: Some(3), hidden: vec![8], batch: 16, seed: 5, ..FitConfig::default() }
}

fn model(config: &FitConfig, loaded: &Loaded) -> Vec<u8> {
    let outcome = Fit::new(config, loaded, &Stop::default()).unwrap().run(&mut Silent).unwrap();
    outcome.envelope_arm().unwrap().model.to_bytes().unwrap()
}

fn prepare(config: &FitConfig, loaded: &Loaded) -> Result<Prepared> {
    Prepared::new(config, loaded, &Stop::default())
}

/// All rows to train on.
fn whole(loaded: &Loaded) -> Part {
    prepare(&FitConfig { validation_share: Some(0.0), ..config(RowOrder::Given) }, loaded).unwrap().train
}

fn shuffled() -> Vec<usize> {
    (0..ROWS).map(|at| (at * 23 + 7) % ROWS).collect()
}

#[test]
fn the_order_of_rows_matters_only_where_it_is_to() {
    let (there, back) = (loaded(&(0..ROWS).collect::<Vec<_>>(), None), loaded(&shuffled(), None));
    let content = config(RowOrder::Content);
    assert_eq!(model(&content, &there), model(&content, &back));
    let given = config(RowOrder::Given);
    assert_ne!(model(&given, &there), model(&given, &back));
    // Rows keep their places in the data, wherever they are taken from.
    let prepared = prepare(&content, &back).unwrap();
    let order = shuffled();
    for data in [&prepared.train.data, &prepared.validation.data] {
        assert!(!data.is_empty());
        for (at, &row) in data.rows.iter().enumerate() {
            assert_eq!(data.labels[at], order[row as usize] as u32 % 3);
        }
    }
}

#[test]
fn whole_weights_are_copies() {
    let weights: Vec<f32> = (0..ROWS).map(|row| (row % 4) as f32).collect();
    let copies: Vec<usize> = (0..ROWS).flat_map(|row| std::iter::repeat_n(row, row % 4)).collect();
    let all: Vec<usize> = (0..ROWS).collect();
    for order in [RowOrder::Given, RowOrder::Content] {
        let weighted = model(&config(order), &loaded(&all, Some(weights.clone())));
        assert_eq!(weighted, model(&config(order), &loaded(&copies, None)), "{order:?}");
    }
}

#[test]
fn other_weights_stay_weights_and_nonsense_is_refused() {
    let all: Vec<usize> = (0..ROWS).collect();
    let weights: Vec<f32> = (0..ROWS).map(|row| [0.0, 0.5, 1.5, 2.0][row % 4]).collect();
    let rows = whole(&loaded(&all, Some(weights.clone())));
    assert_eq!(rows.data.len(), ROWS - ROWS / 4);
    let kept: Vec<f32> = rows.data.rows.iter().map(|&row| weights[row as usize]).collect();
    assert_eq!(rows.weights, Some(kept));
    // Too many copies to make.
    let rows = whole(&loaded(&all, Some(vec![1e6; ROWS])));
    assert_eq!((rows.data.len(), rows.weights), (ROWS, Some(vec![1e6; ROWS])));
    for nonsense in [vec![1.0; ROWS - 1], vec![-1.0; ROWS], vec![f32::NAN; ROWS], vec![0.0; ROWS]] {
        prepare(&config(RowOrder::Given), &loaded(&all, Some(nonsense))).unwrap_err();
    }
}

#[test]
fn a_refusal_names_the_row_where_it_stands() {
    let mut x = ColumnBuilder::new(Kind::Numeric);
    for row in 0..ROWS {
        if row == 29 { x.push_missing() } else { x.push_number((row * 7 % 11) as f64) }
    }
    let mut loaded = loaded(&(0..ROWS).collect::<Vec<_>>(), None);
    loaded.train.features = Features::Table(Table::new(vec![x.finish("x")]).unwrap());
    let error = prepare(&config(RowOrder::Content), &loaded).unwrap_err().to_string();
    assert!(error.contains("row 29, column 'x'"), "{error}");
}
