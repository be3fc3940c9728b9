//! The tensor form of losses and envelope against the library's kernel.

use cmrm::Matrix;
use cmrm::envelope::{Batch, Envelope, EnvelopeConfig, Filter, MarginKind, Objective, Preset, Scale, Scope, Scratch};
use cmrm::loss::LossConfig;
use cmrm::rng::Rng;
use cmrm_images::objective::TensorLoss;
use tch::{Device, Kind, Tensor};

const TOLERANCE: f64 = 1e-5;

fn losses() -> [LossConfig; 6] {
    [
        LossConfig::CrossEntropy,
        LossConfig::Focal { gamma: 1.0 },
        LossConfig::Focal { gamma: 2.0 },
        LossConfig::Gce { q: 0.7 },
        LossConfig::Gce { q: 0.3 },
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

fn compare(loss: LossConfig, envelope: Option<Envelope>, rows: usize, classes: usize) {
    let case = case(rows, classes, &loss, 7 + rows as u64);
    let wide: Vec<f64> = case.logits.iter().map(|&z| f64::from(z)).collect();
    let base = loss.validate(&case.counts).unwrap();
    let objective = Objective { loss: base, envelope };
    let (mut gradient, mut scratch) = (vec![0.0; wide.len()], Scratch::default());
    let batch = Batch::new(Matrix::new(&wide, classes).unwrap(), &case.labels);
    let outcome = objective.evaluate(&batch, &mut gradient, &mut scratch).unwrap();

    let labels: Vec<i64> = case.labels.iter().map(|&label| i64::from(label)).collect();
    let logits = Tensor::from_slice(&case.logits).view([rows as i64, case.classes as i64]).set_requires_grad(true);
    let tensor_loss = TensorLoss::new(loss, &case.counts, Device::Cpu).unwrap();
    let ours = tensor_loss.evaluate(&logits, &Tensor::from_slice(&labels), envelope.as_ref());
    let ours_gradient = Tensor::run_backward(&[&ours.total], &[&logits], false, false).remove(0);
    let numbers = |tensor: &Tensor| Vec::<f32>::try_from(&tensor.to_kind(Kind::Float).contiguous().view([-1])).unwrap();

    let what = format!("{loss:?} {:?} {rows}×{classes}", envelope.map(|e| *e.config()));
    close(&format!("{what}: base"), &numbers(&ours.base), &[outcome.base]);
    close(&format!("{what}: risk"), &numbers(&ours.risk), &[outcome.risk]);
    close(&format!("{what}: total"), &numbers(&ours.total), &[outcome.total]);
    close(&format!("{what}: margins"), &numbers(&ours.margins), scratch.margins());
    close(&format!("{what}: weights"), &numbers(&ours.weights), scratch.weights());
    close(&format!("{what}: gradient"), &numbers(&ours_gradient), &gradient);
}

#[test]
fn agrees_with_the_kernel() {
    for loss in losses() {
        for (rows, classes) in [(128, 100), (33, 10), (2, 3)] {
            compare(loss, None, rows, classes);
            for preset in Preset::ALL {
                compare(loss, Some(preset.config(&loss).validate().unwrap()), rows, classes);
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
            ] {
                // Twelve rows a class, and a class now and then with fewer than eight.
                let Ok(envelope) = varied.validate() else {
                    assert_eq!((varied.margin, varied.scale), (MarginKind::Loss, Scale::Doubt), "refused");
                    continue;
                };
                compare(loss, Some(envelope), 48, 4);
                compare(loss, Some(envelope), 128, 100);
            }
        }
    }
}

#[test]
fn losses_of_two_classes_are_refused() {
    let refused = TensorLoss::new(LossConfig::Hinge, &[1.0, 1.0], Device::Cpu);
    assert!(refused.unwrap_err().to_string().contains("hinge"));
}
