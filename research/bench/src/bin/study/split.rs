//! Which rows of a set train, which validate, which test; and the noise in the labels of the first two.

use cmrm::Matrix;
use cmrm::noise::{ClassMap, Rate, RateOf, circular, class_map, instance_dependent, symmetric};
use cmrm::rng::Rng;
use cmrm_bench::Result;
use cmrm_bench::sets::Set;
use cmrm_bench::tables::standardise;

use crate::cells::{Cell, Noise};

/// Most rows of each part.
const TRAIN_ROWS: usize = 5_000;
const VALIDATION_ROWS: usize = 4_000;
const TEST_ROWS: usize = 20_000;
const SPLIT_STREAM: u64 = 0x57d9;

/// Rows and labels of one part.
pub struct Part {
    pub x: Vec<f32>,
    /// Observed labels; of the test rows, clean ones.
    pub labels: Vec<u32>,
}

/// Data of a cell.
pub struct Parts {
    pub train: Part,
    pub validation: Part,
    pub test: Part,
    /// Share of training labels that are wrong.
    pub wrong: f64,
}

pub fn parts(set: &Set, cell: &Cell) -> Result<Parts> {
    let order = Rng::new(cell.seed, SPLIT_STREAM).permutation(set.test_from);
    let own_test = set.test_from < set.rows();
    let (train, validation) =
        if own_test || set.rows() > 20_000 { (TRAIN_ROWS, VALIDATION_ROWS) } else { (set.rows() / 2, set.rows() / 5) };
    let (learn, rest) = order.split_at(train + validation);
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
            observe(set, cell, &clean, &both)?
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
fn observe(set: &Set, cell: &Cell, clean: &[u32], x: &[f32]) -> Result<Vec<u32>> {
    let (classes, rate, seed) = (set.classes, Rate::new(cell.rate)?, cell.seed);
    let noisy = match cell.noise {
        Noise::Clean | Noise::Human(_) => return Ok(clean.to_vec()),
        Noise::Symmetric => symmetric(clean, classes, rate, seed)?,
        Noise::Pair if classes == 2 => {
            class_map(clean, &ClassMap::new(2, &[(1, 0)])?, rate, RateOf::EligibleRows, seed)?
        }
        Noise::Pair => circular(clean, classes, rate, seed)?,
        Noise::Instance => instance_dependent(clean, classes, Matrix::new(x, set.width)?, rate, seed)?,
    };
    Ok(noisy.labels)
}
