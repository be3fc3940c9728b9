//! Forest and boosting: what must hold for any rows, and how well they do on real ones.

mod common;

use cmrm::Matrix;
use cmrm::envelope::{Objective, Preset, RowMemory, RunningMargins};
use cmrm::loss::{CrossEntropy as CrossEntropyLoss, LossConfig};
use cmrm::rng::Rng;
use cmrm::scores::most_likely;
use cmrm_data::{Features, LabelOptions};
use cmrm_datasets::{Cache, load};
use cmrm_train::Stop;
use cmrm_train::stored::TensorFile;
use cmrm_train::trees::{
    Bins, Boosting, BoostingConfig, BoostingFit, Codes, ColumnShare, CrossEntropy, Enveloped, Forest, ForestConfig,
    HeldOut, OutOfBag, TreeColumn, TreeColumns,
};
use proptest::prelude::*;

struct Table {
    x: Vec<f32>,
    columns: TreeColumns,
    labels: Vec<u32>,
    classes: usize,
}

impl Table {
    fn x(&self) -> Matrix<'_, f32> {
        Matrix::new(&self.x, self.columns.width()).unwrap()
    }

    fn codes(&self, weights: Option<&[f32]>) -> (Bins, Codes) {
        let bins = Bins::learn(self.x(), &self.columns, weights).unwrap();
        let codes = bins.codes(self.x()).unwrap();
        (bins, codes)
    }

    fn boost(&self, weights: Option<&[f32]>, config: BoostingConfig) -> Boosting {
        let (bins, codes) = self.codes(weights);
        let mut objective = CrossEntropy::new(&self.labels, self.classes, weights).unwrap();
        Boosting::fit(&bins, &codes, &mut objective, &config, None, &Stop::default()).unwrap().model
    }

    fn forest(&self, weights: Option<&[f32]>, config: ForestConfig) -> (Forest, OutOfBag) {
        let (bins, codes) = self.codes(weights);
        Forest::fit(&bins, &codes, &self.labels, self.classes, weights, &config, &Stop::default()).unwrap()
    }

    fn rows(&self, rows: &[usize]) -> Table {
        Table {
            x: rows.iter().flat_map(|&row| self.x().row(row).to_vec()).collect(),
            labels: rows.iter().map(|&row| self.labels[row]).collect(),
            columns: self.columns.clone(),
            classes: self.classes,
        }
    }
}

fn smooth(rows: usize, columns: usize, classes: usize, seed: u64) -> Table {
    let blobs = common::blobs(rows, columns, classes, 0.1, seed);
    Table { x: blobs.x, columns: TreeColumns::numbers(columns), labels: blobs.observed, classes }
}

/// Weights that make no two sets of rows gain the same: which of equals is taken is a matter of their order.
fn uneven_weights(rows: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed, 6);
    (0..rows).map(|_| 0.5 + rng.uniform() as f32).collect()
}

fn digits() -> (Table, Table) {
    let named = load("digits", &Cache::at("unused")).unwrap();
    let options = LabelOptions { classes: Some(named.classes), ..LabelOptions::default() };
    let labels = named.train.encode_labels(&options).unwrap().labels.indices;
    let Features::Array(array) = named.train.features else { panic!("digits are an array") };
    let columns = TreeColumns::numbers(array.width());
    let table = Table { x: array.into_values(), columns, labels, classes: 10 };
    let order = Rng::new(7, 0).permutation(table.labels.len());
    let cut = order.len() * 2 / 3;
    (table.rows(&order[..cut]), table.rows(&order[cut..]))
}

fn accuracy(probabilities: &[f32], labels: &[u32], classes: usize) -> f64 {
    let right = probabilities.chunks_exact(classes).zip(labels).filter(|(row, label)| most_likely(row) == **label);
    right.count() as f64 / labels.len() as f64
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |most, (a, b)| most.max((a - b).abs()))
}

fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

fn few_rounds() -> BoostingConfig {
    BoostingConfig { rounds: 10, min_leaf: 5, ..BoostingConfig::default() }
}

