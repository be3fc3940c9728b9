//! What C holds: a model and rows for it.

use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, PoisonError};

use cmrm::OwnedRows;
use cmrm::conformal::SetPredictor;
use cmrm_data::{Array, Features};
use cmrm_run::{Model, Predictions, SetOptions};

use crate::failure::{Failure, Result};

/// A run that was opened.
#[derive(Debug)]
pub struct CmrmModel {
    model: Model,
    /// Names of the classes as C reads them.
    names: Vec<CString>,
    features: usize,
    /// What made the last prediction sets, with their coverage: most programs ask for one.
    sets: Mutex<Option<(f64, Arc<SetPredictor>)>>,
}

/// Rows as a model takes them.
#[derive(Debug)]
pub struct CmrmRows {
    rows: OwnedRows<f32>,
    count: usize,
}

impl CmrmModel {
    /// Opens the folder of a run.
    pub fn open(run: &str) -> Result<Self> {
        let model = Model::open(run)?;
        // Names come from data, where a zero byte is a character like others.
        let name = |class: &String| CString::new(class.replace('\0', "\\0")).unwrap_or_default();
        let (names, features) = (model.classes().iter().map(name).collect(), model.preprocess().expected().width);
        Ok(CmrmModel { model, names, features, sets: Mutex::default() })
    }

    /// Numbers of a row, or columns of a table.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.names.len()
    }

    /// Name of a class.
    pub fn name(&self, class: usize) -> Option<&CStr> {
        self.names.get(class).map(CString::as_c_str)
    }

    /// Rows of numbers.
    pub fn rows_of_floats(&self, values: Vec<f32>, width: usize) -> Result<CmrmRows> {
        if width != self.features {
            let expected = self.features;
            return Err(Failure::input(format!("rows of {width} numbers, but the model takes {expected}")));
        }
        self.rows(&Features::Array(Array::new(values, width)?))
    }

    /// Rows in JSON.
    pub fn rows_of_json(&self, text: &str) -> Result<CmrmRows> {
        self.rows(&self.model.read_json(text)?)
    }

    fn rows(&self, features: &Features) -> Result<CmrmRows> {
        Ok(CmrmRows { rows: self.model.transform(features)?.rows, count: features.rows() })
    }

    /// Predicts rows.
    pub fn predict(&self, rows: &CmrmRows) -> Result<Predictions> {
        Ok(self.model.predict_rows(self.model.chosen(), rows.rows.view()?, &Default::default())?)
    }

    /// Prediction sets of rows, a byte for each class.
    pub fn predict_sets(&self, rows: &CmrmRows, coverage: f64) -> Result<Vec<u8>> {
        let said = self.predict(rows)?;
        let sets = self.set_predictor(coverage)?.predict(said.matrix()?, &[])?;
        let classes = self.classes();
        let mut mask = vec![0; rows.count * classes];
        for (row, set) in sets.iter().enumerate() {
            set.iter().for_each(|&class| mask[row * classes + class as usize] = 1);
        }
        Ok(mask)
    }

    fn set_predictor(&self, coverage: f64) -> Result<Arc<SetPredictor>> {
        // Whoever panicked has left the last one, or none.
        let mut last = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, predictor)) = last.as_ref().filter(|(of, _)| *of == coverage) {
            return Ok(predictor.clone());
        }
        let options = SetOptions { coverage, ..SetOptions::default() };
        let predictor = Arc::new(self.model.set_predictor(self.model.chosen(), &options)?);
        *last = Some((coverage, predictor.clone()));
        Ok(predictor)
    }
}

impl CmrmRows {
    /// Number of rows.
    pub fn count(&self) -> usize {
        self.count
    }
}
