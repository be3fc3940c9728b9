//! From columns to numbers: learned on the training rows, stored with the model, applied by column name.

mod column_fit;
mod dense_fit;
mod fit;
mod identifier;
mod matching;
mod misread;
mod moments;
mod note;
mod options;
mod plan;
mod side_by_side;
mod sparse;
mod summary;
mod text;
mod transform;
mod transform_array;

pub use fit::Fitter;
pub use note::{BadCell, Note, in_words};
pub use options::{CategoryEncoding, DateEncoding, MissingCategory, MissingCells, PreprocessOptions};
pub use plan::{ColumnPlan, DatePart, Encoder, Fill, Scale};
pub use sparse::SparsePlan;
pub use summary::{ColumnSummary, Summary};
pub use text::{TextEncoding, TextPlan};
pub use transform::Transformed;

use serde::{Deserialize, Serialize};

use crate::dataset::Features;
use crate::error::{Error, Problem, Result};
use crate::read::{Expected, ExpectedColumn};
use crate::table::{Kind, Style, check_rows, made_up_name};

/// Version of the stored form.
pub const FORMAT: u32 = 1;
/// Most columns that a stored pipeline may have, and most features that may come of them.
pub const MAX_FEATURES: usize = 1 << 24;

/// A fitted pipeline. [`Preprocess::to_json`] and [`Preprocess::from_json`] keep every bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preprocess {
    format: u32,
    /// Whether the training data had no column names.
    unnamed: bool,
    /// Columns of the training data besides label and row names.
    inputs: usize,
    nan_is_missing: bool,
    columns: Vec<ColumnPlan>,
    /// Takes the columns' place for a sparse array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sparse: Option<SparsePlan>,
}

impl Preprocess {
    /// Learns from the rows at `rows` and looks at no other.
    pub fn fit(features: &Features, rows: &[usize], options: &PreprocessOptions) -> Result<(Self, Vec<Note>)> {
        check_rows(rows, features.rows())?;
        let mut training = vec![false; features.rows()];
        for &row in rows {
            training[row] = true;
        }
        let mut fitter = Fitter::new(features, options)?;
        fitter.update(features, &training)?;
        fitter.finish()
    }

    /// What becomes of each column; none are listed for a sparse array.
    pub fn columns(&self) -> &[ColumnPlan] {
        &self.columns
    }

    /// Whether some features are neither words of a text nor columns of a sparse array.
    pub fn has_other_than_words(&self) -> bool {
        self.columns.iter().any(|column| column.width() > 0 && column.text().is_none())
    }

    /// Whether the training data had no column names; they are then called `x0`, `x1`, ….
    pub fn is_unnamed(&self) -> bool {
        self.unnamed
    }

    /// Columns of the training data besides label and row names.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// What each number of a sparse array is multiplied by; nothing for other data.
    pub fn sparse_factors(&self) -> Option<Vec<f64>> {
        self.sparse.as_ref().map(|sparse| sparse.factors(self.inputs))
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        match self.sparse {
            Some(_) => self.inputs,
            None => self.columns.iter().map(ColumnPlan::width).sum(),
        }
    }

    /// Names of the features.
    pub fn feature_names(&self) -> Vec<String> {
        if self.sparse.is_some() {
            return (0..self.inputs).map(made_up_name).collect();
        }
        let mut names = Vec::with_capacity(self.width());
        for column in &self.columns {
            column.feature_names(&mut names);
        }
        names
    }

    /// What one unit of each feature is in the units of the data: the deviation that a column was divided by.
    pub fn feature_units(&self) -> Vec<f64> {
        if let Some(sparse) = &self.sparse {
            return sparse.units(self.inputs);
        }
        let mut units = Vec::with_capacity(self.width());
        for column in &self.columns {
            column.feature_units(&mut units);
        }
        units
    }

    /// What a reader should look for in data for this pipeline.
    pub fn expected(&self) -> Expected {
        let columns = self.columns.iter();
        if self.sparse.is_some() {
            let column = |at| ExpectedColumn {
                name: made_up_name(at),
                kind: Kind::Numeric,
                style: Style::PLAIN,
                tolerant: false,
                needed: true,
            };
            return Expected { columns: (0..self.inputs).map(column).collect(), ..Expected::of_array(self.inputs) };
        }
        Expected {
            columns: columns
                .map(|column| ExpectedColumn {
                    name: column.name.clone(),
                    kind: column.kind,
                    style: column.style,
                    tolerant: column.fill.is_some(),
                    needed: column.width() > 0,
                })
                .collect(),
            unnamed: self.unnamed,
            width: self.inputs,
            complete: true,
        }
    }

    /// The stored form.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(Error::internal)
    }

    /// Reads the stored form; refuses other versions and what no fit produces.
    pub fn from_json(text: &str) -> Result<Self> {
        /// The version is looked at first, so that a later one is named as such and not as a typing error.
        #[derive(Deserialize)]
        struct Version {
            format: u64,
        }
        let malformed = |error: serde_json::Error| Error::malformed("preprocessing", error);
        let version: Version = serde_json::from_str(text).map_err(malformed)?;
        if version.format != u64::from(FORMAT) {
            return Err(Error::new(Problem::Version {
                what: "the preprocessing",
                found: version.format,
                supported: u64::from(FORMAT),
            })
            .way_out("use the version that wrote it, or fit again"));
        }
        let pipeline: Preprocess = serde_json::from_str(text).map_err(malformed)?;
        pipeline.check()?;
        Ok(pipeline)
    }

    fn check(&self) -> Result<()> {
        for column in &self.columns {
            column.check()?;
        }
        crate::table::refuse_duplicates(self.columns.iter().map(|column| column.name.as_str()))?;
        if self.columns.len() > self.inputs || self.inputs > MAX_FEATURES || self.width() > MAX_FEATURES {
            return Err(Error::malformed("preprocessing", "the numbers of columns do not agree"));
        }
        if let Some(sparse) = &self.sparse {
            if !self.unnamed || !self.columns.is_empty() {
                return Err(Error::malformed("preprocessing", "a sparse array has no named columns"));
            }
            sparse.check(self.inputs)?;
        }
        if self.width() == 0 {
            return Err(Error::malformed("preprocessing", "it produces no features"));
        }
        Ok(())
    }
}
