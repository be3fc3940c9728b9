//! How a text file is written: its delimiter, and whether its first row is a header.

use std::collections::{BTreeMap, HashSet};

use super::super::{ReadOptions, Source, TextOptions};
use super::sample::Sample;
use crate::error::{Error, Problem, Result};
use crate::table::date::{self, DateOrder};
use crate::table::number::{self, Decimal};
use crate::table::{is_nothing, parse_boolean};

/// Delimiters that are tried, best first where two fit equally well; the space is last.
const DELIMITERS: [u8; 5] = [b',', b'\t', b';', b'|', b' '];
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
    pub(super) quote: u8,
    pub(super) comment: Option<u8>,
    pub(super) skip_lines: usize,
}

impl Dialect {
    /// Detects from the start of the file whatever the options leave open; gives the first row's cells too.
    pub(super) fn detect(source: &Source, options: &ReadOptions) -> Result<(Dialect, Vec<String>)> {
        let text = &options.text;
        let mut dialect = Dialect {
            delimiter: text.delimiter.unwrap_or(b','),
            header: false,
            quote: text.quote,
            comment: text.comment,
            skip_lines: text.skip_lines,
        };
        dialect.check()?;
        let mut sample = Sample::open(source, options)?;
        refuse_other_encodings(sample.bytes())?;
        let records = loop {
            let records = dialect.settle_delimiter(text, &sample);
            if sample.is_whole() || records.len() >= FEW_RECORDS || !sample.grow(records.is_empty())? {
                break records;
            }
        };
        let Some(first) = records.first().cloned() else {
            return Err(Error::new(Problem::Empty("the file".into())));
        };
        if let Some(at) = first.iter().position(|cell| cell.contains('\0')) {
            return Err(super::nul_byte(Some(at)).at_line(1 + text.skip_lines as u64));
        }
        dialect.header = match (text.header, &options.expected) {
            (Some(header), _) => header,
            (None, Some(expected)) if !expected.unnamed => {
                let names: HashSet<&str> = expected.columns.iter().map(|column| column.name.as_str()).collect();
                first.iter().any(|cell| names.contains(cell.as_str()))
            }
            _ => detect_header(&records, &text.missing),
        };
        Ok((dialect, first))
    }

    /// Detects the delimiter unless it is stated, and gives the sample's records.
    fn settle_delimiter(&mut self, text: &TextOptions, sample: &Sample) -> Vec<Vec<String>> {
        let rest = sample.after_lines(text.skip_lines);
        if text.delimiter.is_none() {
            self.delimiter = detect_delimiter(self, rest, sample.is_whole());
        }
        self.whole_records(rest, sample.is_whole(), |record| {
            record.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_string()).collect()
        })
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

/// Whether the first record names columns rather than being one of the rows.
fn detect_header(records: &[Vec<String>], missing: &[String]) -> bool {
    let Some((first, rest)) = records.split_first() else { return false };
    let is_number =
        |cell: &str| [Decimal::Point, Decimal::Comma].iter().any(|&mark| number::parse(cell, mark).is_some());
    // Columns are called `y` and `t`, though cells of those letters may mean yes and true.
    let is_boolean = |cell: &str| cell.len() > 1 && parse_boolean(cell).is_some();
    let is_date = |cell: &str| date::parse_in(cell, DateOrder::DayFirst).is_some();
    let typed = |cell: &str| is_number(cell) || is_boolean(cell) || is_date(cell);
    let absent = |cell: &str| missing.iter().any(|token| token == cell);
    let column = |at: usize| rest.iter().filter_map(move |record| record.get(at)).filter(|cell| !absent(cell));
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
        return first.len() > 2 && (counted(0) || counted(1)) && data.len() > 1;
    }
    if rest.is_empty() {
        return true;
    }
    // A name over numbers is a header for certain.
    if (0..first.len()).any(|at| all(at, &typed)) {
        return true;
    }
    // Text over text: names do not come back as cells, categories do.
    first.iter().all(|cell| !absent(cell)) && (0..first.len()).all(|at| column(at).all(|cell| *cell != first[at]))
}
