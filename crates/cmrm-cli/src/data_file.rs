//! A data file as it stands, every column in its place, for verbs that write it again with other labels.

use std::path::{Path, PathBuf};

use cmrm_data::preprocess::PreprocessOptions;
use cmrm_data::read::ReadOptions;
use cmrm_data::table::{ColumnBuilder, Kind};
use cmrm_data::{
    Column, ColumnRef, Features, Fingerprint, Input, LabelOptions, LabelledRows, MissingLabels, Override, Table,
};

use crate::args::ReadArgs;
use crate::failure::{Failure, Result, in_file};
use crate::load::{Loaded, load, names_data_set, read_options};
use crate::outputs::{OutFile, Outputs};
use crate::sources::{open_data, read_data};
use crate::terminal::Terminal;
use cmrm_fit::FitConfig;

/// All columns of a data file, and which of them is the label.
pub struct DataFile {
    pub columns: Vec<Column>,
    pub label: usize,
    /// Which of them names the rows, if the user said so.
    pub id: Option<usize>,
    /// Labels as names; a missing one stays missing.
    pub labels: Column,
    /// Classes in a fixed order, if the data set has one.
    pub classes: Option<Vec<String>>,
    /// The file's name, for messages.
    pub source: String,
    /// Fingerprint of the rows, where it is of something else than these columns.
    read_as: Option<Fingerprint>,
}

impl DataFile {
    /// Reads a file, or a data set of the catalogue. The cells of a text file are kept as they are written.
    pub fn read(data: &str, args: &ReadArgs, terminal: &Terminal) -> Result<Self> {
        let config = settings(data, args);
        let path = Path::new(data);
        if args.labels.is_none() && !names_data_set(data) {
            let options = read_options(&config)?;
            let opened = open_data(path, &ReadOptions { label: None, id: None, ..options.clone() })?;
            if opened.is_text() {
                return DataFile::of_text(path, opened.names(), options, terminal);
            }
            if !opened.names().is_empty() {
                return DataFile::of_columns(path, opened.names(), &options);
            }
        }
        // The new file has every column, whatever is said about them.
        let config = FitConfig { preprocess: PreprocessOptions::default(), ..config };
        DataFile::of_input(load(&config, args.cache.as_deref())?)
    }

    /// Text stays text, so that `007` and `NA` come out as they went in.
    fn of_text(path: &Path, names: &[String], mut options: ReadOptions, terminal: &Terminal) -> Result<Self> {
        let (label, id) = (label_column(path, names, &options)?, id_column(path, names, &options)?);
        // Decisions belong to the rows as a run read them, which is not as they are written if someone said what columns are.
        let read_as = match options.overrides.is_empty() {
            true => None,
            false => Fingerprint::of_rows(&read_data(path, &options)?),
        };
        (options.label, options.id) = (None, None);
        options.overrides = names.iter().map(|name| (name.clone(), Override::Categorical)).collect();
        let missing = std::mem::take(&mut options.text.missing);
        let table = table_of(read_data(path, &options)?.features)?;
        if table.unnamed() {
            terminal.say(format!("note: {}: no header; the new file gets column names", path.display()));
        }
        let columns = table.columns().to_vec();
        let is_missing = |text: &str| missing.iter().any(|token| token == text.trim());
        let labels = names_of(&columns[label], is_missing);
        Ok(DataFile { columns, label, id, labels, classes: None, source: path.display().to_string(), read_as })
    }

    fn of_columns(path: &Path, names: &[String], options: &ReadOptions) -> Result<Self> {
        let (label, id) = (label_column(path, names, options)?, id_column(path, names, options)?);
        let whole = ReadOptions { format: options.format, ..ReadOptions::default() };
        let table = table_of(read_data(path, &whole)?.features)?;
        let columns = table.columns().to_vec();
        let labels = names_of(&columns[label], |_| false);
        Ok(DataFile { columns, label, id, labels, classes: None, source: path.display().to_string(), read_as: None })
    }

