//! Reads arbitrary bytes as a model file, a network or a vote, writes it back and predicts with it.
#![no_main]

use cmrm::{Matrix, Scalar};
use cmrm_train::{Model, Predictor, Stop};
use libfuzzer_sys::fuzz_target;

/// Trees may claim more features than they ask about: rows that wide are slow without being interesting.
const MOST_INPUTS: usize = 1 << 16;

fuzz_target!(|bytes: &[u8]| {
    use_predictor(bytes);
    use_double(bytes);
});

fn use_predictor(bytes: &[u8]) {
    let Ok(model) = Predictor::from_bytes(bytes) else { return };
    let stored = model.to_bytes().expect("a model can be stored");
    let again = Predictor::from_bytes(&stored).expect("a stored model can be read back");
    if model.inputs() > MOST_INPUTS {
        return;
    }
    let rows = two_rows(model.inputs());
    let x = Matrix::new(&rows, model.inputs()).expect("two rows");
    let probabilities = model.probabilities(x, &Stop::default()).expect("rows of the model's width");
    assert_eq!(probabilities.len(), 2 * model.classes());
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let once_more = again.probabilities(x, &Stop::default()).expect("rows of the model's width");
    assert_eq!(bits(&once_more), bits(&probabilities));
    assert!(model.predict(x).expect("rows of the model's width").iter().all(|&y| (y as usize) < model.classes()));
}

fn use_double(bytes: &[u8]) {
    let Ok(model) = Model::<f64>::from_bytes(bytes) else { return };
    let stored = model.to_bytes().expect("a model can be stored");
    let again = Model::<f64>::from_bytes(&stored).expect("a stored model can be read back");
    assert_eq!(again.network().parameters(), model.network().parameters());
    let inputs = model.network().layout().inputs();
    let rows = two_rows(inputs);
    let x = Matrix::new(&rows, inputs).expect("two rows");
    assert_eq!(model.probabilities(x).expect("rows of the model's width").len(), 2 * model.classes());
}

fn two_rows<T: Scalar>(inputs: usize) -> Vec<T> {
    (0..2 * inputs).map(|at| T::from_f64(at as f64 * 0.5 - 1.0)).collect()
}
