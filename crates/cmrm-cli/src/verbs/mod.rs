//! One file a verb.

pub mod audit;
pub mod clean;
pub mod data;
pub mod fit;
pub mod noise;
