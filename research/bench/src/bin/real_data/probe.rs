//! Linear probe on frozen CIFAR features with the human labels of CIFAR-10N ('worst') and CIFAR-100N, by L-BFGS.

use std::time::Instant;

use cmrm::Matrix;
use cmrm::envelope::{EnvelopeConfig, Preset};
use cmrm::loss::LossConfig;
use cmrm::metric::{accuracy, auroc};
use cmrm::rng::Rng;
use cmrm_bench::scores::Scores;
use cmrm_bench::tables::{read_cells, standardise};
use cmrm_bench::{Result, npy};
use cmrm_fit::{FitConfig, ModelKind, with_penalty};
use cmrm_train::model::ModelConfig;
use cmrm_train::optim::LbfgsConfig;
use cmrm_train::train::{Arm, ClassWeights, Examples, Method, Selection, Silent, TrainConfig, Trainer};

use crate::Options;

const LOSS: LossConfig = LossConfig::CrossEntropy;
const ITERATIONS: usize = 1000;
const SUBSET_STREAM: u64 = 0x5b5e7;

/// Penalties tried beside the one that the rows choose.
const PENALTIES: [f64; 2] = [0.001, 0.1];

/// Features and labels; the observed ones to train with, the clean ones of the test set to judge by.
struct Probe {
    train: Vec<f32>,
    observed: Vec<u32>,
    /// Which of the observed labels are wrong.
    wrong: Vec<u32>,
    test: Vec<f32>,
    truth: Vec<u32>,
    width: usize,
    classes: usize,
}

/// Where a set is, and how much of it is measured.
struct Source {
    name: &'static str,
    classes: usize,
    labels: (&'static str, &'static str),
    arms: Vec<Arm>,
    seeds: u64,
}

pub fn run(set: &str, options: &Options) -> Result<()> {
    let source = match set {
        "cifar10n" => Source {
            name: "cifar10",
            classes: 10,
            labels: ("cifar10n.csv", "worse_label"),
            arms: arms(),
            seeds: options.seeds,
        },
        // A hundred classes take ten times as long: the arms that matter, and no halves.
        _ => Source {
            name: "cifar100",
            classes: 100,
            labels: ("cifar100n.csv", "noisy_label"),
            arms: vec![Arm::base(LOSS), preset(Preset::Robust)],
            seeds: 0,
        },
    };
    let probe = load(options, &source)?;
    let (rows, classes) = (probe.observed.len(), probe.classes);
    println!("\n## {set}: {rows} rows, {} features, {classes} classes; linear softmax by L-BFGS\n", probe.width);
    let config = FitConfig { model: Some(ModelKind::Linear), ..FitConfig::default() };
    let start = Instant::now();
    let examples = Examples::new(Matrix::new(&probe.train, probe.width)?, &probe.observed);
    let chosen = with_penalty(&config, examples, classes, &mut Silent)?.l2.ok_or("no penalty")?;
    println!("The rows choose a penalty of {chosen}, in {:.1} s\n", start.elapsed().as_secs_f64());
    for l2 in PENALTIES.into_iter().chain([chosen]) {
        println!("Penalty {l2}, all rows (nothing random)\n");
        println!(
            "| arm | accuracy % | AUROC | precision at n | iterations | end | seconds |\n|---|---|---|---|---|---|---|"
        );
        let mut base = None;
        for arm in &source.arms {
            let fit = fit(&probe, &probe.train, &probe.observed, l2, arm)?;
            let base = *base.get_or_insert(fit.accuracy);
            let (area, precision) = found(&fit.margins, &probe.wrong)?;
            println!(
                "| {} | {:.2} ({:+.2}) | {area:.4} | {precision:.4} | {} | {} | {:.1} |",
                arm.name,
                100.0 * fit.accuracy,
                100.0 * (fit.accuracy - base),
                fit.iterations,
                fit.end,
                fit.seconds
            );
        }
        let mut scores = Scores::default();
        for seed in 0..source.seeds {
            let chosen = Rng::new(seed, SUBSET_STREAM).choose(rows, rows / 2);
            let x: Vec<f32> =
                chosen.iter().flat_map(|&i| probe.train[i * probe.width..][..probe.width].to_vec()).collect();
            let labels: Vec<u32> = chosen.iter().map(|&i| probe.observed[i]).collect();
            for arm in &source.arms {
                scores.note(&arm.name, fit(&probe, &x, &labels, l2, arm)?.accuracy);
            }
        }
        if source.seeds > 0 {
            println!("\nPenalty {l2}, {} random halves of the rows\n\n| arm | accuracy % |\n|---|---|", source.seeds);
        }
        for name in scores.names() {
            println!("| {name} | {} |", scores.cell(name)?);
        }
        println!();
    }
    Ok(())
}

