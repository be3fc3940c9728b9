//! The native training engine: optimisers and schedules on flat parameter vectors.
//!
//! One seed gives the same bits for any number of threads and for any vector width of the processor: element-wise work
//! rounds alike everywhere, and every sum is taken in one fixed order.

pub mod error;
pub mod optim;
pub mod schedule;

pub use error::{Error, Result};
