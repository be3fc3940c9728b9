//! How many labels are wrong, and what that says of each row: from probabilities of models that have not seen the rows.
//!
//! A model learned from observed labels speaks of observed labels. With `T[k][j]` the probability that a row of class k is
//! observed as j, and `s` the probabilities of the true classes, it says `q = Tᵀs`. [`NoiseModel::estimate`] finds `T`, and with it:
//!
//! - [`NoiseModel::clean_probabilities`]: `s`, for confidence that can be believed;
//! - [`NoiseModel::posteriors`]: how likely each class is the row's true one, given its label too; one minus the entry of
//!   the label is the probability that the label is wrong.
//! - [`PlausibleNoise::posteriors`]: the same, averaged over all models of the noise that are plausible. They calibrate prediction sets
//!   ([`crate::conformal::Conformal::calibrate_corrected`]), which so are larger where the rate is less certain.
//! - [`LabelNoise`]: how many labels of *other* rows are wrong, however noisy those were that the models learned from.
//!
//! # What can be known
//! A row that looks like two classes and a label that is wrong by chance leave the same trace. They are told apart by the surest rows:
//! noise gives every row a part of the other classes' probability, overlap does not. So the estimate is the
//! *largest* rate that the observed labels allow, and it rests on rows of every class that are no riddle. Where there are none (classes
//! that overlap everywhere) or where people err on riddles alone, no method can tell, and the interval does not say so.

mod estimate;
mod labels;
mod likelihood;
mod posterior;
mod rates;
mod shape;
mod transition;

pub use estimate::{NoiseModel, PlausibleNoise};
pub use labels::LabelNoise;
pub use transition::Transition;
