//! What readers yield and what the training side takes.

use std::sync::Arc;

use cmrm::{Matrix, OwnedRows, Rows, SparseRows};

use crate::error::{Error, Problem, Result};
use crate::labels::{LabelOptions, LabelledRows};
use crate::table::{Column, Table, check_rows};

/// How a row of pixels is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ImageShape {
    /// Colours.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Columns of pixels.
    pub width: usize,
    /// Whether a pixel's colours lie side by side rather than one plane after the other.
    pub channels_last: bool,
}

/// Dense features without names, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    values: Vec<f32>,
    width: usize,
    first_row: u64,
    image: Option<ImageShape>,
}

impl Array {
    /// Rows of `width` numbers.
    pub fn new(values: Vec<f32>, width: usize) -> Result<Self> {
        Matrix::new(&values, width)?;
        Ok(Array { values, width, first_row: 0, image: None })
    }

    /// States that each row is an image.
    pub fn with_image(mut self, image: ImageShape) -> Result<Self> {
        let pixels = image.channels.saturating_mul(image.height).saturating_mul(image.width);
        if pixels != self.width {
            return Err(Error::new(Problem::Shape {
                what: "numbers in a row for its image shape".into(),
                expected: pixels as u64,
                found: self.width as u64,
            }));
        }
        self.image = Some(image);
        Ok(self)
    }

    /// Sets the number of the first row, for a chunk from the middle of a file.
    pub fn starting_at(mut self, first_row: u64) -> Self {
        self.first_row = first_row;
        self
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.width
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All numbers, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Gives the numbers away.
    pub fn into_values(self) -> Vec<f32> {
        self.values
    }

    /// The numbers as a matrix.
    pub fn matrix(&self) -> Result<Matrix<'_, f32>> {
        Ok(Matrix::new(&self.values, self.width)?)
    }

    /// Where the first row stands in the file.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// The image shape, if rows are images.
    pub fn image(&self) -> Option<ImageShape> {
        self.image
    }

    /// Adds the rows of a later piece of the same width.
    pub fn append(&mut self, later: Array) -> Result<()> {
        if later.width != self.width {
            return Err(Error::new(Problem::Shape {
                what: "numbers in a row of a later piece".into(),
                expected: self.width as u64,
                found: later.width as u64,
            }));
        }
        self.values.extend_from_slice(&later.values);
        Ok(())
    }
}

/// Sparse features without names: what is not there is zero.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseArray {
    /// The rows.
    pub rows: SparseRows<f32>,
    /// Where the first row stands in the file.
    pub first_row: u64,
}

/// Features as they were read, before preprocessing.
#[derive(Debug, Clone, PartialEq)]
pub enum Features {
    /// Named, typed columns.
    Table(Table),
    /// A dense array.
    Array(Array),
    /// A sparse array.
    Sparse(SparseArray),
}

impl Features {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Features::Table(table) => table.rows(),
            Features::Array(array) => array.rows(),
            Features::Sparse(array) => array.rows.rows(),
        }
    }

    /// Where the first row stands in the file.
    pub fn first_row(&self) -> u64 {
        match self {
            Features::Table(table) => table.first_row(),
            Features::Array(array) => array.first_row,
            Features::Sparse(array) => array.first_row,
        }
    }

    /// The image shape, if rows are images.
    pub fn image(&self) -> Option<ImageShape> {
        match self {
            Features::Table(_) | Features::Sparse(_) => None,
            Features::Array(array) => array.image,
        }
    }

    /// The rows at `rows`, in that order.
    pub fn gather(&self, rows: &[usize]) -> Result<Features> {
        match self {
            Features::Table(table) => Ok(Features::Table(table.gather(rows)?)),
            Features::Array(array) => {
                check_rows(rows, array.rows())?;
                let mut values = Vec::with_capacity(rows.len() * array.width);
                for &row in rows {
                    values.extend_from_slice(&array.values[row * array.width..(row + 1) * array.width]);
                }
                Ok(Features::Array(Array { values, first_row: 0, ..*array }))
            }
            Features::Sparse(array) => {
                check_rows(rows, array.rows.rows())?;
                Ok(Features::Sparse(SparseArray { rows: array.rows.gather(rows), first_row: 0 }))
            }
        }
    }

    /// The rows in which no cell is missing; in an array, dense or sparse, none is NaN.
    pub fn complete_rows(&self) -> Vec<usize> {
        let complete = |row: &usize| match self {
            Features::Table(table) => !table.columns().iter().any(|column| column.missing.at(*row)),
            Features::Array(array) => {
                !array.values[row * array.width..(row + 1) * array.width].iter().any(|value| value.is_nan())
            }
            Features::Sparse(array) => !array.rows.view().row(*row).values.iter().any(|value| value.is_nan()),
        };
        (0..self.rows()).filter(complete).collect()
    }

    /// Adds the rows of a later chunk of the same shape.
    pub fn append(&mut self, later: Features) -> Result<()> {
        match (self, later) {
            (Features::Table(table), Features::Table(more)) => table.append(more),
            (Features::Array(array), Features::Array(more)) => array.append(more),
            (Features::Sparse(array), Features::Sparse(more)) => Ok(array.rows.append(more.rows.view())?),
            _ => Err(Error::option("tables, arrays and sparse arrays cannot be joined")),
        }
    }
}

