//! The native training engine: linear models, MLPs, kernel machines, trees, and votes of them on the CPU.
//!
//! One seed gives the same bits for any number of threads: rows are cut into blocks whose size depends on the data
//! alone, element-wise work rounds alike everywhere, and every sum is taken in one fixed order.
//!
//! The crate reads and writes no files: models and checkpoints become bytes and come back from them.
//!
//! ```
//! use cmrm::Matrix;
//! use cmrm::envelope::Preset;
//! use cmrm::loss::LossConfig;
//! use cmrm_train::Model;
//! use cmrm_train::train::{Arm, Examples, Silent, TrainConfig, Trainer};
//!
//! // Forty points on a line, two classes; the label of point 3 is wrong.
//! let points: Vec<f32> = (0..40).map(|point| point as f32 / 20.0 - 1.0).collect();
//! let mut labels: Vec<u32> = (0..40).map(|point| u32::from(point >= 20)).collect();
//! labels[3] = 1;
//!
//! // The base loss and the envelope, trained side by side on the same rows in the same order.
//! let loss = LossConfig::CrossEntropy;
//! let arms = vec![Arm::base(loss), Arm::envelope("robust", loss, Preset::Robust.config(&loss))];
//! let rows = Examples::new(Matrix::new(&points, 1)?, &labels);
//! let mut trainer = Trainer::new(TrainConfig::default(), arms, 2, rows, None)?;
//! trainer.run(&mut Silent)?;
//! let trained = trainer.finish()?;
//! let envelope = &trained[1];
//!
//! // The most suspicious label is the one with the lowest margin.
//! let margins = &envelope.record.last_margin;
//! assert_eq!((0..40).min_by(|&a, &b| margins[a].total_cmp(&margins[b])), Some(3));
//!
//! let stored = envelope.model.to_bytes()?;
//! let model = Model::<f32>::from_bytes(&stored)?;
//! assert_eq!(model.predict(Matrix::new(&[-0.5, 0.5], 1)?)?, [0, 1]);
//! # Ok::<(), cmrm_train::Error>(())
//! ```

mod aligned;
mod checked;
pub mod error;
pub mod kernel;
pub mod matmul;
pub mod model;
pub mod neighbours;
pub mod optim;
pub mod predict;
mod products;
pub mod schedule;
mod stop;
pub mod stored;
pub mod train;
pub mod trees;
pub mod tune;
pub mod vote;

pub use checked::Checked;
pub use error::{Error, Result};
pub use predict::Model;
pub use stop::Stop;
pub use stored::Checkpoint;
pub use vote::Predictor;
