//! Frozen features and human labels.

use std::path::Path;

use cmrm_data::preprocess::{Preprocess, PreprocessOptions};
use cmrm_data::read::{ReadOptions, Source, read, read_labels};
use cmrm_data::{Array, Column, ColumnRef, Features};
use sha2::{Digest, Sha256};

use super::{FeatureFiles, Variant};
use crate::error::{Error, Result};

/// Features, standardised by the training rows, and all labels.
#[derive(Debug)]
pub(crate) struct Probed {
    pub train: Vec<f32>,
    pub test: Vec<f32>,
    pub width: usize,
    /// Observed labels by column.
    observed: Vec<(String, Vec<u32>)>,
    pub truth: Vec<u32>,
    pub checksum: String,
}

impl Probed {
    /// Reads everything.
    pub fn load(folder: &Path, files: &FeatureFiles, variants: &[Variant]) -> Result<Self> {
        let mut features = array(&folder.join(&files.train[0]))?;
        for file in &files.train[1..] {
            features.append(array(&folder.join(file))?)?;
        }
        let (rows, width) = (features.rows(), features.width());
        let features = Features::Array(features);
        let all: Vec<usize> = (0..rows).collect();
        let (scale, _) = Preprocess::fit(&features, &all, &PreprocessOptions::default())?;
        let train = scale.transform(&features)?.rows.values().to_vec();
        let test = scale.transform(&Features::Array(array(&folder.join(&files.test))?))?.rows.values().to_vec();
        if scale.width() != width {
            return Err(Error::Unknown(format!("{}: a feature is constant", files.train[0])));
        }
        let table = folder.join(&files.labels);
        let mut observed = Vec::new();
        for variant in variants {
            let options = ReadOptions { label: Some(ColumnRef(variant.column.clone())), ..ReadOptions::default() };
            let labels = numbers(&read_labels(&Source::file(&table), &options)?, &table)?;
            check(&table, labels.len(), rows)?;
            observed.push((variant.column.clone(), labels));
        }
        let path = folder.join(&files.test_labels);
        let truth = numbers(&read_labels(&Source::file(&path), &ReadOptions::default())?, &path)?;
        check(&path, truth.len(), test.len() / width)?;
        let mut data = Probed { train, test, width, observed, truth, checksum: String::new() };
        data.checksum = data.hash();
        Ok(data)
    }

    /// The observed labels of a variant.
    pub fn observed(&self, column: &str) -> &[u32] {
        self.observed.iter().find(|(name, _)| name == column).map_or(&[], |(_, labels)| labels)
    }

    fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for numbers in [&self.train, &self.test] {
            for piece in numbers.chunks(4096) {
                let bytes: Vec<u8> = piece.iter().flat_map(|number| number.to_le_bytes()).collect();
                hash.update(&bytes);
            }
        }
        for labels in self.observed.iter().map(|(_, labels)| labels).chain([&self.truth]) {
            let bytes: Vec<u8> = labels.iter().flat_map(|label| label.to_le_bytes()).collect();
            hash.update(&bytes);
        }
        cmrm_data::files::text::hex(&hash.finalize())
    }
}

fn check(path: &Path, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Stored { path: path.to_owned(), reason: format!("{found} labels for {expected} rows of features") })
}

fn array(path: &Path) -> Result<Array> {
    match read(&Source::file(path), &ReadOptions::default())?.features {
        Features::Array(array) => Ok(array),
        _ => Err(Error::Stored { path: path.to_owned(), reason: "a table, expected an array of features".into() }),
    }
}

/// Labels that are class indices.
fn numbers(column: &Column, path: &Path) -> Result<Vec<u32>> {
    let number = |row: usize| {
        let text = column.text(row).unwrap_or_default();
        text.parse().map_err(|_| Error::Stored {
            path: path.to_owned(),
            reason: format!("row {row}: '{text}' is not a class index"),
        })
    };
    (0..column.len()).map(number).collect()
}
