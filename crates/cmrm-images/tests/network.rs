//! Shapes, sizes and layouts of networks.

use cmrm_images::network::{Architecture, Network};
use tch::{Device, Kind, Tensor, no_grad};

fn images(rows: i64, channels: i64, side: i64) -> Tensor {
    let values = Tensor::arange(rows * channels * side * side, (Kind::Float, Device::Cpu)).sin();
    values.view([rows, side, side, channels]).permute([0, 3, 1, 2])
}

#[test]
fn parameters_are_as_many_as_published() {
    // Option A has no parameters in its shortcuts: 0.27, 0.46 and 0.85 million for CIFAR-10.
    for (architecture, expected) in
        [(Architecture::Resnet20, 269_722), (Architecture::Resnet32, 464_154), (Architecture::Resnet56, 853_018)]
    {
        let network = Network::new(architecture, 3, 32, 10, false).unwrap();
        assert_eq!(network.parameters(0, Device::Cpu, false).flat.numel(), expected);
    }
    let large = Network::new(Architecture::Resnet18, 3, 224, 1000, false).unwrap();
    assert_eq!(large.parameters(0, Device::Cpu, false).flat.numel(), 11_689_512);
}

#[test]
fn logits_have_a_row_an_image() {
    for (architecture, channels, side, features) in [
        (Architecture::Cnn, 1, 28, 128),
        (Architecture::Resnet20, 3, 32, 64),
        (Architecture::Resnet32, 3, 32, 64),
        (Architecture::Resnet18, 3, 64, 512),
    ] {
        for cosine in [false, true] {
            let network = Network::new(architecture, channels, side, 7, cosine).unwrap();
            let parameters = network.parameters(3, Device::Cpu, false);
            for train in [true, false] {
                let x = images(4, channels, side);
                let logits = no_grad(|| network.logits(&parameters, &x, train));
                assert_eq!(logits.size(), [4, 7]);
                assert!(logits.isfinite().all().int64_value(&[]) == 1);
                if cosine {
                    assert!(logits.abs().max().double_value(&[]) <= 1.0 + 1e-5);
                }
                assert_eq!(network.features(&parameters, &x, false).size(), [4, features]);
            }
        }
    }
}

#[test]
fn training_moves_the_running_statistics_and_judging_does_not() {
    let network = Network::new(Architecture::Resnet20, 3, 32, 10, false).unwrap();
    let parameters = network.parameters(0, Device::Cpu, false);
    let x = images(8, 3, 32);
    let before = parameters.running.copy();
    let _ = no_grad(|| network.logits(&parameters, &x, false));
    assert_eq!(parameters.running, before);
    let _ = no_grad(|| network.logits(&parameters, &x, true));
    assert_ne!(parameters.running, before);
}

#[test]
fn the_flat_gradient_is_that_of_finite_differences() {
    let network = Network::new(Architecture::Cnn, 1, 28, 4, false).unwrap();
    let parameters = network.parameters(5, Device::Cpu, false);
    let x = images(6, 1, 28);
    let labels = Tensor::from_slice(&[0i64, 1, 2, 3, 0, 1]);
    let loss = || network.logits(&parameters, &x, true).cross_entropy_for_logits(&labels);
    let gradient = parameters.gradient(&loss()).unwrap();
    assert_eq!(gradient.size(), parameters.flat.size());
    // Along the gradient itself the loss rises by the square of its length: every entry is in its place.
    let direction = &gradient / gradient.norm();
    let step = 2e-3;
    let at = |distance: f64| {
        no_grad(|| {
            let mut flat = parameters.flat.shallow_clone();
            let _ = flat.g_add_(&(&direction * distance));
            let value = loss().double_value(&[]);
            let _ = flat.g_sub_(&(&direction * distance));
            value
        })
    };
    let slope = (at(step) - at(-step)) / (2.0 * step);
    let length = gradient.norm().double_value(&[]);
    assert!((slope / length - 1.0).abs() < 0.02, "slope {slope}, length {length}");
}

#[test]
fn mixed_precision_stays_near_single() {
    let network = Network::new(Architecture::Resnet20, 3, 32, 10, false).unwrap();
    let x = images(8, 3, 32);
    let single = network.parameters(1, Device::Cpu, false);
    let mixed = network.parameters(1, Device::Cpu, true);
    let expected = no_grad(|| network.logits(&single, &x, true));
    let found = no_grad(|| network.logits(&mixed, &x.to_kind(Kind::BFloat16), true));
    let error = (&expected - &found).norm().double_value(&[]) / expected.norm().double_value(&[]);
    assert!(error < 0.05, "relative error {error}");
}

#[test]
fn images_too_small_are_refused() {
    let refused = Network::new(Architecture::Resnet18, 3, 16, 10, false).unwrap_err();
    assert!(refused.to_string().contains("16 pixels"));
}
