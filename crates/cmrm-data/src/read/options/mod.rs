//! What a caller can say about a file.

mod plan;

pub(crate) use self::plan::{Plan, Reading, assemble, look};

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Format, Limits};
use crate::error::{Error, Problem, Result};
use crate::table::{ColumnRef, Kind, Override, Style, Table, made_up_name};

/// How to read a file; the default detects everything and takes every column as a feature.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The format, over what the content and the name say.
    pub format: Option<Format>,
    /// The column of labels.
    pub label: Option<ColumnRef>,
    /// A column that names the rows and is no feature.
    pub id: Option<ColumnRef>,
    /// What columns are, over what is detected.
    pub overrides: BTreeMap<String, Override>,
    /// What a stored model expects: other columns are skipped, and cells that do not fit are refused.
    pub expected: Option<Expected>,
    /// Whether a cell that is not of its column's kind is refused, however few such cells there are.
    pub strict: bool,
    /// How text files are written.
    pub text: TextOptions,
    /// Which arrays to take from a file or folder that holds several.
    pub arrays: ArrayNames,
    /// The CIFAR-100 label to use: the twenty coarse classes rather than the hundred fine ones.
    pub coarse_labels: bool,
    /// Bounds on memory.
    pub limits: Limits,
}

/// The columns that a stored model takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The columns, in order.
    pub columns: Vec<ExpectedColumn>,
    /// Whether the names were made up by a reader.
    pub unnamed: bool,
    /// How many columns the data had that the model was fitted on, those that it ignores included.
    pub width: usize,
    /// Whether data that lacks a needed column is refused; in JSON that is a column of missing cells.
    pub complete: bool,
}

/// A column that a stored model takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedColumn {
    /// Its name.
    pub name: String,
    /// What its cells have to be.
    pub kind: Kind,
    /// How they are written.
    pub style: Style,
    /// Whether a cell that is not of the kind counts as missing: the model fills missing cells in.
    pub tolerant: bool,
    /// Whether the model makes anything of it.
    pub needed: bool,
}

/// How a text file is written. `None` means: detect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextOptions {
    /// The byte between cells.
    pub delimiter: Option<u8>,
    /// Whether the first row names the columns.
    pub header: Option<bool>,
    /// The byte around cells that contain delimiters; doubled inside.
    pub quote: u8,
    /// Lines that start with this byte are skipped.
    pub comment: Option<u8>,
    /// Lines to skip at the start.
    pub skip_lines: usize,
    /// Whether every number has a decimal comma; otherwise each column is looked at.
    pub decimal_comma: bool,
    /// Cells that count as missing, after spaces around them are taken off. `None` does too unless the column is one of
    /// names, and NaN unless it is one of names or numbers.
    pub missing: Vec<String>,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            delimiter: None,
            header: None,
            quote: b'"',
            comment: None,
            skip_lines: 0,
            decimal_comma: false,
            missing: ["", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaT", "null", "NULL"].map(String::from).to_vec(),
        }
    }
}

impl TextOptions {
    /// Whether a cell counts as missing.
    pub(crate) fn is_missing(&self, cell: &str) -> bool {
        self.missing.iter().any(|token| token == cell)
    }
}

/// Names of arrays; `None` means the usual ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArrayNames {
    /// The array of features.
    pub features: Option<String>,
    /// The array of labels.
    pub labels: Option<String>,
}

impl ReadOptions {
    /// Whether the caller says what a column is. A number may be the place of any column.
    pub(crate) fn states_kind(&self, name: &str) -> bool {
        let means = |said: &String| said == name || said.parse::<i64>().is_ok();
        self.expected.is_some() || self.overrides.keys().any(means)
    }

