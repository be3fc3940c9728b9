//! The layers that networks are made of.

use tch::{Kind, Tensor};

use super::params::{Init, Layout, ParameterId, Parameters, StatisticsId};

/// Share of a new batch in the running statistics, and the number that keeps a variance from zero: PyTorch's.
const MOMENTUM: f64 = 0.1;
const EPSILON: f64 = 1e-5;

/// A convolution without bias, followed by batch normalisation.
#[derive(Debug)]
pub(super) struct NormalisedConvolution {
    kernel: ParameterId,
    stride: i64,
    padding: i64,
    scale: ParameterId,
    shift: ParameterId,
    statistics: StatisticsId,
}

impl NormalisedConvolution {
    /// Keeps the size of the image but for the stride.
    pub fn new(layout: &mut Layout, out: i64, inputs: i64, kernel: i64, stride: i64) -> Self {
        NormalisedConvolution {
            kernel: layout.convolution(out, inputs, kernel),
            stride,
            padding: kernel / 2,
            scale: layout.dense(vec![out], Init::Constant(1.0)),
            shift: layout.dense(vec![out], Init::Constant(0.0)),
            statistics: layout.statistics(out),
        }
    }

    pub fn forward(&self, parameters: &Parameters, x: &Tensor, train: bool) -> Tensor {
        let stride = [self.stride; 2];
        let x = x.conv2d(parameters.get(self.kernel), None::<&Tensor>, stride, [self.padding; 2], [1, 1], 1);
        let (mean, variance) = parameters.statistics(self.statistics);
        let (scale, shift) = (parameters.get(self.scale), parameters.get(self.shift));
        x.batch_norm(Some(scale), Some(shift), Some(&mean), Some(&variance), train, MOMENTUM, EPSILON, true)
    }
}

/// From features to logits.
#[derive(Debug)]
pub(super) enum Head {
    /// `W x + b`.
    Linear { weight: ParameterId, bias: ParameterId },
    /// Cosines of the angles between the features and one direction a class (LDAM).
    Cosine { weight: ParameterId },
}

impl Head {
    pub fn new(layout: &mut Layout, features: i64, classes: i64, cosine: bool) -> Self {
        let shape = vec![classes, features];
        if cosine {
            return Head::Cosine { weight: layout.dense(shape, Init::UnitRows { width: features }) };
        }
        Head::Linear {
            weight: layout.dense(shape, Init::Kaiming { fan_in: features }),
            bias: layout.dense(vec![classes], Init::Constant(0.0)),
        }
    }

    pub fn forward(&self, parameters: &Parameters, features: &Tensor) -> Tensor {
        match self {
            Head::Linear { weight, bias } => features.linear(parameters.get(*weight), Some(parameters.get(*bias))),
            Head::Cosine { weight } => unit(features).linear(&unit(parameters.get(*weight)), None::<&Tensor>),
        }
    }
}

/// Rows of length one.
fn unit(rows: &Tensor) -> Tensor {
    rows / rows.norm_scalaropt_dim(2.0, [1i64].as_slice(), true).clamp_min(1e-12)
}

/// The mean over all pixels, in single precision.
pub(super) fn pool(x: &Tensor) -> Tensor {
    x.mean_dim([2i64, 3].as_slice(), false, Kind::Float)
}
