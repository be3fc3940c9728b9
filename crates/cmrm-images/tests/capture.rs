//! A step captured into a graph against the same step run kernel by kernel, on a card:
//! `cargo test --release -p cmrm-images --test capture -- --ignored`.

use cmrm::envelope::{Envelope, EnvelopeConfig, Fade, Preset};
use cmrm::loss::LossConfig;
use cmrm::rng::Rng;
use cmrm_images::cuda::Cuda;
use cmrm_images::network::{Architecture, Network};
use cmrm_images::objective::TensorLoss;
use cmrm_images::train::{Optimiser, RunningMargins, Step};
use tch::{Device, Tensor};

/// About twelve rows a class in a batch: most classes have a threshold of their own.
const CLASSES: usize = 4;
const BATCH: usize = 48;
const STEPS: usize = 3;

/// A step on the card, the same every time.
fn step(loss: LossConfig) -> Step {
    let device = Device::Cuda(0);
    let network = Network::new(Architecture::Cnn, 1, 28, CLASSES as i64, false).unwrap();
    let parameters = network.parameters(3, device, false);
    let loss = TensorLoss::new(loss, &[1.0; CLASSES], device).unwrap();
    let optimiser = Optimiser { momentum: 0.9, weight_decay: 2e-4 };
    let mut step = Step::new(network, parameters, loss, optimiser, BATCH, STEPS * BATCH, [28, 28, 1]);
    let mut rng = Rng::new(5, 0);
    let pixels: Vec<f32> = (0..STEPS * BATCH * 784).map(|_| rng.normal() as f32).collect();
    let labels: Vec<i64> = (0..STEPS * BATCH).map(|_| rng.below(CLASSES) as i64).collect();
    step.images.shallow_clone().copy_(&Tensor::from_slice(&pixels).view(step.images.size().as_slice()));
    step.labels.shallow_clone().copy_(&Tensor::from_slice(&labels));
    // The last batch holds the rows of the first again.
    let identities: Vec<i64> = (0..STEPS * BATCH).map(|row| (row % ((STEPS - 1) * BATCH)) as i64).collect();
    step.identities.shallow_clone().copy_(&Tensor::from_slice(&identities));
    step.running = [0.7, 0.9].map(|beta| RunningMargins::new(beta, (STEPS - 1) * BATCH, device)).into();
    step.set_rate(0.01);
    step
}

/// What steps leave behind, by name.
fn left(step: &Step) -> [(&'static str, Vec<f32>); 7] {
    let numbers = |tensor: &Tensor| Vec::<f32>::try_from(&tensor.to_device(Device::Cpu)).unwrap();
    [
        ("sums", numbers(&step.sums)),
        ("margins", numbers(&step.margins)),
        ("weights", numbers(&step.weights)),
        ("velocity", numbers(&step.velocity)),
        ("parameters", numbers(&step.parameters.flat)),
        ("running margins, β 0.7", numbers(&step.running[0].values)),
        ("running margins, β 0.9", numbers(&step.running[1].values)),
    ]
}

fn compare(cuda: &'static Cuda, loss: LossConfig, envelope: Option<Envelope>) {
    let (eager, captured) = (step(loss), step(loss));
    let graph = captured.capture(cuda, envelope.as_ref()).unwrap();
    captured.rewind();
    for _ in 0..STEPS {
        eager.run(envelope.as_ref()).unwrap();
        graph.replay().unwrap();
    }
    cuda.synchronise().unwrap();
    for ((name, eager), (_, captured)) in left(&eager).iter().zip(&left(&captured)) {
        for (at, (one, other)) in eager.iter().zip(captured).enumerate() {
            let what = format!("{name}[{at}] of {loss:?} with {envelope:?}");
            assert!((one - other).abs() <= 1e-4 * one.abs().max(1.0), "{what}: {one} eager, {other} captured");
        }
    }
}

#[test]
#[ignore = "needs a CUDA card"]
fn a_captured_step_does_what_the_step_does() {
    let cuda = Cuda::load().unwrap();
    cuda.allow_tf32(false).unwrap();
    cuda.enter_stream(false).unwrap();
    for loss in [
        LossConfig::CrossEntropy,
        LossConfig::Gce { q: 0.7 },
        LossConfig::Sce { alpha: 0.1, beta: 1.0 },
        LossConfig::LabelSmoothing { epsilon: 0.1 },
    ] {
        compare(cuda, loss, None);
        let fade = Some(Fade { margin: -0.3, share: 0.8 });
        let robust = Preset::Robust.config(&loss);
        let filtered = EnvelopeConfig { filter_base: true, running: Some(0.7), limit: Some(1.0), fade, ..robust };
        compare(cuda, loss, Some(filtered.validate().unwrap()));
        compare(cuda, loss, Some(EnvelopeConfig { fade: None, running: None, ..filtered }.validate().unwrap()));
        for preset in Preset::ALL {
            compare(cuda, loss, Some(preset.config(&loss).validate().unwrap()));
        }
    }
}
