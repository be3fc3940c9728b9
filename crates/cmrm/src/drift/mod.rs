//! Whether two sets of rows come from the same source: tests of two samples, with the size of the difference beside its significance.
//!
//! With many rows every difference is significant, with few none is. So each test gives both: a distance between 0 and 1 that says how
//! much differs, and the probability of as large a one by chance. [`holm`] allows for several tests at a time.

mod chi_square;
mod holm;
mod kolmogorov;
mod rates;

pub use chi_square::compare_counts;
pub use holm::holm;
pub use kolmogorov::compare_numbers;
pub use rates::{RateEstimate, compare_rates};

use serde::{Deserialize, Serialize};

/// What a test of two samples found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// How much differs, from 0 (nothing) to 1 (everything).
    pub distance: f64,
    /// Probability of as large a difference by chance.
    pub p: f64,
}
