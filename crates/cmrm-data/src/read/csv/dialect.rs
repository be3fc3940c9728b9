//! How a text file is written: its delimiter, and whether its first row is a header.

use std::collections::{BTreeMap, HashSet};

use super::super::{ReadOptions, Source};
use super::header::{self, Row, Verdict};
use super::sample::Sample;
use super::{line, utf8};
use crate::error::{Error, Problem, Result};

/// Delimiters that are tried, best first where two fit equally well; the space is last.
pub(super) const DELIMITERS: [u8; 5] = [b',', b'\t', b';', b'|', b' '];
/// Records of the sample that are looked at.
const SAMPLE_RECORDS: usize = 500;
/// Fewest records to judge by, where the file has as many.
const FEW_RECORDS: usize = 4;

/// How a text file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialect {
    /// The byte between cells.
    pub delimiter: u8,
    /// Whether the first row names the columns.
    pub header: bool,
    pub(crate) quote: u8,
    pub(super) comment: Option<u8>,
    pub(super) skip_lines: usize,
}

impl Dialect {
    /// Detects from the start of the file whatever the options leave open; gives its first records too, at least one.
    pub(super) fn detect(source: &Source, options: &ReadOptions) -> Result<(Dialect, Vec<Row>)> {
        let text = &options.text;
        let mut dialect = Dialect {
            delimiter: text.delimiter.unwrap_or(b','),
            header: false,
            quote: text.quote,
            comment: text.comment,
            skip_lines: text.skip_lines,
        };
        let mut sample = Sample::open(source, options)?;
        refuse_other_encodings(sample.bytes())?;
        let in_file = delimiter_line(sample.bytes());
        if let Some(delimiter) = in_file {
            dialect.skip_lines = dialect.skip_lines.max(1);
            dialect.delimiter = text.delimiter.unwrap_or(delimiter);
        }
        dialect.check()?;
        let is_settled = text.delimiter.or(in_file).is_some();
        let rows = loop {
            let rows = dialect.settle_delimiter(is_settled, &sample);
            if sample.is_whole() || rows.len() >= FEW_RECORDS || !sample.grow(rows.is_empty())? {
                break rows;
            }
        };
        let Some(first) = rows.first() else {
            let empty = if text.skip_lines > 0 { "the file behind the lines to skip" } else { "the file" };
            return Err(Error::new(Problem::Empty(empty.into())));
        };
        let line_of = |row: &Row| line::of_record(source, options, &dialect, row.byte);
        if let Some(at) = first.cells.iter().position(|cell| cell.contains('\0')) {
            return Err(super::nul_byte(Some(at)).at_line(line_of(first)?));
        }
        // Names with other letters than the file's would not be found, which says nothing of why.
        if !first.is_utf8 {
            return Err(utf8::locate(source, options, &dialect)?.at_line(line_of(first)?));
        }
        let expected = options.expected.as_ref().filter(|expected| !expected.unnamed);
        let has_expected = expected.is_some_and(|expected| {
            let names: HashSet<&str> = expected.columns.iter().map(|column| column.name.as_str()).collect();
            first.cells.iter().any(|cell| names.contains(cell.as_str()))
        });
        // Whoever calls a column by a word of the first record takes it for the names. A place is no such word.
        let is_stated = |name: &String| name.parse::<i64>().is_err() && first.cells.contains(name);
        let columns = options.label.iter().chain(&options.id).map(|column| &column.0);
        let has_stated = columns.chain(options.overrides.keys()).any(is_stated);
        // Where names are stated or found, nothing above them is a title.
        if text.header.is_none()
            && !has_expected
            && !has_stated
            && let Some(at) = header::below_title(&rows, &text.missing)
        {
            return Err(header::title(line_of(first)?, line_of(&rows[at])?));
        }
        dialect.header = match text.header {
            Some(header) => header,
            None if expected.is_some() => has_expected,
            None => has_stated || header::judge(&rows, &text.missing) != Verdict::Row,
        };
        Ok((dialect, rows))
    }

