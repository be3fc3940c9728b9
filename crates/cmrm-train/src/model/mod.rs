//! Models: hidden layers with ReLU and a head, several copies side by side.
//!
//! A [`Network`] holds one or more *copies* of an architecture. Copies see the same rows; their first layers are one
//! wide matrix, so that one read of the data feeds all of them. A linear model is a network without hidden layers.

mod backward;
mod config;
mod cosine;
mod forward;
mod inactive_units;
mod init;
mod layout;
mod narrow_layer;
mod network;
mod sparse_layer;

pub use config::{Head, Init, ModelConfig};
pub use cosine::SMALLEST_NORM;
pub use layout::{Layer, Layout};
pub use network::{BLOCK_ROWS, Dropout, Network, Workspace};
