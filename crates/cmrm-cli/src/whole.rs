//! A data file as it stands, every column in its place, for verbs that write it again with other labels.

use std::path::{Path, PathBuf};

use cmrm_data::read::{Opened, ReadOptions, Source, TextOptions, open, read};
use cmrm_data::table::{ColumnBuilder, Kind};
use cmrm_data::write::{write_table, write_table_for_people};
use cmrm_data::{Column, ColumnRef, Features, Input, LabelOptions, LabelledRows, MissingLabels, Override, Table};
use cmrm_files::text::spreadsheet_value;

use crate::args::ReadArgs;
use crate::failure::{Failure, Result, in_file};
use crate::load::{Loaded, load, read_options};
use crate::terminal::Terminal;
use cmrm_fit::FitConfig;

/// All columns of a data file, and which of them is the label.
pub struct Whole {
    pub columns: Vec<Column>,
    pub label: usize,
    /// Labels as names; a missing one stays missing.
    pub labels: Column,
    /// Classes in a fixed order, if the data set has one.
    pub classes: Option<Vec<String>>,
    /// The file's name, for messages.
    pub source: String,
}

impl Whole {
    /// Reads a file, or a data set of the catalogue. The cells of a text file are kept as they are written.
    pub fn read(data: &str, args: &ReadArgs, terminal: &Terminal) -> Result<Self> {
        let config = settings(data, args);
        let path = Path::new(data);
        if args.labels.is_none() && path.is_file() {
            let options = read_options(&config)?;
            let opened = open(&Source::file(path), &ReadOptions { label: None, id: None, ..options.clone() });
            match opened? {
                Opened::Csv(file) => return Whole::of_text(path, file.names(), options, terminal),
                Opened::Parquet(file) => return Whole::of_columns(path, file.names(), &options),
                _ => {}
            }
        }
        Whole::of_input(load(&config, args.cache.as_deref())?)
    }

    /// Text stays text, so that `007` and `NA` come out as they went in.
    fn of_text(path: &Path, names: &[String], mut options: ReadOptions, terminal: &Terminal) -> Result<Self> {
        let label = label_column(path, names, &options)?;
        (options.label, options.id) = (None, None);
        options.overrides = names.iter().map(|name| (name.clone(), Override::Categorical)).collect();
        let missing = std::mem::take(&mut options.text.missing);
        let table = table_of(read(&Source::file(path), &options)?.features);
        if table.unnamed() {
            terminal.say(format!("note: {}: no header; the new file names its columns", path.display()));
        }
        let columns = table.columns().to_vec();
        let is_missing = |text: &str| missing.iter().any(|token| token == text.trim());
        let labels = names_of(&columns[label], is_missing);
        Ok(Whole { columns, label, labels, classes: None, source: path.display().to_string() })
    }

    fn of_columns(path: &Path, names: &[String], options: &ReadOptions) -> Result<Self> {
        let label = label_column(path, names, options)?;
        let table = table_of(read(&Source::file(path), &ReadOptions::default())?.features);
        let columns = table.columns().to_vec();
        let labels = names_of(&columns[label], |_| false);
        Ok(Whole { columns, label, labels, classes: None, source: path.display().to_string() })
    }