    /// Detects the delimiter unless it is settled, and gives the sample's records.
    fn settle_delimiter(&mut self, is_settled: bool, sample: &Sample) -> Vec<Row> {
        let rest = sample.after_lines(self.skip_lines);
        if !is_settled {
            self.delimiter = detect_delimiter(self, rest, sample.is_whole());
        }
        self.whole_records(rest, sample.is_whole(), Row::of)
    }

    fn check(&self) -> Result<()> {
        let special = [Some(self.delimiter), Some(self.quote), self.comment];
        if special.iter().flatten().any(|byte| !byte.is_ascii() || matches!(byte, b'\n' | b'\r')) {
            return Err(Error::option("delimiter, quote and comment must be ASCII characters other than line ends"));
        }
        if self.delimiter == self.quote || Some(self.delimiter) == self.comment || Some(self.quote) == self.comment {
            return Err(Error::option("delimiter, quote and comment must differ"));
        }
        Ok(())
    }

    pub(super) fn builder(&self) -> csv::ReaderBuilder {
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true).delimiter(self.delimiter).quote(self.quote).comment(self.comment);
        builder
    }

    /// What `take` makes of the sample's records; the last is left out if the sample may cut it.
    fn whole_records<T>(&self, sample: &[u8], whole: bool, take: impl Fn(&csv::ByteRecord) -> T) -> Vec<T> {
        let mut reader = self.builder().from_reader(sample);
        let (mut record, mut taken) = (csv::ByteRecord::new(), Vec::new());
        while taken.len() < SAMPLE_RECORDS && reader.read_byte_record(&mut record).unwrap_or(false) {
            taken.push(take(&record));
        }
        if !whole && taken.len() < SAMPLE_RECORDS {
            taken.pop();
        }
        taken
    }
}

/// Refuses text in UTF-16, which starts with a mark of its own.
pub(in crate::read) fn refuse_other_encodings(sample: &[u8]) -> Result<()> {
    if sample.starts_with(&[0xff, 0xfe]) || sample.starts_with(&[0xfe, 0xff]) {
        return Err(Error::new(Problem::NotUtf8 { byte: 0 }).way_out("the file is UTF-16: save it as UTF-8"));
    }
    Ok(())
}

/// The delimiter that the first line states for Excel, as in `sep=;`.
fn delimiter_line(sample: &[u8]) -> Option<u8> {
    let sample = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample);
    let line = sample.split(|&byte| byte == b'\n').next()?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let is_sign = |byte: u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
    match line.split_at_checked(4)? {
        (word, &[delimiter]) if word.eq_ignore_ascii_case(b"sep=") && is_sign(delimiter) => Some(delimiter),
        _ => None,
    }
}

/// The delimiter under which most records have the same number of cells, and then the most cells.
fn detect_delimiter(dialect: &Dialect, sample: &[u8], whole: bool) -> u8 {
    let mut best = (b',', (0, 0));
    for delimiter in DELIMITERS {
        if delimiter == dialect.quote || Some(delimiter) == dialect.comment {
            continue;
        }
        let records = Dialect { delimiter, ..dialect.clone() }.whole_records(sample, whole, csv::ByteRecord::len);
        let mut widths = BTreeMap::new();
        for &cells in &records {
            *widths.entry(cells).or_insert(0) += 1;
        }
        let Some((&cells, &agreeing)) = widths.iter().max_by_key(|(_, count)| **count) else { continue };
        if cells < 2 {
            continue;
        }
        // Hundredths, so that one ragged row in a long file does not tip the balance to a worse delimiter.
        let score = (agreeing * 100 / records.len(), cells);
        // Text has spaces of its own, so a space must explain more rows than anything else, not just more cells.
        let better = if delimiter == b' ' { score.0 > best.1.0 } else { score > best.1 };
        if better {
            best = (delimiter, score);
        }
    }
    best.0
}
