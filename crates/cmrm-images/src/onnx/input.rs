//! What a model wants to be shown.

use std::path::Path;

use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::tensor_shape_proto::dimension::Value as Length;
use tract_onnx::pb::type_proto::Value;
use tract_onnx::pb::{GraphProto, TensorShapeProto};
use tract_onnx::prelude::DatumType;

use crate::error::{Error, Result};

/// Where a pixel's channels stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// One plane a channel: batch, channels, height, width.
    Nchw,
    /// Side by side: batch, height, width, channels.
    Nhwc,
}

/// The input of a model; lengths that it leaves open are `None`.
#[derive(Debug, Clone)]
pub(super) struct InputSpec {
    pub(super) name: String,
    pub(super) kind: DatumType,
    pub(super) layout: Layout,
    pub(super) batch: Option<usize>,
    pub(super) channels: Option<usize>,
    pub(super) height: Option<usize>,
    pub(super) width: Option<usize>,
}

impl InputSpec {
    /// The one input of a graph.
    pub(super) fn of(path: &Path, graph: &GraphProto) -> Result<Self> {
        let refuse = |why: String| Error::in_file(path, why);
        let given = |name: &String| graph.initializer.iter().any(|tensor| tensor.name == *name);
        let inputs: Vec<_> = graph.input.iter().filter(|input| !given(&input.name)).collect();
        let [input] = inputs[..] else {
            let names: Vec<String> = inputs.iter().map(|input| format!("'{}'", input.name)).collect();
            return Err(refuse(match names.len() {
                0 => "the chosen tensor does not depend on the model's input".into(),
                _ => {
                    format!(
                        "the model has {} inputs ({}), but only an image is available",
                        names.len(),
                        names.join(", ")
                    )
                }
            }));
        };
        let name = input.name.clone();
        let Some(Value::TensorType(stated)) = input.r#type.as_ref().and_then(|stated| stated.value.as_ref()) else {
            return Err(refuse(format!("the input '{name}' is not a tensor")));
        };
        let kind = match DataType::try_from(stated.elem_type) {
            Ok(DataType::Float) => DatumType::F32,
            Ok(DataType::Float16) => DatumType::F16,
            Ok(DataType::Double) => DatumType::F64,
            Ok(DataType::Uint8) => DatumType::U8,
            other => {
                let kind = other.map_or("unknown", |kind| kind.as_str_name());
                return Err(refuse(format!("the input '{name}' has type {kind}; expected floats or bytes (UINT8)")));
            }
        };
        let lengths = stated.shape.as_ref().map_or_else(|| vec![None; 4], lengths);
        let [batch, second, third, fourth] = lengths[..] else {
            let shown = shown(&lengths);
            return Err(refuse(format!(
                "the input '{name}' has {} dimensions ({shown}); a batch of images has 4",
                lengths.len()
            )));
        };
        let is_channels = |length: Option<usize>| matches!(length, Some(1 | 3));
        let (layout, channels, height, width) = if is_channels(second) || (second.is_none() && !is_channels(fourth)) {
            (Layout::Nchw, second, third, fourth)
        } else if is_channels(fourth) {
            (Layout::Nhwc, fourth, second, third)
        } else {
            return Err(refuse(format!(
                "the input '{name}' is {}; expected one or three channels in the second or last dimension",
                shown(&lengths)
            )));
        };
        Ok(InputSpec { name, kind, layout, batch, channels, height, width })
    }

    /// The shape for a batch of images of that height and width.
    pub(super) fn shape(&self, batch: usize, channels: usize, height: usize, width: usize) -> [usize; 4] {
        match self.layout {
            Layout::Nchw => [batch, channels, height, width],
            Layout::Nhwc => [batch, height, width, channels],
        }
    }
}

/// Lengths of a shape; those with a name, or none, are open.
fn lengths(shape: &TensorShapeProto) -> Vec<Option<usize>> {
    let length = |value: &Option<Length>| match value {
        Some(Length::DimValue(length)) => usize::try_from(*length).ok().filter(|&length| length > 0),
        _ => None,
    };
    shape.dim.iter().map(|dim| length(&dim.value)).collect()
}

fn shown(lengths: &[Option<usize>]) -> String {
    let shown: Vec<String> =
        lengths.iter().map(|length| length.map_or("?".into(), |length| length.to_string())).collect();
    shown.join("×")
}
