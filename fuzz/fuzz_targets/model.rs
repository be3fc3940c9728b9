//! Reads arbitrary bytes as a model file, writes it back and predicts with it.
#![no_main]

use cmrm::{Matrix, Scalar};
use cmrm_train::Model;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    use_model::<f32>(bytes);
    use_model::<f64>(bytes);
});

fn use_model<T: Scalar>(bytes: &[u8]) {
    let Ok(model) = Model::<T>::from_bytes(bytes) else { return };
    let stored = model.to_bytes().expect("a model can be stored");
    let again = Model::<T>::from_bytes(&stored).expect("a stored model can be read back");
    assert_eq!(again.network().parameters(), model.network().parameters());
    let inputs = model.network().layout().inputs();
    let row: Vec<T> = (0..2 * inputs).map(|at| T::from_f64(at as f64 * 0.5 - 1.0)).collect();
    let x = Matrix::new(&row, inputs).expect("two rows");
    let probabilities = model.probabilities(x).expect("rows of the model's width");
    assert_eq!(probabilities.len(), 2 * model.classes());
    assert!(model.predict(x).expect("rows of the model's width").iter().all(|&y| (y as usize) < model.classes()));
}
