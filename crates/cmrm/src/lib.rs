//! Conformal Margin Risk Minimization: the method as a library.
//!
//! Losses and envelopes with their gradients, audits of labels, prediction sets, models of the noise in labels, and metrics. This crate is
//! the mathematics only: no files, no framework, no threads of its own. `cmrm-fit` trains whole models with it.
//!
//! One step of a training, of two rows and three classes:
//!
//! ```
//! use cmrm::Matrix;
//! use cmrm::envelope::{Batch, Objective, Preset, Scratch};
//! use cmrm::loss::{CrossEntropy, LossConfig};
//!
//! let logits = [2.0, 0.5, -1.0, 0.1, 1.5, 0.3]; // two rows, three classes
//! let batch = Batch::new(Matrix::new(&logits, 3)?, &[0, 2]);
//! let envelope = Preset::Robust.config(&LossConfig::CrossEntropy).validate()?;
//! let mut grad = [0.0; 6];
//! let mut scratch = Scratch::default();
//! let outcome = Objective::with_envelope(CrossEntropy, envelope).evaluate(&batch, &mut grad, &mut scratch)?;
//! println!("loss {}, τ {:?}, weights {:?}", outcome.total, outcome.tau, scratch.weights());
//! # assert!(scratch.weights()[0] > scratch.weights()[1] && grad.iter().any(|&g| g != 0.0));
//! # Ok::<(), cmrm::Error>(())
//! ```
//!
//! `examples/custom_loss.rs` wraps a loss of one's own.

pub mod audit;
pub mod conformal;
pub mod criterion;
pub mod drift;
pub mod envelope;
pub mod error;
pub mod loss;
pub mod matrix;
pub mod methods;
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
