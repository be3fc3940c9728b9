//! What it costs that a row is predicted the same in any company: a row alone, and many rows at once.
//!
//! Networks are also evaluated as training evaluates them, in blocks. Times are in microseconds a row: those of many rows of the processor.

use cmrm::Matrix;
use cmrm::rng::Rng;
use cmrm_bench::{Clock, Result};
use cmrm_train::kernel::KernelConfig;
use cmrm_train::model::{Head, Init, ModelConfig, Network};
use cmrm_train::neighbours::Neighbours;
use cmrm_train::train::Examples;
use cmrm_train::{Model, Stop};

const INPUTS: usize = 64;
const CLASSES: usize = 10;
/// Rows that learners of stored rows have learned from.
const LEARNED: usize = 2000;

fn main() -> Result<()> {
    let rows: usize = std::env::args().nth(1).map_or(Ok(1_000_000), |rows| rows.parse())?;
    let mut rng = Rng::new(1, 1);
    let x: Vec<f32> = (0..rows * INPUTS).map(|_| rng.normal() as f32).collect();
    let stop = Stop::default();
    println!("learner, a row alone, {rows} rows at once (microseconds a row)");
    for (name, hidden) in [("linear", &[][..]), ("network 128, 64", &[128, 64]), ("network 512, 512", &[512, 512])] {
        let config = ModelConfig { hidden: hidden.to_vec(), head: Head::Linear, dropout: 0.0, init: Init::Kaiming };
        let model = Model::<f32>::new(Network::new(&config.validate()?, INPUTS, CLASSES, &[1])?, 1.0);
        measure(name, &x, |x| Ok(model.probabilities_unless(x, &stop)?.len()))?;
        measure(&format!("{name}, in blocks"), &x, |x| Ok(model.probabilities_in_blocks(x, &stop)?.len()))?;
    }
    let labels: Vec<u32> = (0..LEARNED).map(|_| rng.below(CLASSES) as u32).collect();
    let learned = Examples::new(Matrix::new(&x[..LEARNED * INPUTS], INPUTS)?, &labels);
    let few = &x[..x.len().min(100_000 * INPUTS)];
    let config = KernelConfig { gammas: vec![0.01], ridges: vec![0.1], landmarks: 1000, seed: 1 };
    let machine = config.fit(learned, CLASSES, &stop)?.remove(0).machine;
    measure("kernel, 1000 landmarks", few, |x| Ok(machine.probabilities(x, &stop)?.len()))?;
    let neighbours = Neighbours::fit(learned, CLASSES, &[15], &stop)?.remove(0).neighbours;
    measure("15 neighbours of 2000", few, |x| Ok(neighbours.probabilities(x, &stop)?.len()))
}

fn measure(name: &str, x: &[f32], predict: impl Fn(Matrix<'_, f32>) -> Result<usize>) -> Result<()> {
    let rows = x.len() / INPUTS;
    // The median of what passes: too short for the system to say what the processor took, and now and then interrupted.
    let mut alone = Vec::new();
    for at in 0..501.min(rows) {
        let clock = Clock::start();
        predict(Matrix::new(&x[at * INPUTS..(at + 1) * INPUTS], INPUTS)?)?;
        alone.push(clock.stop().seconds);
    }
    alone.sort_by(f64::total_cmp);
    let clock = Clock::start();
    predict(Matrix::new(x, INPUTS)?)?;
    let all = clock.stop();
    let all = all.cpu_seconds.unwrap_or(all.seconds);
    println!("{name}, {:.2}, {:.3}", 1e6 * alone[alone.len() / 2], 1e6 * all / rows as f64);
    Ok(())
}
