//! Tables in the paper's setting: MLP d→512→512→2, full-batch Adam, 300 steps, symmetric flips of the training labels.

use std::time::Instant;

use cmrm::Matrix;
use cmrm::envelope::binary::BinaryConfig;
use cmrm::envelope::{Preset, Start};
use cmrm::loss::LossConfig;
use cmrm::metric::{accuracy, auroc};
use cmrm::noise::{Rate, binary_flip};
use cmrm::rng::Rng;
use cmrm_bench::Result;
use cmrm_bench::scores::Scores;
use cmrm_bench::tables::{self, Table, standardise};
use cmrm_train::model::ModelConfig;
use cmrm_train::optim::{AdamConfig, OptimiserConfig};
use cmrm_train::schedule::ScheduleConfig;
use cmrm_train::train::{Arm, ClassWeights, Examples, Method, Selection, Silent, Term, TrainConfig, Trainer};

use crate::Options;

const LOSS: LossConfig = LossConfig::CrossEntropy;
const STEPS: usize = 300;
/// Stream of the generator that splits are drawn from.
const SPLIT_STREAM: u64 = 0x5b117;

/// What the paper chose for a table: learning rate; λ⁺, λ⁻, α⁺, α⁻.
fn chosen(set: &str) -> (f64, [f64; 4]) {
    match set {
        "adult" => (0.01, [0.4, 0.5, 0.3, 0.1]),
        "spambase" => (0.01, [0.8, 0.7, 0.2, 0.2]),
        _ => (0.005, [0.0, 0.3, 0.1, 0.1]),
    }
}

pub fn run(set: &str, options: &Options) -> Result<()> {
    let folder = options.folder.join("uci");
    let table = match set {
        "adult" => tables::adult(&folder)?,
        "spambase" => tables::spambase(&folder)?,
        _ => tables::credit(&folder)?,
    };
    let rows = table.labels.len();
    let positives = table.labels.iter().filter(|&&y| y == 1).count();
    println!("\n## {set}: {rows} rows, {} features, {positives} of class 1", table.columns);
    println!("MLP 512-512, full-batch Adam, {STEPS} steps, half of the rows train (noisy), half test (clean)\n");
    for &rate in &options.rates {
        let start = Instant::now();
        let (mut right, mut area) = (Scores::default(), Scores::default());
        for seed in 0..options.seeds {
            one_seed(set, &table, rate, seed, &mut right, &mut area)?;
            eprintln!("{set}, {rate}, seed {seed}: {:.0} s", start.elapsed().as_secs_f64());
        }
        println!("{:.0} % flips, {} seeds, {:.0} s\n", 100.0 * rate, options.seeds, start.elapsed().as_secs_f64());
        println!("| arm | accuracy % | AUROC % |\n|---|---|---|");
        for name in right.names() {
            println!("| {name} | {} | {} |", right.cell(name)?, area.cell(name)?);
        }
        println!();
    }
    Ok(())
}

fn one_seed(set: &str, table: &Table, rate: f64, seed: u64, right: &mut Scores, area: &mut Scores) -> Result<()> {
    let width = table.columns;
    let order = Rng::new(seed, SPLIT_STREAM).permutation(table.labels.len());
    let (train_rows, test_rows) = order.split_at(order.len() / 2);
    let take = |rows: &[usize]| {
        let x: Vec<f32> = rows.iter().flat_map(|&i| table.values[i * width..(i + 1) * width].iter().copied()).collect();
        let labels: Vec<u32> = rows.iter().map(|&i| table.labels[i]).collect();
        (x, labels)
    };
    let ((mut train, clean), (mut test, truth)) = (take(train_rows), take(test_rows));
    standardise(&mut train, &mut test, width, &table.numeric);
    let observed = binary_flip(&clean, Rate::new(rate)?, seed)?.labels;
    let (learning_rate, tails) = chosen(set);
    let config = TrainConfig {
        model: ModelConfig::mlp(&[512, 512]),
        method: Method::Stochastic {
            optimiser: OptimiserConfig::Adam(AdamConfig::default()),
            learning_rate,
            schedule: ScheduleConfig::default(),
            batch_rows: None,
        },
        epochs: STEPS,
        l2: 0.0,
        clip: None,
        class_weights: ClassWeights::Equal,
        selection: Selection::Last,
        seed,
        keep_history: false,
    };
    let examples = Examples::new(Matrix::new(&train, width)?, &observed);
    let mut trainer = Trainer::new(config, arms(tails), 2, examples, None)?;
    trainer.run(&mut Silent)?;
    for trained in trainer.finish()? {
        let x = Matrix::new(&test, width)?;
        right.note(&trained.name, accuracy(&trained.model.predict(x)?, &truth)?);
        // The difference of the logits orders as the probability does, and does not saturate.
        let scores: Vec<f32> = trained.model.logits(x)?.chunks_exact(2).map(|z| z[1] - z[0]).collect();
        area.note(&trained.name, auroc(&scores, &truth)?);
    }
    Ok(())
}

fn arms([lambda_plus, lambda_minus, alpha_plus, alpha_minus]: [f64; 4]) -> Vec<Arm> {
    let binary = |name: &str, config: BinaryConfig, start: Start, fresh_optimiser: bool| Arm {
        name: name.into(),
        term: Term::Binary { config, start, fresh_optimiser },
        ..Arm::base(LOSS)
    };
    let paper = BinaryConfig::paper(lambda_plus, lambda_minus, alpha_plus, alpha_minus);
    let authors = BinaryConfig::authors(lambda_plus, lambda_minus, alpha_plus, alpha_minus);
    let mut arms = vec![
        Arm::base(LOSS),
        binary("binary paper", paper, Start::Epoch(0), false),
        binary("binary authors", authors, Start::Fraction(0.5), true),
    ];
    let margin = |preset: Preset| Arm::envelope(format!("margin {}", preset.name()), LOSS, preset.config(&LOSS));
    arms.extend(Preset::ALL.map(margin));
    arms
}
