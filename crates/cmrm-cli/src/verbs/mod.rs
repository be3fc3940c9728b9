//! One file a verb.

pub mod fit;
