//! Images on libtorch: residual networks trained with cmrm's losses and envelope, on the CPU or a CUDA card.
//!
//! A [`plan::Plan`] names data, network, schedule and arms; [`train::train_all`] trains its runs, several at once. The
//! method is `cmrm`'s; [`objective`] is its tensor form, for logits that already lie on a card.

pub mod cuda;
pub mod data;
pub mod embed;
pub mod error;
pub mod libtorch;
pub mod network;
pub mod objective;
#[cfg(feature = "onnx")]
pub mod onnx;
pub mod plan;
pub mod speed;
pub mod tables;
pub mod train;

pub use error::{Error, Result};
