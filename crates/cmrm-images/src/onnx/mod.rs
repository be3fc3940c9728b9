//! ONNX models, applied to images: what a tensor of theirs holds is a feature for any other model.
//!
//! `cmrm-onnx` reads and runs them. A model is prepared for batches of one size; the last batch is filled up with its own last
//! image.

mod input;
mod model;
mod pixels;

pub use model::{Embedding, OnnxModel, OnnxOptions};
pub use pixels::Preparation;
