//! The smallest votes that a model file can hold.

use cmrm::Matrix;
use cmrm_train::kernel::KernelConfig;
use cmrm_train::train::Examples;
use cmrm_train::trees::{Bins, Boosting, BoostingConfig, CrossEntropy, Forest, ForestConfig, TreeColumn, TreeColumns};
use cmrm_train::vote::{Calibration, Member, Vote, Voter};
use cmrm_train::{Result, Stop};

/// A number that may be missing, its flag, and a name out of two.
const X: [f32; 4 * 8] = [
    1.0, 0.0, 1.0, 0.0, 0.9, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.5, 0.0, 1.0, 0.0, //
    -1.0, 0.0, 0.0, 1.0, -0.8, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, -0.5, 0.0, 0.0, 0.0,
];
const WIDTH: usize = 4;
const LABELS: [u32; 8] = [0, 0, 1, 0, 1, 2, 2, 1];
const CLASSES: usize = 3;

/// A vote of each learner alone, by name, and one of all.
pub fn votes() -> Result<Vec<(&'static str, Vote)>> {
    let (x, stop) = (Matrix::new(&X, WIDTH)?, Stop::default());
    let columns = vec![TreeColumn::Number { at: 0, missing: Some(1) }, TreeColumn::Names { at: 2, levels: 2 }];
    let bins = Bins::learn(x, &TreeColumns::new(WIDTH, columns)?, None)?;
    let codes = bins.codes(x)?;
    let config = ForestConfig { trees: 2, ..ForestConfig::default() };
    let (forest, _) = Forest::fit(&bins, &codes, &LABELS, CLASSES, None, &config, &stop)?;
    let config = BoostingConfig { rounds: 2, leaves: 3, min_leaf: 1, ..BoostingConfig::default() };
    let mut objective = CrossEntropy::new(&LABELS, CLASSES, None)?;
    let boosting = Boosting::fit(&bins, &codes, &mut objective, &config, None, &stop)?.model;
    let config = KernelConfig { gammas: vec![1.0], ridges: vec![0.3], landmarks: 3, seed: 0 };
    let kernel =
        config.fit(Examples::new(x, &LABELS), CLASSES, &stop)?.into_iter().map(|one| Member::Kernel(one.machine));
    let members = [
        ("forest", vec![Member::Forest(forest)]),
        ("boosting", vec![Member::Boosting(boosting)]),
        ("kernel", kernel.collect()),
    ];
    let voter = |(name, copies): &(&str, Vec<Member>)| Voter {
        name: (*name).into(),
        share: 1.0,
        scales: (*name == "kernel").then(|| vec![0.5; WIDTH]),
        copies: copies.clone(),
        calibration: Calibration::default(),
    };
    let mut votes = Vec::new();
    for member in &members {
        votes.push((member.0, Vote::new(vec![voter(member)])?));
    }
    votes.push(("vote", Vote::new(members.iter().map(voter).collect())?));
    Ok(votes)
}
