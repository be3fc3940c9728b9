//! Votes of learners on rows in memory.

use cmrm::rng::Rng;
use cmrm_data::table::Values;
use cmrm_data::{Array, Column, Features, Input};
use cmrm_fit::{Fit, FitConfig, FitOutcome, Loaded, ModelKind, Need, Room};
use cmrm_train::Stop;
use cmrm_train::train::Silent;
use cmrm_train::vote::brier_score;

const VOTES: [ModelKind; 4] = [ModelKind::Auto, ModelKind::Forest, ModelKind::Boosting, ModelKind::Kernel];
const WIDTH: usize = 3;

/// Rows of three numbers; classes by name.
fn loaded(values: Vec<f32>, labels: &[u32], weights: Option<Vec<f32>>) -> Loaded {
    let classes: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
    let labels = Column::new("label", Values::Categorical { codes: labels.to_vec(), levels: classes.clone() });
    let features = Features::Array(Array::new(values, WIDTH).unwrap());
    let train = Input { features, labels: Some(labels), ids: None, source: "rows".into() };
    Loaded { train, test: None, classes: Some(classes), clean: None, weights, name: "rows".into() }
}

/// Three clouds; a share `wrong` of the labels is drawn anew.
fn clouds(rows: usize, wrong: f64, seed: u64) -> (Vec<f32>, Vec<u32>) {
    let mut rng = Rng::new(seed, 0);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let class = row % 3;
        values.extend((0..WIDTH).map(|at| (rng.normal() + if at == class { 2.5 } else { 0.0 }) as f32));
        labels.push(if rng.uniform() < wrong { rng.below(3) } else { class } as u32);
    }
    (values, labels)
}

fn fit(model: ModelKind, loaded: &Loaded) -> FitOutcome {
    let config = FitConfig { model: Some(model), seed: 3, ..FitConfig::default() };
    Fit::new(&config, loaded, &Stop::default()).unwrap().run(&mut Silent).unwrap()
}

fn bytes(outcome: &FitOutcome) -> Vec<Vec<u8>> {
    outcome.arms.iter().map(|arm| arm.model.to_bytes().unwrap()).collect()
}

#[test]
fn the_vote_is_as_good_as_its_best_learner_on_rows_that_it_has_not_seen() {
    let (values, labels) = clouds(240, 0.3, 1);
    let outcome = fit(ModelKind::Auto, &loaded(values, &labels, None));
    let base = outcome.base_arm().unwrap().out_of_sample.as_deref().unwrap();
    let found = brier_score(base, &labels, None, 3);
    assert!(outcome.members.len() > 1, "{:?}", outcome.members);
    let (weighed, first): (Vec<_>, Vec<_>) =
        outcome.members.iter().partition(|member| member.name.ends_with("weighted"));
    for member in &first {
        assert!(found <= member.brier, "{found} against {member:?}");
    }
    // Both votes count alike.
    let half: f64 = weighed.iter().map(|member| member.share).sum();
    assert!((half - 0.5).abs() < 1e-12, "{weighed:?}");
    // As good as the best that is not a vote of others: what the shares weigh is what was measured.
    let share: f64 = outcome.members.iter().map(|member| member.share).sum();
    assert!((share - 1.0).abs() < 1e-12, "{:?}", outcome.members);
}

#[test]
fn rows_without_weight_change_nothing() {
    let (values, labels) = clouds(60, 0.1, 2);
    let (strange, wrong) = (vec![1e6; 30 * WIDTH], vec![1; 30]);
    for weight in [1.0, 0.5] {
        let more = loaded([&values[..], &strange].concat(), &[&labels[..], &wrong].concat(), {
            Some([vec![weight; 60], vec![0.0; 30]].concat())
        });
        let without = loaded(values.clone(), &labels, Some(vec![weight; 60]));
        for model in VOTES {
            let (with, without) = (fit(model, &more), fit(model, &without));
            assert!(bytes(&with) == bytes(&without), "{model:?}, weight {weight}");
            assert_eq!(with.training_rows.margin, without.training_rows.margin, "{model:?}");
        }
    }
}

#[test]
fn features_that_say_next_to_nothing_leave_the_shares_of_the_classes() {
    let labels: Vec<u32> = (0..60).map(|row| u32::from(row % 3 == 0)).collect();
    let mut values = vec![7.0; 60 * WIDTH];
    let config = FitConfig { model: Some(ModelKind::Kernel), ..FitConfig::default() };
    let refused = Fit::new(&config, &loaded(values.clone(), &labels, None), &Stop::default()).unwrap_err().to_string();
    assert!(refused.contains("every column was left out: ignored, constant"), "{refused}");
    // One row differs.
    values[0] = 8.0;
    for model in VOTES {
        let outcome = fit(model, &loaded(values.clone(), &labels, None));
        let x = outcome.rows.train.data.x().unwrap();
        let said = outcome.envelope_arm().unwrap().model.probabilities(x, &Stop::default()).unwrap();
        for row in said[3..].chunks_exact(3) {
            assert!((row[0] - 2.0 / 3.0).abs() < 0.1 && row[2] < 0.15, "{model:?}: {row:?}");
        }
        assert!(outcome.warnings().unwrap().iter().any(|words| words.contains("most frequent class")), "{model:?}");
    }
}

