//! The search on an embedded data set whose labels are partly made wrong.

use std::ops::ControlFlow;

use cmrm::Matrix;
use cmrm::criterion::Criterion;
use cmrm::envelope::{EnvelopeConfig, MarginKind, Normaliser, Preset, Start};
use cmrm::loss::LossConfig;
use cmrm::metric::accuracy;
use cmrm::noise::{Rate, symmetric};
use cmrm_data::{Features, LabelOptions};
use cmrm_datasets::{Cache, load};
use cmrm_train::model::ModelConfig;
use cmrm_train::optim::{AdamConfig, OptimiserConfig};
use cmrm_train::schedule::ScheduleConfig;
use cmrm_train::train::{Arm, ClassWeights, Examples, Method, Selection, Silent, TrainConfig, Trainer};
use cmrm_train::tune::{Progress, SearchConfig, Setting, Standing, Trial, choose, search, standings};

const LOSS: LossConfig = LossConfig::CrossEntropy;
const WIDTH: usize = 64;
const TRAIN_ROWS: usize = 900;

/// Digits with pixels from 0 to 1; the first rows with 40 % of their labels wrong, the rest clean.
fn digits() -> (Vec<f32>, Vec<u32>, Vec<u32>) {
    let named = load("digits", &Cache::at("unused")).unwrap();
    let options = LabelOptions { classes: Some(named.classes), ..LabelOptions::default() };
    let clean = named.train.encode_labels(&options).unwrap().labels.indices;
    let Features::Array(array) = &named.train.features else { panic!("digits are an array") };
    let x = array.values().iter().map(|v| v / 16.0).collect();
    let observed = symmetric(&clean[..TRAIN_ROWS], 10, Rate::new(0.4).unwrap(), 5).unwrap().labels;
    (x, clean, observed)
}

fn training(learning_rate: f64) -> TrainConfig {
    TrainConfig {
        model: ModelConfig::mlp(&[32]),
        method: Method::Stochastic {
            optimiser: OptimiserConfig::Adam(AdamConfig::default()),
            learning_rate,
            schedule: ScheduleConfig::default(),
            batch_rows: Some(64),
        },
        epochs: 30,
        l2: 0.0,
        clip: None,
        class_weights: ClassWeights::Equal,
        selection: Selection::Last,
        seed: 1,
        keep_history: false,
    }
}

/// A sharp envelope of some weight is planted among settings that learn next to nothing, everything, or diverge.
fn settings() -> Vec<Setting> {
    let planted = EnvelopeConfig {
        lambda: 3.0,
        alpha: 0.3,
        temperature: 0.2,
        start: Start::Fraction(0.25),
        ..Preset::Paper.config(&LOSS)
    };
    let setting = |name: &str, learning_rate: f64, arm: Arm| Setting {
        name: name.into(),
        train: training(learning_rate),
        arm,
        keep: name == "base",
    };
    let wild = EnvelopeConfig {
        lambda: 1e39,
        margin: MarginKind::Logit,
        normaliser: Normaliser::Weights,
        start: Start::Fraction(0.0),
        ..planted
    };
    vec![
        setting("base", 1e-2, Arm::base(LOSS)),
        setting("base, asleep", 1e-6, Arm::base(LOSS)),
        setting("base, restless", 0.3, Arm::base(LOSS)),
        setting("wild", 1e-2, Arm::envelope("", LOSS, wild)),
        setting("faint", 1e-2, Arm::envelope("", LOSS, EnvelopeConfig { lambda: 1e-3, ..planted })),
        setting("planted", 1e-2, Arm::envelope("", LOSS, planted)),
        setting("planted, asleep", 1e-6, Arm::envelope("", LOSS, planted)),
        setting("printed", 1e-2, Arm::envelope("", LOSS, Preset::Paper.config(&LOSS))),
    ]
}

fn config() -> SearchConfig {
    SearchConfig { folds: 3, finalists: 2, seed: 7, ..SearchConfig::default() }
}

/// Stops in the middle of a fold.
struct StopIn(usize, usize);

impl Progress for StopIn {
    fn training(&mut self, fold: usize, _settings: usize) {
        self.1 = fold;
    }

