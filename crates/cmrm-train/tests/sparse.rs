//! Sparse rows: what dense rows with the same numbers give, for every learner, in the same bits for any number of threads.

mod common;

use std::ops::ControlFlow;

use cmrm::envelope::Preset;
use cmrm::loss::LossConfig;
use cmrm::rng::Rng;
use cmrm::{Matrix, OwnedRows, Rows, Scalar, SparseRows};
use cmrm_train::kernel::KernelConfig;
use cmrm_train::model::{Head, Init, ModelConfig};
use cmrm_train::neighbours::Neighbours;
use cmrm_train::optim::{LbfgsConfig, OptimiserConfig, SgdConfig};
use cmrm_train::schedule::ScheduleConfig;
use cmrm_train::train::{Arm, EpochStats, Examples, Method, Observer, Silent, TrainConfig, Trainer};
use cmrm_train::trees::{Bins, Boosting, BoostingConfig, CrossEntropy, Forest, ForestConfig, TreeColumns};
use cmrm_train::vote::{Calibration, Member, Vote, Voter, scaled};
use cmrm_train::{Checkpoint, Predictor, Stop};
use common::adam;
use proptest::prelude::*;

const CE: LossConfig = LossConfig::CrossEntropy;

/// Rows in both forms, classes that some columns tell of, a part of them wrong, and weights.
struct Data<T> {
    dense: Vec<T>,
    sparse: SparseRows<T>,
    labels: Vec<u32>,
    weights: Vec<T>,
    classes: usize,
}

fn data<T: Scalar>(rows: usize, width: usize, fill: f64, classes: usize, seed: u64) -> Data<T> {
    let mut rng = Rng::new(seed, 0);
    let mut found = Data {
        dense: Vec::with_capacity(rows * width),
        sparse: SparseRows::empty(width).unwrap(),
        labels: Vec::new(),
        weights: Vec::new(),
        classes,
    };
    for _ in 0..rows {
        let class = rng.below(classes);
        let mut row = vec![T::ZERO; width];
        for (column, value) in row.iter_mut().enumerate() {
            // Columns of the row's own class are filled more often; low columns more than high ones.
            let own = if column % classes == class { 3.0 } else { 1.0 };
            if rng.uniform() < own * fill * 2.0 / (1.0 + column as f64 / 10.0) {
                *value = T::from_f64(0.5 + rng.uniform());
            }
        }
        let cells = row.iter().enumerate().filter(|(_, value)| **value != T::ZERO);
        found.sparse.push(&cells.map(|(column, &value)| (column as u32, value)).collect::<Vec<_>>()).unwrap();
        found.dense.extend(row);
        let wrong = rng.uniform() < 0.15;
        found.labels.push(if wrong { rng.below(classes) } else { class } as u32);
        found.weights.push(T::from_f64(0.5 + rng.uniform()));
    }
    found
}

impl<T: Scalar> Data<T> {
    fn forms(&self) -> [Rows<'_, T>; 2] {
        [Matrix::new(&self.dense, self.sparse.width()).unwrap().into(), self.sparse.view().into()]
    }

    fn examples<'a>(&'a self, x: Rows<'a, T>) -> Examples<'a, T> {
        Examples { row_weights: Some(&self.weights), ..Examples::new(x, &self.labels) }
    }
}

fn with_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

fn arms() -> Vec<Arm> {
    let envelope = |preset: Preset| Arm::envelope(preset.name(), CE, preset.config(&CE));
    vec![Arm::base(CE), envelope(Preset::Robust), envelope(Preset::ALL[0])]
}

fn trainer<'a, T: Scalar>(config: &TrainConfig, data: &'a Data<T>, x: Rows<'a, T>) -> Trainer<'a, T> {
    Trainer::new(config.clone(), arms(), data.classes, data.examples(x), Some(data.examples(x))).unwrap()
}

