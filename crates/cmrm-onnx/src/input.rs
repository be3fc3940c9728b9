//! What a model wants to be given.

use std::path::Path;

use cmrm_data::{Error, Result};
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::tensor_shape_proto::dimension::Value as Dimension;
use tract_onnx::pb::type_proto::Value;
use tract_onnx::pb::{TensorShapeProto, ValueInfoProto};
use tract_onnx::prelude::DatumType;

/// An input of a model.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// What its numbers are; nothing if the engine does not know them.
    pub kind: Option<DatumType>,
    /// The same as the file has it, such as `FLOAT`.
    pub stated_kind: &'static str,
    /// Its lengths, if the file states them; one that is left open is `None`.
    pub lengths: Option<Vec<Option<usize>>>,
}

/// How long a dimension of an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Always this long.
    Fixed(usize),
    /// Of a length that every run decides; the name says which dimensions are equally long.
    Open(&'static str),
}

impl Input {
    pub(crate) fn of(path: &Path, stated: &ValueInfoProto) -> Result<Self> {
        let name = stated.name.clone();
        let Some(Value::TensorType(tensor)) = stated.r#type.as_ref().and_then(|stated| stated.value.as_ref()) else {
            return Err(Error::option(format!("the input '{name}' is not a tensor")).in_file(path.display()));
        };
        let kind = DataType::try_from(tensor.elem_type).ok();
        Ok(Input {
            name,
            kind: kind.and_then(|kind| DatumType::try_from(kind).ok()),
            stated_kind: kind.map_or("unknown", |kind| kind.as_str_name()),
            lengths: tensor.shape.as_ref().map(lengths),
        })
    }

    /// The lengths in words, such as `?×3×224×224`.
    pub fn shown_lengths(&self) -> String {
        self.lengths.as_deref().map_or("of unknown shape".into(), shown)
    }
}

fn lengths(shape: &TensorShapeProto) -> Vec<Option<usize>> {
    let length = |value: &Option<Dimension>| match value {
        Some(Dimension::DimValue(length)) => usize::try_from(*length).ok().filter(|&length| length > 0),
        _ => None,
    };
    shape.dim.iter().map(|dim| length(&dim.value)).collect()
}

pub(crate) fn shown(lengths: &[Option<usize>]) -> String {
    let shown: Vec<String> =
        lengths.iter().map(|length| length.map_or("?".into(), |length| length.to_string())).collect();
    shown.join("×")
}
