//! Texts as numbers, by a sentence encoder: any `tokenizer.json`, any ONNX model of tokens.
//!
//! An [`Encoder`] turns texts into rows of features, a [`TextTable`] reads texts from columns of a table, a window of rows at
//! a time. Each text is run by itself, unpadded, on one thread: on a CPU that is as fast as batches are, its numbers do not
//! depend on its neighbours, the number of threads changes no bit, and memory is that of a window and of one text a thread.

mod encoder;
mod inputs;
mod network;
mod pooling;
mod recipe;
mod table;
mod tokens;

pub use encoder::{Encoded, Encoder, EncoderOptions};
pub use pooling::Pooling;
pub use table::{Survey, TextTable, WINDOW};
