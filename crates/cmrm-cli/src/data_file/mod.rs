//! A data file as it stands, every column in its place, for verbs that write it again with other labels.

mod original;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use cmrm_data::preprocess::PreprocessOptions;
use cmrm_data::read::{Format, Opened, ReadOptions};
use cmrm_data::table::{ColumnBuilder, Kind};
use cmrm_data::write::Change;
use cmrm_data::{
    Column, ColumnRef, Features, Fingerprint, Input, LabelOptions, LabelledRows, MissingLabels, Override, Table,
};

use crate::args::ReadArgs;
use crate::failure::{Failure, Result, in_file};
use crate::load::{Loaded, load, names_data_set, read_options};
use crate::outputs::{OutFile, Outputs};
use crate::sources::{open_data, read_data, source};
use crate::terminal::Terminal;
use cmrm_fit::FitConfig;
use original::Original;

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
    /// The file to copy, and the label's place among its columns.
    original: Option<(Original, usize)>,
    /// New labels, where rows have any.
    new: Vec<Option<String>>,
    /// What to say if the file is not copied but made anew.
    note: Option<String>,
    terminal: Terminal,
}

impl DataFile {
    /// Reads a file, or a data set of the catalogue. The cells of a text file are kept as they are written.
    pub fn read(data: &str, args: &ReadArgs, terminal: &Terminal) -> Result<Self> {
        let config = settings(data, args);
        let path = Path::new(data);
        if args.labels.is_none() && !names_data_set(data) {
            let mut options = read_options(&config)?;
            if let Opened::Csv(file) = open_data(path, &options)? {
                // Which line names the columns is judged once, as a fit does: with the label, and by what counts as missing.
                options.text.header = Some(file.dialect().header);
            }
            let opened = open_data(path, &ReadOptions { label: None, id: None, ..options.clone() })?;
            if opened.is_text() {
                return DataFile::of_text(path, &opened, options, terminal);
            }
            if !opened.names().is_empty() {
                return DataFile::of_columns(path, &opened, &options, terminal);
            }
        }
        // The new file has every column, whatever is said about them.
        let config = FitConfig { preprocess: PreprocessOptions::default(), ..config };
        let loaded = load(&config, args.cache.as_deref())?;
        if let Features::Sparse(_) = &loaded.train.features {
            return Err(no_table(path, args));
        }
        DataFile::of_input(loaded, terminal)
    }

    /// Text stays text, so that `007` and `NA` come out as they went in.
    fn of_text(path: &Path, opened: &Opened, mut options: ReadOptions, terminal: &Terminal) -> Result<Self> {
        let names = opened.names();
        let (label, id) = (label_column(path, names, &options)?, id_column(path, names, &options)?);
        // Decisions belong to the rows as a run read them, which is not as they are written.
        let read_as = match names.len() > 1 + usize::from(id.is_some()) {
            true => Fingerprint::of_rows(&read_data(path, &options)?),
            false => None,
        };
        (options.label, options.id) = (None, None);
        options.overrides = names.iter().map(|name| (name.clone(), Override::Categorical)).collect();
        let missing = std::mem::take(&mut options.text.missing);
        let table = table_of(read_data(path, &options)?.features)?;
        let source = path.display().to_string();
        let note = table.unnamed().then(|| format!("note: {source}: no header; the new file gets column names"));
        let columns = table.columns().to_vec();
        let is_missing = |text: &str| missing.iter().any(|token| token == text.trim());
        let labels = names_of(&columns[label], is_missing);
        let original = Original::of(path, opened, options.limits)?.map(|file| (file, label));
        let (classes, new, terminal) = (None, Vec::new(), *terminal);
        Ok(DataFile { columns, label, id, labels, classes, source, read_as, original, new, note, terminal })
    }

    fn of_columns(path: &Path, opened: &Opened, options: &ReadOptions, terminal: &Terminal) -> Result<Self> {
        let names = opened.names();
        let (label, id) = (label_column(path, names, options)?, id_column(path, names, options)?);
        // A run has the labels as names, with every digit.
        let overrides = [(names[label].clone(), Override::Categorical)].into_iter().collect();
        let whole = ReadOptions { format: options.format, id: options.id.clone(), overrides, ..ReadOptions::default() };
        let Input { features, ids, .. } = read_data(path, &whole)?;
        let mut columns: Vec<Column> = ids.into_iter().chain(table_of(features)?.columns().iter().cloned()).collect();
        let places: HashMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
        columns.sort_by_key(|column| places.get(column.name.as_str()).copied());
        // The reader leaves out what a data frame counts its rows with, unless it is their ID.
        let place = |at: usize| {
            columns.iter().position(|column| column.name == names[at]).ok_or_else(|| {
                let (path, name) = (path.display(), &names[at]);
                Failure::input(format!("{path}: column '{name}' counts the rows of a data frame; name another column"))
            })
        };
        let original = Original::of(path, opened, options.limits)?.map(|file| (file, label));
        let (label, id) = (place(label)?, id.map(place).transpose()?);
        let labels = names_of(&columns[label], |_| false);
        let (source, terminal) = (path.display().to_string(), *terminal);
        let (classes, read_as, new, note) = (None, None, Vec::new(), None);
        Ok(DataFile { columns, label, id, labels, classes, source, read_as, original, new, note, terminal })
    }

