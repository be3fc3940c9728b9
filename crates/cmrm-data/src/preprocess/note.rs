//! Words about what preprocessing did, for the user.

use std::collections::HashMap;
use std::fmt;
use std::mem::{Discriminant, discriminant};

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

/// Most notes of one kind that are given one by one; a table of genes has thousands of constant columns.
const FEW: usize = 8;

/// The notes in words, in their order. Where many columns share a kind of note, one sentence stands for all of them.
pub fn in_words<'a>(notes: impl IntoIterator<Item = &'a Note>) -> Vec<String> {
    let notes: Vec<&Note> = notes.into_iter().collect();
    let mut kinds: HashMap<Discriminant<Note>, Vec<&Note>> = HashMap::new();
    for note in &notes {
        kinds.entry(discriminant(*note)).or_default().push(note);
    }
    let words = |note: &&Note| match kinds.get(&discriminant(*note)) {
        Some(kind) if kind.len() > FEW => std::ptr::eq(kind[0], *note).then(|| together(kind)),
        _ => Some(note.to_string()),
    };
    notes.iter().filter_map(words).collect()
}

/// One sentence for several notes of one kind.
fn together(notes: &[&Note]) -> String {
    let (mut columns, mut total) = (Vec::new(), 0);
    for note in notes {
        match note {
            Note::Imputed { column, cells, .. } | Note::UnknownCategories { column, cells, .. } => {
                columns.push(column.as_str());
                total += cells;
            }
            Note::Constant { column, .. }
            | Note::RareCategories { column, .. }
            | Note::LooksLikeRowNumber { column } => {
                columns.push(column);
            }
            Note::ExtraColumns { .. } | Note::MatchedByPosition => {}
        }
    }
    let what = match notes[0] {
        Note::Constant { .. } => "columns have at most one value on the training rows and were dropped".into(),
        Note::Imputed { .. } => format!("columns had {total} missing cells, which were filled in"),
        Note::UnknownCategories { .. } => format!("columns have {total} cells with categories unknown to the model"),
        Note::RareCategories { .. } => "columns have too many categories; the rarer ones are treated as unknown".into(),
        Note::LooksLikeRowNumber { .. } => {
            "columns number the rows and look like row IDs; consider ignoring them".into()
        }
        // These speak for all columns, and there is one of them.
        note @ (Note::ExtraColumns { .. } | Note::MatchedByPosition) => return note.to_string(),
    };
    format!("{} {what}: {}", columns.len(), quoted(&columns))
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
                    "column '{column}': {cells} cells with categories unknown to the model, such as {}",
                    quoted(examples)
                )
            }
            Note::RareCategories { column, found, kept } => {
                write!(
                    f,
                    "column '{column}' has {found} categories; the {kept} most frequent are kept, the others treated as unknown"
                )
            }
            Note::LooksLikeRowNumber { column } => {
                write!(f, "column '{column}' numbers the rows and looks like a row ID; consider ignoring it")
            }
            Note::ExtraColumns { columns } => {
                write!(f, "{} columns are not used by the model: {}", columns.len(), quoted(columns))
            }
            Note::MatchedByPosition => {
                f.write_str("columns were matched by position because one side has no column names")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_notes_of_one_kind_are_one_sentence() {
        let constant = |at: usize| Note::Constant { column: format!("g{at}"), value: Some("0".into()) };
        let few: Vec<Note> = (0..FEW).map(constant).chain([Note::MatchedByPosition]).collect();
        let words = in_words(&few);
        assert_eq!(
            (words.len(), &*words[0]),
            (FEW + 1, "column 'g0' is always 0 on the training rows and was dropped")
        );
        let filled = |at: usize| Note::Imputed { column: format!("g{at}"), cells: 2, with: "the median, 1".into() };
        let many: Vec<Note> = (0..50).flat_map(|at| [constant(at), filled(at)]).collect();
        let words = in_words(&many);
        assert_eq!(words.len(), 2);
        assert!(words[0].starts_with("50 columns have at most one value"), "{}", words[0]);
        assert!(words[0].ends_with("'g7' and 42 more"), "{}", words[0]);
        assert!(words[1].starts_with("50 columns had 100 missing cells, which were filled in: 'g0'"), "{}", words[1]);
    }
}
