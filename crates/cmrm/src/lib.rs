//! Conformal Margin Risk Minimization: the method as a library.
//!
//! This crate is the mathematics only: no files, no framework, no threads of its own.

pub mod conformal;
pub mod error;
pub mod matrix;
pub mod rng;
pub mod theory;

pub use error::{Error, Result};
pub use matrix::Matrix;
