//! What a caller can say about a file.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Format, Limits};
use crate::error::{Error, Problem, Result};
use crate::table::number::Decimal;
use crate::table::{Column, ColumnBuilder, ColumnRef, Guess, Kind, Override, Style, Table, made_up_name};

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
    /// Cells that count as missing, after spaces around them are taken off.
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
            missing: ["", "?", "NA", "N/A", "n/a", "null", "NULL"].map(String::from).to_vec(),
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

/// What to do with each column of a table.
pub(crate) struct Plan {
    /// Names; in a file without a header the features are numbered without the label and the row names, so that it
    /// does not matter where those stand.
    pub names: Vec<String>,
    /// For each column: `None` to skip it, else the kind it must have, if that is settled.
    pub columns: Vec<Option<Option<Kind>>>,
    /// For each column how text in it is read.
    pub reading: Vec<Reading>,
    pub label: Option<usize>,
    pub id: Option<usize>,
    strict: bool,
    decimal_comma: bool,
}

/// How the text of a column's cells is read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Reading {
    /// How it is written, if that is settled.
    pub style: Option<Style>,
    /// Whether a cell that is not of the kind counts as missing.
    pub tolerant: bool,
    /// A sentence where settling it was close.
    pub doubt: Option<String>,
}

impl Plan {
    /// Whether the cells of a column have to be looked at before it can be read: its kind is open, or its style matters.
    pub fn is_open(&self, at: usize) -> bool {
        let style_matters = |kind| matches!(kind, Kind::Numeric | Kind::Date | Kind::Boolean);
        match self.columns[at] {
            None => false,
            Some(None) => true,
            Some(Some(kind)) => self.reading[at].style.is_none() && style_matters(kind),
        }
    }

    /// Settles a column whose cells were looked at.
    pub fn settle(&mut self, at: usize, guess: &Guess) {
        let Some(kind) = &mut self.columns[at] else { return };
        let settled = guess.settle(*kind);
        let reading = &mut self.reading[at];
        // What was stated stays, and nothing about it is in doubt.
        let doubt = if reading.style.is_some() { None } else { settled.doubt };
        let style = *reading.style.get_or_insert(settled.style);
        *reading = Reading { style: Some(style), tolerant: settled.tolerant && !self.strict, doubt };
        *kind = Some(settled.kind);
    }

    /// Adds a cell as it is written; false, and nothing added, if it is not of the column's kind.
    #[must_use]
    pub fn push(&self, at: usize, builder: &mut ColumnBuilder, cell: &str, text: &TextOptions) -> bool {
        if text.is_missing(cell) {
            builder.push_missing();
        } else if !builder.push_text(cell) {
            if !self.reading[at].tolerant {
                return false;
            }
            builder.push_unreadable(cell);
        }
        true
    }

    /// An empty column for the cells of a column that is read, in the style that is settled.
    pub fn builder(&self, at: usize) -> Option<ColumnBuilder> {
        let Reading { style, doubt, .. } = &self.reading[at];
        let kind = self.columns[at].flatten()?;
        let mut style = style.unwrap_or_default();
        if self.decimal_comma && kind == Kind::Numeric {
            style.decimal = Decimal::Comma;
        }
        Some(ColumnBuilder::new(kind).written(style, doubt.clone()))
    }
}

impl Plan {
    /// Skips the columns that a data frame adds for its own row numbers, unless they are asked for.
    pub fn skip_row_numbers(&mut self) {
        for (at, name) in self.names.iter().enumerate() {
            if name.starts_with("__index_level_") && self.label != Some(at) && self.id != Some(at) {
                self.columns[at] = None;
            }
        }
    }

    /// The kind of each column that is read, by name.
    pub fn kinds(&self) -> Vec<(&str, Kind)> {
        let columns = self.names.iter().zip(&self.columns);
        columns.filter_map(|(name, kind)| Some((name.as_str(), (*kind)??))).collect()
    }
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
        Expected { columns: Vec::new(), unnamed: true, width }
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
        if by_position {
            return Ok(());
        }
        let found: HashSet<&str> = features.iter().map(|&at| names[at].as_str()).collect();
        let missing = self.columns.iter().filter(|column| column.needed && !found.contains(column.name.as_str()));
        let missing: Vec<String> = missing.map(|column| column.name.clone()).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing_columns(missing, unnamed && !self.unnamed)) }
    }
}

/// Sorts the columns of a chunk into features, label and row name; a column that was skipped is `None`.
pub(crate) fn assemble(
    plan: &Plan,
    columns: Vec<Option<Column>>,
    unnamed: bool,
) -> Result<(Table, Option<Column>, Option<Column>)> {
    let (mut features, mut skipped) = (Vec::new(), Vec::new());
    let (mut labels, mut ids) = (None, None);
    for (at, column) in columns.into_iter().enumerate() {
        match column {
            None => skipped.push(plan.names[at].clone()),
            Some(column) if plan.label == Some(at) => labels = Some(column),
            Some(column) if plan.id == Some(at) => ids = Some(column),
            Some(column) => features.push(column),
        }
    }
    if features.is_empty() {
        return Err(Error::new(Problem::Empty("the list of feature columns".into()))
            .way_out("at least one column must be neither label, row ID nor ignored"));
    }
    let table = Table::new(features)?.with_skipped(skipped);
    Ok((if unnamed { table.without_names() } else { table }, labels, ids))
}

/// The error for data that lacks columns of the model.
pub(crate) fn missing_columns(names: Vec<String>, no_header: bool) -> Error {
    Error::new(Problem::MissingColumns { names }).way_out(match no_header {
        true => "the data has no header: add one, or give exactly the model's columns in order",
        false => "the data must have the columns that the model was fitted on, under the same names",
    })
}
