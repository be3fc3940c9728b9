//! Arrays most of whose numbers are zero: one factor for all, or one for each column, and nothing moved away from zero.

use cmrm::{SparseMatrix, SparseRows};
use serde::{Deserialize, Serialize};

use super::{Preprocess, PreprocessOptions};
use crate::dataset::{Array, SparseArray};
use crate::error::{Error, Problem, Result};
use crate::table::{Kind, Override, Style, Table, as_kind, made_up_name};

/// Columns whose largest numbers differ by more are divided by those first.
const ALIKE: f64 = 100.0;
/// Most numbers that sparse rows may become where a model takes dense ones: 4 GB.
const MOST_DENSE: usize = 1 << 30;

/// What becomes of the numbers of a sparse array. A number is divided by its column's largest one, where those differ
/// widely between columns, and multiplied by a factor that makes the mean squared length of a training row one. Zeros
/// stay zeros.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SparsePlan {
    factor: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    columns: Option<Columns>,
    /// Columns that count as zero, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<u32>,
}

/// The columns that have a number in the training rows, rising, and the largest of each without its sign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Columns {
    columns: Vec<u32>,
    largest: Vec<f32>,
}

/// Statistics of a sparse array's columns.
pub(super) struct SparseFit {
    ignored: Vec<u32>,
    largest: Vec<f32>,
    squares: Vec<f64>,
    rows: u64,
}

impl SparseFit {
    pub fn new(width: usize, options: &PreprocessOptions) -> Result<Self> {
        let mut ignored = Vec::new();
        for (name, rule) in &options.overrides {
            let at = place(name, width)?;
            match rule {
                Override::Ignore => ignored.push(at),
                Override::Numeric => {}
                kind => return Err(not_a_number_column(kind, name)),
            }
        }
        ignored.sort_unstable();
        ignored.dedup();
        Ok(SparseFit { ignored, largest: vec![0.0; width], squares: vec![0.0; width], rows: 0 })
    }

    /// Learns from the rows for which `training` is true.
    pub fn update(&mut self, array: &SparseArray, training: &[bool]) -> Result<()> {
        for (row, _) in training.iter().enumerate().filter(|(_, used)| **used) {
            self.rows += 1;
            for (column, value) in array.rows.view().row(row).iter() {
                if self.ignored.binary_search(&(column as u32)).is_ok() {
                    continue;
                }
                if !value.is_finite() {
                    return Err(not_finite(value, array.first_row + row as u64, column));
                }
                self.largest[column] = self.largest[column].max(value.abs());
                self.squares[column] += f64::from(value) * f64::from(value);
            }
        }
        Ok(())
    }

    pub fn finish(self, options: &PreprocessOptions) -> Result<SparsePlan> {
        let used = || self.largest.iter().zip(0..).filter(|(largest, _)| **largest > 0.0);
        let (least, most) = used().fold((f32::INFINITY, 0.0f32), |(least, most), (&l, _)| (least.min(l), most.max(l)));
        if most == 0.0 {
            return Err(Error::new(Problem::Empty("the set of features".into()))
                .way_out("every number is zero on the training rows; check the data"));
        }
        if !options.standardise {
            return Ok(SparsePlan { factor: 1.0, columns: None, ignored: self.ignored });
        }
        let differ = f64::from(most) / f64::from(least) > ALIKE;
        let squares: f64 = used()
            .map(|(&largest, column)| {
                let unit = if differ { f64::from(largest) } else { 1.0 };
                self.squares[column as usize] / (unit * unit)
            })
            .sum();
        let columns = differ
            .then(|| Columns { columns: used().map(|(_, c)| c).collect(), largest: used().map(|(&l, _)| l).collect() });
        Ok(SparsePlan { factor: (self.rows as f64 / squares).sqrt(), columns, ignored: self.ignored })
    }
}

impl SparsePlan {
    /// What a number of each column is multiplied by.
    pub(super) fn factors(&self, width: usize) -> Vec<f64> {
        let mut factors = match &self.columns {
            None => vec![self.factor; width],
            Some(Columns { columns, largest }) => {
                // A column that was always zero has no scale; it stays zero.
                let mut factors = vec![0.0; width];
                for (&column, &largest) in columns.iter().zip(largest) {
                    factors[column as usize] = self.factor / f64::from(largest);
                }
                factors
            }
        };
        for &column in &self.ignored {
            factors[column as usize] = 0.0;
        }
        factors
    }

    /// What one unit of each feature is in the units of the data.
    pub(super) fn units(&self, width: usize) -> Vec<f64> {
        self.factors(width).into_iter().map(|factor| if factor > 0.0 { 1.0 / factor } else { 1.0 }).collect()
    }

    /// Refuses what no fit produces, since the plan may come from a file that someone edited.
    pub(super) fn check(&self, width: usize) -> Result<()> {
        let rises = |columns: &[u32]| {
            columns.is_sorted_by(|a, b| a < b) && columns.last().is_none_or(|&last| (last as usize) < width)
        };
        let columns_fit = self.columns.as_ref().is_none_or(|Columns { columns, largest }| {
            rises(columns) && columns.len() == largest.len() && largest.iter().all(|l| l.is_finite() && *l > 0.0)
        });
        match self.factor.is_finite() && self.factor > 0.0 && columns_fit && rises(&self.ignored) {
            true => Ok(()),
            false => {
                Err(Error::malformed("preprocessing", "the scales of a sparse array are not as a fit leaves them"))
            }
        }
    }

