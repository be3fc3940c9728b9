//! The rows that prediction sets are calibrated on, by their observed labels: validation rows, or training rows as judged by
//! models that have not seen them.

use std::path::Path;

use cmrm::Matrix;
use cmrm::conformal::{Conformal, SetPredictor};
use cmrm_train::stored::TensorFile;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::folder::write_file;

/// Probabilities and observed labels of the calibration rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Probabilities of the classes, row after row.
    pub probabilities: Vec<f32>,
    /// The observed label of each row.
    pub labels: Vec<u32>,
    /// Number of classes.
    pub classes: usize,
    /// How likely each class is the true one of each row, row after row, where the noise in the labels was estimated.
    pub clean: Option<Vec<f32>>,
}

/// Which classes prediction sets are calibrated to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CalibratedFor {
    /// The observed ones: sets are larger than they need be where labels are wrong.
    Observed,
    /// The true ones, by the estimated noise in the labels.
    Corrected,
}

const KIND: &str = "calibration";
const CLEAN: &str = "clean";
/// Version of the file; a reader refuses any other.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    kind: String,
    format: u32,
    classes: usize,
}

impl Calibration {
    /// The probabilities as a matrix.
    pub fn matrix(&self) -> Result<Matrix<'_, f32>> {
        Ok(Matrix::new(&self.probabilities, self.classes)?)
    }

    /// What the sets are calibrated for unless someone says otherwise: true classes where the noise was estimated.
    pub fn usual(&self) -> CalibratedFor {
        if self.clean.is_some() { CalibratedFor::Corrected } else { CalibratedFor::Observed }
    }

    /// Thresholds; an error where corrected ones are asked for and the noise was not estimated.
    pub fn predictor(&self, conformal: &Conformal, calibrated_for: CalibratedFor) -> Result<SetPredictor> {
        match (calibrated_for, &self.clean) {
            (CalibratedFor::Observed, _) => Ok(conformal.calibrate(self.matrix()?, &self.labels, &[])?),
            (CalibratedFor::Corrected, Some(clean)) => {
                Ok(conformal.calibrate_corrected(self.matrix()?, Matrix::new(clean, self.classes)?, &[])?)
            }
            (CalibratedFor::Corrected, None) => Err(Error::refused(
                "the noise in the labels was not estimated, so prediction sets cannot be corrected for it; calibrate on \
                 observed labels or on trusted ones, or fit with more rows or better features"
                    .to_owned(),
            )),
        }
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut file = TensorFile::default();
        file.put("probabilities", &[self.labels.len(), self.classes], &self.probabilities);
        file.put_integers("labels", &self.labels);
        if let Some(clean) = &self.clean {
            file.put(CLEAN, &[self.labels.len(), self.classes], clean);
        }
        let header = Header { kind: KIND.into(), format: FORMAT, classes: self.classes };
        let bytes = file.to_bytes(&header).map_err(|error| Error::in_file(path, error))?;
        write_file(path, &bytes)
    }

    /// Reads the file, and refuses one of another kind or format.
    pub fn read(path: &Path) -> Result<Self> {
        let named = |error: cmrm_train::Error| Error::in_file(path, error);
        let bytes = std::fs::read(path).map_err(|error| Error::reading(path, &error))?;
        let (header, file): (Header, _) = TensorFile::from_bytes(&bytes).map_err(named)?;
        if header.kind != KIND || header.format != FORMAT {
            return Err(Error::refused(format!(
                "{}: {} format {}, expected {KIND} format {FORMAT}; copy the folder again or fit again",
                path.display(),
                header.kind.escape_debug(),
                header.format
            )));
        }
        let labels = file.take_integers("labels").map_err(named)?;
        let probabilities = file.take_shaped("probabilities", &[labels.len(), header.classes]).map_err(named)?;
        let clean = file.holds(CLEAN).then(|| file.take_shaped(CLEAN, &[labels.len(), header.classes])).transpose();
        Ok(Calibration { probabilities, labels, classes: header.classes, clean: clean.map_err(named)? })
    }
}
