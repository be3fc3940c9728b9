//! A row is predicted the same to the last bit, alone, among a few and among thousands, on one thread and on two: by every learner,
//! from dense rows and from sparse ones.

use cmrm::noise_model::{NoiseModel, Transition};
use cmrm::rng::Rng;
use cmrm::{Matrix, OwnedRows, Rows, SparseRows};
use cmrm_train::kernel::KernelConfig;
use cmrm_train::model::{Head, Init, ModelConfig, Network};
use cmrm_train::neighbours::Neighbours;
use cmrm_train::train::Examples;
use cmrm_train::trees::{Bins, Boosting, BoostingConfig, CrossEntropy, Forest, ForestConfig, TreeColumns};
use cmrm_train::vote::{Calibration, Member, Vote, Voter};
use cmrm_train::{Model, Predictor, Stop};

const INPUTS: usize = 37;
/// One more than a block of the network's.
const ROWS: usize = 2049;

/// Rows where a third of the numbers are zero, and labels that a few of them decide.
fn rows(count: usize, classes: usize, seed: u64) -> (Vec<f32>, Vec<u32>) {
    let mut rng = Rng::new(seed, 3);
    let x: Vec<f32> = (0..count * INPUTS).map(|_| if rng.below(3) == 0 { 0.0 } else { rng.normal() as f32 }).collect();
    let label = |row: &[f32]| (row[0] > 0.2) as usize + (row[1] + row[2] > 0.5) as usize * 2;
    let labels = x.chunks_exact(INPUTS).map(|row| (label(row) % classes) as u32).collect();
    (x, labels)
}

fn as_sparse(x: &[f32]) -> OwnedRows<f32> {
    let mut rows = SparseRows::empty(INPUTS).unwrap();
    for row in x.chunks_exact(INPUTS) {
        let cells = row.iter().enumerate().filter(|(_, value)| **value != 0.0);
        rows.push(&cells.map(|(column, &value)| (column as u32, value)).collect::<Vec<_>>()).unwrap();
    }
    OwnedRows::Sparse(rows)
}

fn as_dense(x: &[f32]) -> OwnedRows<f32> {
    OwnedRows::Dense { values: x.to_vec(), width: INPUTS }
}

fn network(hidden: &[usize], head: Head, classes: usize) -> Model<f32> {
    let config = ModelConfig { hidden: hidden.to_vec(), head, dropout: 0.0, init: Init::Kaiming };
    Model::new(Network::new(&config.validate().unwrap(), INPUTS, classes, &[7]).unwrap(), 3.0)
}

/// Every kind of learner, fitted to a few of the rows as they lie.
fn learners(x: Rows<'_, f32>, labels: &[u32], classes: usize, is_sparse: bool) -> Vec<(&'static str, Member)> {
    let (stop, examples) = (Stop::default(), Examples::new(x, labels));
    let mut found = vec![
        ("linear", Member::Network(network(&[], Head::Linear, classes))),
        ("network", Member::Network(network(&[40, 17], Head::Linear, classes))),
        ("cosine network", Member::Network(network(&[24], Head::Cosine, classes))),
    ];
    if classes == 2 {
        found.push(("svm", Member::Network(network(&[], Head::Score, 2))));
    }
    if !is_sparse {
        found.push(("cosine", Member::Network(network(&[], Head::Cosine, classes))));
    }
    let kernel = KernelConfig { gammas: vec![0.5], ridges: vec![0.1], landmarks: 70, seed: 3 };
    found.push(("kernel", Member::Kernel(kernel.fit(examples, classes, &stop).unwrap().remove(0).machine)));
    let neighbours = Neighbours::fit(examples, classes, &[15], &stop).unwrap().remove(0).neighbours;
    found.push(("neighbours", Member::Neighbours(neighbours)));
    let columns = TreeColumns::numbers(INPUTS);
    let bins = Bins::learn(x, &columns, None).unwrap();
    let codes = bins.codes(x).unwrap();
    let mut objective = CrossEntropy::new(labels, classes, None).unwrap();
    let config = BoostingConfig { rounds: 12, min_leaf: 5, ..BoostingConfig::default() };
    let boosting = Boosting::fit(&bins, &codes, &mut objective, &config, None, &stop).unwrap().model;
    found.push(("boosting", Member::Boosting(boosting)));
    let config = ForestConfig { trees: 12, ..ForestConfig::default() };
    let (forest, _) = Forest::fit(&bins, &codes, labels, classes, None, &config, &stop).unwrap();
    found.push(("forest", Member::Forest(forest)));
    found
}