/// The probabilities of all arms, asked in both forms.
fn trained<T: Scalar>(config: &TrainConfig, data: &Data<T>, x: Rows<'_, T>) -> [Vec<T>; 2] {
    let mut trainer = trainer(config, data, x);
    trainer.run(&mut Silent).unwrap();
    let models: Vec<_> = trainer.finish().unwrap().into_iter().map(|arm| arm.model).collect();
    data.forms().map(|asked| models.iter().flat_map(|model| model.probabilities(asked).unwrap()).collect())
}

fn lbfgs(model: ModelConfig, epochs: usize) -> TrainConfig {
    let settings = LbfgsConfig { precondition: false, ..LbfgsConfig::default() };
    TrainConfig { method: Method::FullBatch(settings), l2: 1e-3, ..adam(model, epochs, None) }
}

fn sgd(model: ModelConfig, epochs: usize, batch_rows: Option<usize>) -> TrainConfig {
    let method = Method::Stochastic {
        optimiser: OptimiserConfig::Sgd(SgdConfig { weight_decay: 1e-3, ..SgdConfig::default() }),
        learning_rate: 0.1,
        schedule: ScheduleConfig::default(),
        batch_rows,
    };
    TrainConfig { method, ..adam(model, epochs, batch_rows) }
}

fn dropped(hidden: &[usize]) -> ModelConfig {
    ModelConfig { dropout: 0.3, ..ModelConfig::mlp(hidden) }
}