    pub(super) fn transform_sparse(&self, array: &SparseArray) -> Result<SparseRows<f32>> {
        let factors = self.factors(array.rows.width());
        let mut rows = array.rows.clone();
        let places = array.rows.view();
        let mut at = 0;
        for row in 0..places.rows() {
            for (column, value) in places.row(row).iter() {
                rows.values_mut()[at] = scaled(value, factors[column], array.first_row + row as u64, column)?;
                at += 1;
            }
        }
        Ok(rows)
    }

    pub(super) fn transform_dense(&self, array: &Array) -> Result<SparseRows<f32>> {
        let factors = self.factors(array.width());
        let mut rows = SparseRows::empty(array.width())?;
        let mut kept = Vec::new();
        for (row, values) in array.values().chunks_exact(array.width()).enumerate() {
            kept.clear();
            for (column, &value) in values.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                kept.push((column as u32, scaled(value, factors[column], array.first_row() + row as u64, column)?));
            }
            rows.push(&kept)?;
        }
        Ok(rows)
    }
}

fn scaled(value: f32, factor: f64, row: u64, column: usize) -> Result<f32> {
    // An ignored column may hold anything.
    let scaled = if factor == 0.0 { 0.0 } else { (f64::from(value) * factor) as f32 };
    if scaled.is_finite() {
        return Ok(scaled);
    }
    if !value.is_finite() {
        return Err(not_finite(value, row, column));
    }
    let problem = Problem::OutOfScale { value: value.into(), deviation: 1.0 / factor };
    Err(Error::new(problem).at_row(row).in_column(made_up_name(column)).way_out("correct it, or do not standardise"))
}

fn not_finite(value: f32, row: u64, column: usize) -> Error {
    Error::new(Problem::NonFinite { value: value.to_string() })
        .at_row(row)
        .in_column(made_up_name(column))
        .way_out("correct it, or leave it out: what is not there counts as zero")
}

fn not_a_number_column(kind: &Override, name: &str) -> Error {
    let kind = kind.kind().map_or_else(String::new, |kind| kind.to_string());
    Error::option(format!("a column of an array cannot be {kind}")).in_column(name)
}

/// The column of a name like `x17`, or of a position; negative ones count from the end.
fn place(name: &str, width: usize) -> Result<u32> {
    let position = name.strip_prefix('x').unwrap_or(name).trim().parse::<i64>().ok();
    let position = position.map(|at| if at < 0 { at + width as i64 } else { at });
    position.filter(|&at| (0..width as i64).contains(&at)).map(|at| at as u32).ok_or_else(|| {
        Error::new(Problem::NoSuchColumn { wanted: name.into(), near: Vec::new() })
            .way_out(format!("the columns are x0 to x{}", width.saturating_sub(1)))
    })
}

/// Sparse rows as an array, for a model that was fitted on one.
pub(super) fn to_dense(array: &SparseArray) -> Result<Array> {
    let view: SparseMatrix<'_, f32> = array.rows.view();
    let width = view.columns();
    let cells = view.rows().saturating_mul(width);
    if cells > MOST_DENSE {
        return Err(Error::new(Problem::TooLarge {
            what: "the sparse array as a dense one, in numbers,".into(),
            size: cells as u64,
            limit: MOST_DENSE as u64,
        })
        .way_out("the model was fitted on dense rows: fit it on sparse ones, or give fewer rows"));
    }
    let mut values = vec![0.0; cells];
    for (row, to) in view.iter_rows().zip(values.chunks_exact_mut(width)) {
        for (column, value) in row.iter() {
            to[column] = value;
        }
    }
    Ok(Array::new(values, width)?.starting_at(array.first_row))
}

/// A table of numbers as an array, for a model that was fitted on a sparse one.
pub(super) fn table_to_dense(table: &Table) -> Result<Array> {
    let width = table.columns().len();
    let mut values = vec![0.0; table.rows() * width];
    for (at, column) in table.columns().iter().enumerate() {
        let column = as_kind(column, Kind::Numeric, Style::PLAIN, table.first_row())?;
        let crate::table::Values::Numeric(numbers) = &column.values else { continue };
        for (row, &number) in numbers.iter().enumerate() {
            if column.missing.at(row) {
                return Err(Error::new(Problem::MissingCell)
                    .at_row(table.first_row() + row as u64)
                    .in_column(&*column.name)
                    .way_out("fill it in; the model was fitted on sparse rows, in which what is not there is zero"));
            }
            values[row * width + at] = number as f32;
        }
    }
    Ok(Array::new(values, width)?.starting_at(table.first_row()))
}

impl Preprocess {
    /// Whether rows come out sparse.
    pub fn is_sparse(&self) -> bool {
        self.sparse.is_some() || self.columns.iter().any(|column| column.text().is_some())
    }
}
