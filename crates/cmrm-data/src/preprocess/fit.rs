//! Learning a pipeline from the training rows, whole or chunk by chunk.

use super::column_fit::ColumnFit;
use super::dense_fit::DenseFit;
use super::{FORMAT, Note, Preprocess, PreprocessOptions};
use crate::dataset::Features;
use crate::error::{Error, Problem, Result};
use crate::table::{ColumnRef, Kind, Table, as_kind, made_up_name};

/// Learns from chunks, in order. Cutting the rows into other chunks gives the same bits.
pub struct Fitter {
    options: PreprocessOptions,
    columns: Vec<ColumnFit>,
    /// Takes the columns' place for an array none of whose cells can be missing.
    dense: Option<DenseFit>,
    /// Name and kind of each column that is used, and its place in the table.
    used: Vec<(String, Kind, usize)>,
    unnamed: bool,
    inputs: usize,
    rows: u64,
}

impl Fitter {
    /// Settles the columns from the first chunk, without learning from it yet.
    pub fn new(first: &Features, options: &PreprocessOptions) -> Result<Self> {
        if options.max_levels == 0 {
            return Err(Error::option("max-levels is 0; keep at least one category per column"));
        }
        let (names, kinds, unnamed, inputs) = match first {
            Features::Table(table) => {
                let kinds = table.columns().iter().map(|column| column.kind()).collect::<Vec<_>>();
                (table.names(), kinds, table.unnamed(), table.rows_wide())
            }
            Features::Array(array) => (Vec::new(), Vec::new(), true, array.width()),
        };
        let mut used: Vec<(String, Kind, usize)> = match first {
            Features::Table(_) => {
                names.iter().zip(&kinds).zip(0..).map(|((n, k), at)| (n.to_string(), *k, at)).collect()
            }
            Features::Array(array) => (0..array.width()).map(|at| (made_up_name(at), Kind::Numeric, at)).collect(),
        };
        let mut ignored = Vec::new();
        for (name, rule) in &options.overrides {
            let known: Vec<&str> = used.iter().map(|(name, ..)| name.as_str()).collect();
            let skipped = matches!(first, Features::Table(table) if table.skipped().contains(name));
            let at = match ColumnRef(name.clone()).resolve(&known) {
                Ok(at) => at,
                // The reader has left it out already.
                Err(_) if skipped => continue,
                Err(error) => return Err(error),
            };
            match (rule.kind(), first) {
                (Some(Kind::Numeric), _) | (Some(_), Features::Table(_)) => {
                    used[at].1 = rule.kind().unwrap_or(Kind::Numeric);
                }
                (Some(kind), Features::Array(_)) => {
                    return Err(Error::option(format!("a column of an array cannot be {kind}")).in_column(name));
                }
                (None, _) => ignored.push(at),
            }
        }
        let mut at = 0;
        used.retain(|_| {
            at += 1;
            !ignored.contains(&(at - 1))
        });
        let columns = used.iter().map(|(name, kind, _)| ColumnFit::new(name, *kind, options)).collect();
        let dense = match first {
            Features::Array(array) if !options.nan_is_missing => Some(DenseFit::new(array.width())),
            _ => None,
        };
        Ok(Fitter { options: options.clone(), columns, dense, used, unnamed, inputs, rows: 0 })
    }

    /// Learns from the rows of a chunk for which `training` is true.
    pub fn update(&mut self, chunk: &Features, training: &[bool]) -> Result<()> {
        if training.len() != chunk.rows() {
            return Err(Error::new(Problem::Shape {
                what: "marks of training rows".into(),
                expected: chunk.rows() as u64,
                found: training.len() as u64,
            }));
        }
        self.rows += training.iter().filter(|&&used| used).count() as u64;
        let first_row = chunk.first_row();
        match chunk {
            Features::Table(table) => {
                for (fit, (name, kind, at)) in self.columns.iter_mut().zip(&self.used) {
                    let column = table.columns().get(*at).filter(|column| column.name == *name);
                    let column = column
                        .ok_or_else(|| Error::new(Problem::NoSuchColumn { wanted: name.clone(), near: Vec::new() }))?;
                    let column = as_kind(column, *kind, first_row)?;
                    let rows = (0..training.len()).filter(|&row| training[row]);
                    fit.update(&column, rows, first_row, &self.options)?;
                }
            }
            Features::Array(array) => {
                if array.width() != self.inputs {
                    return Err(Error::new(Problem::Shape {
                        what: "numbers in a row".into(),
                        expected: self.inputs as u64,
                        found: array.width() as u64,
                    }));
                }
                if let Some(dense) = &mut self.dense {
                    let used = &self.used;
                    return dense.update(array, training, |at| used.iter().any(|(_, _, place)| *place == at));
                }
                let rows = array.values().chunks_exact(array.width());
                for (row, (values, _)) in rows.zip(training).enumerate().filter(|(_, (_, used))| **used) {
                    for (fit, (_, _, at)) in self.columns.iter_mut().zip(&self.used) {
                        fit.add_number(f64::from(values[*at]), first_row + row as u64, &self.options)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The pipeline, and what there is to say about it.
    pub fn finish(mut self) -> Result<(Preprocess, Vec<Note>)> {
        if self.rows == 0 {
            return Err(Error::new(Problem::Empty("the set of training rows".into())));
        }
        if let Some(dense) = &self.dense {
            for (column, (_, _, at)) in self.columns.iter_mut().zip(&self.used) {
                column.set_moments(dense.moments(*at));
            }
        }
        let mut notes = Vec::new();
        let columns: Vec<_> = self.columns.into_iter().map(|column| column.finish(&self.options, &mut notes)).collect();
        let pipeline = Preprocess {
            format: FORMAT,
            unnamed: self.unnamed,
            inputs: self.inputs,
            nan_is_missing: self.options.nan_is_missing,
            columns,
        };
        if pipeline.width() == 0 {
            return Err(Error::new(Problem::Empty("the set of features".into()))
                .way_out("every column is ignored or constant on the training rows; check the columns"));
        }
        Ok((pipeline, notes))
    }
}

impl Table {
    /// Columns of the file that are neither label nor row name.
    fn rows_wide(&self) -> usize {
        self.columns().len() + self.skipped().len()
    }
}
