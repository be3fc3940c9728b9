//! A trained model as the bytes of a safetensors file, and back.

use cmrm::Scalar;
use cmrm::error::check_parameter;
use serde::{Deserialize, Serialize};

use super::tensors::TensorFile;
use crate::error::{Error, Result};
use crate::model::{Head, Init, Layout, ModelConfig, Network};
use crate::predict::Model;

/// What the file holds.
const KIND: &str = "model";
/// Version of the model file; a reader refuses any other.
const FORMAT: u32 = 1;

/// What a file says of a network beside its tensors.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NetworkHeader {
    inputs: usize,
    classes: usize,
    hidden: Vec<usize>,
    head: Head,
    scale: f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    kind: String,
    format: u32,
    #[serde(flatten)]
    network: NetworkHeader,
}

/// Only what decides whether the rest can be read.
#[derive(Debug, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) kind: String,
    pub(crate) format: u32,
}

impl Stamp {
    /// Refuses a file of another kind or format.
    pub(crate) fn check(&self, kind: &str, format: u32) -> Result<()> {
        if self.kind == kind && self.format == format {
            return Ok(());
        }
        Err(Error::Stored {
            what: format!("{} of format {}", self.kind, self.format),
            reason: format!(
                "this version reads a {kind} of format {format}; fit again, or use the version that wrote it"
            ),
        })
    }
}

impl<T: Scalar> Model<T> {
    /// The model's file: weights as `layers.N.weight` (`[outputs, inputs]`) and `layers.N.bias`.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut file = TensorFile::default();
        let network = self.put_into("", &mut file);
        file.to_bytes(&Header { kind: KIND.into(), format: FORMAT, network })
    }

    /// Reads a model file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        TensorFile::header::<Stamp>(bytes)?.check(KIND, FORMAT)?;
        let (header, file): (Header, _) = TensorFile::from_bytes(bytes)?;
        Model::take_from("", header.network, &file)
    }

    /// Puts the tensors into a file, their names after `prefix`.
    pub(crate) fn put_into(&self, prefix: &str, file: &mut TensorFile) -> NetworkHeader {
        let layout = self.network().layout();
        let parameters = self.network().parameters();
        for (l, layer) in layout.layers.iter().enumerate() {
            let shape = [layer.outputs, layer.inputs];
            file.put(format!("{prefix}layers.{l}.weight"), &shape, &parameters[layer.weights()]);
            if layer.bias {
                file.put(format!("{prefix}layers.{l}.bias"), &[layer.outputs], &parameters[layer.biases()]);
            }
        }
        let (_, hidden) = layout.layers.split_last().map_or((None, &[][..]), |(last, rest)| (Some(last), rest));
        NetworkHeader {
            inputs: layout.inputs(),
            classes: layout.classes,
            hidden: hidden.iter().map(|layer| layer.outputs).collect(),
            head: layout.head,
            scale: self.scale(),
        }
    }

    /// Takes a network out of a file, and checks it.
    pub(crate) fn take_from(prefix: &str, header: NetworkHeader, file: &TensorFile) -> Result<Self> {
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
            parameters.extend(file.take_shaped::<T>(&format!("{prefix}layers.{l}.weight"), &shape)?);
            if layer.bias {
                parameters.extend(file.take_shaped::<T>(&format!("{prefix}layers.{l}.bias"), &[layer.outputs])?);
            }
        }
        if let Some(at) = parameters.iter().position(|p| !p.is_finite()) {
            return Err(cmrm::Error::non_finite("weight", 0, at, parameters[at].to_f64()).into());
        }
        Ok(Model::new(Network::from_parameters(layout, parameters)?, header.scale))
    }
}
