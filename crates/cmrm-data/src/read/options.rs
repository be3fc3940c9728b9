//! What a caller can say about a file.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Format, Limits};
use crate::error::{Error, Problem, Result};
use crate::table::{Column, ColumnRef, Kind, Override, Table, made_up_name};

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
}

/// A column that a stored model takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedColumn {
    /// Its name.
    pub name: String,
    /// What its cells have to be.
    pub kind: Kind,
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
    /// Whether numbers have a comma where others have a point.
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
    pub label: Option<usize>,
    pub id: Option<usize>,
}

impl ReadOptions {
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
        match &self.expected {
            Some(expected) => expected.choose(&names, unnamed, &features, &mut columns)?,
            None => {
                for (name, rule) in &self.overrides {
                    columns[ColumnRef(name.clone()).resolve(&names)?] = rule.kind().map(Some);
                }
            }
        }
        // The text of a label or row name is kept as it stands, whatever it looks like.
        for column in [label, id].into_iter().flatten() {
            columns[column] = Some(Some(Kind::Categorical));
        }
        Ok(Plan { names, columns, label, id })
    }
}

impl Expected {
    /// Picks the model's columns: by name, or by position where only one side has names and the numbers agree.
    fn choose(
        &self,
        names: &[String],
        unnamed: bool,
        features: &[usize],
        columns: &mut [Option<Option<Kind>>],
    ) -> Result<()> {
        let by_position = unnamed != self.unnamed && features.len() == self.columns.len();
        let by_name: HashMap<&str, &ExpectedColumn> =
            self.columns.iter().map(|column| (column.name.as_str(), column)).collect();
        for (position, &at) in features.iter().enumerate() {
            columns[at] = match by_position {
                true => Some(Some(self.columns[position].kind)),
                false => by_name.get(names[at].as_str()).filter(|column| column.needed).map(|column| Some(column.kind)),
            };
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
