//! A text file copied byte for byte, apart from the labels that change and the rows that are left out.

use std::io::Write;
use std::ops::Range;

use super::Change;
use crate::error::{Error, Result};
use crate::read::{Dialect, Limits, Source};
use crate::table::{Column, ColumnBuilder, Kind};

/// The mark that Windows programs put in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The bytes of a text file, and where its records are.
pub struct TextCopy {
    bytes: Vec<u8>,
    /// Each with the empty lines before it and its line end.
    records: Vec<Range<usize>>,
    delimiter: u8,
    quote: u8,
    /// Place of the label among the cells.
    label: usize,
    /// Records before the first row, and whether the last of them names the columns.
    above: usize,
    header: bool,
}

impl TextCopy {
    /// Reads the file. Nothing if its last records do not have the cells of `labels` in that place: then rows are not
    /// where they are taken to be.
    pub fn read(
        source: &Source,
        limits: &Limits,
        dialect: &Dialect,
        label: usize,
        labels: &Column,
    ) -> Result<Option<Self>> {
        let (delimiter, quote) = (dialect.delimiter, dialect.quote);
        let mut bytes = Vec::new();
        source
            .open_unpacked(limits)?
            .read_to_end(&mut bytes)
            .map_err(|error| Error::from(error).in_file(source.name()))?;
        let start = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let (mut records, mut cells) = (Vec::new(), ColumnBuilder::new(Kind::Categorical));
        let mut reader = reader(delimiter, quote, &bytes[start..]);
        let (mut record, mut last) = (csv::ByteRecord::new(), start);
        while reader.read_byte_record(&mut record).unwrap_or(false) {
            let mut end = start + reader.position().byte() as usize;
            // The reader counts the second half of a line end to the record behind it.
            if bytes[..end].ends_with(b"\r") && bytes[end..].starts_with(b"\n") {
                end += 1;
            }
            records.push(last..end);
            last = end;
            cells.push_name(std::str::from_utf8(record.get(label).unwrap_or_default()).unwrap_or_default().trim());
        }
        let cells = cells.finish("");
        let Some(above) = records.len().checked_sub(labels.len()) else { return Ok(None) };
        if above < usize::from(dialect.header)
            || (0..labels.len()).any(|row| cells.text(above + row) != labels.text(row))
        {
            return Ok(None);
        }
        Ok(Some(TextCopy { bytes, records, delimiter, quote, label, above, header: dialect.header }))
    }

