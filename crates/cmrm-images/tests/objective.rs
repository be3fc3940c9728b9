//! The tensor form of losses and envelope against the library's kernel.

use cmrm::Matrix;
use cmrm::envelope::{
    Batch, Envelope, EnvelopeConfig, Fade, Filter, MarginKind, Objective, Preset, RowMemory, Scale, Scope, Scratch,
};
use cmrm::loss::LossConfig;
use cmrm::rng::Rng;
use cmrm_images::objective::{Evaluated, TensorLoss};
use cmrm_images::train::RunningMargins;
use tch::{Device, Kind, Tensor};

const TOLERANCE: f64 = 1e-5;

fn losses() -> [LossConfig; 9] {
    [
        LossConfig::CrossEntropy,
        LossConfig::Focal { gamma: 1.0 },
        LossConfig::Focal { gamma: 2.0 },
        LossConfig::Gce { q: 0.7 },
        LossConfig::Gce { q: 0.3 },
        LossConfig::Sce { alpha: 0.1, beta: 1.0 },
        LossConfig::LabelSmoothing { epsilon: 0.1 },
        LossConfig::LabelSmoothing { epsilon: 0.6 },
        LossConfig::Ldam { max_margin: 0.5, scale: 30.0 },
    ]
}

struct Case {
    logits: Vec<f32>,
    labels: Vec<u32>,
    classes: usize,
    counts: Vec<f64>,
}

fn case(rows: usize, classes: usize, loss: &LossConfig, seed: u64) -> Case {
    let mut rng = Rng::new(seed, 0);
    // Cosines for LDAM, plain logits of a half-trained network for the others.
    let spread = if matches!(loss, LossConfig::Ldam { .. }) { 0.4 } else { 3.0 };
    let labels: Vec<u32> = (0..rows).map(|_| rng.below(classes) as u32).collect();
    let counts = (0..classes).map(|_| rng.below(500) as f64).collect();
    let mut logits: Vec<f32> = (0..rows * classes).map(|_| (spread * rng.normal()) as f32).collect();
    for (row, &label) in labels.iter().enumerate() {
        if row % 3 > 0 {
            logits[row * classes + label as usize] += 2.0 * spread as f32;
        }
    }
    Case { logits, labels, classes, counts }
}

fn close(what: &str, ours: &[f32], kernel: &[f64]) {
    assert_eq!(ours.len(), kernel.len(), "{what}");
    for (at, (&ours, &kernel)) in ours.iter().zip(kernel).enumerate() {
        let error = (f64::from(ours) - kernel).abs() / kernel.abs().max(1.0);
        assert!(error < TOLERANCE, "{what}[{at}]: tensor {ours}, kernel {kernel}");
    }
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    Vec::<f32>::try_from(&tensor.to_kind(Kind::Float).contiguous().view([-1])).unwrap()
}

fn evaluate(
    case: &Case,
    loss: LossConfig,
    envelope: Option<&Envelope>,
    remember: &dyn Fn(&Tensor) -> Tensor,
) -> Evaluated {
    let labels: Vec<i64> = case.labels.iter().map(|&label| i64::from(label)).collect();
    let logits = Tensor::from_slice(&case.logits).view([-1, case.classes as i64]);
    let tensor_loss = TensorLoss::new(loss, &case.counts, Device::Cpu).unwrap();
    tensor_loss.evaluate(&logits, &Tensor::from_slice(&labels), envelope, remember).unwrap()
}

/// What the two forms remember of the rows, and which rows the batch holds.
struct Memories<'a> {
    kernel: &'a mut RowMemory<f64>,
    tensors: &'a RunningMargins,
    identities: &'a [u32],
}

/// Evaluates a batch in both forms. Returns the kernel's λ as it counted.
fn compare(case: &Case, loss: LossConfig, envelope: Option<Envelope>, memories: Option<Memories<'_>>) -> f64 {
    let wide: Vec<f64> = case.logits.iter().map(|&z| f64::from(z)).collect();
    let objective = Objective { loss: loss.validate(&case.counts).unwrap(), envelope };
    let (mut gradient, mut scratch) = (vec![0.0; wide.len()], Scratch::default());
    let batch = Batch::new(Matrix::new(&wide, case.classes).unwrap(), &case.labels);
    let (outcome, ours) = match memories {
        None => {
            let outcome = objective.evaluate(&batch, &mut gradient, &mut scratch).unwrap();
            (outcome, evaluate(case, loss, envelope.as_ref(), &Tensor::shallow_clone))
        }
        Some(Memories { kernel, tensors, identities }) => {
            let batch = batch.with_identities(Some(identities));
            let outcome = objective.evaluate_remembering(&batch, Some(kernel), &mut gradient, &mut scratch).unwrap();
            let rows: Vec<i64> = identities.iter().map(|&row| i64::from(row)).collect();
            let rows = Tensor::from_slice(&rows);
            (outcome, evaluate(case, loss, envelope.as_ref(), &|margins| tensors.update(&rows, margins)))
        }
    };
    let what = format!("{loss:?} {:?} {}×{}", envelope.map(|e| *e.config()), case.labels.len(), case.classes);
    close(&format!("{what}: base"), &numbers(&ours.base), &[outcome.base]);
    close(&format!("{what}: risk"), &numbers(&ours.risk), &[outcome.risk]);
    close(&format!("{what}: total"), &numbers(&ours.total), &[outcome.total]);
    close(&format!("{what}: margins"), &numbers(&ours.margins), scratch.margins());
    close(&format!("{what}: weights"), &numbers(&ours.weights), scratch.weights());
    close(&format!("{what}: gradient"), &numbers(&ours.gradient), &gradient);
    outcome.lambda
}