fn assert_near<T: Scalar>(found: &[T], wanted: &[T], tolerance: f64, what: &str) {
    assert_eq!(found.len(), wanted.len());
    for (i, (a, b)) in found.iter().zip(wanted).enumerate() {
        assert!((a.to_f64() - b.to_f64()).abs() < tolerance, "{what}: {a:?} against {b:?} at {i}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn networks_learn_the_same_from_both_forms(
        seed in 0u64..1000, rows in 40usize..300, width in 5usize..120, fill in 0.02..0.4, classes in 2usize..5,
    ) {
        let data = data::<f64>(rows, width, fill, classes, seed);
        for config in [
            lbfgs(ModelConfig::linear(), 12),
            lbfgs(ModelConfig::mlp(&[7]), 6),
            adam(dropped(&[9, 5]), 4, Some(32)),
            adam(ModelConfig { head: Head::Cosine, ..ModelConfig::mlp(&[6]) }, 3, Some(50)),
            sgd(ModelConfig { init: Init::Uniform, ..ModelConfig::linear() }, 3, None),
        ] {
            let [dense, sparse] = data.forms().map(|x| trained(&config, &data, x));
            for (found, wanted) in sparse.iter().chain(&dense[1..]).zip([&dense[0], &dense[0], &dense[0]]) {
                assert_near(found, wanted, 1e-5, &format!("{config:?}"));
            }
        }
    }

    #[test]
    fn neighbours_and_kernel_machines_are_the_same_in_both_forms(
        seed in 0u64..1000, rows in 30usize..200, width in 5usize..60, fill in 0.05..0.4, classes in 2usize..4,
    ) {
        let data = data::<f32>(rows, width, fill, classes, seed);
        let stop = Stop::default();
        let config = KernelConfig { gammas: vec![0.5], ridges: vec![0.1, 1.0], landmarks: 40, seed: 5 };
        let kernels = data.forms().map(|x| config.fit(data.examples(x), classes, &stop).unwrap());
        for (dense, sparse) in kernels[0].iter().zip(&kernels[1]) {
            assert_near(&sparse.left_out, &dense.left_out, 2e-3, "left out");
            for asked in data.forms() {
                let said = sparse.machine.probabilities(asked, &stop).unwrap();
                assert_near(&said, &sparse.machine.probabilities(data.forms()[1], &stop).unwrap(), 1e-5, "asked");
                assert_near(&said, &dense.machine.probabilities(asked, &stop).unwrap(), 2e-3, "kernel");
            }
        }
        // Distances that rounding could exchange would exchange neighbours: whole numbers have none.
        let whole = |values: &mut [f32]| values.iter_mut().for_each(|value| *value = (2.0 * *value).round());
        let (mut dense, mut sparse) = (data.dense.clone(), data.sparse.clone());
        whole(&mut dense);
        whole(sparse.values_mut());
        let whole = Data { dense, sparse, labels: data.labels, weights: data.weights, classes };
        let fitted = whole.forms().map(|x| Neighbours::fit(whole.examples(x), classes, &[3, 8], &stop).unwrap());
        for (dense, sparse) in fitted[0].iter().zip(&fitted[1]) {
            prop_assert_eq!(&dense.left_out, &sparse.left_out);
            for asked in whole.forms() {
                let said = sparse.neighbours.probabilities(asked, &stop).unwrap();
                prop_assert_eq!(said, dense.neighbours.probabilities(asked, &stop).unwrap());
            }
        }
    }

    #[test]
    fn trees_are_the_same_in_both_forms_where_all_columns_are_kept(
        seed in 0u64..1000, rows in 30usize..400, width in 1usize..32, fill in 0.05..0.6, classes in 2usize..4,
    ) {
        let data = data::<f32>(rows, width, fill, classes, seed);
        let found = data.forms().map(|x| {
            let bins = Bins::learn(x, &TreeColumns::numbers(width), Some(&data.weights)).unwrap();
            let codes = bins.codes(x).unwrap();
            let mut objective = CrossEntropy::new(&data.labels, classes, Some(&data.weights)).unwrap();
            let config = BoostingConfig { rounds: 8, min_leaf: 2, ..BoostingConfig::default() };
            let boosting = Boosting::fit(&bins, &codes, &mut objective, &config, None, &Stop::default()).unwrap().model;
            let config = ForestConfig { trees: 6, ..ForestConfig::default() };
            let weights = Some(&data.weights[..]);
            let forest = Forest::fit(&bins, &codes, &data.labels, classes, weights, &config, &Stop::default()).unwrap();
            (bins, codes, boosting, forest)
        });
        prop_assert_eq!(&found[0], &found[1]);
        let (_, _, boosting, (forest, _)) = &found[0];
        let [dense, sparse] = data.forms();
        prop_assert_eq!(boosting.logits(dense).unwrap(), boosting.logits(sparse).unwrap());
        prop_assert_eq!(forest.probabilities(dense).unwrap(), forest.probabilities(sparse).unwrap());
    }
}

/// Enough rows for several blocks, which threads share.
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let data = data::<f32>(4500, 1300, 0.05, 3, 8);
    let [dense, sparse] = data.forms();
    for config in [
        lbfgs(ModelConfig::linear(), 5),
        TrainConfig { method: Method::FullBatch(LbfgsConfig::default()), ..lbfgs(ModelConfig::linear(), 4) },
        lbfgs(ModelConfig::mlp(&[40]), 3),
        adam(dropped(&[16]), 1, Some(2500)),
        sgd(ModelConfig::linear(), 2, Some(100)),
    ] {
        let once = with_threads(1, || trained(&config, &data, sparse));
        for threads in [2, 5] {
            assert_eq!(with_threads(threads, || trained(&config, &data, sparse)), once, "{threads}: {config:?}");
        }
        let of_dense = trained(&config, &data, dense);
        if !matches!(config.method, Method::FullBatch(LbfgsConfig { precondition: true, .. })) {
            assert_near(&once[1], &of_dense[0], 2e-3, "dense");
        }
    }
    let others = |threads| {
        with_threads(threads, || {
            let (stop, examples) = (Stop::default(), data.examples(sparse));
            let near = Neighbours::fit(examples, 3, &[5], &stop).unwrap().remove(0).left_out;
            let config = KernelConfig { gammas: vec![1.0], ridges: vec![0.5], landmarks: 60, seed: 1 };
            let kernel = config.fit(examples, 3, &stop).unwrap().remove(0).left_out;
            let bins = Bins::learn(sparse, &TreeColumns::numbers(1300), None).unwrap();
            let codes = bins.codes(sparse).unwrap();
            let config = ForestConfig { trees: 5, ..ForestConfig::default() };
            let (forest, _) = Forest::fit(&bins, &codes, &data.labels, 3, None, &config, &stop).unwrap();
            (near, kernel, forest.probabilities(sparse).unwrap())
        })
    };
    assert_eq!(others(1), others(4));
}

struct BreakAfter(usize);