    /// Features and labels that are not in one table: the label becomes the last column.
    fn of_input(loaded: Loaded) -> Result<Self> {
        let read_as = Fingerprint::of_rows(&loaded.train);
        let Input { features, labels, ids, source } = loaded.train;
        let column = labels.ok_or_else(|| {
            Failure::input(format!("{source}: no labels; name their column with --label or their file with --labels"))
        })?;
        let mut labels = names_of(&column, |_| false);
        let id = ids.is_some().then_some(0);
        let mut columns: Vec<Column> = ids.into_iter().chain(table_of(features)?.columns().iter().cloned()).collect();
        while columns.iter().any(|other| other.name == labels.name) {
            labels.name.push('_');
        }
        columns.push(labels.clone());
        Ok(DataFile { label: columns.len() - 1, id, columns, labels, classes: loaded.classes, source, read_as })
    }

    /// Fingerprint of the rows: every column but the labels.
    pub fn fingerprint(&self) -> Fingerprint {
        let features = || self.columns.iter().enumerate().filter(|(at, _)| *at != self.label).map(|(_, column)| column);
        self.read_as.clone().unwrap_or_else(|| Fingerprint::of_columns(features()))
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
    pub fn write(self, out: &Rewritten, rows: Option<&[usize]>, log: &Table) -> Result<()> {
        let mut table = Table::new(self.columns)?;
        if let Some(rows) = rows {
            table = table.gather(rows)?;
        }
        out.log.write_table_for_people(log)?;
        if let Err(failure) = out.data.write_table(&table) {
            std::fs::remove_file(out.log.path()).map_err(|error| in_file(out.log.path(), error))?;
            return Err(failure);
        }
        Ok(())
    }
}

/// Where data goes that is written again, and the log of what was changed in it.
pub struct Rewritten {
    pub data: OutFile,
    pub log: OutFile,
}

impl Rewritten {
    /// Claims `out`, and beside it the log `out.KIND.csv`.
    pub fn claim(mut outputs: Outputs, out: &Path, kind: &str) -> Result<Self> {
        let mut log = out.as_os_str().to_owned();
        log.push(format!(".{kind}.csv"));
        Ok(Rewritten { data: outputs.file("--out", out)?, log: outputs.file("--out", &PathBuf::from(log))? })
    }
}

/// The settings that say how a file is read.
pub fn settings(data: &str, args: &ReadArgs) -> FitConfig {
    FitConfig {
        data: data.to_owned(),
        label: args.label.clone(),
        labels: args.labels.clone(),
        id: args.id.clone(),
        format: args.format,
        delimiter: args.delimiter.clone(),
        no_header: args.no_header,
        strict: args.strict,
        preprocess: PreprocessOptions { overrides: args.overrides().collect(), ..PreprocessOptions::default() },
        ..FitConfig::default()
    }
}

/// An array becomes columns `x0`, `x1` and so on.
fn table_of(features: Features) -> Result<Table> {
    let array = match features {
        Features::Table(table) => return Ok(table),
        Features::Array(array) => array,
        Features::Sparse(_) => {
            return Err(Failure::input(
                "a sparse matrix cannot be written as a table: most of its columns would be zeros; its labels have a file of \
                 their own, which can be changed instead",
            ));
        }
    };
    let width = array.width();
    let column = |at: usize| {
        let cells = array.values().iter().skip(at).step_by(width.max(1)).map(|&value| tidy(value));
        Column::numeric(format!("x{at}"), cells.collect())
    };
    // The names differ and the lengths are equal, which is all that a table asks for.
    Ok(Table::new((0..width).map(column).collect()).unwrap_or_default())
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
            "{}: no label column given; name it with --label NAME; the columns are {}{more}",
            path.display(),
            shown.join(", ")
        )));
    };
    ColumnRef::resolve(label, names).map_err(|error| error.in_file(path.display()).into())
}

fn id_column(path: &Path, names: &[String], options: &ReadOptions) -> Result<Option<usize>> {
    let resolve = |id: &ColumnRef| ColumnRef::resolve(id, names).map_err(|error| error.in_file(path.display()).into());
    options.id.as_ref().map(resolve).transpose()
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
