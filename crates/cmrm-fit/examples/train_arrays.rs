//! Trains on numbers in memory with a wrong label among them, and predicts other rows.
//!
//! `cargo run --release -p cmrm-fit --example train_arrays`

use cmrm_fit::{Error, FitConfig, Loaded};

/// Trains, and returns what it found and predicts.
pub fn train() -> Result<String, Error> {
    // Sixty fruits of two sizes, two numbers each. The label of row 20 is wrong.
    let numbers = |row: usize| [3.0 + 5.0 * (row % 2) as f32, 2.0 + (row % 3) as f32];
    let values: Vec<f32> = (0..60).flat_map(numbers).collect();
    let label = |row: usize| if (row % 2 == 1) == (row == 20) { "plum" } else { "pear" };
    let labels: Vec<&str> = (0..60).map(label).collect();

    let outcome = FitConfig::default().fit(&Loaded::from_array(values, 2, &labels)?)?;
    let (suspects, model) = (outcome.training_rows.suspects(), outcome.model()?);
    let (small, large) = (model.predict_row(&[2.9, 3.0])?, model.predict_row(&[8.1, 3.0])?);
    let predicted: Vec<&str> = small.names().chain(large.names()).collect();
    Ok(format!("suspects: rows {suspects:?}; a small one is a {}, a large one a {}\n", predicted[0], predicted[1]))
}

fn main() -> Result<(), Error> {
    print!("{}", train()?);
    Ok(())
}