    /// Features and labels that do not stand in one table: the label becomes the last column.
    fn of_input(loaded: Loaded) -> Result<Self> {
        let Input { features, labels, source, .. } = loaded.train;
        let column = labels.ok_or_else(|| {
            Failure::input(format!(
                "{source}: there are no labels; name their column with --label or their file with --labels"
            ))
        })?;
        let mut labels = names_of(&column, |_| false);
        let mut columns = table_of(features).columns().to_vec();
        while columns.iter().any(|other| other.name == labels.name) {
            labels.name.push('_');
        }
        columns.push(labels.clone());
        Ok(Whole { label: columns.len() - 1, columns, labels, classes: loaded.classes, source })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// Labels as class indices; rows without one are left aside.
    pub fn encode(&self) -> Result<LabelledRows> {
        let options = LabelOptions { missing: MissingLabels::HoldOut, classes: self.classes.clone() };
        LabelledRows::encode(&self.labels, 0, &options).map_err(|error| error.in_file(&self.source).into())
    }

    /// Puts new labels, `None` for a row that keeps its own, into the label's column.
    pub fn relabel(&mut self, new: &[Option<&str>]) {
        let mut builder = ColumnBuilder::new(Kind::Categorical);
        let old = &self.columns[self.label];
        for (row, new) in new.iter().enumerate() {
            match new.map(std::borrow::Cow::Borrowed).or_else(|| old.text(row)) {
                Some(text) => builder.push_name(&text),
                None => builder.push_missing(),
            }
        }
        let name = old.name.clone();
        self.columns[self.label] = builder.finish(name);
    }

    /// Writes `rows`, or all of them, and the log of what was done; both or neither.
    pub fn write(self, out: &Path, rows: Option<&[usize]>, log: (&str, Table)) -> Result<PathBuf> {
        if same_file(out, Path::new(&self.source)) {
            return Err(Failure::input(format!("{}: this is the data file itself; write to another", out.display())));
        }
        let mut log_path = out.as_os_str().to_owned();
        log_path.push(format!(".{}.csv", log.0));
        let log_path = PathBuf::from(log_path);
        let mut table = Table::new(self.columns)?;
        if let Some(rows) = rows {
            table = table.gather(rows)?;
        }
        write_table_for_people(&log_path, &log.1)?;
        if let Err(error) = write_table(out, &table) {
            std::fs::remove_file(&log_path).map_err(|error| in_file(&log_path, error))?;
            return Err(error.into());
        }
        Ok(log_path)
    }
}

/// The settings that say how a file is read.
pub fn settings(data: &str, args: &ReadArgs) -> FitConfig {
    FitConfig {
        data: data.to_owned(),
        label: args.label.clone(),
        labels: args.labels.clone(),
        id: args.id.clone(),
        delimiter: args.delimiter.clone(),
        no_header: args.no_header,
        ..FitConfig::default()
    }
}

/// A table of text with its header, every cell as it stands; in CSV without the mark of a cell that is no formula.
pub fn read_text(path: &Path) -> Result<Table> {
    let text = TextOptions { header: Some(true), missing: Vec::new(), ..TextOptions::default() };
    let mut options = ReadOptions { text, ..ReadOptions::default() };
    if let Opened::Csv(file) = open(&Source::file(path), &options)? {
        options.overrides = file.names().iter().map(|name| (name.clone(), Override::Categorical)).collect();
        let table = table_of(read(&Source::file(path), &options)?.features);
        return Ok(Table::new(table.columns().iter().map(unmarked).collect())?);
    }
    Ok(table_of(read(&Source::file(path), &options)?.features))
}

/// An array becomes columns `x0`, `x1` and so on.
pub fn table_of(features: Features) -> Table {
    let array = match features {
        Features::Table(table) => return table,
        Features::Array(array) => array,
    };
    let width = array.width();
    let column = |at: usize| {
        let cells = array.values().iter().skip(at).step_by(width.max(1)).map(|&value| tidy(value));
        Column::numeric(format!("x{at}"), cells.collect())
    };
    // The names differ and the lengths are equal, which is all that a table asks for.
    Table::new((0..width).map(column).collect()).unwrap_or_default()
}

/// The double with the same short text, so that a file shows 0.1 and not 0.10000000149.
pub fn tidy(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

fn label_column(path: &Path, names: &[String], options: &ReadOptions) -> Result<usize> {
    let Some(label) = &options.label else {
        let shown: Vec<&str> = names.iter().take(12).map(String::as_str).collect();
        let more = if names.len() > shown.len() { ", …" } else { "" };
        return Err(Failure::input(format!(
            "{}: which column holds the labels? say --label NAME; the columns are {}{more}",
            path.display(),
            shown.join(", ")
        )));
    };
    ColumnRef::resolve(label, names).map_err(|error| error.in_file(path.display()).into())
}

fn names_of(column: &Column, is_missing: impl Fn(&str) -> bool) -> Column {
    let mut builder = ColumnBuilder::new(Kind::Categorical);
    for row in 0..column.len() {
        match column.text(row).filter(|text| !is_missing(text)) {
            Some(text) => builder.push_name(&text),
            None => builder.push_missing(),
        }
    }
    builder.finish(column.name.clone())
}

/// The column of a file made for people (`write_table_for_people`), as it was before its cells were marked.
fn unmarked(column: &Column) -> Column {
    let mut builder = ColumnBuilder::new(Kind::Categorical);
    for row in 0..column.len() {
        match column.text(row) {
            Some(cell) => builder.push_name(spreadsheet_value(&cell)),
            None => builder.push_missing(),
        }
    }
    builder.finish(column.name.clone())
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
