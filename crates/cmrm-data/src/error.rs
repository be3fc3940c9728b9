//! The error of this crate: where it is, what is wrong there, and the way out.

use std::fmt;

use crate::files::text::printable_value;

use crate::table::Kind;

/// A refused input. Its message names the file, row and column as far as they are known, the problem with both
/// numbers, and what can be done about it.
///
/// Rows count from zero, as in NumPy, and leave a header out; a text file's line, from one, is given beside the row.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    place: Place,
    problem: Problem,
    way_out: Option<String>,
}

/// Where a problem is; every part may be unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, or the name that in-memory bytes were given.
    pub file: Option<String>,
    /// Row of data, from zero.
    pub row: Option<u64>,
    /// Line of a text file, from one.
    pub line: Option<u64>,
    /// Name of the column.
    pub column: Option<String>,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The bytes are not a file of the format.
    #[error("not a readable {format} file: {what}")]
    Malformed {
        /// Name of the format.
        format: &'static str,
        /// What was found.
        what: String,
    },
    /// The file ends too early.
    #[error("{what} is cut short: {expected} bytes expected, {found} found")]
    Truncated {
        /// What ends early.
        what: String,
        /// Bytes that the header promises.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// A size is over a limit that keeps memory bounded.
    #[error("{what} is {size}, over the limit of {limit}")]
    TooLarge {
        /// What is too large, with its unit.
        what: String,
        /// The declared or measured size.
        size: u64,
        /// The limit in force.
        limit: u64,
    },
    /// The format is understood but this part of it is not supported.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// There is nothing in it.
    #[error("{0} is empty")]
    Empty(String),
    /// A row with another number of cells than the others.
    #[error("{found} cells, expected {expected}")]
    Ragged {
        /// Cells in the header or in the first row.
        expected: usize,
        /// Cells in this row.
        found: usize,
    },
    /// Two columns with one name.
    #[error("the header names '{name}' twice, at columns {first} and {second}")]
    DuplicateHeader {
        /// The name.
        name: String,
        /// First column with that name, from zero.
        first: usize,
        /// Second column with that name, from zero.
        second: usize,
    },
    /// Text that is not UTF-8.
    #[error("byte {byte} is not valid UTF-8")]
    NotUtf8 {
        /// Offset in the file, from zero.
        byte: u64,
    },
    /// A column that is not there.
    #[error("no column '{wanted}'{}", suggest(near))]
    NoSuchColumn {
        /// What was asked for.
        wanted: String,
        /// Close names, closest first.
        near: Vec<String>,
    },
    /// Columns that the model needs and the data lacks.
    #[error("missing columns of the model: {}", quoted(names))]
    MissingColumns {
        /// Their names.
        names: Vec<String>,
    },
    /// A row without a label.
    #[error("the label is missing")]
    MissingLabel,
    /// A label that is not among the known classes.
    #[error("label '{label}' is not one of the {classes} known classes{}", suggest(near))]
    UnknownLabel {
        /// The label.
        label: String,
        /// Number of known classes.
        classes: usize,
        /// Close classes, closest first.
        near: Vec<String>,
    },
    /// Nothing to tell apart.
    #[error("every label is '{class}'; at least two classes are needed")]
    OneClass {
        /// The only class.
        class: String,
    },
    /// A cell without a value where one is required.
    #[error("the cell is missing")]
    MissingCell,
    /// A feature that is NaN or infinite, or too large for a 32-bit float.
    #[error("the value {value} is not a finite 32-bit number")]
    NonFinite {
        /// The value, as text.
        value: String,
    },
    /// A feature that is so far from the training rows that no float can hold it once it is standardised.
    #[error("the value {value} is too large to be standardised with deviation {deviation}")]
    OutOfScale {
        /// The value.
        value: f64,
        /// The training rows' standard deviation.
        deviation: f64,
    },
    /// A cell that does not fit its column's kind.
    #[error("'{text}' is not a {kind} value")]
    NotOfKind {
        /// The cell.
        text: String,
        /// The kind the column has to have.
        kind: Kind,
    },
    /// Two sizes that must agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What was counted.
        what: String,
        /// The size asked for.
        expected: u64,
        /// The size found.
        found: u64,
    },
    /// A stored file of another format version.
    #[error("{what} has format version {found}; this program reads version {supported}")]
    Version {
        /// What was loaded.
        what: &'static str,
        /// The version found.
        found: u64,
        /// The version supported.
        supported: u64,
    },
    /// An option that makes no sense.
    #[error("{0}")]
    Option(String),
    /// An error of the method library.
    #[error("{0}")]
    Method(#[from] cmrm::Error),
    /// What no input can cause.
    #[error("a bug in cmrm, please report it: {0}")]
    Internal(String),
}

