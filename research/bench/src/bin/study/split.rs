//! Which rows of a set train, which validate, which test; and the noise in the labels of the first two.

use cmrm::Matrix;
use cmrm::noise::{ClassMap, Rate, RateOf, circular, class_map, instance_dependent, symmetric};
use cmrm::rng::Rng;
use cmrm_bench::Result;
use cmrm_bench::tables::standardise;
use cmrm_train::train::Examples;

use crate::cells::{Cell, Noise};

/// Most rows to train on and to test on.
const TRAIN_ROWS: usize = 5_000;
const TEST_ROWS: usize = 20_000;
/// Share of the rows to learn from where the set has no test rows of its own.
const LEARN_SHARE: f64 = 0.6;
const SPLIT_STREAM: u64 = 0x57d9;

/// Rows and labels of one part.
pub struct Part {
    pub x: Vec<f32>,
    /// Observed labels; of the test rows, clean ones.
    pub labels: Vec<u32>,
}

impl Part {
    /// As a training takes them.
    pub fn examples(&self, width: usize) -> Result<Examples<'_, f32>> {
        Ok(Examples::new(Matrix::new(&self.x, width)?, &self.labels))
    }
}

/// Data of a cell.
pub struct Parts {
    pub train: Part,
    pub validation: Part,
    pub test: Part,
    /// Share of training labels that are wrong.
    pub wrong: f64,
}

/// `held` is the share of the rows to learn from that validate.
pub fn parts(cell: &Cell<'_>, held: f64) -> Result<Parts> {
    let set = cell.set;
    let order = Rng::new(cell.seed, SPLIT_STREAM).permutation(set.test_from);
    let own_test = set.test_from < set.rows();
    let share = if own_test { 1.0 } else { LEARN_SHARE };
    let rows = (share * set.test_from as f64).min(TRAIN_ROWS as f64 / (1.0 - held)) as usize;
    let validation = (held * rows as f64) as usize;
    let train = rows - validation;
    let (learn, rest) = order.split_at(rows);
    let test: Vec<usize> =
        if own_test { (set.test_from..set.rows()).collect() } else { rest.iter().copied().take(TEST_ROWS).collect() };
    let gather = |rows: &[usize]| -> Vec<f32> {
        rows.iter().flat_map(|&i| set.x[i * set.width..(i + 1) * set.width].iter().copied()).collect()
    };
    let mut train_x = gather(&learn[..train]);
    // Validation and test rows stand one after the other while they are standardised.
    let mut other_x = gather(&learn[train..]);
    other_x.extend(gather(&test));
    standardise(&mut train_x, &mut other_x, set.width, &set.numeric);
    let test_x = other_x.split_off(validation * set.width);

    let clean: Vec<u32> = learn.iter().map(|&i| set.labels[i]).collect();
    let observed = match cell.noise {
        Noise::Human(variant) => {
            let (_, labels) = set.human.iter().find(|(name, _)| *name == variant).ok_or("no such human labels")?;
            learn.iter().map(|&i| labels[i]).collect()
        }
        _ => {
            let both: Vec<f32> = train_x.iter().chain(&other_x).copied().collect();
            observe(cell, &clean, &both)?
        }
    };
    let wrong = (0..train).filter(|&i| observed[i] != clean[i]).count() as f64 / train as f64;
    Ok(Parts {
        train: Part { x: train_x, labels: observed[..train].to_vec() },
        validation: Part { x: other_x, labels: observed[train..].to_vec() },
        test: Part { x: test_x, labels: test.iter().map(|&i| set.labels[i]).collect() },
        wrong,
    })
}

/// Labels after noise. Two classes have no pairs: there 'pair' turns class 1 into 0 and never the other way round.
fn observe(cell: &Cell<'_>, clean: &[u32], x: &[f32]) -> Result<Vec<u32>> {
    let (classes, rate, seed) = (cell.set.classes, Rate::new(cell.rate)?, cell.seed);
    let noisy = match cell.noise {
        Noise::Clean | Noise::Human(_) => return Ok(clean.to_vec()),
        Noise::Symmetric => symmetric(clean, classes, rate, seed)?,
        Noise::Pair if classes == 2 => {
            class_map(clean, &ClassMap::new(2, &[(1, 0)])?, rate, RateOf::EligibleRows, seed)?
        }
        Noise::Pair => circular(clean, classes, rate, seed)?,
        Noise::Instance => instance_dependent(clean, classes, Matrix::new(x, cell.set.width)?, rate, seed)?,
    };
    Ok(noisy.labels)
}
