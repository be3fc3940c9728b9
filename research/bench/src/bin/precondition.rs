//! What preconditioning saves L-BFGS: evaluations of a linear model's cross-entropy, from zero, until it is close to the least
//! known, starting from a sphere and from the second moments of the features.
//!
//! `cargo run --release -p cmrm-bench --bin precondition -- [DATA_DIR]`. DATA_DIR has the layout that `study` wants; without it
//! the embedded sets are used alone.

use std::path::PathBuf;
use std::sync::Arc;

use cmrm::Matrix;
use cmrm::envelope::{Batch, Objective, Scratch};
use cmrm::loss::{CrossEntropy, l2_penalty};
use cmrm::noise::{Rate, symmetric};
use cmrm_bench::Result;
use cmrm_bench::sets::{CHOSEN_ON, Set};
use cmrm_bench::tables::standardise;
use cmrm_train::model::{ModelConfig, Network, Workspace};
use cmrm_train::optim::{LbfgsConfig, LbfgsState, Preconditioner};

/// How far above the least known loss, relative to it, counts as close.
const CLOSE: [f64; 2] = [1e-2, 1e-4];
const ITERATIONS: u64 = 400;
const PENALTIES: [f64; 3] = [1e-2, 1e-4, 1e-6];

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).map(PathBuf::from);
    let names = CHOSEN_ON.iter().filter(|&&name| folder.is_some() || ["digits", "breast-cancer"].contains(&name));
    println!("| set | rows × features | wrong labels | l2 | to 1 %: sphere | moments | to 0.01 %: sphere | moments |");
    println!("|---|---|---|---|---|---|---|---|");
    for name in names {
        let set = match Set::load(name, folder.as_deref().unwrap_or(".".as_ref())) {
            Ok(set) => set,
            Err(error) => {
                eprintln!("{name} is left out: {error}");
                continue;
            }
        };
        let rows = set.test_from;
        let mut x = set.x[..rows * set.width].to_vec();
        standardise(&mut x, &mut [], set.width, &set.numeric);
        for rate in [0.0, 0.3] {
            let labels = symmetric(&set.labels[..rows], set.classes, Rate::new(rate)?, 0)?.labels;
            for l2 in PENALTIES {
                let problem = Problem { x: &x, width: set.width, labels: &labels, classes: set.classes, l2 };
                let (sphere, moments) = (problem.losses(false)?, problem.losses(true)?);
                let least = sphere.iter().chain(&moments).copied().fold(f64::INFINITY, f64::min);
                let cells = CLOSE.map(|close| {
                    [&sphere, &moments].map(|losses| {
                        let reached = losses.iter().position(|&loss| loss <= least * (1.0 + close));
                        reached.map_or_else(|| format!("over {}", losses.len()), |at| (at + 1).to_string())
                    })
                });
                println!(
                    "| {name} | {rows} × {} | {:.0} % | {l2:e} | {} |",
                    set.width,
                    100.0 * rate,
                    cells.as_flattened().join(" | ")
                );
            }
        }
    }
    Ok(())
}

struct Problem<'a> {
    x: &'a [f32],
    width: usize,
    labels: &'a [u32],
    classes: usize,
    l2: f64,
}

impl Problem<'_> {
    fn rows(&self) -> cmrm_train::Result<Matrix<'_, f32>> {
        Ok(Matrix::new(self.x, self.width)?)
    }

    /// The loss at every evaluation, in their order.
    fn losses(&self, preconditioned: bool) -> Result<Vec<f64>> {
        let mut network = Network::<f32>::new(&ModelConfig::linear().validate()?, self.width, self.classes, &[0])?;
        let layer = network.layout().layers[0].clone();
        let mut parameters = vec![0.0; network.parameters().len()];
        let config = LbfgsConfig {
            gradient_tolerance: 0.0,
            function_tolerance: 0.0,
            max_iterations: ITERATIONS,
            ..LbfgsConfig::default()
        };
        let mut state = LbfgsState::new(config.validate()?, parameters.len());
        if preconditioned {
            let preconditioner = Preconditioner::of_rows(self.rows()?, None, self.classes, layer.bias, self.l2);
            state.use_preconditioner(Arc::new(preconditioner.ok_or("too few rows for so many features")?))?;
        }
        let (mut work, mut scratch) = (Workspace::default(), Scratch::default());
        let mut losses = Vec::new();
        let mut objective = |point: &[f32], gradient: &mut [f32]| {
            network.parameters_mut().copy_from_slice(point);
            network.forward(self.rows()?, None, true, &mut work)?;
            let (outputs, delta) = work.outputs_and_delta();
            let batch = Batch::new(Matrix::new(outputs, self.classes)?, self.labels);
            let base = Objective::base(CrossEntropy).evaluate(&batch, delta, &mut scratch)?.base;
            network.backward(self.rows()?, None, &mut work, gradient)?;
            let weights = layer.weights();
            let loss = base + l2_penalty(&point[weights.clone()], self.l2, &mut gradient[weights]);
            losses.push(loss);
            Ok(loss)
        };
        while state.step(&mut parameters, &mut objective)?.status.is_none() {}
        Ok(losses)
    }
}