/// All of them as predictors, alone and as one vote with scales, calibration and noise that is undone.
fn predictors(x: Rows<'_, f32>, labels: &[u32], classes: usize, is_sparse: bool) -> Vec<(&'static str, Predictor)> {
    let members = learners(x, labels, classes, is_sparse);
    let observed: Vec<f32> = labels
        .iter()
        .flat_map(|&label| (0..classes as u32).map(move |class| if class == label { 0.8 } else { 0.1 }))
        .collect();
    let calibration = Calibration::fit(&observed, labels, None, classes);
    let voter = |name: &str, copies: Vec<Member>, scales: Option<Vec<f32>>| Voter {
        name: name.into(),
        share: 1.0,
        scales,
        copies,
        calibration,
    };
    let scales: Vec<f32> = (0..INPUTS).map(|column| 0.5 + column as f32 / 50.0).collect();
    let voters = members.iter().enumerate().map(|(at, (name, member))| {
        voter(name, vec![member.clone(), member.clone()], (at % 2 == 0).then(|| scales.clone()))
    });
    let vote = Vote::new(voters.collect()).unwrap();
    let noise = NoiseModel::known(Transition::uniform(classes, 0.2).unwrap(), &vec![1.0 / classes as f64; classes]);
    let mut found: Vec<(&str, Predictor)> = members
        .into_iter()
        .map(|(name, member)| match member {
            Member::Network(model) => (name, model.into()),
            member => (name, Vote::new(vec![voter(name, vec![member], None)]).unwrap().into()),
        })
        .collect();
    found.push(("vote", vote.corrected(noise.unwrap()).unwrap().into()));
    found
}

#[test]
fn a_row_has_the_same_bits_in_any_company_and_on_any_number_of_threads() {
    let on = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let pools = [on(1), on(2)];
    for (classes, is_sparse) in [(3, false), (2, false), (3, true), (2, true)] {
        let (x, _) = rows(ROWS, classes, 5);
        let (few, labels) = rows(300, classes, 6);
        let form = |x: &[f32]| if is_sparse { as_sparse(x) } else { as_dense(x) };
        let (few, all) = (form(&few), form(&x));
        for (name, predictor) in predictors(few.view().unwrap(), &labels, classes, is_sparse) {
            let said = |first: usize, count: usize, threads: usize| -> Vec<u32> {
                let rows = all.view().unwrap().slice(first..first + count);
                let said = pools[threads - 1].install(|| predictor.probabilities(rows, &Stop::default()).unwrap());
                said.into_iter().map(f32::to_bits).collect()
            };
            let whole = said(0, ROWS, 1);
            assert!(whole.chunks_exact(classes).any(|row| row != &whole[..classes]), "{name}: all rows alike");
            for threads in [1, 2] {
                for count in [1, 2, 7, 64, 2048, 2049] {
                    // At the start, across the end of a block, and at the end.
                    for first in [0, (ROWS - count) / 2, 1024_usize.min(ROWS - count), ROWS - count] {
                        let found = said(first, count, threads);
                        assert!(
                            found == whole[first * classes..(first + count) * classes],
                            "{name}, {classes} classes, sparse {is_sparse}: {count} rows from {first} on {threads} threads"
                        );
                    }
                }
            }
        }
    }
}

/// Training has products of its own, which differ in the last digits.
#[test]
fn both_kinds_of_products_agree_but_for_rounding() {
    let model = network(&[40, 17], Head::Linear, 3);
    let (x, _) = rows(64, 3, 5);
    let in_blocks =
        |x: &[f32]| model.probabilities_in_blocks(Matrix::new(x, INPUTS).unwrap(), &Stop::default()).unwrap();
    let all = in_blocks(&x);
    let alone: Vec<f32> = x.chunks_exact(INPUTS).flat_map(in_blocks).collect();
    let by_row = model.probabilities(Matrix::new(&x, INPUTS).unwrap()).unwrap();
    let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
    assert!(near(&all, &alone) && near(&all, &by_row));
}
