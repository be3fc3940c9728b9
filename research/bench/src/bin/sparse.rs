//! How long a linear model takes on sparse rows: rows like those of texts, drawn here, fitted by L-BFGS.
//!
//! `cargo run --release -p cmrm-bench --bin sparse -- [ROWS WIDTH FILL CLASSES L2 TOLERANCE]`, by default 200,000 rows of
//! 100,000 columns, 0.1 % filled, 20 classes. A tenth as many rows are drawn to judge by. `sparse FOLDER L2 TOLERANCE` takes the rows
//! that `research/peers/sparse.py` keeps with `--keep FOLDER`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use cmrm::loss::LossConfig;
use cmrm::rng::Rng;
use cmrm::{Rows, SparseRows};
use cmrm_data::Features;
use cmrm_data::read::{ReadOptions, Source, read_labels, read_path};
use cmrm_train::model::{ModelConfig, Network, Workspace};
use cmrm_train::optim::LbfgsConfig;
use cmrm_train::train::{Arm, Examples, Method, Silent, TrainConfig, Trainer};

/// Labels that are replaced by any class.
const WRONG: f64 = 0.1;
/// Numbers of a row that are drawn from the words of its class.
const OWN: f64 = 0.25;
const EVALUATIONS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let folder = words.first().map(PathBuf::from).filter(|path| path.is_dir());
    if folder.is_some() {
        words.remove(0);
    }
    let given: Vec<f64> = words.iter().map(|argument| argument.parse()).collect::<Result<_, _>>()?;
    let at = |place: usize, otherwise: f64| given.get(place).copied().unwrap_or(otherwise);
    let (train, test, [l2, tolerance]) = match &folder {
        Some(folder) => (Drawn::read(folder, "train")?, Drawn::read(folder, "test")?, [at(0, 1e-6), at(1, 1e-5)]),
        None => {
            let (rows, width, fill) = (at(0, 200_000.0) as usize, at(1, 100_000.0) as usize, at(2, 0.001));
            let of = |rows: usize, seed: u64| Drawn::new(rows, width, fill, at(3, 20.0) as usize, seed);
            (of(rows, 1)?, of(rows.div_ceil(10), 2)?, [at(4, 1e-6), at(5, 1e-5)])
        }
    };
    let (rows, width) = (train.labels.len(), train.x.width());
    let classes = train.labels.iter().max().map_or(0, |&most| most as usize + 1);
    println!("{rows} × {width}, {} numbers, {classes} classes, l2 {l2}, tolerance {tolerance}", train.x.kept());
    println!("memory of the rows: {}", memory());
    println!("evaluation: {:.3} s", evaluation(train.x.view().into(), classes)?);
    for precondition in [true, false] {
        let lbfgs = LbfgsConfig { precondition, function_tolerance: tolerance, ..LbfgsConfig::default() };
        let config = TrainConfig {
            model: ModelConfig::linear(),
            method: Method::FullBatch(lbfgs),
            epochs: 1000,
            l2,
            ..TrainConfig::default()
        };
        let examples = Examples::new(train.x.view(), &train.labels);
        let clock = Instant::now();
        let arms = vec![Arm::base(LossConfig::CrossEntropy)];
        let mut trainer = Trainer::<f32>::new(config, arms, classes, examples, None)?;
        trainer.run(&mut Silent)?;
        let seconds = clock.elapsed().as_secs_f64();
        let (iterations, loss) = (trainer.epochs_done(), trainer.history().last().map_or(0.0, |stats| stats.total));
        let model = trainer.finish()?.remove(0).model;
        let predicted = model.predict(test.x.view())?;
        let right = predicted.iter().zip(&test.clean).filter(|(found, clean)| found == clean).count();
        let accuracy = right as f64 / test.clean.len() as f64;
        let start = if precondition { "moments" } else { "sphere" };
        println!(
            "{start}: {iterations} iterations, {seconds:.1} s, loss {loss:.5}, accuracy {accuracy:.4}; memory at most {}",
            memory()
        );
    }
    Ok(())
}

/// Seconds of one loss and gradient, the median of a few; the loss itself is left out.
fn evaluation(x: Rows<'_, f32>, classes: usize) -> cmrm_train::Result<f64> {
    let network = Network::<f32>::new(&ModelConfig::linear().validate()?, x.columns(), classes, &[0])?;
    let mut gradient = vec![0.0; network.parameters().len()];
    let mut work = Workspace::default();
    work.keep_columns_of(x);
    let mut times = Vec::new();
    for _ in 0..=EVALUATIONS {
        let clock = Instant::now();
        network.forward(x, None, true, &mut work)?;
        work.outputs_and_delta().1.fill(1.0);
        network.backward(x, None, &mut work, &mut gradient)?;
        times.push(clock.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[EVALUATIONS / 2])
}

/// Rows of unit length. Columns are as common as words: the commonest ones of all classes, and each class has its own.
struct Drawn {
    x: SparseRows<f32>,
    clean: Vec<u32>,
    labels: Vec<u32>,
}

impl Drawn {
    /// `NAME.npz` and `NAME-labels.npy` of a folder.
    fn read(folder: &Path, name: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let rows = read_path(&folder.join(format!("{name}.npz")), &ReadOptions::default())?;
        let Features::Sparse(array) = rows.features else { return Err("the rows are not sparse".into()) };
        let labels = read_labels(&Source::file(folder.join(format!("{name}-labels.npy"))), &ReadOptions::default())?;
        let label = |row: usize| labels.text(row).and_then(|text| text.parse().ok()).ok_or("a label that is no class");
        let labels: Vec<u32> = (0..labels.len()).map(label).collect::<Result<_, _>>()?;
        Ok(Drawn { x: array.rows, clean: labels.clone(), labels })
    }

    fn new(rows: usize, width: usize, fill: f64, classes: usize, seed: u64) -> cmrm::Result<Self> {
        let mut rng = Rng::new(seed, 0);
        let mut drawn = Drawn { x: SparseRows::empty(width)?, clean: Vec::new(), labels: Vec::new() };
        let kept = ((fill * width as f64).round() as usize).clamp(1, width);
        for _ in 0..rows {
            let class = rng.below(classes);
            let mut columns: Vec<u32> = Vec::with_capacity(kept);
            while columns.len() < kept {
                let missing = kept - columns.len();
                columns.extend((0..missing).map(|_| {
                    // The logarithm of a rank is uniform: Zipf's law.
                    let rank = (width as f64).powf(rng.uniform()) - 1.0;
                    let place = if rng.uniform() < OWN { rank as usize * classes + class } else { rank as usize };
                    // Scattered, as a hash would.
                    (place as u64 * 7919 % width as u64) as u32
                }));
                columns.sort_unstable();
                columns.dedup();
            }
            let values: Vec<f64> = columns.iter().map(|_| 0.2 + rng.uniform()).collect();
            let length = values.iter().map(|value| value * value).sum::<f64>().sqrt();
            let cells: Vec<(u32, f32)> =
                columns.iter().zip(&values).map(|(&column, value)| (column, (value / length) as f32)).collect();
            drawn.x.push(&cells)?;
            drawn.clean.push(class as u32);
            let wrong = rng.uniform() < WRONG;
            drawn.labels.push(if wrong { rng.below(classes) } else { class } as u32);
        }
        Ok(drawn)
    }
}

/// The most memory that this process has had, where the system says so.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_string(), |line| line.trim().to_string())
}
