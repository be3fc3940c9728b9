//! ONNX models, applied to images: what a tensor of theirs holds is a feature for any other model.
//!
//! The engine is `tract`. A file is read, cut down to what the wanted tensor depends on, and prepared for batches of one
//! size; the last batch is filled up with its own last image.

mod file;
mod input;
mod model;
mod pixels;

pub use model::{Embedding, OnnxModel, OnnxOptions};
pub use pixels::Preparation;