    /// Settles what happens to columns of these names.
    pub(crate) fn plan(&self, mut names: Vec<String>, unnamed: bool) -> Result<Plan> {
        let label = self.label.as_ref().map(|label| label.resolve(&names)).transpose()?;
        let id = self.id.as_ref().map(|id| id.resolve(&names)).transpose()?;
        if let (Some(label), true) = (label, label == id) {
            return Err(Error::option(format!("column '{}' cannot be both label and row ID", names[label])));
        }
        let features: Vec<usize> = (0..names.len()).filter(|&at| Some(at) != label && Some(at) != id).collect();
        if unnamed {
            for (position, &at) in features.iter().enumerate() {
                names[at] = made_up_name(position);
            }
            for (at, name) in [(label, "label"), (id, "row")] {
                if let Some(at) = at {
                    names[at] = name.to_string();
                }
            }
        }
        let mut columns = vec![Some(None); names.len()];
        let mut reading = vec![Reading::default(); names.len()];
        match &self.expected {
            Some(expected) => {
                expected.choose(&names, unnamed, &features, &mut columns, &mut reading)?;
                reading.iter_mut().for_each(|reading| reading.tolerant &= !self.strict);
            }
            None => {
                for (name, rule) in &self.overrides {
                    let at = ColumnRef(name.clone()).resolve(&names)?;
                    columns[at] = rule.kind().map(Some);
                    reading[at].style = rule.style();
                }
            }
        }
        // The text of a label or row name is kept as it stands, whatever it looks like.
        for column in [label, id].into_iter().flatten() {
            columns[column] = Some(Some(Kind::Categorical));
        }
        let decimal_comma = self.text.decimal_comma;
        Ok(Plan { names, columns, reading, label, id, strict: self.strict, decimal_comma })
    }
}

impl Expected {
    /// What goes with an array of `width` columns that has no names: a file that does not say how wide its rows are gets
    /// as many.
    pub fn of_array(width: usize) -> Self {
        Expected { columns: Vec::new(), unnamed: true, width, complete: true }
    }

    /// Columns written as those of a table, as far as there are such: a file beside another one is read in the same way, whatever its
    /// own cells would suggest.
    pub fn like(table: &Table) -> Self {
        let columns = table.columns().iter().map(|column| ExpectedColumn {
            name: column.name.clone(),
            kind: column.kind(),
            style: column.style,
            tolerant: true,
            needed: true,
        });
        let width = table.columns().len() + table.skipped().len();
        Expected { columns: columns.collect(), unnamed: table.unnamed(), width, complete: false }
    }

    /// Names of the columns that a model needs; none if it knows them only by their places.
    pub(crate) fn needed(&self) -> BTreeSet<&str> {
        let needed = self.columns.iter().filter(|column| column.needed && !self.unnamed);
        needed.map(|column| column.name.as_str()).collect()
    }

    /// Picks the model's columns: by name, or by position where only one side has names and the numbers agree.
    fn choose(
        &self,
        names: &[String],
        unnamed: bool,
        features: &[usize],
        columns: &mut [Option<Option<Kind>>],
        reading: &mut [Reading],
    ) -> Result<()> {
        let by_position = unnamed != self.unnamed && features.len() == self.columns.len();
        let by_name: HashMap<&str, &ExpectedColumn> =
            self.columns.iter().map(|column| (column.name.as_str(), column)).collect();
        for (position, &at) in features.iter().enumerate() {
            let column = match by_position {
                true => Some(&self.columns[position]),
                false => by_name.get(names[at].as_str()).copied().filter(|column| column.needed),
            };
            columns[at] = column.map(|column| Some(column.kind));
            if let Some(column) = column {
                reading[at] = Reading { style: Some(column.style), tolerant: column.tolerant, doubt: None };
            }
        }
        if by_position || !self.complete {
            return Ok(());
        }
        let found: HashSet<&str> = features.iter().map(|&at| names[at].as_str()).collect();
        let missing = self.columns.iter().filter(|column| column.needed && !found.contains(column.name.as_str()));
        let missing: Vec<String> = missing.map(|column| column.name.clone()).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing_columns(missing, unnamed && !self.unnamed)) }
    }
}

/// The error for data that lacks columns of the model.
pub(crate) fn missing_columns(names: Vec<String>, no_header: bool) -> Error {
    Error::new(Problem::MissingColumns { names }).way_out(match no_header {
        true => "the data has no header: add one, or give exactly the model's columns in order",
        false => "the data must have the columns that the model was fitted on, under the same names",
    })
}