#[test]
fn two_rows_a_class_are_learned_from() {
    let values: Vec<f32> = (0..6)
        .flat_map(|row| (0..WIDTH).map(move |at| if at == row % 3 { 9.0 + row as f32 / 9.0 } else { 0.0 }))
        .collect();
    let labels = [0, 1, 2, 0, 1, 2];
    for model in VOTES {
        let outcome = fit(model, &loaded(values.clone(), &labels, None));
        let x = outcome.rows.train.data.x().unwrap();
        let probabilities = outcome.envelope_arm().unwrap().model.probabilities(x, &Stop::default()).unwrap();
        assert!(probabilities.iter().all(|p| (0.0..=1.0).contains(p)), "{model:?}: {probabilities:?}");
        assert_eq!(outcome.training_rows.margin.len(), 6, "{model:?}");
        if matches!(model, ModelKind::Auto | ModelKind::Kernel) {
            assert_eq!(outcome.envelope_arm().unwrap().model.predict(x).unwrap(), labels, "{model:?}");
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (values, labels) = clouds(150, 0.3, 4);
    let rows = loaded(values, &labels, None);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(ModelKind::Auto, &rows))
    };
    let (one, three) = (with(1), with(3));
    assert!(bytes(&one) == bytes(&three));
    assert_eq!(one.training_rows, three.training_rows);
}

#[test]
fn what_a_vote_needs_in_memory_is_its_own() {
    let (values, labels) = clouds(240, 0.3, 1);
    let rows = loaded(values, &labels, None);
    let room = |bytes| Some(Room { bytes, whose: "there is" });
    for (model, part) in [
        (ModelKind::Auto, "the leaves of forests"),
        (ModelKind::Forest, "the leaves of forests"),
        (ModelKind::Boosting, "what every learner says of every row"),
        (ModelKind::Kernel, "the kernel of all rows"),
    ] {
        let config = FitConfig { model: Some(model), ..FitConfig::default() };
        let fit = Fit::new(&config, &rows, &Stop::default()).unwrap();
        let need = Need::of_fit(fit.config(), fit.rows()).unwrap();
        let refused = need.check(room(0)).unwrap_err().to_string();
        assert!(refused.contains(part) && !refused.contains("optimiser"), "{model:?}: {refused}");
        if model == ModelKind::Kernel {
            // Eight machines and four means, 240 rows compared with each other, their columns in the units of the data, and the
            // landmarks of both rounds.
            let bytes = 4 * (12 * 240 * 3 + 240 * 240 + 240 * 3 + 2 * 8 * 240 * 3);
            assert!(need.check(room(bytes)).is_ok() && need.check(room(bytes - 1)).is_err());
        }
    }
}

#[test]
fn columns_of_one_unit_are_compared_in_it() {
    // Three columns that tell the classes apart, among thirty that hardly vary: of equal spread, these would drown the three.
    let mut rng = Rng::new(7, 0);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for row in 0..300 {
        let [x, y, z] = [0; 3].map(|_| rng.normal());
        values.extend([x as f32, y as f32, z as f32]);
        values.extend((0..30).map(|_| 0.05 * rng.normal() as f32));
        labels.push(if row % 5 == 0 { rng.below(2) as u32 } else { u32::from(x * y + z > 0.0) });
    }
    let share_as_given = |values: Vec<f32>| -> f64 {
        let mut rows = loaded(vec![0.0; 300 * WIDTH], &labels, None);
        rows.train.features = Features::Array(Array::new(values, 33).unwrap());
        let members = fit(ModelKind::Kernel, &rows).members;
        members.iter().filter(|member| member.name.contains("as given")).map(|member| member.share).sum()
    };
    // One column with nearly all of the variance would be the whole distance.
    let of_one = values.iter().enumerate().map(|(at, v)| if at % 33 == 0 { v * 1e3 } else { *v }).collect();
    assert_eq!(share_as_given(of_one), 0.0);
    let found = share_as_given(values);
    assert!(found > 0.5, "{found}");
}

#[test]
fn labels_are_in_doubt_where_nearly_half_of_two_classes_are_wrong() {
    let mut rng = Rng::new(11, 0);
    let (mut values, mut labels, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..800 {
        let x = 0.5 * rng.normal() + if row % 2 == 0 { 2.0 } else { -2.0 };
        values.extend([x as f32, rng.normal() as f32, rng.normal() as f32]);
        wrong.push(rng.uniform() < 0.4);
        labels.push(u32::from(x > 0.0) ^ u32::from(wrong[wrong.len() - 1]));
    }
    let weights = fit(ModelKind::Auto, &loaded(values, &labels, None)).training_rows.weight;
    let mean = |of: bool| {
        let of = || weights.iter().zip(&wrong).filter(|(_, wrong)| **wrong == of);
        of().map(|(weight, _)| weight).sum::<f32>() / of().count() as f32
    };
    assert!(mean(true) < 0.4 && mean(false) > 0.6, "{} and {}", mean(true), mean(false));
}
