//! One file a verb.

pub mod audit;
pub mod clean;
pub mod data;
#[cfg(feature = "embed")]
pub mod embed;
pub mod evaluate;
pub mod export;
pub mod fit;
pub mod methods;
pub mod noise;
pub mod predict;
pub mod report;
pub mod review;
pub mod serve;
pub mod shell;
pub mod tune;