/// Shorthand for a result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with nothing but its problem; add the place with the methods below.
    pub fn new(problem: impl Into<Problem>) -> Self {
        Error(Box::new(Inner { place: Place::default(), problem: problem.into(), way_out: None }))
    }

    /// A [`Problem::Malformed`].
    pub fn malformed(format: &'static str, what: impl fmt::Display) -> Self {
        Error::new(Problem::Malformed { format, what: what.to_string() })
    }

    /// A [`Problem::Option`].
    pub fn option(what: impl Into<String>) -> Self {
        Error::new(Problem::Option(what.into()))
    }

    /// A [`Problem::Internal`].
    pub(crate) fn internal(what: impl fmt::Display) -> Self {
        Error::new(Problem::Internal(what.to_string()))
    }

    /// Whether this is a bug in cmrm rather than bad input.
    pub fn is_internal(&self) -> bool {
        matches!(self.problem(), Problem::Internal(_))
    }

    /// Names the file, unless a more precise one is already named.
    pub fn in_file(mut self, file: impl fmt::Display) -> Self {
        self.0.place.file.get_or_insert_with(|| file.to_string());
        self
    }

    /// Names the row, from zero.
    pub fn at_row(mut self, row: u64) -> Self {
        self.0.place.row = Some(row);
        self
    }

    /// Names the line of a text file, from one.
    pub fn at_line(mut self, line: u64) -> Self {
        self.0.place.line = Some(line);
        self
    }

    /// Names the column.
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.0.place.column = Some(column.into());
        self
    }

    /// Says what can be done.
    pub fn way_out(mut self, way_out: impl Into<String>) -> Self {
        self.0.way_out = Some(way_out.into());
        self
    }

    /// Where the problem is.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// What the problem is.
    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }

    /// What can be done about it, if the program knows.
    pub fn advice(&self) -> Option<&str> {
        self.0.way_out.as_deref()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        if let Some(file) = &self.file {
            write!(f, "{file}")?;
            between = ", ";
        }
        match (self.row, self.line) {
            (Some(row), Some(line)) => write!(f, "{between}row {row} (line {line})")?,
            (Some(row), None) => write!(f, "{between}row {row}")?,
            (None, Some(line)) => write!(f, "{between}line {line}")?,
            (None, None) => {}
        }
        if self.row.is_some() || self.line.is_some() {
            between = ", ";
        }
        if let Some(column) = &self.column {
            write!(f, "{between}column '{column}'")?;
        }
        Ok(())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { place, problem, way_out } = &*self.0;
        let place = if *place == Place::default() { String::new() } else { format!("{place}: ") };
        let way_out = way_out.as_ref().map(|way_out| format!("; {way_out}")).unwrap_or_default();
        // Names and cells are quoted from the data: what is in them does not break the line.
        f.write_str(&printable_value(&format!("{place}{problem}{way_out}")))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.0.problem)
    }
}

impl<P: Into<Problem>> From<P> for Error {
    fn from(problem: P) -> Self {
        Error::new(problem)
    }
}

/// `, did you mean 'a' or 'b'?`, or nothing.
pub(crate) fn suggest(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    let near: Vec<String> = near.iter().map(|name| format!("'{name}'")).collect();
    format!(", did you mean {}?", near.join(" or "))
}

/// At most eight quoted names, then a count.
pub(crate) fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN: usize = 8;
    let mut text = names.iter().take(SHOWN).map(|name| format!("'{}'", name.as_ref())).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}
