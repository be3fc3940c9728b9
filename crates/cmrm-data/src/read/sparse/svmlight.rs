//! svmlight's format, which libsvm and many others write: a row a line, `label index:value index:value # comment`.
//!
//! Column `j` is index `j` as the file writes it, whether the file counts from 0 or from 1; a file that counts from 1
//! has a column 0 without numbers, which costs nothing. A guess from the indices that occur could be another for new rows
//! than for the training rows, and would then shift every column without a word.

use cmrm::SparseRows;

use super::super::lines::Lines;
use super::super::{ReadOptions, Source};
use super::FEWER_COLUMNS;
use crate::dataset::{Features, Input, SparseArray};
use crate::error::{Error, Problem, Result};
use crate::preprocess::MAX_FEATURES;
use crate::table::{ColumnBuilder, Kind};

const FORMAT: &str = "svmlight";

/// Whether these first bytes look like this format: in whole lines, at most one word before pairs whose indices rise, and a
/// pair somewhere.
pub(in crate::read) fn is_svmlight(head: &[u8]) -> bool {
    // The last line, or the last word if there is only one line, may be cut in two.
    let cut = |at: u8| head.iter().rposition(|&byte| byte == at);
    let whole = &head[..cut(b'\n').or(cut(b' ')).unwrap_or(head.len())];
    let Ok(text) = std::str::from_utf8(whole) else { return false };
    let mut pairs = 0;
    for line in text.lines() {
        let Line { label, words } = Line::of(without_comment(line));
        if label.is_some_and(|label| label.contains([',', ';', '|', '"'])) {
            return false;
        }
        let mut least = 0;
        for word in words {
            match pair(word) {
                // No index has zeros in front, unlike the hour of 08:30.
                Ok((index, _)) if index >= least && (index == 0 || !word.starts_with('0')) => least = index + 1,
                _ => return false,
            }
            pairs += 1;
        }
    }
    pairs > 0
}

/// Reads the rows and, where lines start with one, the labels. The rows of a stored model's data say how wide these are.
pub fn read_svmlight(source: &Source, options: &ReadOptions) -> Result<Input> {
    read_here(source, options).map_err(|error| error.in_file(source.name()))
}

fn read_here(source: &Source, options: &ReadOptions) -> Result<Input> {
    let mut lines = Lines::open(source, options, FORMAT)?;
    let mut read = Read::new();
    while lines.advance()? {
        let row = read.rows();
        read.take(lines.text()).map_err(|error| error.at_row(row).at_line(lines.number()))?;
    }
    let width = read.width(options)?;
    let rows = SparseRows::new(read.starts, read.columns, read.values, width)?;
    let features = Features::Sparse(SparseArray { rows, first_row: 0 });
    let labels = read.labelled.then(|| read.labels.finish("label"));
    Ok(Input { features, labels, ids: None, source: source.name().to_string() })
}

/// What has been read.
struct Read {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
    labels: ColumnBuilder,
    /// Whether any row has a label.
    labelled: bool,
    /// The largest index, and its row.
    largest: Option<(u32, u64)>,
    /// The numbers of one row.
    row: Vec<(u32, f32)>,
}

impl Read {
    fn new() -> Self {
        Read {
            starts: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
            labels: ColumnBuilder::new(Kind::Categorical),
            labelled: false,
            largest: None,
            row: Vec::new(),
        }
    }

