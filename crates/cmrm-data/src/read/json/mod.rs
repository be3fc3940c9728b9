//! JSON Lines, and JSON arrays of objects: a row is an object, its keys are columns.
//!
//! A key that a row lacks, and null, are missing cells, also where a model has a column that no row has. Objects within a
//! row are columns `outer.inner`. Cells have the text that they would have in a CSV file, so that they are read as what
//! they are by the same rules. A file is passed over twice, as a CSV file is, and neither pass holds more than a chunk.

mod chunks;
mod columns;
mod flatten;
mod rows;

pub use chunks::JsonChunks;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use self::columns::Columns;
use self::flatten::Value;
use self::rows::Rows;
use super::options::Plan;
use super::{Expected, ReadOptions, Source, Usual};
use crate::error::{Error, Problem, Result};
use crate::table::{ColumnRef, Guess, Kind};

/// Whether these first bytes look like rows in JSON: an object with a key, or an array of objects.
pub(super) fn is_json(head: &[u8]) -> bool {
    let mut marks = head.iter().filter(|byte| !byte.is_ascii_whitespace()).skip_while(|&&byte| byte >= 0x80);
    matches!((marks.next(), marks.next()), (Some(b'{'), Some(b'"')) | (Some(b'['), Some(b'{')))
}

/// A JSON file whose columns are known.
pub struct JsonFile {
    source: Source,
    found: Arc<Found>,
}

/// What is known of one file, or of several that belong together.
struct Found {
    options: ReadOptions,
    plan: Plan,
    /// How many of the plan's columns the files have; those behind them are a model's, all of whose cells are missing.
    own: usize,
}

impl JsonFile {
    /// Finds the columns and their kinds in a pass over the file.
    pub fn open(source: &Source, options: &ReadOptions) -> Result<Self> {
        let mut files = Self::open_all(std::slice::from_ref(source), options)?;
        files.pop().ok_or_else(|| Error::internal("one file was opened and none came back"))
    }

    /// The same, with columns that the rows may have and need not.
    pub(crate) fn open_with(source: &Source, options: &ReadOptions, usual: &Usual) -> Result<Self> {
        let in_file = |error: Error| error.in_file(source.name());
        let mut seen = Seen::default();
        seen.pass(source, options).map_err(in_file)?;
        let options = usual.beside(options, seen.columns.names());
        let found = Arc::new(seen.settle(&options).map_err(in_file)?);
        Ok(JsonFile { source: source.clone(), found })
    }

    /// The same for files that belong together: each has the columns of all.
    pub(crate) fn open_all(sources: &[Source], options: &ReadOptions) -> Result<Vec<Self>> {
        let mut seen = Seen::default();
        for source in sources {
            seen.pass(source, options).map_err(|error| error.in_file(source.name()))?;
        }
        let first = sources.first().map_or("", Source::name);
        let found = Arc::new(seen.settle(options).map_err(|error| error.in_file(first))?);
        Ok(sources.iter().map(|source| JsonFile { source: source.clone(), found: found.clone() }).collect())
    }

    /// Names of all columns that the file has.
    pub fn names(&self) -> &[String] {
        &self.found.plan.names[..self.found.own]
    }

    /// The kind of each column that is read, by name.
    pub fn kinds(&self) -> Vec<(&str, Kind)> {
        self.found.plan.kinds()
    }

    /// The rows, at most `rows` at a time.
    pub fn chunks(self: &Arc<Self>, rows: usize) -> Result<JsonChunks> {
        JsonChunks::new(self, rows).map_err(|error| error.in_file(self.source.name()))
    }
}

/// The first pass: which columns there are, and what their cells have in common.
#[derive(Default)]
struct Seen {
    columns: Columns,
    guesses: Vec<Guess>,
    /// For each column the first cell that is none, to be refused if the column is wanted.
    nested: Vec<Option<Error>>,
    rows: u64,
    bytes: u64,
}

impl Seen {
    fn pass(&mut self, source: &Source, options: &ReadOptions) -> Result<()> {
        let mut rows = Rows::open(source, options)?;
        let (rows_before, bytes_before) = (self.rows, self.bytes);
        while rows.advance()? {
            self.row(&rows, source.name(), options)?;
            (self.rows, self.bytes) = (rows_before + rows.row(), bytes_before + rows.bytes());
            self.check_size(options)?;
        }
        if rows.row() == 0 { Err(no_rows()) } else { Ok(()) }
    }

