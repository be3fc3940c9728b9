//! Data files written again with other labels: what is not decided on is copied as it stands.

mod parquet;
mod text;

pub use self::parquet::{can_copy_parquet, copy_parquet};
pub use self::text::TextCopy;

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// It stays.
    Keep,
    /// It is left out.
    Drop,
    /// It gets this label.
    Label(&'a str),
}