impl<T: Scalar> Observer<T> for BreakAfter {
    fn epoch(&mut self, trainer: &Trainer<'_, T>, _stats: &[EpochStats]) -> cmrm_train::Result<ControlFlow<()>> {
        let done = trainer.epochs_done() >= self.0;
        Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

#[test]
fn a_resumed_training_ends_in_the_same_bytes_and_other_rows_are_refused() {
    let data = data::<f32>(300, 50, 0.1, 3, 2);
    let [dense, sparse] = data.forms();
    for config in [adam(dropped(&[8]), 5, Some(40)), lbfgs(ModelConfig::linear(), 9)] {
        let mut whole = trainer(&config, &data, sparse);
        whole.run(&mut Silent).unwrap();
        let mut first = trainer(&config, &data, sparse);
        first.run(&mut BreakAfter(3)).unwrap();
        let saved = Checkpoint::from_bytes(&Checkpoint::of(&first).to_bytes().unwrap()).unwrap();
        let mut second = trainer(&config, &data, sparse);
        saved.resume(&mut second).unwrap();
        second.run(&mut Silent).unwrap();
        assert_eq!(Checkpoint::of(&second), Checkpoint::of(&whole));
        assert!(saved.resume(&mut trainer(&config, &data, dense)).is_err());
    }
}

#[test]
fn a_vote_on_sparse_rows_survives_its_file() {
    let data = data::<f32>(120, 30, 0.2, 2, 4);
    let [dense, sparse] = data.forms();
    let stop = Stop::default();
    let near = Neighbours::fit(data.examples(sparse), 2, &[4], &stop).unwrap().remove(0).neighbours;
    let config = KernelConfig { gammas: vec![1.0], ridges: vec![0.5], landmarks: 20, seed: 1 };
    let kernel = config.fit(data.examples(sparse), 2, &stop).unwrap().remove(0).machine;
    let bins = Bins::learn(sparse, &TreeColumns::numbers(30), None).unwrap();
    let config = ForestConfig { trees: 5, ..ForestConfig::default() };
    let codes = bins.codes(sparse).unwrap();
    let forest = Forest::fit(&bins, &codes, &data.labels, 2, None, &config, &stop).unwrap().0;
    let mut trainer =
        Trainer::new(lbfgs(ModelConfig::linear(), 5), vec![Arm::base(CE)], 2, data.examples(sparse), None);
    trainer.as_mut().unwrap().run(&mut Silent).unwrap();
    let network = trainer.unwrap().finish().unwrap().remove(0).model;
    let scales: Vec<f32> = (0..30).map(|column| 0.5 + column as f32 / 30.0).collect();
    let members = [Member::Neighbours(near), Member::Kernel(kernel), Member::Forest(forest), Member::Network(network)];
    let voters = members.map(|member| Voter {
        name: "one".into(),
        share: 0.25,
        scales: matches!(member, Member::Kernel(_)).then(|| scales.clone()),
        copies: vec![member],
        calibration: Calibration::fit(&[0.7, 0.3].repeat(120), &data.labels, None, 2),
    });
    let vote = Predictor::Vote(Vote::new(voters.to_vec()).unwrap());
    let said = vote.probabilities(sparse, &stop).unwrap();
    assert_near(&vote.probabilities(dense, &stop).unwrap(), &said, 1e-5, "dense rows");
    let bytes = vote.to_bytes().unwrap();
    let read = Predictor::from_bytes(&bytes).unwrap();
    assert_eq!(read.probabilities(sparse, &stop).unwrap(), said);
    assert_eq!(read.to_bytes().unwrap(), bytes);
    for at in (0..bytes.len()).step_by(41) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        // Refused or read, never a panic.
        let _ = Predictor::from_bytes(&damaged).map(|vote| vote.probabilities(sparse, &stop));
    }
    let (one, other) = (scaled(dense, &scales), scaled(sparse, &scales));
    let kept: Vec<f32> = one.values().iter().copied().filter(|value| *value != 0.0).collect();
    assert!(matches!(&other, OwnedRows::Sparse(_)) && other.values() == kept);
}

/// Rows of unit length whose columns are as common as words: the logarithm of a rank is uniform.
fn words(rows: usize, width: usize, numbers: usize, classes: usize) -> (SparseRows<f64>, Vec<u32>) {
    let mut rng = Rng::new(9, 0);
    let (mut x, mut labels) = (SparseRows::empty(width).unwrap(), Vec::new());
    for _ in 0..rows {
        let class = rng.below(classes);
        let mut columns: Vec<u32> = Vec::new();
        for _ in 0..numbers {
            let rank = (width as f64).powf(rng.uniform()) as usize - 1;
            let own = rng.uniform() < 0.3;
            columns.push((if own { rank * classes + class } else { rank } % width) as u32);
        }
        columns.sort_unstable();
        columns.dedup();
        let value = 1.0 / (columns.len() as f64).sqrt();
        x.push(&columns.into_iter().map(|column| (column, value)).collect::<Vec<_>>()).unwrap();
        labels.push(if rng.uniform() < 0.1 { rng.below(classes) } else { class } as u32);
    }
    (x, labels)
}

/// What L-BFGS minimises, after every iteration.
struct Losses {
    l2: f64,
    weights: usize,
    found: Vec<f64>,
}

impl Observer<f64> for Losses {
    fn epoch(&mut self, trainer: &Trainer<'_, f64>, stats: &[EpochStats]) -> cmrm_train::Result<ControlFlow<()>> {
        let squares: f64 = trainer.parameters_of(0)[..self.weights].iter().map(|weight| weight * weight).sum();
        self.found.push(stats[0].total + 0.5 * self.l2 * squares);
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn how_common_columns_are_saves_half_of_the_iterations_on_words() {
    let (x, labels) = words(1500, 3000, 30, 5);
    for l2 in [1e-4, 1e-6] {
        let [plain, known] = [false, true].map(|precondition| {
            let settings = LbfgsConfig { precondition, function_tolerance: 1e-9, ..LbfgsConfig::default() };
            let method = Method::FullBatch(settings);
            let config = TrainConfig { method, l2, ..lbfgs(ModelConfig::linear(), 2000) };
            let examples = Examples::new(x.view(), &labels);
            let mut trainer = Trainer::new(config, vec![Arm::base(CE)], 5, examples, None).unwrap();
            let mut losses = Losses { l2, weights: 5 * 3000, found: Vec::new() };
            trainer.run(&mut losses).unwrap();
            losses.found
        });
        let least = plain.iter().chain(&known).copied().fold(f64::INFINITY, f64::min);
        let [plain, known] = [plain, known].map(|found| found.iter().position(|&loss| loss < 1.01 * least).unwrap());
        println!("l2 {l2}: {plain} iterations, {known} with the moments");
        assert!(2 * known <= plain, "l2 {l2}: {known} iterations against {plain}");
    }
}

#[test]
fn what_cannot_work_is_refused_with_the_place() {
    let data = data::<f32>(20, 10, 0.5, 2, 1);
    let sparse = data.forms()[1];
    let refused = |config: TrainConfig, x: Rows<'_, f32>| {
        let examples = Examples::new(x, &data.labels);
        Trainer::new(config, vec![Arm::base(CE)], 2, examples, None).unwrap_err().to_string()
    };
    let cosine =
        TrainConfig { method: adam(ModelConfig::linear(), 1, None).method, ..adam(ModelConfig::cosine(), 1, None) };
    assert!(refused(cosine, sparse).contains("dense rows only"));
    let mut bad = data.sparse.clone();
    let (row, kept) =
        data.sparse.view().iter_rows().enumerate().find(|(row, kept)| *row > 3 && !kept.values.is_empty()).unwrap();
    let before: usize = data.sparse.view().iter_rows().take(row).map(|kept| kept.values.len()).sum();
    bad.values_mut()[before] = f32::NAN;
    let message = refused(lbfgs(ModelConfig::linear(), 2), Rows::Sparse(bad.view()));
    assert!(
        message.contains(&format!("row {row}")) && message.contains(&format!("column {}", kept.columns[0])),
        "{message}"
    );
}