    /// Features and labels that are not in one table: the label becomes the last column.
    fn of_input(loaded: Loaded, terminal: &Terminal) -> Result<Self> {
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
        let (label, classes, terminal) = (columns.len() - 1, loaded.classes, *terminal);
        let (original, new, note) = (None, Vec::new(), None);
        Ok(DataFile { columns, label, id, labels, classes, source, read_as, original, new, note, terminal })
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
        let options =
            LabelOptions { missing: MissingLabels::HoldOut, classes: self.classes.clone(), ..LabelOptions::default() };
        LabelledRows::encode(&self.labels, 0, &options).map_err(|error| error.in_file(&self.source).into())
    }

    /// Puts new labels, `None` for a row that keeps its own, into the label's column.
    pub fn relabel(&mut self, new: &[Option<&str>]) {
        self.new = new.iter().map(|label| label.map(str::to_owned)).collect();
    }

    /// Writes `rows`, or all of them, and the log of what was done; both or neither.
    pub fn write(self, out: &Rewritten, rows: Option<&[usize]>, log: &Table) -> Result<()> {
        out.log.write_table_for_people(log)?;
        if let Err(failure) = self.write_data(&out.data, rows) {
            std::fs::remove_file(out.log.path()).map_err(|error| in_file(out.log.path(), error))?;
            return Err(failure);
        }
        Ok(())
    }

    /// Copies the file where it can be: what nobody decided on stays as it is. Otherwise a file is made of the columns.
    fn write_data(mut self, out: &OutFile, rows: Option<&[usize]>) -> Result<()> {
        let new = |row: usize| self.new.get(row).and_then(Option::as_deref);
        if let Some((original, place)) = &self.original {
            let change = |row: usize| new(row).map_or(Change::Keep, Change::Label);
            let mut changes = vec![if rows.is_some() { Change::Drop } else { Change::Keep }; self.rows()];
            match rows {
                Some(rows) => rows.iter().for_each(|&row| changes[row] = change(row)),
                None => (0..changes.len()).for_each(|row| changes[row] = change(row)),
            }
            if original.copy(out, *place, &self.columns[self.label], &changes)? {
                return Ok(());
            }
        }
        if let Some(note) = &self.note {
            self.terminal.say(note);
        }
        let (old, mut builder) = (&self.columns[self.label], ColumnBuilder::new(Kind::Categorical));
        for row in 0..old.len() {
            match new(row).map(std::borrow::Cow::Borrowed).or_else(|| old.text(row)) {
                Some(text) => builder.push_name(&text),
                None => builder.push_missing(),
            }
        }
        let name = old.name.clone();
        self.columns[self.label] = builder.finish(name);
        let table = Table::new(self.columns)?;
        match rows {
            Some(rows) => out.write_table(&table.gather(rows)?),
            None => out.write_table(&table),
        }
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
        skip_lines: args.skip_lines.unwrap_or_default(),
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
        Features::Sparse(_) => return Err(Failure::internal("a sparse matrix as a table")),
    };
    let width = array.width();
    let column = |at: usize| {
        let cells = array.values().iter().skip(at).step_by(width.max(1)).map(|&value| tidy(value));
        Column::numeric(format!("x{at}"), cells.collect())
    };
    // The names differ and the lengths are equal, which is all that a table asks for.
    Ok(Table::new((0..width).map(column).collect()).unwrap_or_default())
}

/// Why a sparse matrix is not written again, and the way out: its labels can have a file of their own.
fn no_table(path: &Path, args: &ReadArgs) -> Failure {
    let name = path.display();
    let why = "a sparse matrix cannot be written as a table: most of its columns would be zeros";
    let apply = "with --force, since its rows have no features (those to drop have to go from the matrix too)";
    // A data set of the catalogue has no file of that name.
    let detected = || Format::detect(&source("the data", path).ok()?, &ReadOptions::default()).ok();
    Failure::input(match &args.labels {
        Some(labels) => format!(
            "{name}: {why}; apply the decisions to the file of labels, {}, as a CSV file with a header, {apply}",
            labels.display()
        ),
        None if args.format.or_else(detected) == Some(Format::Svmlight) => format!(
            "{name}: svmlight files cannot be written again; put the labels, which are the first word of each line, into a \
             CSV file with a header, apply the decisions to that, {apply}, and give it to fit with --labels"
        ),
        None => {
            format!("{name}: {why}; give the labels a CSV file of their own and apply the decisions to that, {apply}")
        }
    })
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
