//! ONNX models, run by `tract`: for images in `cmrm-images`, for texts in `cmrm-embed`.
//!
//! An [`OnnxFile`] is read, cut down to what one tensor depends on ([`OnnxModel`]), and prepared for inputs of stated
//! lengths ([`Plan`]). Models come from anywhere, and the engine is not proof against all of them: what it refuses, and where
//! it panics, is an error that names the file. Ways out name the flag `--output`, which every command that runs models has.

mod file;
mod input;
mod model;

pub use file::OnnxFile;
pub use input::{Input, Length};
pub use model::{OnnxModel, Plan, tensor};
pub use tract_onnx::prelude::{DatumType, Tensor};
