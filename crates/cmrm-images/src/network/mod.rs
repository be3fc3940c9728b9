//! Networks, and their parameters in one flat tensor.

mod cnn;
mod layer;
mod params;
mod resnet;

pub use params::Parameters;

use serde::{Deserialize, Serialize};
use tch::{Device, Tensor};

use crate::error::{Error, Result};
use cnn::Cnn;
use layer::Head;
use params::Layout;
use resnet::ResNet;

/// Which network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// Three convolutions, for 28×28 pixels.
    Cnn,
    /// CIFAR's residual network with 20 layers (the paper's).
    Resnet20,
    /// With 32 layers.
    Resnet32,
    /// With 56 layers.
    Resnet56,
    /// The 18-layer residual network for 64 to 224 pixels.
    Resnet18,
}

impl Architecture {
    /// Smallest side of an image that all halvings leave something of.
    fn smallest_side(self) -> i64 {
        match self {
            Architecture::Resnet18 => 32,
            _ => 4,
        }
    }
}

#[derive(Debug)]
enum Body {
    Cnn(Cnn),
    ResNet(ResNet),
}

/// A network without its numbers: several trainings may share one.
#[derive(Debug)]
pub struct Network {
    body: Body,
    head: Head,
    layout: Layout,
}

impl Network {
    /// A network for images of `channels` × `side` × `side`; a cosine head is LDAM's.
    pub fn new(architecture: Architecture, channels: i64, side: i64, classes: i64, cosine: bool) -> Result<Self> {
        let least = architecture.smallest_side();
        if side < least {
            return Err(Error::settings(format!(
                "the images have a side of {side} pixels, but {architecture:?} needs at least {least}"
            )));
        }
        let mut layout = Layout::default();
        let body = match architecture {
            Architecture::Cnn => Body::Cnn(Cnn::new(&mut layout, channels)),
            Architecture::Resnet20 => Body::ResNet(ResNet::cifar(&mut layout, channels, 3)),
            Architecture::Resnet32 => Body::ResNet(ResNet::cifar(&mut layout, channels, 5)),
            Architecture::Resnet56 => Body::ResNet(ResNet::cifar(&mut layout, channels, 9)),
            Architecture::Resnet18 => Body::ResNet(ResNet::eighteen(&mut layout, channels)),
        };
        let features = match &body {
            Body::Cnn(cnn) => cnn.features(),
            Body::ResNet(resnet) => resnet.features(),
        };
        let head = Head::new(&mut layout, features, classes, cosine);
        Ok(Network { body, head, layout })
    }

    /// Fresh parameters for a seed; the same numbers on every device.
    pub fn parameters(&self, seed: u64, device: Device, mixed: bool) -> Parameters {
        Parameters::new(self.layout.clone(), seed, device, mixed)
    }

    /// What the last layer sees: one row of features an image. `images` are channels last in memory; with `train`,
    /// batch normalisation uses the batch and moves its running statistics.
    pub fn features(&self, parameters: &Parameters, images: &Tensor, train: bool) -> Tensor {
        match &self.body {
            Body::Cnn(cnn) => cnn.forward(parameters, images, train),
            Body::ResNet(resnet) => resnet.forward(parameters, images, train),
        }
    }

    /// Logits, before any scale.
    pub fn logits(&self, parameters: &Parameters, images: &Tensor, train: bool) -> Tensor {
        self.classify(parameters, &self.features(parameters, images, train))
    }

    /// Logits of features.
    pub fn classify(&self, parameters: &Parameters, features: &Tensor) -> Tensor {
        self.head.forward(parameters, features)
    }
}
