//! A step captured into a graph against the same step run kernel by kernel, on a card:
//! `cargo test --release -p cmrm-images --test capture -- --ignored`.

use cmrm::envelope::{Envelope, Preset};
use cmrm::loss::LossConfig;
use cmrm::rng::Rng;
use cmrm_images::cuda::Cuda;
use cmrm_images::network::{Architecture, Network};
use cmrm_images::objective::TensorLoss;
use cmrm_images::train::{Optimiser, Step};
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
    let step = Step::new(network, parameters, loss, optimiser, BATCH, STEPS * BATCH, [28, 28, 1]);
    let mut rng = Rng::new(5, 0);
    let pixels: Vec<f32> = (0..STEPS * BATCH * 784).map(|_| rng.normal() as f32).collect();
    let labels: Vec<i64> = (0..STEPS * BATCH).map(|_| rng.below(CLASSES) as i64).collect();
    step.images.shallow_clone().copy_(&Tensor::from_slice(&pixels).view(step.images.size().as_slice()));
    step.labels.shallow_clone().copy_(&Tensor::from_slice(&labels));
    step.set_rate(0.01);
    step
}

/// What steps leave behind, by name.
fn left(step: &Step) -> [(&'static str, Vec<f32>); 5] {
    let numbers = |tensor: &Tensor| Vec::<f32>::try_from(&tensor.to_device(Device::Cpu)).unwrap();
    [
        ("sums", numbers(&step.sums)),
        ("margins", numbers(&step.margins)),
        ("weights", numbers(&step.weights)),
        ("velocity", numbers(&step.velocity)),
        ("parameters", numbers(&step.parameters.flat)),
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
    for loss in [LossConfig::CrossEntropy, LossConfig::Gce { q: 0.7 }] {
        compare(cuda, loss, None);
        for preset in Preset::ALL {
            compare(cuda, loss, Some(preset.config(&loss).validate().unwrap()));
        }
    }
}
