//! One file a verb.

pub mod evaluate;
pub mod fit;
pub mod predict;
pub mod report;
pub mod shell;
