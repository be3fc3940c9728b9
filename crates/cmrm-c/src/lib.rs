//! Runs of cmrm from C. `cmrm.h` is the documentation; `examples/predict.c` is a program that uses it.
//!
//! The unsafe code is in `boundary.rs`, which turns pointers into references and back. What it calls is safe: `model.rs` opens
//! and predicts, `failure.rs` keeps the words of the last failure and stops panics.

mod boundary;
mod failure;
mod model;
