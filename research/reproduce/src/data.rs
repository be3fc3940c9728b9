//! Tables of the catalogue as the authors prepare them, and their splits.

use std::collections::BTreeMap;

use cmrm::Matrix;
use cmrm::noise::{Rate, binary_flip};
use cmrm::rng::Rng;
use cmrm_data::preprocess::{CategoryEncoding, Preprocess, PreprocessOptions};
use cmrm_data::{Array, Features, Fingerprint, LabelOptions, Override};
use cmrm_datasets::{Cache, Layout};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Stream of the generator that splits are drawn from.
const SPLIT_STREAM: u64 = 0x5b117;

/// A binary data set of the catalogue, and what is done to it before it is split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TableData {
    /// Its name in the catalogue.
    pub set: String,
    /// The class that counts as positive.
    pub positive: String,
    /// Columns that are left out.
    #[serde(default)]
    pub leave_out: Vec<String>,
    /// Rows at the beginning that are left out.
    #[serde(default)]
    pub skip_rows: usize,
}

impl TableData {
    /// Refuses a set or a class that does not exist. The files need not be there.
    pub(crate) fn check(&self) -> Result<()> {
        let entry = cmrm_datasets::find(&self.set)?;
        let classes: Vec<&str> = match entry.layout {
            Layout::Embedded { classes, .. } => classes.to_vec(),
            Layout::Text(text) => text.classes.iter().map(|(_, name)| *name).collect(),
            _ => Vec::new(),
        };
        if classes.len() != 2 || !classes.contains(&self.positive.as_str()) {
            let reason =
                format!("'{}' must be one of two classes; {} has {}", self.positive, self.set, classes.join(", "));
            return Err(Error::Unknown(reason));
        }
        Ok(())
    }
}

/// A table with every column a number and labels 0 and 1.
#[derive(Debug)]
pub(crate) struct Table {
    features: Features,
    labels: Vec<u32>,
    /// SHA-256 of all numbers and labels.
    pub checksum: String,
}

/// The rows of one seed: half train with noise, half test.
#[derive(Debug)]
pub(crate) struct Split {
    pub train: Vec<f32>,
    pub observed: Vec<u32>,
    /// Training labels before noise; for figures only.
    pub clean: Vec<u32>,
    pub test: Vec<f32>,
    pub truth: Vec<u32>,
    pub width: usize,
}

impl Table {
    /// Loads all published rows, those with a missing cell left out; categories become their place in the alphabet.
    pub fn load(data: &TableData, cache: &Cache) -> Result<Self> {
        let named = cmrm_datasets::load(&data.set, cache)?;
        let mut input = named.train;
        if let Some(test) = named.test {
            input.append(test)?;
        }
        let complete: Vec<usize> =
            input.features.complete_rows().into_iter().filter(|&row| row >= data.skip_rows).collect();
        let input = input.gather(&complete)?;
        let labelled =
            input.encode_labels(&LabelOptions { classes: Some(named.classes.clone()), ..LabelOptions::default() })?;
        let overrides: BTreeMap<String, Override> =
            data.leave_out.iter().map(|name| (name.clone(), Override::Ignore)).collect();
        let options = PreprocessOptions {
            overrides,
            categories: CategoryEncoding::Ordinal,
            standardise: false,
            ..PreprocessOptions::default()
        };
        let rows: Vec<usize> = (0..input.features.rows()).collect();
        let (plan, _) = Preprocess::fit(&input.features, &rows, &options)?;
        let (mut dataset, _) = plan.dataset(&input, &labelled)?;
        let positive = named.classes.iter().position(|class| *class == data.positive);
        let positive = positive.ok_or_else(|| Error::Unknown(format!("no class '{}'", data.positive)))? as u32;
        dataset.labels.iter_mut().for_each(|label| *label = u32::from(*label == positive));
        let checksum = Fingerprint::of(&dataset).0;
        let width = dataset.width();
        let features = Features::Array(Array::new(dataset.features.values().to_vec(), width)?);
        Ok(Table { features, labels: dataset.labels, checksum })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// Columns.
    pub fn width(&self) -> usize {
        match &self.features {
            Features::Array(array) => array.width(),
            Features::Table(table) => table.columns().len(),
            Features::Sparse(array) => array.rows.width(),
        }
    }

    /// Half of the rows to train on, half to test on; every column standardised by the training rows.
    pub fn split(&self, noise: f64, seed: u64) -> Result<Split> {
        let order = Rng::new(seed, SPLIT_STREAM).permutation(self.labels.len());
        let (train, test) = order.split_at(order.len() / 2);
        let (scale, _) = Preprocess::fit(&self.features, train, &PreprocessOptions::default())?;
        let part = |rows: &[usize]| -> Result<(Vec<f32>, Vec<u32>)> {
            let numbers = scale.transform(&self.features.gather(rows)?)?.rows.values().to_vec();
            Ok((numbers, rows.iter().map(|&row| self.labels[row]).collect()))
        };
        let ((train, clean), (test, truth)) = (part(train)?, part(test)?);
        let observed = binary_flip(&clean, Rate::new(noise)?, seed)?.labels;
        Ok(Split { train, observed, clean, test, truth, width: scale.width() })
    }
}

impl Split {
    /// Training rows.
    pub fn x(&self) -> Result<Matrix<'_, f32>> {
        Ok(Matrix::new(&self.train, self.width)?)
    }

    /// Test rows.
    pub fn x_test(&self) -> Result<Matrix<'_, f32>> {
        Ok(Matrix::new(&self.test, self.width)?)
    }
}
