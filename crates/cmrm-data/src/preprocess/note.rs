//! Words about what preprocessing did, for the user.

use std::fmt;

use serde::Serialize;

use crate::error::quoted;

/// Something that was done to the data and that a user may want to know.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "note", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Note {
    /// A column with one value on the training rows was left out.
    Constant {
        /// The column.
        column: String,
        /// Its value, or nothing if every cell is missing.
        value: Option<String>,
    },
    /// Missing cells were filled in.
    Imputed {
        /// The column.
        column: String,
        /// How many cells.
        cells: u64,
        /// With what.
        with: String,
    },
    /// Names that the training rows do not have, or that are too rare to count.
    UnknownCategories {
        /// The column.
        column: String,
        /// How many cells.
        cells: u64,
        /// The first few of the names.
        examples: Vec<String>,
    },
    /// A column with more names than are kept.
    RareCategories {
        /// The column.
        column: String,
        /// Names on the training rows.
        found: usize,
        /// Names that count.
        kept: usize,
    },
    /// A column that seems to number the rows.
    LooksLikeRowNumber {
        /// The column.
        column: String,
    },
    /// Columns that the model does not use.
    ExtraColumns {
        /// Their names.
        columns: Vec<String>,
    },
    /// Columns were matched by position since one side has no names.
    MatchedByPosition,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Constant { column, value: Some(value) } => {
                write!(f, "column '{column}' is always {value} on the training rows and was dropped")
            }
            Note::Constant { column, value: None } => {
                write!(f, "column '{column}' is empty on the training rows and was dropped")
            }
            Note::Imputed { column, cells, with } => {
                write!(f, "column '{column}': {cells} missing cells filled in with {with}")
            }
            Note::UnknownCategories { column, cells, examples } => {
                write!(
                    f,
                    "column '{column}': {cells} cells with names that the model does not know, such as {}",
                    quoted(examples)
                )
            }
            Note::RareCategories { column, found, kept } => {
                write!(
                    f,
                    "column '{column}' has {found} names; the {kept} most frequent count, the others are treated as unknown"
                )
            }
            Note::LooksLikeRowNumber { column } => {
                write!(f, "column '{column}' counts the rows and looks like an identifier; consider ignoring it")
            }
            Note::ExtraColumns { columns } => {
                write!(f, "{} columns are not used by the model: {}", columns.len(), quoted(columns))
            }
            Note::MatchedByPosition => f.write_str("columns were matched by position, since one side has no names"),
        }
    }
}
