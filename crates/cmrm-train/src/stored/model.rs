//! A trained model as the bytes of a safetensors file, and back.

use cmrm::Scalar;
use cmrm::error::check_parameter;
use serde::{Deserialize, Serialize};

use super::tensors::TensorFile;
use crate::error::{Error, Result};
use crate::model::{Head, Init, Layout, ModelConfig, Network};
use crate::predict::Model;

/// Version of the model file; a reader refuses any other.
const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    kind: String,
    format: u32,
    inputs: usize,
    classes: usize,
    hidden: Vec<usize>,
    head: Head,
    scale: f64,
}

/// Only what decides whether the rest can be read.
#[derive(Debug, Deserialize)]
struct Stamp {
    kind: String,
    format: u32,
}

impl<T: Scalar> Model<T> {
    /// The model's file: weights as `layers.N.weight` (`[outputs, inputs]`) and `layers.N.bias`.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let layout = self.network().layout();
        let mut file = TensorFile::default();
        for (l, layer) in layout.layers.iter().enumerate() {
            let parameters = self.network().parameters();
            let shape = [layer.outputs, layer.inputs];
            file.put(format!("layers.{l}.weight"), &shape, &parameters[layer.weights()]);
            if layer.bias {
                file.put(format!("layers.{l}.bias"), &[layer.outputs], &parameters[layer.biases()]);
            }
        }
        let (_, hidden) = layout.layers.split_last().map_or((None, &[][..]), |(last, rest)| (Some(last), rest));
        let header = Header {
            kind: "model".into(),
            format: FORMAT,
            inputs: layout.inputs(),
            classes: layout.classes,
            hidden: hidden.iter().map(|layer| layer.outputs).collect(),
            head: layout.head,
            scale: self.scale(),
        };
        file.to_bytes(&header)
    }

    /// Reads a model file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (stamp, _): (Stamp, _) = TensorFile::from_bytes(bytes)?;
        if stamp.kind != "model" || stamp.format != FORMAT {
            return Err(Error::Stored {
                what: format!("{} of format {}", stamp.kind, stamp.format),
                reason: format!(
                    "this version reads models of format {FORMAT}; fit again, or use the version that wrote it"
                ),
            });
        }
        let (header, file): (Header, _) = TensorFile::from_bytes(bytes)?;
        check_parameter(
            "scale",
            header.scale,
            header.scale > 0.0 && header.scale.is_finite(),
            "a finite positive number",
        )?;
        let config = ModelConfig { hidden: header.hidden, head: header.head, dropout: 0.0, init: Init::Kaiming };
        let layout = Layout::new(&config.validate()?, header.inputs, header.classes, 1)?;
        // The tensors are read first, so that a header alone cannot ask for memory.
        let mut parameters = Vec::new();
        for (l, layer) in layout.layers.iter().enumerate() {
            let shape = [layer.outputs, layer.inputs];
            parameters.extend(file.take_shaped::<T>(&format!("layers.{l}.weight"), &shape)?);
            if layer.bias {
                parameters.extend(file.take_shaped::<T>(&format!("layers.{l}.bias"), &[layer.outputs])?);
            }
        }
        if let Some(at) = parameters.iter().position(|p| !p.is_finite()) {
            return Err(cmrm::Error::non_finite("weight", 0, at, parameters[at].to_f64()).into());
        }
        Ok(Model::new(Network::from_parameters(layout, parameters)?, header.scale))
    }
}
