//! Named tensors with a JSON header as safetensors, the format of all files of this crate.

use std::collections::BTreeMap;

use cmrm::Scalar;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// The one metadata key of our files; its value is JSON. A single key keeps the bytes of a file reproducible.
const HEADER_KEY: &str = "cmrm";
/// Longest JSON header that is believed.
const MAX_HEADER_BYTES: usize = 1 << 28;

/// Named tensors and a JSON header, as they lie in a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TensorFile {
    tensors: BTreeMap<String, Tensor>,
}

#[derive(Debug, Clone, PartialEq)]
struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

fn dtype_of<T: Scalar>() -> Dtype {
    if size_of::<T>() == 4 { Dtype::F32 } else { Dtype::F64 }
}

fn refuse(what: impl Into<String>, reason: impl Into<String>) -> Error {
    Error::Stored { what: what.into(), reason: reason.into() }
}

impl TensorFile {
    /// Adds numbers of a shape.
    pub fn put<T: Scalar>(&mut self, name: impl Into<String>, shape: &[usize], values: &[T]) {
        let bytes = if size_of::<T>() == 4 {
            values.iter().flat_map(|v| (v.to_f64() as f32).to_le_bytes()).collect()
        } else {
            values.iter().flat_map(|v| v.to_f64().to_le_bytes()).collect()
        };
        self.tensors.insert(name.into(), Tensor { dtype: dtype_of::<T>(), shape: shape.to_vec(), bytes });
    }

    /// Adds whole numbers.
    pub fn put_integers(&mut self, name: impl Into<String>, values: &[u32]) {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensors.insert(name.into(), Tensor { dtype: Dtype::U32, shape: vec![values.len()], bytes });
    }

    fn get(&self, name: &str, dtype: Dtype) -> Result<&Tensor> {
        let tensor = self.tensors.get(name).ok_or_else(|| {
            refuse(format!("tensor '{name}'"), "missing; the file is incomplete, or not a cmrm file of this kind")
        })?;
        if tensor.dtype == dtype {
            return Ok(tensor);
        }
        Err(refuse(format!("tensor '{name}'"), format!("has type {:?}, expected {dtype:?}", tensor.dtype)))
    }

    /// Whether there is a tensor of this name.
    pub fn holds(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// Numbers by name, and their shape.
    pub fn take<T: Scalar>(&self, name: &str) -> Result<(Vec<T>, &[usize])> {
        let tensor = self.get(name, dtype_of::<T>())?;
        let values = if size_of::<T>() == 4 {
            chunks(&tensor.bytes).map(|b| T::from_f64(f64::from(f32::from_le_bytes(b)))).collect()
        } else {
            chunks(&tensor.bytes).map(|b| T::from_f64(f64::from_le_bytes(b))).collect()
        };
        Ok((values, &tensor.shape))
    }

    /// Numbers by name, refused unless they have the shape `expected`. The same count in another shape is another tensor:
    /// a transposed matrix, say.
    pub fn take_shaped<T: Scalar>(&self, name: &str, expected: &[usize]) -> Result<Vec<T>> {
        let (values, shape) = self.take(name)?;
        if shape == expected {
            return Ok(values);
        }
        Err(refuse(
            format!("tensor '{name}'"),
            format!("has the shape {shape:?}, expected {expected:?}; the file is damaged: copy it again, or fit again"),
        ))
    }

    /// Whole numbers by name.
    pub fn take_integers(&self, name: &str) -> Result<Vec<u32>> {
        Ok(chunks(&self.get(name, Dtype::U32)?.bytes).map(u32::from_le_bytes).collect())
    }

    /// Names that start with `prefix`, without it.
    pub fn names_under<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = &'s str> {
        self.tensors.keys().filter_map(move |name| name.strip_prefix(prefix))
    }

    /// The file's bytes.
    pub fn to_bytes(&self, header: &impl Serialize) -> Result<Vec<u8>> {
        let header = serde_json::to_string(header).map_err(|e| Error::Internal(format!("header: {e}")))?;
        let views = self
            .tensors
            .iter()
            .map(|(name, t)| Ok((name, TensorView::new(t.dtype, t.shape.clone(), &t.bytes)?)))
            .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>();
        let metadata = Some([(HEADER_KEY.to_owned(), header)].into());
        views.and_then(|views| serialize(views, metadata)).map_err(|e| Error::Internal(format!("tensors: {e}")))
    }

    /// The JSON header of a file's bytes, without its tensors.
    pub fn header<H: DeserializeOwned>(bytes: &[u8]) -> Result<H> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(foreign)?;
        let header =
            metadata.metadata().as_ref().and_then(|m| m.get(HEADER_KEY)).ok_or_else(|| {
                refuse("file", "is a safetensors file, but not one of cmrm's; it has no 'cmrm' header")
            })?;
        if header.len() > MAX_HEADER_BYTES {
            return Err(refuse("header", format!("has {} bytes, more than {MAX_HEADER_BYTES}", header.len())));
        }
        serde_json::from_str(header).map_err(|e| {
            refuse(
                "header",
                format!("cannot be read ({e}); the file may come from another version of cmrm, or be of another kind"),
            )
        })
    }

    /// Reads a file's bytes. Nothing is allocated that the bytes do not back.
    pub fn from_bytes<H: DeserializeOwned>(bytes: &[u8]) -> Result<(H, Self)> {
        let header = TensorFile::header(bytes)?;
        let mut tensors = BTreeMap::new();
        for (name, view) in SafeTensors::deserialize(bytes).map_err(foreign)?.tensors() {
            let tensor = Tensor { dtype: view.dtype(), shape: view.shape().to_vec(), bytes: view.data().to_vec() };
            tensors.insert(name, tensor);
        }
        Ok((header, TensorFile { tensors }))
    }
}

fn foreign(e: safetensors::SafeTensorError) -> Error {
    refuse(
        "contents",
        format!("not a safetensors file ({e}); it is damaged, or not a cmrm file: copy it again, or fit again"),
    )
}

fn chunks<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
    bytes.as_chunks::<N>().0.iter().copied()
}
