//! The native training engine: linear models and MLPs on the CPU.
//!
//! One seed gives the same bits for any number of threads: rows are cut into blocks whose size depends on the data
//! alone, element-wise work rounds alike everywhere, and every sum is taken in one fixed order.

mod aligned;
mod checked;
pub mod error;
pub mod matmul;
pub mod model;
pub mod optim;
pub mod predict;
pub mod schedule;
mod stop;
pub mod stored;
pub mod train;
pub mod tune;

pub use checked::Checked;
pub use error::{Error, Result};
pub use predict::Model;
pub use stop::Stop;
pub use stored::Checkpoint;
