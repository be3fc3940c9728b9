//! Learning a pipeline from the training rows, whole or chunk by chunk.

use super::column_fit::ColumnFit;
use super::dense_fit::DenseFit;
use super::sparse::SparseFit;
use super::{FORMAT, Note, Preprocess, PreprocessOptions};
use crate::dataset::Features;
use crate::error::{Error, Problem, Result};
use crate::table::{Column, ColumnRef, Guess, Kind, Style, Table, as_kind, made_up_name};

/// Learns from chunks, in order. Cutting the rows into other chunks gives the same bits.
pub struct Fitter {
    options: PreprocessOptions,
    columns: Vec<ColumnFit>,
    /// Takes the columns' place for an array none of whose cells can be missing.
    dense: Option<DenseFit>,
    /// Takes the columns' place for a sparse array.
    sparse: Option<SparseFit>,
    used: Vec<Used>,
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
        options.text.check()?;
        let (unnamed, inputs) = match first {
            Features::Table(table) => (table.unnamed(), table.rows_wide()),
            Features::Array(array) => (true, array.width()),
            Features::Sparse(array) => (true, array.rows.width()),
        };
        let mut used: Vec<Used> = match first {
            Features::Table(table) => {
                table.columns().iter().zip(0..).map(|(column, at)| Used::of(column, at)).collect()
            }
            Features::Array(_) => (0..inputs).map(Used::number).collect(),
            // It may have millions of columns, and no statistics for each.
            Features::Sparse(_) => Vec::new(),
        };
        let sparse = match first {
            Features::Sparse(_) => Some(SparseFit::new(inputs, options)?),
            _ => None,
        };
        let mut ignored = Vec::new();
        for (name, rule) in options.overrides.iter().filter(|_| sparse.is_none()) {
            let known: Vec<&str> = used.iter().map(|column| column.name.as_str()).collect();
            if let Features::Table(table) = first {
                let is_place = name.trim().parse::<i64>().is_ok() && !known.contains(&name.as_str());
                // The reader has left it out already; and a place is one in the file, which the reader has looked up.
                if table.skipped().contains(name) || is_place {
                    continue;
                }
            }
            let at = ColumnRef(name.clone()).resolve(&known)?;
            match (rule.kind(), first) {
                (Some(kind), Features::Table(table)) => used[at].state(kind, rule.style(), &table.columns()[at]),
                (Some(Kind::Numeric), _) => {}
                (Some(kind), _) => {
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
        let mut columns: Vec<ColumnFit> = used.iter().map(|column| ColumnFit::new(column, options)).collect();
        if matches!(first, Features::Array(_)) {
            columns.iter_mut().for_each(ColumnFit::is_no_id);
        }
        let dense = match first {
            Features::Array(array) if !options.nan_is_missing => Some(DenseFit::new(array.width())),
            _ => None,
        };
        Ok(Fitter { options: options.clone(), columns, dense, sparse, used, unnamed, inputs, rows: 0 })
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
            Features::Table(_) | Features::Array(_) if self.sparse.is_some() => return Err(mixed()),
            Features::Table(table) => {
                for (fit, used) in self.columns.iter_mut().zip(&self.used) {
                    let column = table.columns().get(used.at).filter(|column| column.name == used.name);
                    let column = column.ok_or_else(|| {
                        Error::new(Problem::NoSuchColumn { wanted: used.name.clone(), near: Vec::new() })
                    })?;
                    let column = as_kind(column, used.kind, used.style, first_row)?;
                    let rows = (0..training.len()).filter(|&row| training[row]);
                    fit.update(&column, rows, first_row, &self.options)?;
                }
            }
            Features::Array(array) => {
                self.check_width(array.width())?;
                if let Some(dense) = &mut self.dense {
                    let used = &self.used;
                    return dense.update(array, training, |at| used.iter().any(|column| column.at == at));
                }
                let rows = array.values().chunks_exact(array.width());
                for (row, (values, _)) in rows.zip(training).enumerate().filter(|(_, (_, used))| **used) {
                    for (fit, column) in self.columns.iter_mut().zip(&self.used) {
                        fit.add_number(f64::from(values[column.at]), first_row + row as u64, &self.options)?;
                    }
                }
            }
            Features::Sparse(array) => {
                self.check_width(array.rows.width())?;
                match &mut self.sparse {
                    Some(sparse) => sparse.update(array, training)?,
                    None => return Err(mixed()),
                }
            }
        }
        Ok(())
    }

    fn check_width(&self, found: usize) -> Result<()> {
        if found == self.inputs {
            return Ok(());
        }
        let what = "numbers in a row".to_string();
        Err(Error::new(Problem::Shape { what, expected: self.inputs as u64, found: found as u64 }))
    }

    /// The pipeline, and what there is to say about it.
    pub fn finish(mut self) -> Result<(Preprocess, Vec<Note>)> {
        if self.rows == 0 {
            return Err(Error::new(Problem::Empty("the set of training rows".into())));
        }
        if let Some(dense) = &self.dense {
            for (column, used) in self.columns.iter_mut().zip(&self.used) {
                column.set_moments(dense.moments(used.at));
            }
        }
        if let Some(error) = self.columns.iter().filter(|column| !column.is_empty()).find_map(ColumnFit::refused) {
            return Err(error);
        }
        let refused = self.columns.iter().find_map(ColumnFit::refused);
        let mut notes = Vec::new();
        let columns: Vec<_> = self.columns.into_iter().map(|column| column.finish(&self.options, &mut notes)).collect();
        let pipeline = Preprocess {
            format: FORMAT,
            unnamed: self.unnamed,
            inputs: self.inputs,
            nan_is_missing: self.options.nan_is_missing,
            columns,
            sparse: self.sparse.map(|sparse| sparse.finish(&self.options)).transpose()?,
        };
        if pipeline.width() == 0 {
            return Err(refused.unwrap_or_else(|| Error::new(Problem::Empty("the set of features".into()))
                .way_out("every column was left out: ignored, constant, an ID, or text whose words are in too few training rows; check the columns")));
        }
        Ok((pipeline, notes))
    }
}

fn mixed() -> Error {
    Error::option("a fit takes sparse rows or others, not both")
}

/// A column that is used.
pub(super) struct Used {
    pub name: String,
    pub kind: Kind,
    /// How its cells are written, where they are text.
    pub style: Style,
    /// Whether the user has said what it is.
    pub stated: bool,
    /// Its place in the table.
    at: usize,
}

impl Used {
    fn of(column: &Column, at: usize) -> Self {
        Used { name: column.name.clone(), kind: column.kind(), style: column.style, stated: false, at }
    }

    fn number(at: usize) -> Self {
        Used { name: made_up_name(at), kind: Kind::Numeric, style: Style::PLAIN, stated: false, at }
    }

    /// Makes it what the user says. The style of names that are to be numbers or dates is found in the first rows.
    fn state(&mut self, kind: Kind, style: Option<Style>, column: &Column) {
        (self.kind, self.stated) = (kind, true);
        if column.kind() == kind {
            return;
        }
        self.style = style.unwrap_or_else(|| {
            let mut guess = Guess::new(&self.name);
            (0..column.len()).filter_map(|row| column.text(row)).for_each(|cell| guess.add(&cell));
            guess.settle(Some(kind)).style
        });
    }
}

impl Table {
    /// Columns of the file that are neither label nor row name.
    fn rows_wide(&self) -> usize {
        self.columns().len() + self.skipped().len()
    }
}