/// How well the margins of training rows, the least first, tell which labels are wrong: the area under the ROC curve, and the
/// share of wrong labels among as many rows as there are wrong labels.
fn found(margins: &[f32], wrong: &[u32]) -> Result<(f64, f64)> {
    let scores: Vec<f32> = margins.iter().map(|margin| -margin).collect();
    let mut order: Vec<usize> = (0..wrong.len()).collect();
    order.sort_by(|&a, &b| margins[a].total_cmp(&margins[b]));
    let count = wrong.iter().sum::<u32>() as usize;
    let right: u32 = order[..count].iter().map(|&row| wrong[row]).sum();
    Ok((auroc(&scores, wrong)?, f64::from(right) / count.max(1) as f64))
}

fn load(options: &Options, source: &Source) -> Result<Probe> {
    let features = options.folder.join("features");
    let part = |which: &str| npy::read(&features.join(format!("{}.lite2.{which}.npy", source.name)));
    let labels = |which: &str| npy::read_labels(&features.join(format!("{}.{which}-labels.npy", source.name)));
    let mut train = part("train0")?;
    train.values.extend(part("train1")?.values);
    let mut test = part("test")?.values;
    let width = train.columns;
    standardise(&mut train.values, &mut test, width, &(0..width).collect::<Vec<_>>());
    let (file, name) = source.labels;
    let cells = read_cells(&options.folder.join("cifar-n").join(file))?;
    let column = cells[0].iter().position(|cell| cell == name).ok_or_else(|| format!("{file} has no {name}"))?;
    let observed = cells[1..].iter().map(|row| row[column].parse()).collect::<std::result::Result<Vec<u32>, _>>()?;
    let wrong: Vec<u32> = labels("train")?.iter().zip(&observed).map(|(a, b)| u32::from(a != b)).collect();
    let share = wrong.iter().sum::<u32>() as f64 / wrong.len() as f64;
    eprintln!("{file}, {name}: {:.2} % of the labels are wrong", 100.0 * share);
    let (truth, classes) = (labels("test")?, source.classes);
    Ok(Probe { train: train.values, observed, wrong, test, truth, width, classes })
}

fn preset(preset: Preset) -> Arm {
    Arm::envelope(preset.name(), LOSS, preset.config(&LOSS))
}

/// Base, the presets, and the stronger settings of the two bounded forms.
fn arms() -> Vec<Arm> {
    let mut arms = vec![Arm::base(LOSS)];
    arms.extend(Preset::ALL.map(preset));
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
    /// The last margins of the training rows.
    margins: Vec<f32>,
    iterations: usize,
    end: String,
    seconds: f64,
}

fn fit(probe: &Probe, x: &[f32], labels: &[u32], l2: f64, arm: &Arm) -> Result<Fit> {
    let config = TrainConfig {
        model: ModelConfig::linear(),
        method: Method::FullBatch(LbfgsConfig::default()),
        epochs: ITERATIONS,
        l2,
        clip: None,
        class_weights: ClassWeights::Equal,
        selection: Selection::Last,
        seed: 0,
        keep_history: false,
    };
    let start = Instant::now();
    let examples = Examples::new(Matrix::new(x, probe.width)?, labels);
    let mut trainer = Trainer::new(config, vec![arm.clone()], probe.classes, examples, None)?;
    trainer.run(&mut Silent)?;
    let iterations = trainer.epochs_done();
    let trained = trainer.finish()?.remove(0);
    let seconds = start.elapsed().as_secs_f64();
    let predicted = trained.model.predict(Matrix::new(&probe.test, probe.width)?)?;
    let end = trained.lbfgs.map_or_else(|| "iteration limit".to_owned(), |status| format!("{status:?}"));
    let accuracy = accuracy(&predicted, &probe.truth)?;
    Ok(Fit { accuracy, margins: trained.record.last_margin, iterations, end, seconds })
}
