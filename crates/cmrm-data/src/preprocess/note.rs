//! Words about what preprocessing did, for the user.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::mem::{Discriminant, discriminant};

use serde::Serialize;

use super::plan::ColumnPlan;
use crate::error::quoted;
use crate::table::{Kind, Unreadable};

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
    /// A column of text none of whose terms is in enough training rows was left out.
    NoTerms {
        /// The column.
        column: String,
    },
    /// Cells that are not of their column's kind, and count as missing.
    Unreadable {
        /// The column.
        column: String,
        /// What the column is.
        kind: Kind,
        /// How many cells.
        cells: u64,
        /// The first few of them.
        examples: Vec<BadCell>,
    },
    /// A column that tells the rows apart was left out.
    Identifier {
        /// The column.
        column: String,
        /// How it looks.
        why: String,
    },
    /// Columns that the model does not use.
    ExtraColumns {
        /// Their names.
        columns: Vec<String>,
    },
    /// Columns were matched by position since one side has no names.
    MatchedByPosition,
}

/// A cell that is not of its column's kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BadCell {
    /// Its row, from zero.
    pub row: u64,
    /// The start of what is written there.
    pub text: String,
}

/// Most bad cells of a column that a note names.
const NAMED: usize = 5;

impl Note {
    /// The note about cells that count as missing, if there are any; `first_row` is the row of the column's first cell.
    pub(super) fn unreadable(plan: &ColumnPlan, cells: &[Unreadable], first_row: u64) -> Option<Note> {
        let bad = |cell: &Unreadable| BadCell { row: first_row + cell.row as u64, text: cell.text.clone() };
        let examples = cells.iter().take(NAMED).map(bad).collect();
        let (column, kind) = (plan.name.clone(), plan.kind);
        (!cells.is_empty()).then_some(Note::Unreadable { column, kind, cells: cells.len() as u64, examples })
    }
}

/// Most notes of one kind that are given one by one; a table of genes has thousands of constant columns.
const FEW: usize = 8;

/// The notes in words, in their order. Where many columns share a kind of note, one sentence stands for all of them.
pub fn in_words<'a>(notes: impl IntoIterator<Item = &'a Note>) -> Vec<String> {
    let notes = gaps_once(notes);
    let notes: Vec<&Note> = notes.iter().map(|note| &**note).collect();
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

/// A fit remarks on the gaps of its training rows and knows what fills them; transforming remarks on the gaps of all rows. One
/// note says both.
fn gaps_once<'a>(notes: impl IntoIterator<Item = &'a Note>) -> Vec<Cow<'a, Note>> {
    let mut once: Vec<Cow<'a, Note>> = Vec::new();
    let mut filled: HashMap<&str, usize> = HashMap::new();
    for note in notes {
        if let Note::Imputed { column, cells: of_all, .. } = note {
            let at = *filled.entry(column).or_insert(once.len());
            if let Some(Note::Imputed { cells, .. }) = once.get_mut(at).map(Cow::to_mut) {
                *cells = *of_all;
                continue;
            }
        }
        once.push(Cow::Borrowed(note));
    }
    once
}

/// One sentence for several notes of one kind.
fn together(notes: &[&Note]) -> String {
    let (mut columns, mut total) = (Vec::new(), 0);
    for note in notes {
        match note {
            Note::Imputed { column, cells, .. }
            | Note::UnknownCategories { column, cells, .. }
            | Note::Unreadable { column, cells, .. } => {
                columns.push(column.as_str());
                total += cells;
            }
            Note::Constant { column, .. }
            | Note::RareCategories { column, .. }
            | Note::NoTerms { column }
            | Note::Identifier { column, .. } => {
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
        Note::NoTerms { .. } => "columns of text were left out: none of their words is in enough training rows".into(),
        Note::Unreadable { .. } => format!("columns had {total} cells of another kind, which count as missing"),
        Note::Identifier { .. } => "columns tell the rows apart, as IDs do, and were left out".into(),
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
                write!(f, "column '{column}': {} filled in with {with}", counted(*cells, "missing cell"))
            }
            Note::UnknownCategories { column, cells, examples } => {
                write!(
                    f,
                    "column '{column}': {} with categories unknown to the model, such as {}",
                    counted(*cells, "cell"),
                    quoted(examples)
                )
            }
            Note::RareCategories { column, found, kept } => {
                write!(
                    f,
                    "column '{column}' has {found} categories; the {kept} most frequent are kept, the others treated as unknown"
                )
            }
            Note::NoTerms { column } => {
                write!(f, "column '{column}' was left out: no word of its text is in enough training rows")
            }
            Note::Unreadable { column, kind, cells, examples } => {
                let rows: Vec<String> =
                    examples.iter().map(|cell| format!("row {} has '{}'", cell.row, cell.text)).collect();
                let more = *cells - examples.len() as u64;
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let (count, are) = (counted(*cells, "cell"), if *cells == 1 { "is" } else { "are" });
                let what = of_kind(*kind, *cells);
                write!(
                    f,
                    "column '{column}': {count} {are} not {what} and treated as missing: {}{more}; refuse such cells with \
                     --strict",
                    rows.join(", ")
                )
            }
            Note::Identifier { column, why } => {
                write!(
                    f,
                    "column '{column}' {why} and was left out; say what it is to use it: --type '{column}=KIND', in Python column_types"
                )
            }
            Note::ExtraColumns { columns } => {
                let are = if columns.len() == 1 { "is" } else { "are" };
                let count = counted(columns.len() as u64, "column");
                write!(f, "{count} {are} not used by the model: {}", quoted(columns))
            }
            Note::MatchedByPosition => {
                f.write_str("columns were matched by position because one side has no column names")
            }
        }
    }
}

/// What so many cells of a kind are: `a number`, `numbers`.
fn of_kind(kind: Kind, cells: u64) -> &'static str {
    let (one, several) = match kind {
        Kind::Numeric => ("a number", "numbers"),
        Kind::Boolean => ("a boolean", "booleans"),
        Kind::Categorical => ("a name", "names"),
        Kind::Date => ("a date", "dates"),
        Kind::Text => ("a text", "texts"),
    };
    if cells == 1 { one } else { several }
}

/// `1 cell`, `2 cells`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
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

    #[test]
    fn gaps_are_named_once_with_the_cells_of_all_rows() {
        let filled =
            |column: &str, cells: u64, with: &str| Note::Imputed { column: column.into(), cells, with: with.into() };
        let notes =
            [filled("x", 3, "the median, 1"), filled("y", 1, "the median, 2"), filled("x", 4, "a typical value")];
        assert_eq!(
            in_words(&notes),
            [
                "column 'x': 4 missing cells filled in with the median, 1",
                "column 'y': 1 missing cell filled in with the median, 2",
            ]
        );
    }

    #[test]
    fn bad_cells_are_called_by_what_they_are_not() {
        let bad = |kind: Kind, cells: u64| {
            let examples = vec![BadCell { row: 3, text: "ask".into() }];
            Note::Unreadable { column: "x".into(), kind, cells, examples }.to_string()
        };
        for (kind, cells, words) in [
            (Kind::Numeric, 1, "column 'x': 1 cell is not a number and treated as missing: row 3 has 'ask'; "),
            (
                Kind::Date,
                18,
                "column 'x': 18 cells are not dates and treated as missing: row 3 has 'ask' and 17 more; ",
            ),
            (
                Kind::Boolean,
                2,
                "column 'x': 2 cells are not booleans and treated as missing: row 3 has 'ask' and 1 more; ",
            ),
        ] {
            assert!(bad(kind, cells).starts_with(words), "{}", bad(kind, cells));
        }
    }
}
