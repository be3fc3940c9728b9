//! The penalty of a linear model, where the rows decide it.

use std::ops::ControlFlow;

use cmrm::Matrix;
use cmrm::rng::Rng;
use cmrm_fit::{FitConfig, ModelKind, with_penalty};
use cmrm_train::train::{EpochStats, Examples, Observer, Silent, Trainer};

const WIDTH: usize = 20;
const EMBEDDED: usize = 128;

/// Rows of a linear teacher of three classes; `wrong` of the labels are drawn anew.
fn rows(count: usize, wrong: f64) -> (Vec<f32>, Vec<u32>) {
    let mut rng = Rng::new(4, 0);
    let teacher: Vec<f64> = (0..3 * WIDTH).map(|_| rng.normal()).collect();
    let (mut x, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let row: Vec<f64> = (0..WIDTH).map(|_| rng.normal()).collect();
        let score = |class: usize| -> f64 { (0..WIDTH).map(|j| row[j] * teacher[class * WIDTH + j]).sum() };
        let right = (0..3).max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap_or(0);
        labels.push(if rng.uniform() < wrong { rng.below(3) } else { right } as u32);
        x.extend(row.into_iter().map(|value| value as f32));
    }
    (x, labels)
}

fn chosen(config: &FitConfig, examples: Examples<'_, f32>) -> f64 {
    with_penalty(config, examples, 3, &mut Silent).unwrap().l2.unwrap()
}

fn linear() -> FitConfig {
    FitConfig { model: Some(ModelKind::Linear), ..FitConfig::default() }
}

#[test]
fn the_more_labels_are_wrong_the_stronger_is_the_penalty() {
    let choice = |wrong: f64| {
        let (x, labels) = rows(400, wrong);
        chosen(&linear(), Examples::new(Matrix::new(&x, WIDTH).unwrap(), &labels))
    };
    // As scikit-learn's C: 1, 0.1 or less, 0.01, the least that 400 rows can choose.
    assert_eq!(choice(0.0), 0.0025);
    assert!(choice(0.5) >= 0.025);
    assert_eq!(choice(1.0), 0.25);
}

/// Points of three clouds as encoders make them of texts and images: many columns, each of which says a little.
fn embeddings(count: usize, wrong: f64) -> (Vec<f32>, Vec<u32>) {
    let mut rng = Rng::new(5, 0);
    let centres: Vec<f64> = (0..3 * EMBEDDED).map(|_| 0.2 * rng.normal()).collect();
    let (mut x, mut labels) = (Vec::new(), Vec::new());
    for row in 0..count {
        let class = row % 3;
        x.extend((0..EMBEDDED).map(|j| (centres[class * EMBEDDED + j] + rng.normal()) as f32));
        labels.push(if rng.uniform() < wrong { rng.below(3) } else { class } as u32);
    }
    (x, labels)
}

#[test]
fn a_strong_penalty_is_not_blamed_for_leaving_the_model_unsure() {
    let (x, labels) = embeddings(2500, 0.5);
    // By log loss or the Brier score of probabilities as they are, it would be 300 divided by the rows.
    assert_eq!(chosen(&linear(), Examples::new(Matrix::new(&x, EMBEDDED).unwrap(), &labels)), 0.4);
}

#[test]
fn rows_count_by_their_weights() {
    let ((x, right), (_, random)) = (rows(400, 0.0), rows(400, 1.0));
    let labels: Vec<u32> = (0..400).map(|row| if row < 200 { right[row] } else { random[row] }).collect();
    let weights: Vec<f32> = (0..400).map(|row| if row < 200 { 1.0 } else { 1e-4 }).collect();
    let alike = Examples::new(Matrix::new(&x, WIDTH).unwrap(), &labels);
    let weighted = Examples { row_weights: Some(&weights), ..alike };
    assert!(chosen(&linear(), weighted) < chosen(&linear(), alike));
}

#[test]
fn the_choice_is_the_same_for_any_number_of_threads_and_a_given_penalty_is_left_alone() {
    let (x, labels) = rows(6000, 0.4);
    let examples = || Examples::new(Matrix::new(&x, WIDTH).unwrap(), &labels);
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| chosen(&linear(), examples()))
    };
    assert_eq!(with_threads(1).to_bits(), with_threads(3).to_bits());
    assert_eq!(chosen(&FitConfig { l2: Some(0.5), ..linear() }, examples()), 0.5);
    let mlp = FitConfig { model: Some(ModelKind::Mlp), ..FitConfig::default() };
    assert_eq!(with_penalty(&mlp, examples(), 3, &mut Silent).unwrap(), mlp);
}

#[test]
fn rows_too_few_for_folds_get_the_usual_penalty() {
    let (x, labels) = rows(4, 0.0);
    let few = Examples::new(Matrix::new(&x, WIDTH).unwrap(), &labels);
    assert_eq!(chosen(&linear(), few), 0.25);
}

#[test]
fn whoever_watches_can_end_the_search() {
    struct Stop(usize);
    impl Observer<f32> for Stop {
        fn epoch(&mut self, _: &Trainer<'_, f32>, _: &[EpochStats]) -> cmrm_train::Result<ControlFlow<()>> {
            self.0 += 1;
            Ok(ControlFlow::Break(()))
        }
    }
    let (x, labels) = rows(400, 0.0);
    let mut stop = Stop(0);
    with_penalty(&linear(), Examples::new(Matrix::new(&x, WIDTH).unwrap(), &labels), 3, &mut stop).unwrap();
    assert_eq!(stop.0, 1);
}
