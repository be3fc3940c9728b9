//! Texts from columns of a table, a window of rows at a time.

use std::path::Path;

use cmrm_data::read::{Opened, ReadOptions, open_path};
use cmrm_data::{Column, ColumnRef, Error, Features, Override, Problem, Result};

/// Rows that are read and encoded at a time.
pub const WINDOW: usize = 4096;

/// A table, some of whose columns are text. It can be passed over any number of times.
pub struct TextTable {
    opened: Opened,
    /// Names of the columns whose texts are joined.
    texts: Vec<String>,
    label: Option<String>,
    /// Labels that count as missing.
    missing: Vec<String>,
    source: String,
}

/// What a table holds, known before anything is computed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// Number of rows.
    pub rows: usize,
    /// Rows without text.
    pub empty: usize,
    /// The first row without text.
    pub first_empty: Option<usize>,
    /// The labels, if they were asked for; a missing one is empty.
    pub labels: Option<Vec<String>>,
}

impl TextTable {
    /// Opens a file, and finds the columns of text and perhaps one of labels. Of `reading`, how text files are written counts.
    pub fn open(path: &Path, texts: &[ColumnRef], label: Option<&ColumnRef>, mut reading: ReadOptions) -> Result<Self> {
        let source = path.display().to_string();
        let in_file = |error: Error| error.in_file(&source);
        let names = names(&open_path(path, &reading)?, &source)?;
        let resolve = |column: &ColumnRef| Ok(names[column.resolve(&names).map_err(in_file)?].clone());
        let texts = texts.iter().map(resolve).collect::<Result<Vec<_>>>()?;
        let label = label.map(resolve).transpose()?;
        let rule = |name: &String| match texts.contains(name) || label.as_ref() == Some(name) {
            true => Override::Categorical,
            false => Override::Ignore,
        };
        reading.overrides = names.iter().map(|name| (name.clone(), rule(name))).collect();
        // A text that says "NA" is a text.
        let missing = std::mem::take(&mut reading.text.missing);
        Ok(TextTable { opened: open_path(path, &reading)?, texts, label, missing, source })
    }

    /// Counts rows and collects labels.
    pub fn survey(&self) -> Result<Survey> {
        let mut survey = Survey { labels: self.label.is_some().then(Vec::new), ..Survey::default() };
        self.each_chunk(|texts, labels| {
            for (at, _) in texts.iter().enumerate().filter(|(_, text)| text.is_empty()) {
                survey.empty += 1;
                survey.first_empty.get_or_insert(survey.rows + at);
            }
            survey.rows += texts.len();
            survey.labels.iter_mut().for_each(|all| all.extend_from_slice(&labels));
            Ok::<(), Error>(())
        })?;
        if survey.rows == 0 {
            return Err(Error::new(Problem::Empty("the table".into())).in_file(&self.source));
        }
        Ok(survey)
    }

    /// Hands the texts to `take`, at most [`WINDOW`] rows at a time, with the number of the first row.
    pub fn each_window<E: From<Error>>(&self, mut take: impl FnMut(u64, &[String]) -> Result<(), E>) -> Result<(), E> {
        let mut row = 0;
        self.each_chunk(|texts, _| {
            for window in texts.chunks(WINDOW) {
                take(row, window)?;
                row += window.len() as u64;
            }
            Ok(())
        })
    }

    fn each_chunk<E: From<Error>>(
        &self,
        mut take: impl FnMut(Vec<String>, Vec<String>) -> Result<(), E>,
    ) -> Result<(), E> {
        for chunk in self.opened.chunks(WINDOW)? {
            let Features::Table(table) = chunk?.features else { return Err(no_columns(&self.source))? };
            let column = |name: &String| table.columns().iter().find(|column| column.name == *name);
            let columns: Vec<&Column> = self.texts.iter().filter_map(column).collect();
            let texts = (0..table.rows()).map(|row| joined(&columns, row)).collect();
            let labels = self.label.as_ref().and_then(column);
            let label = |row| labels.and_then(|labels| labels.text(row)).filter(|label| !self.is_missing(label));
            let labels = match labels {
                Some(_) => (0..table.rows()).map(|row| label(row).unwrap_or_default().into_owned()).collect(),
                None => Vec::new(),
            };
            take(texts, labels)?;
        }
        Ok(())
    }

    fn is_missing(&self, label: &str) -> bool {
        self.missing.iter().any(|missing| missing == label.trim())
    }
}

/// Names of the columns: those of the first row.
fn names(opened: &Opened, source: &str) -> Result<Vec<String>> {
    let first = opened.chunks(1)?.next();
    let first = first.ok_or_else(|| Error::new(Problem::Empty("the table".into())).in_file(source))??;
    match first.features {
        Features::Table(table) => Ok(table.columns().iter().map(|column| column.name.clone()).collect()),
        _ => Err(no_columns(source)),
    }
}

fn no_columns(source: &str) -> Error {
    let way_out = "give the texts as a table, such as CSV or Parquet";
    Error::option("an array of numbers has no columns of text").in_file(source).way_out(way_out)
}

/// The texts of a row with a space between them, which every tokenizer takes for a boundary. A missing cell is no text.
fn joined(columns: &[&Column], row: usize) -> String {
    let texts = columns.iter().filter_map(|column| column.text(row));
    texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join(" ")
}
