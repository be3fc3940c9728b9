//! What is kept in files: checkpoints of a training under way, and trained models. Safetensors and JSON, nothing else.

mod checkpoint;
mod model;
mod tensors;

pub use checkpoint::Checkpoint;
pub(crate) use model::{NetworkHeader, Stamp};
pub use tensors::TensorFile;