/// What a file holds: features and, where the file has them and they were asked for, labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The features.
    pub features: Features,
    /// The labels as they stand in the file, one a row.
    pub labels: Option<Column>,
    /// The column that names the rows, if one was asked for.
    pub ids: Option<Column>,
    /// The file's name, for messages.
    pub source: String,
}

impl Input {
    /// Takes labels that were read from another file.
    pub fn with_labels(mut self, labels: Column) -> Result<Self> {
        if labels.len() != self.features.rows() {
            return Err(Error::new(Problem::Shape {
                what: "labels, one for each row".into(),
                expected: self.features.rows() as u64,
                found: labels.len() as u64,
            })
            .in_file(&self.source)
            .way_out("give one label per row, in the same order"));
        }
        self.labels = Some(labels);
        Ok(self)
    }

    /// The rows at `rows`, in that order.
    pub fn gather(&self, rows: &[usize]) -> Result<Input> {
        let features = self.features.gather(rows)?;
        for column in [&self.labels, &self.ids].into_iter().flatten() {
            check_rows(rows, column.len())?;
        }
        Ok(Input {
            features,
            labels: self.labels.as_ref().map(|column| column.gather(rows)),
            ids: self.ids.as_ref().map(|column| column.gather(rows)),
            source: self.source.clone(),
        })
    }

    /// Turns the labels into class indices.
    pub fn encode_labels(&self, options: &LabelOptions) -> Result<LabelledRows> {
        let labels = self.labels.as_ref().ok_or_else(|| {
            Error::option("no labels found")
                .in_file(&self.source)
                .way_out("name their column (--label) or their file (--labels)")
        })?;
        LabelledRows::encode(labels, self.features.first_row(), options).map_err(|error| error.in_file(&self.source))
    }

    /// Adds the rows of a later chunk or piece.
    pub fn append(&mut self, later: Input) -> Result<()> {
        let join = |ours: &mut Option<Column>, theirs: Option<Column>| match (ours, theirs) {
            (Some(ours), Some(theirs)) => ours.append(theirs),
            (None, None) => Ok(()),
            _ => Err(Error::option("one piece has labels or row IDs and another has none")),
        };
        self.features.append(later.features)?;
        join(&mut self.labels, later.labels)?;
        join(&mut self.ids, later.ids)
    }
}

/// What the training side takes: numbers, class indices, and the names that belong to them.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Features row by row, all finite.
    pub features: OwnedRows<f32>,
    /// Names of the features; their number is the width of a row. Text has very many, and every part of the rows shares
    /// them.
    pub feature_names: Arc<[String]>,
    /// Class index of each row.
    pub labels: Vec<u32>,
    /// Names of the classes, by index.
    pub classes: Vec<String>,
    /// Where each row stands in the file it came from, from zero.
    pub rows: Vec<u64>,
    /// The image shape, if rows are images and every pixel is a feature.
    pub image: Option<ImageShape>,
}

impl Dataset {
    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.feature_names.len()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The features, as learners take them.
    pub fn x(&self) -> Result<Rows<'_, f32>> {
        Ok(self.features.view()?)
    }

    /// Refuses features that are not one row for each label.
    pub(crate) fn check_length(&self) -> Result<()> {
        let found = self.features.rows();
        if found == self.len() && self.features.width() == self.width() && self.rows.len() == self.len() {
            return Ok(());
        }
        Err(Error::new(Problem::Shape {
            what: "rows of features, one for each label".into(),
            expected: self.len() as u64,
            found: found as u64,
        }))
    }

    /// The rows at `rows`, in that order.
    pub fn gather(&self, rows: &[usize]) -> Result<Dataset> {
        check_rows(rows, self.len())?;
        Ok(Dataset {
            features: self.features.gather(rows),
            feature_names: self.feature_names.clone(),
            labels: rows.iter().map(|&row| self.labels[row]).collect(),
            classes: self.classes.clone(),
            rows: rows.iter().map(|&row| self.rows[row]).collect(),
            image: self.image,
        })
    }
}
