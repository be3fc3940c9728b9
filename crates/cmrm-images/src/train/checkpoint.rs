//! A training's state as a safetensors file.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use cmrm_train::train::EpochStats;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use crate::error::{Error, Result};

/// Version of the layout.
const FORMAT: u32 = 1;

/// What a checkpoint says besides its tensors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Layout of the file.
    #[serde(default)]
    pub format: u32,
    /// Epochs done.
    pub epoch: usize,
    /// Images trained on by this run itself.
    pub images: u64,
    /// Seconds that took.
    pub seconds: f64,
    /// The figures of each epoch. Earlier versions kept others, under another name.
    #[serde(default)]
    pub epochs: Vec<EpochMetrics>,
}

/// The figures of one epoch, as a line of metrics.jsonl: those of every run, and what image runs add.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpochMetrics {
    /// As the native engine has them.
    #[serde(flatten)]
    pub stats: EpochStats,
    /// Seconds of training.
    pub seconds: f64,
    /// Accuracy on the test images, after epochs that were judged.
    pub test_accuracy: Option<f64>,
    /// Mean size of the prediction sets of the test images, likewise.
    pub mean_set_size: Option<f64>,
}

/// Writes tensors and progress, whole or not at all.
pub fn write(path: &Path, tensors: &[(&str, &Tensor)], progress: &Progress) -> Result<()> {
    let mut stored = Vec::new();
    for (name, tensor) in tensors {
        let (dtype, bytes) = bytes_of(tensor)?;
        let shape: Vec<usize> = tensor.size().iter().map(|&side| side as usize).collect();
        stored.push((*name, dtype, shape, bytes));
    }
    let mut views = Vec::new();
    for (name, dtype, shape, bytes) in &stored {
        let view = TensorView::new(*dtype, shape.clone(), bytes).map_err(|error| Error::in_file(path, error))?;
        views.push((*name, view));
    }
    let progress = Progress { format: FORMAT, ..progress.clone() };
    let text = serde_json::to_string(&progress).map_err(|error| Error::in_file(path, error))?;
    let metadata = HashMap::from([("progress".to_string(), text)]);
    let bytes = safetensors::serialize(views, Some(metadata)).map_err(|error| Error::in_file(path, error))?;
    cmrm_data::files::write_atomically(path, |file| file.write_all(&bytes))
        .map_err(|error: std::io::Error| Error::in_file(path, error))
}

fn bytes_of(tensor: &Tensor) -> Result<(Dtype, Vec<u8>)> {
    let (kind, dtype, width) = match tensor.kind() {
        Kind::Int64 => (Kind::Int64, Dtype::I64, 8),
        _ => (Kind::Float, Dtype::F32, 4),
    };
    let tensor = tensor.to_kind(kind).contiguous().to_device(tch::Device::Cpu);
    let mut bytes = vec![0; tensor.numel() * width];
    tensor.f_copy_data_u8(&mut bytes, tensor.numel())?;
    Ok((dtype, bytes))
}

/// Reads a checkpoint into tensors of the same names and shapes; names that `into` lacks are passed over.
pub fn read(path: &Path, into: &[(&str, &Tensor)]) -> Result<Progress> {
    let bytes = std::fs::read(path).map_err(|error| Error::in_file(path, error))?;
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| Error::in_file(path, error))?;
    let text = header.metadata().as_ref().and_then(|metadata| metadata.get("progress"));
    let text = text.ok_or_else(|| Error::in_file(path, "not a checkpoint of this program"))?;
    let progress: Progress = serde_json::from_str(text).map_err(|error| Error::in_file(path, error))?;
    if progress.format != FORMAT {
        return Err(Error::in_file(
            path,
            format!("format {}, this version reads {FORMAT}; delete it to start over", progress.format),
        ));
    }
    let file = SafeTensors::deserialize(&bytes).map_err(|error| Error::in_file(path, error))?;
    for (name, tensor) in into {
        let view = file.tensor(name).map_err(|_| {
            let reason = format!("holds no {name}: its settings differ; delete the run's folder to train it again");
            Error::in_file(path, reason)
        })?;
        let shape: Vec<i64> = view.shape().iter().map(|&side| side as i64).collect();
        if shape != tensor.size() {
            let reason =
                format!("{name} has shape {shape:?}, this training needs {:?}; its settings differ", tensor.size());
            return Err(Error::in_file(path, reason));
        }
        let kind = if view.dtype() == Dtype::I64 { Kind::Int64 } else { Kind::Float };
        let values = Tensor::f_from_data_size(view.data(), &shape, kind)?;
        tch::no_grad(|| tensor.shallow_clone().copy_(&values));
    }
    Ok(progress)
}
