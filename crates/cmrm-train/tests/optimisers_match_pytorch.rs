//! SGD, Adam and AdamW against PyTorch on recorded gradients, and the schedules against torch.optim.lr_scheduler.

use cmrm::Scalar;
use cmrm_train::optim::{DecayMask, Optimiser, OptimiserConfig, Snapshot};
use cmrm_train::schedule::ScheduleConfig;
use serde::Deserialize;

#[derive(Deserialize)]
struct Steps {
    initial: Vec<f64>,
    gradients: Vec<Vec<f64>>,
    decayed: usize,
    drop_at: usize,
    drop_factor: f64,
    shown: Vec<usize>,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    name: String,
    lr: f64,
    config: OptimiserConfig,
    masked: bool,
    float64: Vec<Vec<f64>>,
    float32: Vec<Vec<f64>>,
}

fn recorded() -> Steps {
    serde_json::from_str(include_str!("reference/optimiser_steps.json")).unwrap()
}

fn cast<T: Scalar>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&value| T::from_f64(value)).collect()
}

fn optimiser<T: Scalar>(steps: &Steps, run: &Run) -> Optimiser<T> {
    let length = steps.initial.len();
    let biases = if run.masked { steps.decayed..length } else { length..length };
    let mask = DecayMask::sparing(length, std::slice::from_ref(&biases)).unwrap();
    Optimiser::new(run.config.validate().unwrap(), mask)
}

fn rate(steps: &Steps, run: &Run, step: usize) -> f64 {
    if step < steps.drop_at { run.lr } else { run.lr * steps.drop_factor }
}

/// Largest difference from the recording, relative to max(1, |recorded|).
fn distance<T: Scalar>(steps: &Steps, run: &Run, recorded: &[Vec<f64>]) -> f64 {
    let mut parameters = cast::<T>(&steps.initial);
    let mut optimiser = optimiser::<T>(steps, run);
    let mut shown = recorded.iter();
    let mut most = 0.0f64;
    for (step, gradient) in steps.gradients.iter().enumerate() {
        optimiser.step(&mut parameters, &cast::<T>(gradient), rate(steps, run, step)).unwrap();
        if steps.shown.contains(&(step + 1)) {
            for (&ours, &theirs) in parameters.iter().zip(shown.next().unwrap()) {
                most = most.max((ours.to_f64() - theirs).abs() / theirs.abs().max(1.0));
            }
        }
    }
    assert!(shown.next().is_none());
    assert_eq!(optimiser.steps(), steps.gradients.len() as u64);
    most
}

#[test]
fn every_optimiser_follows_pytorch() {
    let steps = recorded();
    assert_eq!(steps.runs.len(), 11);
    for run in &steps.runs {
        let (double, single) = (distance::<f64>(&steps, run, &run.float64), distance::<f32>(&steps, run, &run.float32));
        assert!(double < 1e-14, "{} (masked {}): {double:e} in 64 bits", run.name, run.masked);
        assert!(single < 2e-6, "{} (masked {}): {single:e} in 32 bits", run.name, run.masked);
    }
}

#[test]
fn the_recording_tells_masked_from_unmasked() {
    let steps = recorded();
    for run in steps.runs.iter().filter(|run| run.masked) {
        let all = steps.runs.iter().find(|other| other.name == run.name && !other.masked).unwrap();
        let (with, without) = (run.float64.last().unwrap(), all.float64.last().unwrap());
        assert_eq!(with[..steps.decayed], without[..steps.decayed]);
        assert_ne!(with[steps.decayed..], without[steps.decayed..]);
    }
}

#[test]
fn a_restored_optimiser_continues_to_the_same_bits() {
    let steps = recorded();
    for run in &steps.runs {
        let gradients: Vec<Vec<f32>> = steps.gradients.iter().map(|gradient| cast(gradient)).collect();
        let mut parameters = cast::<f32>(&steps.initial);
        let mut first = optimiser::<f32>(&steps, run);
        let mut saved: Option<(Vec<f32>, Snapshot<f32>)> = None;
        for (step, gradient) in gradients.iter().enumerate() {
            if step == 20 {
                let text = serde_json::to_string(&first.snapshot()).unwrap();
                saved = Some((parameters.clone(), serde_json::from_str(&text).unwrap()));
            }
            first.step(&mut parameters, gradient, rate(&steps, run, step)).unwrap();
        }
        let (mut resumed, snapshot) = saved.unwrap();
        let mut second = optimiser::<f32>(&steps, run);
        second.restore(&snapshot).unwrap();
        for (step, gradient) in gradients.iter().enumerate().skip(20) {
            second.step(&mut resumed, gradient, rate(&steps, run, step)).unwrap();
        }
        assert_eq!(resumed, parameters, "{}", run.name);
        assert_eq!(second.snapshot(), first.snapshot());

        // After a reset it is a fresh one.
        second.reset();
        assert_eq!(second.snapshot(), optimiser::<f32>(&steps, run).snapshot());
    }
}

