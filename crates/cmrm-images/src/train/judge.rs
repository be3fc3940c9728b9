//! Judging a network by images whose labels can be trusted.

use cmrm::Matrix;
use cmrm::conformal::{CalibrationSplit, ConformalConfig, RepeatConfig, repeat_splits};
use cmrm::metric::{accuracy, predicted_classes};
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor, no_grad};

use crate::data::Resident;
use crate::error::Result;
use crate::network::{Network, Parameters};

/// Images a pass.
const CHUNK: usize = 1000;
/// Calibration rows of each class, and splits, of the paper.
const CALIBRATION_PER_CLASS: usize = 50;
const SPLITS: usize = 10;

/// How a network did on the test images, by their clean labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Share of images whose most likely class is the label.
    pub accuracy: f64,
    /// Mean size of the prediction sets at coverage 0.9 (M.APSS), over ten calibration splits.
    pub mean_set_size: f64,
    /// Its standard deviation over the splits.
    pub set_size_deviation: f64,
    /// Share of sets that hold the label.
    pub coverage: f64,
}

/// What a network says of images: a row each.
pub struct Seen {
    /// What the last layer sees.
    pub features: Tensor,
    /// Logits, times the loss's scale.
    pub logits: Tensor,
}

impl Seen {
    /// Probabilities, row by row.
    pub fn probabilities(&self) -> Result<Vec<f32>> {
        numbers(&self.logits.softmax(1, Kind::Float))
    }
}

/// Numbers of a tensor, in memory's order of its indices.
pub fn numbers(tensor: &Tensor) -> Result<Vec<f32>> {
    Ok(Vec::<f32>::try_from(&tensor.to_kind(Kind::Float).to_device(tch::Device::Cpu).contiguous().view([-1]))?)
}

/// Shows all images to the network as they are, without training.
pub fn see(network: &Network, parameters: &Parameters, images: &Resident, scale: f64) -> Seen {
    parameters.refresh();
    let kind = if parameters.is_mixed() { Kind::BFloat16 } else { Kind::Float };
    let (mut features, mut logits) = (Vec::new(), Vec::new());
    for start in (0..images.len()).step_by(CHUNK) {
        let batch = images.plain(start..(start + CHUNK).min(images.len())).to_kind(kind);
        no_grad(|| {
            let seen = network.features(parameters, &batch, false);
            logits.push(network.classify(parameters, &seen) * scale);
            features.push(seen);
        });
    }
    Seen { features: Tensor::cat(&features, 0), logits: Tensor::cat(&logits, 0) }
}

/// Accuracy, and prediction sets by split conformal on class-balanced splits of the test images (score `1 − p`). Sets of
/// too few images a class are calibrated on half of all.
pub fn judge(logits: &Tensor, labels: &[u32]) -> Result<Judgement> {
    let classes = logits.size()[1] as usize;
    let probabilities = logits.softmax(1, Kind::Double).to_device(tch::Device::Cpu).contiguous().view([-1]);
    let probabilities = Vec::<f64>::try_from(&probabilities)?;
    let matrix = Matrix::new(&probabilities, classes)?;
    let mut counts = vec![0usize; classes];
    labels.iter().for_each(|&label| counts[label as usize] += 1);
    let plenty = counts.iter().all(|&count| count == 0 || count > CALIBRATION_PER_CLASS);
    let split =
        if plenty { CalibrationSplit::PerClass(CALIBRATION_PER_CLASS) } else { CalibrationSplit::Fraction(0.5) };
    let conformal = ConformalConfig::default().validate()?;
    let sets = repeat_splits(&conformal, matrix, labels, &RepeatConfig { repeats: SPLITS, split, seed: 0 })?;
    Ok(Judgement {
        accuracy: accuracy(&predicted_classes(matrix)?, labels)?,
        mean_set_size: sets.mean_size.mean,
        set_size_deviation: sets.mean_size.standard_deviation,
        coverage: sets.coverage.mean,
    })
}