fn compare_once(loss: LossConfig, envelope: Option<Envelope>, rows: usize, classes: usize) {
    compare(&case(rows, classes, &loss, 7 + rows as u64), loss, envelope, None);
}

#[test]
fn agrees_with_the_kernel() {
    for loss in losses() {
        for (rows, classes) in [(128, 100), (33, 10), (2, 3)] {
            compare_once(loss, None, rows, classes);
            for preset in Preset::ALL {
                compare_once(loss, Some(preset.config(&loss).validate().unwrap()), rows, classes);
            }
        }
    }
}

#[test]
fn every_form_of_the_envelope_agrees() {
    for loss in losses() {
        for preset in Preset::ALL {
            let config = preset.config(&loss);
            for varied in [
                EnvelopeConfig { scope: Scope::Class, ..config },
                EnvelopeConfig { ceiling: Some(0.0), ..config },
                EnvelopeConfig { scale: Scale::Doubt, ..config },
                EnvelopeConfig { filter: Filter::Hard, ..config },
                EnvelopeConfig { filter: Filter::Off, ..config },
                EnvelopeConfig { scope: Scope::Class, ceiling: Some(0.1), scale: Scale::Doubt, ..config },
                EnvelopeConfig { lambda: 10.0, limit: Some(0.5), ..config },
            ] {
                // Twelve rows a class, and a class now and then with fewer than eight.
                let Ok(envelope) = varied.validate() else {
                    assert_eq!((varied.margin, varied.scale), (MarginKind::Loss, Scale::Doubt), "refused");
                    continue;
                };
                compare_once(loss, Some(envelope), 48, 4);
                compare_once(loss, Some(envelope), 128, 100);
            }
        }
    }
}

/// Every new setting alone, and all of them together. A third of the rows are in doubt, so the fade's share lies above that.
fn filters() -> Vec<EnvelopeConfig> {
    let robust = EnvelopeConfig {
        lambda: 10.0,
        alpha: 0.5,
        temperature: 0.2,
        scope: Scope::Class,
        ceiling: Some(0.0),
        scale: Scale::Doubt,
        filter_base: false,
        running: None,
        limit: None,
        fade: None,
        ..Preset::Paper.config(&LossConfig::CrossEntropy)
    };
    let fade = Some(Fade { margin: -0.3, share: 0.8 });
    let filtered = EnvelopeConfig { filter_base: true, ..robust };
    let all = EnvelopeConfig { running: Some(0.7), limit: Some(1.0), fade, ..filtered };
    vec![
        filtered,
        EnvelopeConfig { filter_base: true, running: Some(0.9), ..robust },
        EnvelopeConfig { limit: Some(1.0), ..robust },
        EnvelopeConfig { limit: Some(1e6), ..robust },
        EnvelopeConfig { fade, ..robust },
        EnvelopeConfig { running: Some(0.7), fade, ..robust },
        all,
        EnvelopeConfig { fade: None, ..all },
        EnvelopeConfig { lambda: 0.0, ..all },
        EnvelopeConfig { scope: Scope::Batch, ceiling: None, scale: Scale::Fixed, ..all },
        EnvelopeConfig { filter: Filter::Hard, ..all },
        EnvelopeConfig { filter: Filter::Off, ..all },
    ]
}

#[test]
fn the_filtered_base_agrees_over_several_steps_with_and_without_identities() {
    const ROWS: usize = 96;
    // One of each kind; the test above has the others.
    for loss in [0, 3, 5, 6, 8].map(|at| losses()[at]) {
        for config in filters() {
            let envelope = config.validate().unwrap();
            for (batch, classes) in [(48, 4), (64, 100), (1, 3)] {
                let beta = config.running.unwrap_or(0.0);
                let tensors = RunningMargins::new(beta, ROWS, Device::Cpu);
                let kept = config.running.map(|beta| cmrm::envelope::RunningMargins::new(ROWS, beta));
                let mut kernel = RowMemory { running: kept, ..RowMemory::default() };
                let mut limited = false;
                for step in 0..4 {
                    let case = case(batch, classes, &loss, 11 + step);
                    // Rows come again with other logits, some later than others.
                    let identities: Vec<u32> =
                        Rng::new(step, 1).permutation(ROWS)[..batch].iter().map(|&row| row as u32).collect();
                    // Margins are kept while the envelope is still off.
                    let envelope = (step > 0).then_some(envelope);
                    let memories = Memories { kernel: &mut kernel, tensors: &tensors, identities: &identities };
                    let memories = config.running.is_some().then_some(memories);
                    let lambda = compare(&case, loss, envelope, memories);
                    limited |= lambda < config.lambda;
                    compare(&case, loss, envelope, None);
                }
                let bites = config.fade.is_some() || config.limit == Some(1.0);
                assert!(limited || !bites || config.lambda == 0.0 || batch == 1, "{config:?} never lowered λ");
            }
        }
    }
}

#[test]
fn without_a_doubtful_row_the_step_is_the_bases_to_the_last_bit() {
    let fade = Some(Fade { margin: -1.0, share: 0.1 });
    for loss in losses() {
        for config in filters() {
            let envelope = EnvelopeConfig { fade, ..config }.validate().unwrap();
            let case = case(48, 4, &loss, 3);
            let base = evaluate(&case, loss, None, &Tensor::shallow_clone);
            let faded = evaluate(&case, loss, Some(&envelope), &Tensor::shallow_clone);
            assert_eq!(numbers(&faded.gradient), numbers(&base.gradient), "{loss:?} {config:?}");
        }
    }
}

#[test]
fn losses_of_two_classes_are_refused() {
    let refused = TensorLoss::new(LossConfig::Hinge, &[1.0, 1.0], Device::Cpu);
    assert!(refused.unwrap_err().to_string().contains("hinge"));
}
