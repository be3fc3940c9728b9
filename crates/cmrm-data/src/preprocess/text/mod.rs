//! Columns of text: cut into words, counted, and weighted by how rare a term is.

mod count;
mod options;
mod plan;
mod terms;
mod token;

pub(super) use count::TermCounter;
pub use options::TextEncoding;
pub use plan::TextPlan;
