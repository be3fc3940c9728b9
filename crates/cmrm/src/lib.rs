//! Conformal Margin Risk Minimization: the method as a library.
//!
//! This crate is the mathematics only: no files, no framework, no threads of its own.

pub mod audit;
pub mod conformal;
pub mod criterion;
pub mod drift;
pub mod envelope;
pub mod error;
pub mod loss;
pub mod matrix;
pub mod metric;
pub mod noise;
pub mod noise_model;
pub mod rng;
pub mod rows;
pub mod scalar;
pub mod scores;
pub mod sparse;
pub mod theory;

pub use error::{Error, Result};
pub use matrix::Matrix;
pub use rows::{OwnedRows, Rows};
pub use scalar::Scalar;
pub use sparse::{SparseMatrix, SparseRow, SparseRows};