fn few_trees() -> ForestConfig {
    ForestConfig { trees: 20, ..ForestConfig::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_number_of_threads_changes_no_bit(seed in 0u64..1000, classes in 2usize..5, share in prop::sample::select(vec![1.0, 0.6])) {
        let table = smooth(4000, 9, classes, seed);
        let config = BoostingConfig { rows: share, columns: share, seed, ..few_rounds() };
        let fit = || (table.boost(None, config), table.forest(None, ForestConfig { seed, ..few_trees() }));
        let (one, four) = (with_threads(1, fit), with_threads(4, fit));
        prop_assert!(one == four);
        let predict = || (one.0.probabilities(table.x()).unwrap(), one.1.0.probabilities(table.x()).unwrap());
        prop_assert!(with_threads(1, predict) == with_threads(4, predict));
    }

    #[test]
    fn weights_of_whole_numbers_are_repeated_rows(seed in 0u64..1000, classes in 2usize..4) {
        // Fewer values than bins, so that these do not depend on how often a row is there.
        let table = smooth(200, 4, classes, seed);
        let mut rng = Rng::new(seed, 5);
        let times: Vec<usize> = (0..200).map(|_| rng.below(4)).collect();
        let repeated: Vec<usize> = (0..200).flat_map(|row| vec![row; times[row]]).collect();
        let each = uneven_weights(200, seed);
        let weights: Vec<f32> = times.iter().zip(&each).map(|(&times, each)| times as f32 * each).collect();
        let repeated_weights: Vec<f32> = repeated.iter().map(|&row| each[row]).collect();
        // Rows are counted as rows, so the smallest leaf is bounded by curvature.
        let config = BoostingConfig { rounds: 5, min_leaf: 1, min_hessian: 3.0, ..BoostingConfig::default() };
        // On the rows themselves: two columns that separate the same rows gain the same, and may differ elsewhere.
        let repeated = table.rows(&repeated);
        let weighted = table.boost(Some(&weights), config).probabilities(repeated.x()).unwrap();
        let repeated = repeated.boost(Some(&repeated_weights), config).probabilities(repeated.x()).unwrap();
        prop_assert!(largest_difference(&weighted, &repeated) < 1e-4);
    }

    #[test]
    fn rows_of_weight_zero_have_no_influence(seed in 0u64..1000, classes in 2usize..4) {
        let table = smooth(400, 4, classes, seed);
        let weights: Vec<f32> = (0..400).map(|row| if row % 3 == 0 { 0.0 } else { 1.0 + (row % 2) as f32 }).collect();
        let kept: Vec<usize> = (0..400).filter(|row| weights[*row] > 0.0).collect();
        let kept_weights: Vec<f32> = kept.iter().map(|&row| weights[row]).collect();
        let mut spoilt = table.rows(&(0..400).collect::<Vec<_>>());
        for row in (0..400).step_by(3) {
            spoilt.labels[row] = (spoilt.labels[row] + 1) % classes as u32;
            spoilt.x[row * 4] = 1e6;
        }
        let alone = table.rows(&kept);
        prop_assert!(spoilt.boost(Some(&weights), few_rounds()) == alone.boost(Some(&kept_weights), few_rounds()));
        let (forest, out_of_bag) = spoilt.forest(Some(&weights), few_trees());
        prop_assert!(forest == alone.forest(Some(&kept_weights), few_trees()).0);
        prop_assert!((0..400).step_by(3).all(|row| out_of_bag.counts[row] == 20));
    }

    #[test]
    fn permuted_columns_permute_the_importance(seed in 0u64..1000) {
        let table = smooth(600, 6, 3, seed);
        let order = Rng::new(seed, 9).permutation(6);
        let x = (0..600).flat_map(|row| order.iter().map(|&column| table.x().row(row)[column]).collect::<Vec<_>>()).collect();
        let permuted = Table { x, columns: table.columns.clone(), labels: table.labels.clone(), classes: 3 };
        // Large leaves: in small ones two columns often separate the same rows, and the first of equals is taken.
        let config = BoostingConfig { rounds: 5, leaves: 8, min_leaf: 30, ..BoostingConfig::default() };
        let weights = uneven_weights(600, seed);
        let importance = |table: &Table| table.boost(Some(&weights), config).importance();
        let (plain, moved) = (importance(&table), importance(&permuted));
        for (at, &column) in order.iter().enumerate() {
            prop_assert!((plain[column] - moved[at]).abs() <= 1e-3 * plain[column], "{plain:?} {moved:?} {order:?}");
        }
    }

    #[test]
    fn what_is_stored_comes_back_and_damage_is_refused(seed in 0u64..1000, classes in 2usize..4, at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let table = with_names_and_gaps(300, classes as u32, seed);
        let config = BoostingConfig { rounds: 3, ..few_rounds() };
        let (boosting, (forest, _)) = (table.boost(None, config), table.forest(None, few_trees()));
        let mut file = TensorFile::default();
        boosting.put_into("a.", &mut file);
        forest.put_into("b.", &mut file);
        let bytes = file.to_bytes(&()).unwrap();
        let read = |bytes: &[u8]| {
            let ((), file) = TensorFile::from_bytes(bytes)?;
            Ok::<_, cmrm_train::Error>((Boosting::take_from("a.", &file)?, Forest::take_from("b.", &file)?))
        };
        let (boosting_read, forest_read) = read(&bytes).unwrap();
        prop_assert!(boosting_read == boosting && forest_read == forest);
        // Whatever is still read after the damage can be used.
        let mut damaged = bytes.clone();
        damaged[at.index(bytes.len())] ^= 1 << bit;
        if let Ok((boosting, forest)) = read(&damaged) {
            let width = boosting.columns().width();
            let rows = vec![0.5; width * 3];
            boosting.probabilities(Matrix::new(&rows, width).unwrap()).unwrap();
            if forest.columns().width() == width {
                forest.probabilities(Matrix::new(&rows, width).unwrap()).unwrap();
            }
        }
    }

    #[test]
    fn leaves_keep_their_fewest_rows(seed in 0u64..1000, min_leaf in 1usize..60) {
        let table = smooth(500, 3, 2, seed);
        let config = BoostingConfig { rounds: 1, min_leaf, min_hessian: 0.0, rate: 1.0, ..BoostingConfig::default() };
        let boosting = table.boost(None, config);
        check_leaves(&boosting.logits(table.x()).unwrap(), 2, min_leaf)?;
        let config = ForestConfig { trees: 1, min_leaf, columns: ColumnShare::Share(1.0), seed };
        let (forest, out_of_bag) = table.forest(None, config);
        // The rows that the only tree has drawn; leaves with equal shares look like one, so this cannot refuse by chance.
        let drawn: Vec<usize> = (0..500).filter(|&row| out_of_bag.counts[row] == 0).collect();
        check_leaves(&forest.probabilities(table.rows(&drawn).x()).unwrap(), 2, min_leaf)?;
    }
}

/// Rows with the same outputs are of the same leaf, or of leaves that cannot be told apart.
fn check_leaves(outputs: &[f32], classes: usize, min_leaf: usize) -> Result<(), TestCaseError> {
    let mut rows: Vec<Vec<u32>> =
        outputs.chunks_exact(classes).map(|row| row.iter().map(|v| v.to_bits()).collect()).collect();
    rows.sort();
    for leaf in rows.chunk_by(|a, b| a == b) {
        prop_assert!(leaf.len() >= min_leaf, "a leaf of {} rows", leaf.len());
    }
    Ok(())
}

/// A column of names that decides with a number that is missing where it would decide; the rest is noise.
fn with_names_and_gaps(rows: usize, classes: u32, seed: u64) -> Table {
    let mut rng = Rng::new(seed, 1);
    let (mut x, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let (name, missing) = (rng.below(7), rng.uniform() < 0.3);
        let number = rng.normal() as f32;
        x.extend([if missing { 0.0 } else { number }, f32::from(u8::from(missing)), rng.normal() as f32]);
        // The seventh name is "none".
        x.extend((0..6).map(|level| f32::from(u8::from(level == name))));
        let odd = [1, 4, 6].contains(&name);
        labels.push(if odd != (missing || number > 0.5) { rng.below(classes as usize - 1) as u32 + 1 } else { 0 });
    }
    let columns = vec![
        TreeColumn::Number { at: 0, missing: Some(1) },
        TreeColumn::Number { at: 2, missing: None },
        TreeColumn::Names { at: 3, levels: 6 },
    ];
    Table { x, columns: TreeColumns::new(9, columns).unwrap(), labels, classes: classes as usize }
}

#[test]
fn missing_values_and_names_are_split_as_they_are() {
    let (table, test) = (with_names_and_gaps(2000, 2, 1), with_names_and_gaps(1000, 2, 2));
    let boosted = table.boost(None, BoostingConfig::default());
    let (forest, _) = table.forest(None, ForestConfig { columns: ColumnShare::Share(1.0), ..few_trees() });
    for (name, probabilities) in
        [("boosting", boosted.probabilities(test.x()).unwrap()), ("forest", forest.probabilities(test.x()).unwrap())]
    {
        let right = accuracy(&probabilities, &test.labels, 2);
        assert!(right > 0.985, "{name}: {right}");
    }
    for importance in [boosted.importance(), forest.importance()] {
        assert!(importance[0].min(importance[2]) > 5.0 * importance[1], "{importance:?}");
    }
}

#[test]
fn one_class_one_row_and_constant_columns_give_what_there_is() {
    let table = |x: Vec<f32>, width, labels: Vec<u32>, classes| Table {
        x,
        columns: TreeColumns::numbers(width),
        labels,
        classes,
    };
    let alike = table(vec![3.0; 60], 2, (0..30).map(|row| u32::from(row % 3 == 0)).collect(), 2);
    let boosted = alike.boost(None, few_rounds());
    assert_eq!(boosted.rounds(), 0);
    assert!((boosted.probabilities(alike.x()).unwrap()[1] - 1.0 / 3.0).abs() < 1e-6);
    let forest = alike.forest(None, few_trees()).0.probabilities(alike.x()).unwrap();
    assert!((forest[1] - 1.0 / 3.0).abs() < 0.1);

    for (labels, classes) in [(vec![1; 40], 2), (vec![0; 40], 1), (vec![2; 40], 4)] {
        let single = table((0..40).map(|v| v as f32).collect(), 1, labels.clone(), classes);
        let label = labels[0] as usize;
        assert!(single.boost(None, few_rounds()).probabilities(single.x()).unwrap()[label] > 0.999);
        let (forest, out_of_bag) = single.forest(None, few_trees());
        assert_eq!(forest.probabilities(single.x()).unwrap()[label], 1.0);
        assert_eq!(out_of_bag.probabilities[label], 1.0);
    }

    let row = table(vec![1.0, 2.0], 2, vec![1], 3);
    assert!(row.boost(None, few_rounds()).probabilities(row.x()).unwrap()[1] > 0.999);
    let (forest, out_of_bag) = row.forest(None, few_trees());
    assert_eq!(forest.probabilities(row.x()).unwrap(), [0.0, 1.0, 0.0]);
    assert_eq!((out_of_bag.counts[0], out_of_bag.probabilities), (0, vec![0.0, 1.0, 0.0]));
}

#[test]
fn bad_input_is_refused() {
    let table = smooth(50, 2, 2, 1);
    let (bins, codes) = table.codes(None);
    assert!(Bins::learn(Matrix::new(&[f32::NAN], 1).unwrap(), &TreeColumns::numbers(1), None).is_err());
    assert!(Bins::learn(table.x(), &TreeColumns::numbers(3), None).is_err());
    let stop = Stop::default();
    let boost = |labels: &[u32], weights: Option<&[f32]>, config: BoostingConfig| {
        let mut objective = CrossEntropy::new(labels, 2, weights)?;
        Boosting::fit(&bins, &codes, &mut objective, &config, None, &stop)
    };
    assert!(boost(&table.labels, None, few_rounds()).is_ok());
    assert!(boost(&table.labels[1..], None, few_rounds()).is_err());
    assert!(boost(&[2; 50], None, few_rounds()).is_err());
    assert!(boost(&table.labels, Some(&[0.0; 50]), few_rounds()).is_err());
    for config in [
        BoostingConfig { rounds: 0, ..few_rounds() },
        BoostingConfig { leaves: 1, ..few_rounds() },
        BoostingConfig { rate: f64::NAN, ..few_rounds() },
        BoostingConfig { rows: 0.0, ..few_rounds() },
        BoostingConfig { columns: 1.5, ..few_rounds() },
    ] {
        assert!(boost(&table.labels, None, config).is_err(), "{config:?}");
    }
    let plant = |labels: &[u32], config: ForestConfig| Forest::fit(&bins, &codes, labels, 2, None, &config, &stop);
    assert!(plant(&table.labels[1..], few_trees()).is_err());
    assert!(plant(&table.labels, ForestConfig { trees: 0, ..few_trees() }).is_err());
    assert!(plant(&table.labels, ForestConfig { columns: ColumnShare::Share(0.0), ..few_trees() }).is_err());
    let narrow = Matrix::new(&table.x, 1).unwrap();
    assert!(table.boost(None, few_rounds()).probabilities(narrow).is_err());
    stop.request();
    assert!(boost(&table.labels, None, few_rounds()).is_err() && plant(&table.labels, few_trees()).is_err());
}

#[test]
fn held_out_rows_see_every_round_and_patience_keeps_the_best() {
    let (table, test) = (smooth(800, 5, 3, 3), smooth(800, 5, 3, 3));
    let (bins, codes) = table.codes(None);
    let rows: Vec<u32> = (0..800).collect();
    let (train, held) = rows.split_at(500);
    let (train_codes, held_codes) = (codes.select(train), codes.select(held));
    let config = BoostingConfig { rounds: 200, patience: Some(5), rate: 0.3, ..BoostingConfig::default() };
    let mut seen: Vec<Vec<f32>> = Vec::new();
    let mut staged = |round: usize, logits: &[f32]| {
        assert_eq!(round, seen.len() + 1);
        seen.push(logits.to_vec());
    };
    let mut objective = CrossEntropy::new(&table.labels[..500], 3, None).unwrap();
    let held_out = HeldOut { codes: &held_codes, labels: &table.labels[500..], staged: Some(&mut staged) };
    let BoostingFit { mut model, held_out_losses } =
        Boosting::fit(&bins, &train_codes, &mut objective, &config, Some(held_out), &Stop::default()).unwrap();
    let best = model.rounds();
    assert!(best + 5 == held_out_losses.len() && best < 100, "{best} of {}", held_out_losses.len());
    assert!(held_out_losses.iter().all(|loss| *loss >= held_out_losses[best - 1]));
    let test = test.rows(&(500..800).collect::<Vec<_>>());
    for rounds in [best, 3, 1] {
        model.truncate(rounds);
        assert_eq!(model.rounds(), rounds);
        assert!(largest_difference(&model.logits(test.x()).unwrap(), &seen[rounds - 1]) < 1e-5);
    }
}

#[test]
fn an_envelope_around_nothing_is_cross_entropy_and_robust_learns_less_by_heart() {
    for classes in [2, 3] {
        let blobs = common::blobs(1500, 6, classes, 0.3, 11);
        let table = Table { x: blobs.x, columns: TreeColumns::numbers(6), labels: blobs.observed, classes };
        let (bins, codes) = table.codes(None);
        let fit = |objective: Objective<CrossEntropyLoss>, rounds| {
            let memory = RowMemory { running: Some(RunningMargins::new(1500, 0.7)), ..RowMemory::default() };
            let mut objective = Enveloped::new(objective, &table.labels, classes, None, memory).unwrap();
            let config = BoostingConfig { rounds, ..BoostingConfig::default() };
            let fit = Boosting::fit(&bins, &codes, &mut objective, &config, None, &Stop::default()).unwrap();
            fit.model.probabilities(table.x()).unwrap()
        };
        let plain = table.boost(None, BoostingConfig { rounds: 5, ..BoostingConfig::default() });
        let plain = plain.probabilities(table.x()).unwrap();
        assert!(largest_difference(&plain, &fit(Objective::base(CrossEntropyLoss), 5)) < 2e-3);
        let envelope = Preset::Robust.config(&LossConfig::CrossEntropy).validate().unwrap();
        let base = accuracy(&fit(Objective::base(CrossEntropyLoss), 100), &blobs.clean, classes);
        let robust = accuracy(&fit(Objective::with_envelope(CrossEntropyLoss, envelope), 100), &blobs.clean, classes);
        assert!(robust > base, "{classes} classes: robust {robust}, base {base}");
    }
}

#[test]
fn digits_are_told_apart_and_out_of_bag_accuracy_is_that_of_new_rows() {
    let (train, test) = digits();
    let (forest, out_of_bag) = train.forest(None, ForestConfig::default());
    let forest = accuracy(&forest.probabilities(test.x()).unwrap(), &test.labels, 10);
    let bag = accuracy(&out_of_bag.probabilities, &train.labels, 10);
    let boosting = train.boost(None, BoostingConfig::default());
    let boosting = accuracy(&boosting.probabilities(test.x()).unwrap(), &test.labels, 10);
    assert!(forest >= 0.96 && boosting >= 0.95, "forest {forest}, boosting {boosting}");
    assert!((forest - bag).abs() < 0.02, "forest {forest}, out of bag {bag}");
}
