//! What the measuring programs share: minimal readers for the files they are pointed at.

pub mod npy;

/// Errors of the measuring programs are for people to read.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
