//! Which record names the columns.

use std::collections::BTreeMap;

use crate::error::{Error, Problem};
use crate::table::date::{self, DateOrder};
use crate::table::number::{self, Decimal};
use crate::table::{is_nothing, parse_boolean};

/// Records at the start among which names are looked for.
const TITLE_RECORDS: usize = 20;

/// A record of the sample.
pub(super) struct Row {
    /// The cells without the spaces around them.
    pub cells: Vec<String>,
    pub is_utf8: bool,
    /// Where it starts, counted from behind the skipped lines.
    pub byte: u64,
}

impl Row {
    pub fn of(record: &csv::ByteRecord) -> Self {
        Row {
            cells: record.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_string()).collect(),
            is_utf8: record.iter().all(|cell| std::str::from_utf8(cell).is_ok()),
            byte: record.position().map_or(0, csv::Position::byte),
        }
    }

    fn filled(&self) -> usize {
        self.cells.iter().filter(|cell| !cell.is_empty()).count()
    }

    /// Whether it has something in every column. A data frame leaves the name over its row numbers empty.
    fn is_whole(&self, width: usize, missing: &[String]) -> bool {
        let is_filled = |cell: &String| !cell.is_empty() && !missing.contains(cell);
        self.cells.len() == width && self.cells[1..].iter().all(is_filled)
    }
}

/// Whether a record names columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Row,
    Likely,
    Certain,
}

/// Whether the first record names columns rather than being one of the rows.
pub(super) fn judge(records: &[Row], missing: &[String]) -> Verdict {
    let Some((first, rest)) = records.split_first() else { return Verdict::Row };
    let first = &first.cells;
    let likely = |is_likely: bool| if is_likely { Verdict::Likely } else { Verdict::Row };
    let is_number =
        |cell: &str| [Decimal::Point, Decimal::Comma].iter().any(|&mark| number::parse(cell, mark).is_some());
    // Columns are called `y` and `t`, though cells of those letters may mean yes and true.
    let is_boolean = |cell: &str| cell.len() > 1 && parse_boolean(cell).is_some();
    let is_date = |cell: &str| date::parse_in(cell, DateOrder::DayFirst).is_some();
    let typed = |cell: &str| is_number(cell) || is_boolean(cell) || is_date(cell);
    let absent = |cell: &str| missing.iter().any(|token| token == cell);
    let column = |at: usize| rest.iter().filter_map(move |record| record.cells.get(at)).filter(|cell| !absent(cell));
    let all = |at: usize, fits: &dyn Fn(&str) -> bool| {
        let mut cells = column(at).filter(|cell| !is_nothing(cell)).peekable();
        cells.peek().is_some() && cells.all(|cell| fits(cell))
    };
    // Silicon is `Si` and a number may be called `No`: such a word is data only if it stands over others.
    let is_data =
        |at: usize| is_number(&first[at]) || is_date(&first[at]) || is_boolean(&first[at]) && all(at, &is_boolean);
    let data: Vec<&String> = (0..first.len()).filter(|&at| is_data(at)).map(|at| &first[at]).collect();
    if !data.is_empty() {
        // Names may be numbers only if they count the columns, as a data frame without names is written.
        let counted = |start: usize| data.iter().enumerate().all(|(at, cell)| cell.parse() == Ok(at + start));
        return likely(first.len() > 2 && (counted(0) || counted(1)) && data.len() > 1);
    }
    if rest.is_empty() {
        return Verdict::Likely;
    }
    // A name over numbers is a header for certain.
    if (0..first.len()).any(|at| all(at, &typed)) {
        return Verdict::Certain;
    }
    // Text over text: names do not come back as cells, categories do.
    let comes_back = |at: usize| column(at).any(|cell| *cell == first[at]);
    likely(first.iter().all(|cell| !absent(cell)) && !(0..first.len()).any(comes_back))
}

/// The place of a record that names the columns for certain, if those above it are a title: they are almost empty.
pub(super) fn below_title(records: &[Row], missing: &[String]) -> Option<usize> {
    let mut widths = BTreeMap::new();
    for record in records {
        *widths.entry(record.cells.len()).or_insert(0) += 1;
    }
    let (&width, _) = widths.iter().max_by_key(|(_, count)| **count)?;
    let is_sparse = |record: &Row| record.filled() < 2 || record.filled() * 2 < width;
    let is_title = |record: &Row| is_sparse(record) && !record.is_whole(width, missing);
    let at = records.iter().take(TITLE_RECORDS).position(|record| !is_title(record))?;
    (at > 0 && records[at].is_whole(width, missing) && judge(&records[at..], missing) == Verdict::Certain).then_some(at)
}

/// The place of a fuller record than those above it that has a column's name, where the first does not.
pub(super) fn place_of_missing(error: &Error, records: &[Row]) -> Option<usize> {
    let wanted = match error.problem() {
        Problem::NoSuchColumn { wanted, .. } => std::slice::from_ref(wanted),
        Problem::MissingColumns { names } => names.as_slice(),
        _ => return None,
    };
    let has_name = |record: &Row| record.cells.iter().any(|cell| wanted.contains(cell));
    let at = records.iter().take(TITLE_RECORDS).position(has_name)?;
    let is_title = |above: &Row| above.filled() < records[at].filled() && !above.is_whole(records[at].cells.len(), &[]);
    (at > 0 && records[..at].iter().all(is_title)).then_some(at)
}

/// The error for a first line that is a title; another line has the names.
pub(super) fn title(first: u64, names: u64) -> Error {
    if first == names {
        // Lines of an old Mac end otherwise than those that are counted and skipped.
        return Error::option("this does not look like column names, but a later line does")
            .way_out("delete the lines above it, or save the file with the line ends of Unix or Windows");
    }
    let above = names - 1;
    Error::option(format!("this does not look like column names, but line {names} does")).at_line(first).way_out(
        format!("leave out the lines above it with --skip-lines {above}, or state --no-header if there are no names"),
    )
}