#[test]
fn the_width_of_the_vector_does_not_matter() {
    // 1000 parameters, in one piece and cut into runs that do not fit any register: the same bits.
    let gradient: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.7).sin()).collect();
    let start: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.3).cos()).collect();
    for text in [r#"{"kind":"adam"}"#, r#"{"kind":"sgd","momentum":0.9}"#, r#"{"kind":"adamw"}"#] {
        let config = serde_json::from_str::<OptimiserConfig>(text).unwrap().validate().unwrap();
        let (mut whole, mut parts) = (start.clone(), start.clone());
        let mut one = Optimiser::new(config, DecayMask::all(1000));
        let mut many: Vec<_> =
            parts.chunks(37).map(|part| Optimiser::new(config, DecayMask::all(part.len()))).collect();
        for _ in 0..5 {
            one.step(&mut whole, &gradient, 0.01).unwrap();
            for ((optimiser, part), gradient) in many.iter_mut().zip(parts.chunks_mut(37)).zip(gradient.chunks(37)) {
                optimiser.step(part, gradient, 0.01).unwrap();
            }
        }
        assert_eq!(whole, parts, "{text}");
    }
}

#[test]
fn wrong_inputs_are_refused_and_change_nothing() {
    let checked = |text: &str| serde_json::from_str::<OptimiserConfig>(text).unwrap().validate().unwrap();
    let config = checked(r#"{"kind":"adam"}"#);
    let mut adam = Optimiser::<f32>::new(config, DecayMask::all(3));
    let mut parameters = [1.0f32, 2.0, 3.0];
    let error = adam.step(&mut parameters, &[0.0; 2], 0.1).unwrap_err().to_string();
    assert!(error.contains("expected 3, found 2"), "{error}");
    assert!(adam.step(&mut parameters[..2], &[0.0; 3], 0.1).is_err());
    for lr in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(adam.step(&mut parameters, &[1.0; 3], lr).is_err());
    }
    assert_eq!((parameters, adam.steps()), ([1.0, 2.0, 3.0], 0));

    let other = Optimiser::<f32>::new(checked(r#"{"kind":"sgd","momentum":0.9}"#), DecayMask::all(3));
    assert!(adam.restore(&other.snapshot()).unwrap_err().to_string().contains("expected adam, found sgd"));
    let longer = Optimiser::<f32>::new(config, DecayMask::all(4));
    assert!(adam.restore(&longer.snapshot()).unwrap_err().to_string().contains("expected 3, found 4"));
    let mut plain = Optimiser::<f32>::new(checked(r#"{"kind":"sgd"}"#), DecayMask::all(3));
    assert!(plain.restore(&other.snapshot()).is_err());
}

#[test]
fn settings_out_of_range_are_refused() {
    for text in [
        r#"{"kind":"sgd","momentum":1.0}"#,
        r#"{"kind":"sgd","momentum":-0.1}"#,
        r#"{"kind":"sgd","nesterov":true}"#,
        r#"{"kind":"sgd","weight_decay":-1.0}"#,
        r#"{"kind":"adam","beta1":1.0}"#,
        r#"{"kind":"adam","beta2":-0.5}"#,
        r#"{"kind":"adam","eps":0.0}"#,
        r#"{"kind":"adamw","weight_decay":-0.5}"#,
    ] {
        let config: OptimiserConfig = serde_json::from_str(text).unwrap();
        assert!(config.validate().is_err(), "{text}");
    }
    assert!(serde_json::from_str::<OptimiserConfig>(r#"{"kind":"adam","beta3":0.9}"#).is_err());
    assert!(serde_json::from_str::<OptimiserConfig>(r#"{"kind":"rmsprop"}"#).is_err());
}

#[derive(Deserialize)]
struct Schedules {
    base: f64,
    total: u64,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    config: ScheduleConfig,
    rates: Vec<f64>,
}

#[test]
fn schedules_follow_pytorch() {
    let recorded: Schedules = serde_json::from_str(include_str!("reference/schedules.json")).unwrap();
    assert_eq!(recorded.cases.len(), 7);
    for case in recorded.cases {
        let schedule = case.config.validate(recorded.base).unwrap();
        for (epoch, &theirs) in case.rates.iter().enumerate() {
            // Three steps per epoch, all at the epoch's rate.
            for step in 3 * epoch as u64..3 * (epoch as u64 + 1) {
                let ours = schedule.lr_at(step, 3, 3 * recorded.total);
                assert!((ours - theirs).abs() < 1e-15, "{:?} at epoch {epoch}: {ours} against {theirs}", case.config);
            }
        }
    }
}