    /// Looks at the current row.
    fn row(&mut self, rows: &Rows, file: &str, options: &ReadOptions) -> Result<()> {
        self.columns.begin_row();
        let place = |error| rows.place(error);
        flatten::each_cell(rows.text(), &mut |key, value| {
            let at = self.columns.find_or_add(key);
            if at == self.guesses.len() {
                self.guesses.push(Guess::new(key));
                self.nested.push(None);
            }
            self.columns.fill(at)?;
            match value {
                Value::Missing => {}
                Value::Text(text) if options.text.is_missing(&text) => {}
                Value::Text(text) => self.guesses[at].add(&text),
                Value::Nested(nested) => {
                    self.nested[at].get_or_insert_with(|| place(nested.refused(key)).in_file(file));
                }
            }
            Ok(())
        })
        .map_err(place)
    }

    /// Refuses rows that have hardly a key in common: as a table they would be many times as large as the file.
    fn check_size(&self, options: &ReadOptions) -> Result<()> {
        let columns = self.guesses.len() as u64;
        let size = self.rows.saturating_mul(columns).saturating_mul(8);
        let limit = options.limits.of_packed(self.bytes);
        if size <= limit {
            return Ok(());
        }
        let what = format!("the table of {} rows and {columns} keys, at eight bytes per cell,", self.rows);
        Err(Error::new(Problem::TooLarge { what, size, limit })
            .way_out("give the rows the same keys; keys that are names of things belong into a column of their own"))
    }

    /// Adds the columns of a model that no row has. Rows that have none of them are no rows for the model, and are left to be
    /// refused as such.
    fn add_absent(&mut self, wanted: &BTreeSet<&str>) {
        let own: HashSet<&str> = self.columns.names().iter().map(String::as_str).collect();
        if !wanted.iter().any(|name| own.contains(name)) {
            return;
        }
        let absent: Vec<&str> = wanted.iter().filter(|name| !own.contains(*name)).copied().collect();
        for name in absent {
            self.columns.find_or_add(name);
            self.guesses.push(Guess::new(name));
            self.nested.push(None);
        }
    }

    fn settle(mut self, options: &ReadOptions) -> Result<Found> {
        let wanted = options.expected.as_ref().map(Expected::needed).unwrap_or_default();
        // A model's columns may be called as pandas would call cells: a lone row of them is one.
        if !self.columns.names().iter().any(|name| wanted.contains(name.as_str())) {
            refuse_columns_by_row(self.columns.names(), self.rows)?;
        }
        let own = self.guesses.len();
        self.add_absent(&wanted);
        let names = self.columns.into_names();
        // A key that is null in some rows and an object in others is no column of its own.
        let inside: HashSet<&str> =
            names.iter().flat_map(|name| name.match_indices('.').map(|(dot, _)| &name[..dot])).collect();
        let is_column = |at: usize| {
            let name = names[at].as_str();
            !self.guesses[at].is_empty() || self.nested[at].is_some() || !inside.contains(name) || wanted.contains(name)
        };
        let kept: Vec<usize> = (0..names.len()).filter(|&at| is_column(at)).collect();
        let own = kept.partition_point(|&at| at < own);
        let names: Vec<String> = kept.iter().map(|&at| names[at].clone()).collect();
        // A place is one among the columns that the file has.
        let by_name = |column: &Option<ColumnRef>| {
            let at = column.as_ref().map(|column| column.resolve(&names[..own])).transpose()?;
            Ok::<_, Error>(at.map(|at| ColumnRef(names[at].clone())))
        };
        let options = ReadOptions { label: by_name(&options.label)?, id: by_name(&options.id)?, ..options.clone() };
        let mut plan = options.plan(names, false)?;
        for (column, &at) in kept.iter().enumerate() {
            if plan.columns[column].is_none() {
                continue;
            }
            if let Some(refused) = self.nested[at].take() {
                return Err(refused);
            }
            if plan.is_open(column) {
                plan.settle(column, &self.guesses[at]);
            }
        }
        Ok(Found { options, plan, own })
    }
}

fn no_rows() -> Error {
    Error::new(Problem::Empty("the file, which has no rows,".into()))
}

/// Refuses the one object by columns and row numbers that pandas writes unless told otherwise.
fn refuse_columns_by_row(names: &[String], rows: u64) -> Result<()> {
    let by_row = |name: &String| name.rsplit_once('.').is_some_and(|(_, row)| row.parse::<u64>().is_ok());
    if rows != 1 || names.len() < 2 || !names.iter().all(by_row) {
        return Ok(());
    }
    Err(Error::new(Problem::Unsupported("a JSON file with an object for each column".into()))
        .way_out("write an object for each row: in pandas to_json(file, orient=\"records\", lines=True)"))
}
