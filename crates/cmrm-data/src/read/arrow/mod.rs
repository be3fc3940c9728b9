//! Arrow IPC: files (Feather version 2) and streams, batch by batch, in chunks.
//!
//! The reader is our own: Arrow's crates take a minute to build, and make room for what a file merely declares. It reads
//! flat columns; nested ones are refused unless they are ignored. A batch is in memory at a time, so that is what a
//! pass takes; writers cut tables into batches of some ten thousand rows.

mod array;
mod batch;
mod chunks;
mod flat;
mod messages;
mod schema;

pub use chunks::ArrowChunks;

use std::collections::{BTreeSet, HashMap};
use std::io::Read;
use std::sync::Arc;

use self::messages::Messages;
use self::schema::Field;
use super::cell::{add_large, settle_large};
use super::options::{Plan, look};
use super::source::{io_error, read_head};
use super::{CHUNK_ROWS, ReadOptions, Source};
use crate::error::{Error, Problem, Result};
use crate::table::{Guess, Kind, refuse_duplicates};

/// What a file starts and ends with.
const MAGIC: &[u8] = b"ARROW1";

/// Whether these first bytes are those of a file, or of a stream's first message.
pub(super) fn is_arrow(head: &[u8]) -> bool {
    head.starts_with(MAGIC) || matches!(head, [0xff, 0xff, 0xff, 0xff, _, _, 0, 0, ..])
}

/// An Arrow file or stream whose columns are known.
#[derive(Clone)]
pub struct ArrowFile {
    source: Source,
    options: ReadOptions,
    fields: Vec<Field>,
    plan: Plan,
    /// For each column whether it is of numbers and nobody has said so: then its type has.
    numbers: Vec<bool>,
}

impl ArrowFile {
    /// Reads the schema and settles the columns.
    pub fn open(source: &Source, options: &ReadOptions) -> Result<Self> {
        let mut files = Self::open_all(std::slice::from_ref(source), options)?;
        files.pop().ok_or_else(|| Error::internal("one file was opened and none came back"))
    }

    /// The same for files that belong together: text that is to be numbers or dates is read in one way in all of them, and
    /// so are integers.
    pub(crate) fn open_all(sources: &[Source], options: &ReadOptions) -> Result<Vec<Self>> {
        let (mut guesses, mut large) = (HashMap::new(), BTreeSet::new());
        let mut files = Vec::with_capacity(sources.len());
        for source in sources {
            let opened = Self::open_here(source, options).and_then(|file| {
                file.look(&mut guesses)?;
                file.look_for_large(&mut large)?;
                Ok(file)
            });
            files.push(opened.map_err(|error| error.in_file(source.name()))?);
        }
        for file in &mut files {
            file.plan.settle_all(&guesses);
            settle_large(&mut file.plan, &file.numbers, &large);
        }
        Ok(files)
    }

    /// Passes over the columns of long integers.
    fn look_for_large(&self, names: &mut BTreeSet<String>) -> Result<()> {
        let may_be = |at: &usize| self.numbers[*at] && self.fields[*at].of.may_be_large();
        let of = (0..self.numbers.len()).filter(may_be).collect();
        add_large(of, &self.plan, self.most_rows()?, names, |plan| {
            Arc::new(ArrowFile { plan, ..self.clone() }).chunks(CHUNK_ROWS)
        })
    }

    /// Passes over the columns of text that are to be something else: all of their cells decide how they are written.
    fn look(&self, known: &mut HashMap<String, Guess>) -> Result<()> {
        match self.plan.to_look_at(|at| self.fields[at].of.kind() == Kind::Categorical) {
            None => Ok(()),
            Some(plan) => {
                let file = Arc::new(ArrowFile { plan, ..self.clone() });
                look(file.chunks(CHUNK_ROWS)?, &self.options.text, known)
            }
        }
    }

    fn open_here(source: &Source, options: &ReadOptions) -> Result<Self> {
        let source = seekable(source, options)?;
        let (fields, _) = Messages::open(&source, options)?;
        let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
        refuse_duplicates(names.iter().map(String::as_str))?;
        let mut plan = options.plan(names, false)?;
        plan.skip_row_numbers();
        let mut numbers = vec![false; fields.len()];
        for (at, field) in fields.iter().enumerate() {
            if let Some(kind) = &mut plan.columns[at] {
                field.check()?;
                numbers[at] = kind.is_none() && field.of.kind() == Kind::Numeric;
                kind.get_or_insert(field.of.kind());
            }
        }
        Ok(ArrowFile { source, options: options.clone(), fields, plan, numbers })
    }

    pub(super) fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// Names of all columns.
    pub fn names(&self) -> &[String] {
        &self.plan.names
    }

    /// The kind of each column that is read, by name.
    pub fn kinds(&self) -> Vec<(&str, Kind)> {
        self.plan.kinds()
    }

    /// The rows, at most `rows` at a time.
    pub fn chunks(self: &Arc<Self>, rows: usize) -> Result<ArrowChunks> {
        ArrowChunks::new(self, rows).map_err(|error| error.in_file(self.source.name()))
    }

    /// Most rows to hold in memory of a file of this length: a column of nothing but missing cells takes no bytes in the
    /// file, whatever its rows.
    pub(crate) fn most_rows(&self) -> Result<u64> {
        let columns = self.plan.columns.iter().flatten().count().max(1) as u64;
        Ok(self.options.limits.of_packed(self.source.len()?) / (8 * columns))
    }

    /// Refuses to hold more rows than that.
    pub(crate) fn check_size(&self, rows: u64) -> Result<()> {
        let limit = self.most_rows()?;
        if rows <= limit { Ok(()) } else { Err(too_many_rows(rows, limit).in_file(self.source.name())) }
    }

    fn wanted(&self) -> impl Iterator<Item = (&Field, bool)> {
        self.fields.iter().zip(self.plan.columns.iter().map(Option::is_some))
    }
}

/// The source, unpacked if it is a packed file: that is read by its end, while a stream is read from its start.
fn seekable(source: &Source, options: &ReadOptions) -> Result<Source> {
    if source.is_packed()? {
        let mut unpacked = source.open_unpacked(&options.limits)?;
        if read_head(&mut unpacked, MAGIC.len()).map_err(io_error)? == MAGIC {
            return Source::stream(source.name(), MAGIC.chain(unpacked));
        }
    }
    Ok(source.clone())
}

pub(super) fn too_many_rows(size: u64, limit: u64) -> Error {
    let what = "the number of rows, at least,".to_string();
    Error::new(Problem::TooLarge { what, size, limit })
        .way_out("if you trust the file, leave out columns that hardly vary, or write it without compression")
}

fn malformed(what: impl std::fmt::Display) -> Error {
    Error::malformed("Arrow", what)
}