    fn rows(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// Takes a line; one that is empty or a comment is no row.
    fn take(&mut self, line: &str) -> Result<()> {
        let line = without_comment(line);
        if line.is_empty() {
            return Ok(());
        }
        let Line { label, words } = Line::of(line);
        self.row.clear();
        for word in words {
            self.row.push(pair(word)?);
        }
        match label {
            Some(label) if label.contains(',') => {
                return Err(Error::new(Problem::Unsupported(format!("a row with several labels, '{label}',")))
                    .way_out("keep one label a row; a text label must have no comma"));
            }
            Some(label) => self.labels.push_name(without_plus(label)),
            None => self.labels.push_missing(),
        }
        self.labelled |= label.is_some();
        if !self.row.is_sorted_by(|a, b| a.0 < b.0) {
            self.row.sort_by_key(|&(index, _)| index);
            if let Some(twice) = self.row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(Error::malformed(FORMAT, format!("the row has index {} twice", twice[0].0))
                    .way_out("keep one of the two, or their sum"));
            }
        }
        if let Some(&(last, _)) = self.row.last()
            && self.largest.is_none_or(|(largest, _)| last > largest)
        {
            self.largest = Some((last, self.rows()));
        }
        let kept = self.row.iter().filter(|(_, value)| *value != 0.0);
        self.columns.extend(kept.clone().map(|&(index, _)| index));
        self.values.extend(kept.map(|&(_, value)| value));
        self.starts.push(self.values.len());
        Ok(())
    }

    /// Columns of the matrix: as many as the model's data had, else as many as there are indices.
    fn width(&self, options: &ReadOptions) -> Result<usize> {
        if self.rows() == 0 {
            return Err(Error::new(Problem::Empty("the file".into())));
        }
        let model = options.expected.as_ref().filter(|expected| expected.unnamed).map(|expected| expected.width);
        match (self.largest, model) {
            (Some((largest, row)), Some(width)) if largest as usize >= width => {
                let what = "the largest index".into();
                let limit = width.saturating_sub(1) as u64;
                Err(Error::new(Problem::TooLarge { what, size: largest.into(), limit }).at_row(row).way_out(
                    "the model knows no index beyond that: leave such numbers out, or fit it on data that has them",
                ))
            }
            (_, Some(width)) => Ok(width),
            (Some((largest, _)), None) => Ok(largest as usize + 1),
            (None, None) => Err(Error::new(Problem::Empty("the set of features".into()))
                .way_out("write the features of a row behind its label, as index:value")),
        }
    }
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim_ascii()
}

/// A line without its comment, in parts.
struct Line<'a> {
    /// The first word, unless that is a pair.
    label: Option<&'a str>,
    /// All further words but the query's number, which only rankings need.
    words: std::str::SplitAsciiWhitespace<'a>,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Self {
        let (first, rest) = line.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((line, ""));
        let (label, pairs) = match first {
            "" => (None, ""),
            _ if first.contains(':') => (None, line),
            _ => (Some(first), rest.trim_ascii_start()),
        };
        let pairs = match pairs.strip_prefix("qid:") {
            Some(query) => query.trim_start_matches(|c: char| !c.is_ascii_whitespace()),
            None => pairs,
        };
        Line { label, words: pairs.split_ascii_whitespace() }
    }
}

/// `index:value`.
fn pair(word: &str) -> Result<(u32, f32)> {
    let wrong = |what: String| {
        Error::malformed(FORMAT, what)
            .way_out("write every number as index:value, such as 17:0.5, with a space between")
    };
    let (index, value) = word.split_once(':').ok_or_else(|| wrong(format!("'{word}' has no colon")))?;
    if index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong(format!("'{word}' does not start with an index, a whole number from 0 on")));
    }
    // Digits that are no number of 64 bits are too many.
    let index: u64 = index.parse().unwrap_or(u64::MAX);
    if index >= MAX_FEATURES as u64 {
        let limit = MAX_FEATURES as u64 - 1;
        return Err(
            Error::new(Problem::TooLarge { what: "an index".into(), size: index, limit }).way_out(FEWER_COLUMNS)
        );
    }
    let value = value.parse().map_err(|_| wrong(format!("'{word}' does not end with a number")))?;
    Ok((index as u32, value))
}

/// `+1` is the class that others write as `1`.
fn without_plus(label: &str) -> &str {
    label.strip_prefix('+').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(label)
}
