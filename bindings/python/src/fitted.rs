//! A trained classifier.

use cmrm::Rows;
use cmrm::conformal::{ConformalConfig, ScoreKind};
use cmrm_data::Input;
use cmrm_data::preprocess::Preprocess;
use cmrm_fit::{FitConfig, FitOutcome};
use cmrm_run::{CalibratedFor, Calibration};
use cmrm_train::train::Waypoint;
use cmrm_train::{Predictor, Stop};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{matrix, slice};
use crate::audit::named;
use crate::conformal::mask;
use crate::errors::{detached, detached_on, refuse};
use crate::features::Given;
use crate::report::Kept;

/// Models of the arms, how columns become their features, and the rows that prediction sets are calibrated on.
#[pyclass(frozen, module = "cmrm._native")]
pub struct Fitted {
    pub config: FitConfig,
    pub preprocess: Preprocess,
    pub classes: Vec<String>,
    /// Name and model; the one to predict with last.
    pub arms: Vec<(String, Predictor)>,
    /// The rows that prediction sets are calibrated on.
    pub calibration: Option<Calibration>,
    /// Where a training in chunks goes on.
    pub waypoint: Option<Waypoint<f32>>,
    /// What a report is made of, until the object is stored.
    pub kept: Option<Kept>,
}

/// What an arm says of rows.
type Numbers<'py> = Bound<'py, PyArray2<f32>>;
/// What [`Fitted::from_parts`] takes.
type Stored<'py> = (
    String,
    String,
    Vec<String>,
    Vec<(String, Bound<'py, PyBytes>)>,
    Option<(Numbers<'py>, Bound<'py, PyArray1<u32>>, Option<Numbers<'py>>)>,
);

/// Probabilities, labels and what is known of true classes.
type StoredCalibration<'a> = (PyReadonlyArray2<'a, f32>, PyReadonlyArray1<'a, u32>, Option<PyReadonlyArray2<'a, f32>>);

impl Fitted {
    /// Of a fit that has run. With its rows, a report can be made.
    pub fn new(outcome: FitOutcome, calibration: Option<Calibration>, raw: Option<Input>) -> Self {
        let arms = outcome.arms.iter().map(|arm| (arm.name.clone(), arm.model.clone())).collect();
        let (config, preprocess) = (outcome.config.clone(), outcome.rows.preprocess.clone());
        let classes = outcome.rows.train.data.classes.clone();
        let kept = raw.map(|raw| Kept { outcome, raw });
        Fitted { config, preprocess, classes, arms, calibration, waypoint: None, kept }
    }

    fn model(&self, arm: Option<&str>) -> PyResult<&Predictor> {
        let found = match arm {
            None => self.arms.last(),
            Some(arm) => self.arms.iter().find(|(name, _)| name == arm),
        };
        let names: Vec<&str> = self.arms.iter().map(|(name, _)| name.as_str()).collect();
        found.map(|(_, model)| model).ok_or_else(|| {
            refuse(format!("unknown arm '{}'; the arms are {}", arm.unwrap_or_default(), names.join(", ")))
        })
    }

    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        features: &Given<'py>,
        arm: Option<&str>,
        of: impl Fn(&Predictor, Rows<'_, f32>, &Stop) -> cmrm_train::Result<Vec<f32>> + Send + Sync,
    ) -> PyResult<Numbers<'py>> {
        let (model, features) = (self.model(arm)?, features.features()?);
        let classes = self.classes.len();
        let values = detached_on(py, None, |stop| {
            let rows = self.preprocess.transform(&features).map_err(refuse)?;
            drop(features);
            of(model, rows.rows.view().map_err(refuse)?, stop).map_err(refuse)
        })?;
        let rows = values.len() / classes;
        values.into_pyarray(py).reshape([rows, classes])
    }
}

#[pymethods]
impl Fitted {
    /// Probabilities of the classes, a row each.
    #[pyo3(signature = (features, arm=None))]
    fn probabilities<'py>(&self, py: Python<'py>, features: Given<'py>, arm: Option<&str>) -> PyResult<Numbers<'py>> {
        self.evaluate(py, &features, arm, |model, rows, stop| model.probabilities(rows, stop))
    }

    /// Scaled logits of the classes, a row each; of a vote the logarithms of its probabilities.
    #[pyo3(signature = (features, arm=None))]
    fn logits<'py>(&self, py: Python<'py>, features: Given<'py>, arm: Option<&str>) -> PyResult<Numbers<'py>> {
        self.evaluate(py, &features, arm, |model, rows, stop| model.logits(rows, stop))
    }

