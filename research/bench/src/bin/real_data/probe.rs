//! Linear probe on frozen CIFAR-10 features with the human labels of CIFAR-10N ('worst'), by L-BFGS.

use std::time::Instant;

use cmrm::Matrix;
use cmrm::envelope::{EnvelopeConfig, Preset};
use cmrm::loss::LossConfig;
use cmrm::metric::accuracy;
use cmrm::rng::Rng;
use cmrm_bench::scores::Scores;
use cmrm_bench::tables::{read_cells, standardise};
use cmrm_bench::{Result, npy};
use cmrm_train::model::ModelConfig;
use cmrm_train::optim::LbfgsConfig;
use cmrm_train::train::{Arm, ClassWeights, Examples, Method, Selection, Silent, TrainConfig, Trainer};

use crate::Options;

const LOSS: LossConfig = LossConfig::CrossEntropy;
const ITERATIONS: usize = 1000;
const SUBSET_STREAM: u64 = 0x5b5e7;

/// Features and labels; the observed ones to train with, the clean ones of the test set to judge by.
struct Probe {
    train: Vec<f32>,
    observed: Vec<u32>,
    test: Vec<f32>,
    truth: Vec<u32>,
    width: usize,
}

pub fn run(options: &Options) -> Result<()> {
    let probe = load(options)?;
    let rows = probe.observed.len();
    println!("\n## cifar10n worst: {rows} rows, {} features, 10 classes; linear softmax by L-BFGS\n", probe.width);
    for c in [1000.0, 10.0] {
        println!("C = {c}, all rows (nothing random)\n");
        println!("| arm | accuracy % | iterations | end | seconds |\n|---|---|---|---|---|");
        let mut base = None;
        for arm in arms() {
            let fit = fit(&probe, &probe.train, &probe.observed, c, &arm)?;
            let base = *base.get_or_insert(fit.accuracy);
            println!(
                "| {} | {:.2} ({:+.2}) | {} | {} | {:.1} |",
                arm.name,
                100.0 * fit.accuracy,
                100.0 * (fit.accuracy - base),
                fit.iterations,
                fit.end,
                fit.seconds
            );
        }
        let mut scores = Scores::default();
        for seed in 0..options.seeds {
            let chosen = Rng::new(seed, SUBSET_STREAM).choose(rows, rows / 2);
            let x: Vec<f32> =
                chosen.iter().flat_map(|&i| probe.train[i * probe.width..][..probe.width].to_vec()).collect();
            let labels: Vec<u32> = chosen.iter().map(|&i| probe.observed[i]).collect();
            for arm in arms() {
                scores.note(&arm.name, fit(&probe, &x, &labels, c, &arm)?.accuracy);
            }
        }
        if options.seeds > 0 {
            println!("\nC = {c}, {} random halves of the rows\n\n| arm | accuracy % |\n|---|---|", options.seeds);
        }
        for name in scores.names() {
            println!("| {name} | {} |", scores.cell(name)?);
        }
        println!();
    }
    Ok(())
}

fn load(options: &Options) -> Result<Probe> {
    let features = options.folder.join("features");
    let mut train = npy::read(&features.join("cifar10.lite2.train0.npy"))?;
    train.values.extend(npy::read(&features.join("cifar10.lite2.train1.npy"))?.values);
    let mut test = npy::read(&features.join("cifar10.lite2.test.npy"))?.values;
    let width = train.columns;
    standardise(&mut train.values, &mut test, width, &(0..width).collect::<Vec<_>>());
    let cells = read_cells(&options.folder.join("cifar-n").join("cifar10n.csv"))?;
    let column = cells[0].iter().position(|name| name == "worse_label").ok_or("cifar10n.csv has no worse_label")?;
    let observed = cells[1..].iter().map(|row| row[column].parse()).collect::<std::result::Result<Vec<u32>, _>>()?;
    let clean = npy::read_labels(&features.join("cifar10.train-labels.npy"))?;
    let wrong = clean.iter().zip(&observed).filter(|(a, b)| a != b).count();
    eprintln!("cifar10n worst: {:.2} % of the labels are wrong", 100.0 * wrong as f64 / clean.len() as f64);
    let truth = npy::read_labels(&features.join("cifar10.test-labels.npy"))?;
    Ok(Probe { train: train.values, observed, test, truth, width })
}

/// Base, the presets, and the stronger settings of the two bounded forms.
fn arms() -> Vec<Arm> {
    let mut arms = vec![Arm::base(LOSS)];
    arms.extend(Preset::ALL.map(|preset| Arm::envelope(preset.name(), LOSS, preset.config(&LOSS))));
    let with = |name: &str, preset: Preset, lambda: f64, alpha: f64| {
        Arm::envelope(name, LOSS, EnvelopeConfig { lambda, alpha, ..preset.config(&LOSS) })
    };
    arms.push(with("paper, λ 5, α .3", Preset::Paper, 5.0, 0.3));
    arms.push(with("authors, λ .5", Preset::Authors, 0.5, 0.15));
    arms.push(with("robust, λ 40", Preset::Robust, 40.0, 0.5));
    arms
}

struct Fit {
    accuracy: f64,
    iterations: usize,
    end: String,
    seconds: f64,
}

fn fit(probe: &Probe, x: &[f32], labels: &[u32], c: f64, arm: &Arm) -> Result<Fit> {
    let config = TrainConfig {
        model: ModelConfig::linear(),
        method: Method::FullBatch(LbfgsConfig::default()),
        epochs: ITERATIONS,
        l2: 1.0 / c,
        clip: None,
        class_weights: ClassWeights::Equal,
        selection: Selection::Last,
        seed: 0,
        keep_history: false,
    };
    let start = Instant::now();
    let examples = Examples::new(Matrix::new(x, probe.width)?, labels);
    let mut trainer = Trainer::new(config, vec![arm.clone()], 10, examples, None)?;
    trainer.run(&mut Silent)?;
    let iterations = trainer.epochs_done();
    let trained = trainer.finish()?.remove(0);
    let seconds = start.elapsed().as_secs_f64();
    let predicted = trained.model.predict(Matrix::new(&probe.test, probe.width)?)?;
    let end = trained.lbfgs.map_or_else(|| "iteration limit".to_owned(), |status| format!("{status:?}"));
    Ok(Fit { accuracy: accuracy(&predicted, &probe.truth)?, iterations, end, seconds })
}
