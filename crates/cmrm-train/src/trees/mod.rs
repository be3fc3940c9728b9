//! Trees: a random forest with out-of-bag predictions, and gradient boosting on histograms.
//!
//! Both read the features that the other models read, as [`TreeColumns`] says: numbers, missing or not, and names. [`Bins`]
//! cuts every column into at most 255 bins, and training sees nothing but the [`Codes`] of the rows; a trained model compares
//! features with thresholds and needs no bins. Of sparse rows they read the fullest columns ([`TreeColumns::fullest`]).
//!
//! ```
//! use cmrm::Matrix;
//! use cmrm_train::Stop;
//! use cmrm_train::trees::{Bins, Boosting, BoostingConfig, CrossEntropy, Forest, ForestConfig, TreeColumns};
//!
//! let features: Vec<f32> = (0..200).map(|row| (row % 20) as f32).collect();
//! let labels: Vec<u32> = (0..200).map(|row| u32::from(row % 20 >= 10)).collect();
//! let x = Matrix::new(&features, 1)?;
//! let bins = Bins::learn(x, &TreeColumns::numbers(1), None)?;
//! let codes = bins.codes(x)?;
//!
//! let mut objective = CrossEntropy::new(&labels, 2, None)?;
//! let boosting = Boosting::fit(&bins, &codes, &mut objective, &BoostingConfig::default(), None, &Stop::default())?.model;
//! assert!(boosting.probabilities(x)?[1] < 0.01);
//!
//! let (forest, out_of_bag) = Forest::fit(&bins, &codes, &labels, 2, None, &ForestConfig::default(), &Stop::default())?;
//! assert_eq!(forest.probabilities(x)?[1], 0.0);
//! assert_eq!(out_of_bag.probabilities[1], 0.0);
//! # Ok::<(), cmrm_train::Error>(())
//! ```

mod bins;
mod boosting;
mod boosting_fit;
mod codes;
mod columns;
mod forest;
mod forest_fit;
mod gini;
mod grow;
mod grown;
mod histogram;
mod objective;
mod sparse_columns;
mod split;
mod stored;
mod tree;
mod view;
mod wide;

pub use bins::Bins;
pub use boosting::{Boosting, BoostingConfig};
pub use boosting_fit::{BoostingFit, HeldOut, Staged};
pub use codes::Codes;
pub use columns::{TreeColumn, TreeColumns};
pub use forest::{ColumnShare, Forest, ForestConfig, OutOfBag};
pub use objective::{BoostingObjective, CrossEntropy, Enveloped};
pub use view::{Names, Step, Test};