    /// Prediction sets of probabilities, calibrated on the rows that were kept for that: which classes are in each.
    #[pyo3(signature = (probabilities, coverage, score, calibrated_for=None))]
    fn sets<'py>(
        &self,
        py: Python<'py>,
        probabilities: PyReadonlyArray2<'py, f32>,
        coverage: f64,
        score: &str,
        calibrated_for: Option<&str>,
    ) -> PyResult<Bound<'py, PyArray2<bool>>> {
        let calibration = self.calibration.as_ref().ok_or_else(|| {
            refuse(
                "no rows were kept to calibrate prediction sets on: fit with validation_share above 0, or calibrate on \
                 rows of your own with cmrm.conformal",
            )
        })?;
        let score = named::<ScoreKind>("score", score)?;
        let conformal = ConformalConfig { coverage, score, ..ConformalConfig::default() }.validate().map_err(refuse)?;
        let calibrated_for = match calibrated_for {
            None => calibration.usual(),
            Some(name) => named::<CalibratedFor>("calibration", name)?,
        };
        let new = matrix(&probabilities)?;
        let predictor = detached(py, || calibration.predictor(&conformal, calibrated_for))?;
        mask(py, &predictor, new, 0)
    }

    /// Names of the arms, the one to predict with last.
    #[getter]
    fn arm_names(&self) -> Vec<&str> {
        self.arms.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The model as the command writes it: `model.safetensors`.
    #[pyo3(signature = (arm=None))]
    fn model_bytes<'py>(&self, py: Python<'py>, arm: Option<&str>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.model(arm)?.to_bytes().map_err(refuse)?))
    }

    /// The settings as `cmrm fit --config` takes them.
    #[getter]
    fn config_toml(&self) -> PyResult<String> {
        self.config.to_toml().map_err(refuse)
    }

    /// How columns become features, as the command writes it: `preprocess.json`.
    #[getter]
    fn preprocess_json(&self) -> PyResult<String> {
        self.preprocess.to_json().map_err(refuse)
    }

    /// Writes the report.
    fn report(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        let kept = self.kept.as_ref().ok_or_else(|| {
            refuse("the rows that the report shows were not kept; fit again in this process, with keep_data=True")
        })?;
        detached_on(py, None, |_| kept.write(&path))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Stored<'py>)> {
        let (py, this) = (slf.py(), slf.get());
        let models = this
            .arms
            .iter()
            .map(|(name, model)| Ok((name.clone(), PyBytes::new(py, &model.to_bytes().map_err(refuse)?))));
        let calibration = match &this.calibration {
            None => None,
            Some(Calibration { probabilities, labels, classes, clean }) => {
                let of_rows = |values: &Vec<f32>| values.clone().into_pyarray(py).reshape([labels.len(), *classes]);
                let clean = clean.as_ref().map(of_rows).transpose()?;
                Some((of_rows(probabilities)?, labels.clone().into_pyarray(py), clean))
            }
        };
        let stored = (
            this.config.to_toml().map_err(refuse)?,
            this.preprocess.to_json().map_err(refuse)?,
            this.classes.clone(),
            models.collect::<PyResult<_>>()?,
            calibration,
        );
        Ok((py.get_type::<Fitted>().getattr("from_parts")?, stored))
    }

    /// What `__reduce__` took apart: settings, preprocessing, classes, models as safetensors, calibration rows.
    #[staticmethod]
    fn from_parts(
        config: &str,
        preprocess: &str,
        classes: Vec<String>,
        models: Vec<(String, Vec<u8>)>,
        calibration: Option<StoredCalibration<'_>>,
    ) -> PyResult<Self> {
        let preprocess = Preprocess::from_json(preprocess).map_err(refuse)?;
        let mut arms = Vec::with_capacity(models.len());
        for (name, bytes) in models {
            let model = Predictor::from_bytes(&bytes).map_err(refuse)?;
            let (inputs, outputs) = (model.inputs(), model.classes());
            if (inputs, outputs) != (preprocess.width(), classes.len()) {
                return Err(refuse(format!(
                    "the stored model has {inputs} features and {outputs} classes, the rest {} and {}; store it again",
                    preprocess.width(),
                    classes.len()
                )));
            }
            arms.push((name, model));
        }
        let calibration = match calibration {
            None => None,
            Some((held, labels, clean)) => Some(Calibration {
                probabilities: matrix(&held)?.values().to_vec(),
                labels: slice(&labels)?.to_vec(),
                classes: classes.len(),
                clean: clean.as_ref().map(|clean| Ok::<_, PyErr>(matrix(clean)?.values().to_vec())).transpose()?,
            }),
        };
        let config = FitConfig::from_toml(config).map_err(refuse)?;
        Ok(Fitted { config, preprocess, classes, arms, calibration, waypoint: None, kept: None })
    }
}