    fn epoch(&mut self, _done: usize, _of: usize) -> ControlFlow<()> {
        if self.1 == self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[derive(Default)]
struct Count(usize);

impl Progress for Count {
    fn fold(&mut self, _fold: usize, _trials: &[Trial], _standings: &[Standing]) -> cmrm_train::Result<()> {
        self.0 += 1;
        Ok(())
    }
}

#[test]
fn the_planted_setting_is_found_by_observed_labels() {
    let (x, clean, observed) = digits();
    let train = Examples::new(Matrix::new(&x[..TRAIN_ROWS * WIDTH], WIDTH).unwrap(), &observed);
    let settings = settings();
    let mut count = Count::default();
    let searched = search(&config(), &settings, train, 10, Vec::new(), &mut count).unwrap();
    assert!(searched.complete);
    assert_eq!(count.0, 3);
    for criterion in [Criterion::Observed, Criterion::Weighted, Criterion::Corrected, Criterion::Posterior] {
        assert_eq!(choose(&settings, &searched.trials, criterion).unwrap().setting, "planted", "{criterion:?}");
    }
    // The one that diverges is reported and takes nobody with it.
    let wild: Vec<&Trial> = searched.trials.iter().filter(|trial| trial.setting == "wild").collect();
    assert!(wild.len() == 1 && wild[0].failure.is_some() && wild[0].verdict.is_none(), "{wild:?}");
    // Half is given up after the first fold, and the setting to keep is not.
    let standings = standings(&settings, &searched.trials);
    let folds = |name: &str| standings.iter().find(|s| s.setting == name).unwrap().folds;
    assert_eq!((folds("base"), folds("planted")), (3, 3));
    assert_eq!(folds("base, asleep"), 1);
    assert!(searched.trials.len() < 3 * settings.len());

    // By clean labels, which the search has not seen, the planted setting is the best too.
    let test = Matrix::new(&x[TRAIN_ROWS * WIDTH..], WIDTH).unwrap();
    let clean_accuracy = |setting: &Setting| {
        let mut trainer = Trainer::new(setting.train.clone(), vec![setting.arm.clone()], 10, train, None).unwrap();
        trainer.run(&mut Silent).unwrap();
        let model = trainer.finish().unwrap().remove(0).model;
        accuracy(&model.predict(test).unwrap(), &clean[TRAIN_ROWS..]).unwrap()
    };
    let oracle =
        settings.iter().filter(|s| s.name != "wild").max_by(|a, b| clean_accuracy(a).total_cmp(&clean_accuracy(b)));
    assert_eq!(oracle.unwrap().name, "planted");
}

#[test]
fn a_search_that_was_stopped_ends_in_the_same_trials() {
    let (x, _, observed) = digits();
    let train = Examples::new(Matrix::new(&x[..TRAIN_ROWS * WIDTH], WIDTH).unwrap(), &observed);
    let settings = settings();
    let whole = search(&config(), &settings, train, 10, Vec::new(), &mut Count::default()).unwrap();
    let stopped = search(&config(), &settings, train, 10, Vec::new(), &mut StopIn(1, 0)).unwrap();
    assert!(!stopped.complete);
    assert_eq!(stopped.trials, whole.trials[..settings.len()]);
    // A fold of which a part is known is run again as a whole.
    let mut half = stopped.trials;
    half.push(whole.trials[settings.len()].clone());
    assert_eq!(search(&config(), &settings, train, 10, half, &mut Count::default()).unwrap(), whole);
    // Nothing is left to train when everything is known.
    let known = whole.trials.clone();
    assert_eq!(search(&config(), &settings, train, 10, known, &mut StopIn(0, 0)).unwrap(), whole);
}

#[test]
fn threads_do_not_change_a_trial() {
    let (x, _, observed) = digits();
    let train = Examples::new(Matrix::new(&x[..400 * WIDTH], WIDTH).unwrap(), &observed[..400]);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| search(&config(), &settings(), train, 10, Vec::new(), &mut Count::default()).unwrap())
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn settings_without_names_of_their_own_are_refused() {
    let (x, _, observed) = digits();
    let train = Examples::new(Matrix::new(&x[..100 * WIDTH], WIDTH).unwrap(), &observed[..100]);
    let twice = [settings(), settings()].concat();
    assert!(search(&config(), &twice, train, 10, Vec::new(), &mut Count::default()).is_err());
    assert!(search(&config(), &[], train, 10, Vec::new(), &mut Count::default()).is_err());
}
