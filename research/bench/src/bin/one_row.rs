//! How long one row takes in process: opens a run, predicts rows of a table one by one, and prints the median in microseconds.

use std::time::Instant;

use cmrm_data::read::{ReadOptions, open_path};
use cmrm_run::Model;

/// Predictions that are timed.
const ROWS: usize = 500;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(run), Some(table)) = (arguments.next(), arguments.next()) else {
        return Err("usage: one_row RUN TABLE".into());
    };
    let model = Model::open(&run)?;
    let options = ReadOptions { expected: Some(model.preprocess().expected()), ..ReadOptions::default() };
    let input = open_path(table.as_ref(), &options)?.read()?;
    let rows: Vec<_> =
        (0..input.features.rows().min(ROWS)).map(|row| input.features.gather(&[row])).collect::<Result<_, _>>()?;
    let mut times = Vec::with_capacity(rows.len());
    for row in &rows {
        let began = Instant::now();
        std::hint::black_box(model.predict(row)?);
        times.push(began.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    println!("{:.1}", times[times.len() / 2]);
    Ok(())
}