    /// Writes what is left of the rows, whose `changes` are given, with that byte between cells.
    pub fn write(&self, out: &mut impl Write, delimiter: u8, changes: &[Change<'_>]) -> Result<()> {
        let first = self.records.first().map_or(0, |record| record.start);
        out.write_all(&self.bytes[..first])?;
        for (at, record) in self.records.iter().enumerate() {
            // A line that states the delimiter, or a title, is no row of cells.
            if delimiter != self.delimiter && at + usize::from(self.header) < self.above {
                continue;
            }
            let change = at.checked_sub(self.above).and_then(|row| changes.get(row)).unwrap_or(&Change::Keep);
            self.write_record(out, &self.bytes[record.clone()], delimiter, *change)?;
        }
        Ok(out.write_all(&self.bytes[self.records.last().map_or(first, |record| record.end)..])?)
    }

    fn write_record(&self, out: &mut impl Write, bytes: &[u8], delimiter: u8, change: Change<'_>) -> Result<()> {
        let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let start = bytes.iter().take_while(|byte| is_end(byte)).count();
        let (empty_lines, rest) = bytes.split_at(start);
        out.write_all(empty_lines)?;
        if change == Change::Drop {
            return Ok(());
        }
        let end = match rest {
            [.., b'\r', b'\n'] => rest.len() - 2,
            [.., last] if is_end(last) => rest.len() - 1,
            _ => rest.len(),
        };
        let (record, line_end) = rest.split_at(end);
        for (at, range) in cells_of(record, self.delimiter, self.quote).into_iter().enumerate() {
            if at > 0 {
                out.write_all(&[delimiter])?;
            }
            let cell = &record[range];
            match change {
                Change::Label(label) if at == self.label => self.write_label(out, cell, delimiter, label)?,
                _ if delimiter == self.delimiter || !cell.contains(&delimiter) => out.write_all(cell)?,
                _ => self.write_cell(out, delimiter, &self.value(cell), false)?,
            }
        }
        Ok(out.write_all(line_end)?)
    }

    /// A label in the place of `old`: in quotes if that was, and behind the same spaces, which some files have behind every
    /// delimiter.
    fn write_label(&self, out: &mut impl Write, old: &[u8], delimiter: u8, label: &str) -> Result<()> {
        let spaces = old.iter().take_while(|&&byte| byte == b' ').count();
        let is_plain = |byte: u8| byte != delimiter && byte != self.quote && !matches!(byte, b'\r' | b'\n');
        if label.bytes().all(is_plain) && self.label > 0 {
            out.write_all(&old[..spaces])?;
        }
        self.write_cell(out, delimiter, label.as_bytes(), old.first() == Some(&self.quote))
    }

    fn write_cell(&self, out: &mut impl Write, delimiter: u8, cell: &[u8], always_quote: bool) -> Result<()> {
        let style = if always_quote { csv::QuoteStyle::Always } else { csv::QuoteStyle::Necessary };
        let mut writer = csv::WriterBuilder::new()
            .delimiter(delimiter)
            .quote(self.quote)
            .quote_style(style)
            .from_writer(Vec::with_capacity(cell.len() + 3));
        // Memory is never full: there is nothing that could fail.
        let written = writer.write_record([cell]).ok().and_then(|()| writer.into_inner().ok()).unwrap_or_default();
        Ok(out.write_all(written.strip_suffix(b"\n").unwrap_or(&written))?)
    }

    /// What a cell says, without its quotes.
    fn value(&self, cell: &[u8]) -> Vec<u8> {
        let mut record = csv::ByteRecord::new();
        match reader(self.delimiter, self.quote, cell).read_byte_record(&mut record) {
            Ok(true) => record.get(0).unwrap_or_default().to_vec(),
            _ => Vec::new(),
        }
    }
}

fn reader(delimiter: u8, quote: u8, bytes: &[u8]) -> csv::Reader<&[u8]> {
    let mut builder = csv::ReaderBuilder::new();
    builder.has_headers(false).flexible(true).delimiter(delimiter).quote(quote).from_reader(bytes)
}

/// Where the cells of a record are, quotes included, by the rules of the reader.
fn cells_of(record: &[u8], delimiter: u8, quote: u8) -> Vec<Range<usize>> {
    #[derive(Clone, Copy)]
    enum In {
        Start,
        Plain,
        Quotes,
        /// A quote within quotes: their end, unless another one follows.
        End,
    }
    let (mut cells, mut start, mut place) = (Vec::new(), 0, In::Start);
    for (at, &byte) in record.iter().enumerate() {
        place = match place {
            In::Start | In::End if byte == quote => In::Quotes,
            In::Quotes if byte == quote => In::End,
            In::Quotes => In::Quotes,
            _ if byte == delimiter => {
                cells.push(start..at);
                start = at + 1;
                In::Start
            }
            _ => In::Plain,
        };
    }
    cells.push(start..record.len());
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{Opened, ReadOptions, open};

    /// The file written again, whose label is the last column.
    fn copied(text: &str, delimiter: u8, changes: &[Change<'_>]) -> String {
        let source = Source::bytes("t.csv", text.as_bytes().to_vec());
        let Opened::Csv(file) = open(&source, &ReadOptions::default()).unwrap() else { panic!("no text file") };
        let label = file.names().len() - 1;
        let rows = changes.len();
        let mut reader = reader(file.dialect().delimiter, b'"', text.as_bytes());
        let all: Vec<String> =
            reader.records().map(|record| record.unwrap().get(label).unwrap_or_default().trim().to_string()).collect();
        let labels = Column::categorical("y", &all[all.len() - rows..]);
        let copy = TextCopy::read(&source, &Limits::default(), file.dialect(), label, &labels).unwrap().unwrap();
        let mut out = Vec::new();
        copy.write(&mut out, delimiter, changes).unwrap();
        String::from_utf8(out).unwrap()
    }

    use Change::{Drop, Keep, Label};

    #[test]
    fn all_but_the_changes_is_copied() {
        let text =
            "\u{feff}note;x;y\r\n\" keep; me \";1,5;a\r\n\r\nb  ;\"2\"; a\r\n\"two\r\nlines\";3;\"b\"\r\n=1+1;4;b";
        assert_eq!(copied(text, b';', &[Keep; 4]), text);
        let changed = text.replace("; a\r", "; c\r").replace("\"b\"\r", "\"a\"\r");
        assert_eq!(copied(text, b';', &[Keep, Label("c"), Label("a"), Keep]), changed);
        let dropped = "\u{feff}note;x;y\r\n\r\nb  ;\"2\"; a\r\n=1+1;4;\"b;\"\"\"";
        assert_eq!(copied(text, b';', &[Drop, Keep, Drop, Label("b;\"")]), dropped);
        let tabs = "\u{feff}note\tx\ty\r\n\" keep; me \"\t1,5\ta\r\n\r\nb  \t\"2\"\t a\r\n\"two\r\nlines\"\t3\t\"b\"\r\n=1+1\t4\tb";
        assert_eq!(copied(text, b'\t', &[Keep; 4]), tabs);
    }

    #[test]
    fn cells_are_quoted_where_another_delimiter_asks_for_it() {
        let text = "note;x;y\n1,5;1;a\n\"1,\"\"5\";2;b\n\"u\"v,w;3;a\n";
        let commas = "note,x,y\n\"1,5\",1,a\n\"1,\"\"5\",2,b\n\"uv,w\",3,a\n";
        assert_eq!(copied(text, b',', &[Keep; 3]), commas);
        // The line for Excel would be wrong then.
        let stated = "sep=;\nx;y\n1;a\n2;b\n3;a\n";
        assert_eq!(copied(stated, b';', &[Keep, Drop, Keep]), "sep=;\nx;y\n1;a\n3;a\n");
        assert_eq!(copied(stated, b',', &[Keep, Drop, Keep]), "x,y\n1,a\n3,a\n");
    }

    #[test]
    fn files_without_header_and_with_old_line_ends() {
        let text = "\u{feff}1.5,2,a\r3.5,4,b\r5.5,6,a\r";
        assert_eq!(copied(text, b',', &[Drop, Keep, Label("b")]), "\u{feff}3.5,4,b\r5.5,6,b\r");
    }

    #[test]
    fn other_rows_are_not_copied() {
        let source = Source::bytes("t.csv", b"x,y\n1,a\n2,b\n".to_vec());
        let Opened::Csv(file) = open(&source, &ReadOptions::default()).unwrap() else { panic!("no text file") };
        for labels in [&["b", "a"][..], &["a", "b", "a", "b"], &["y", "a", "b"]] {
            let labels = Column::categorical("y", labels);
            assert!(TextCopy::read(&source, &Limits::default(), file.dialect(), 1, &labels).unwrap().is_none());
        }
    }
}
