//! A trained classifier.

use cmrm::Rows;
use cmrm::conformal::ScoreKind;
use cmrm_data::Input;
use cmrm_data::preprocess::Preprocess;
use cmrm_fit::{FitConfig, FitOutcome};
use cmrm_run::{Arm, CalibratedFor, Calibration, Model, Predictions, RunInfo, SetOptions};
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
use crate::saved::{Files, Parts, Record};

/// A model, and what else is known of how it came about.
#[pyclass(frozen, module = "cmrm._native")]
pub struct Fitted {
    pub config: FitConfig,
    /// The arm to predict with is the last.
    pub model: Model,
    /// Where a training in chunks goes on.
    pub waypoint: Option<Waypoint<f32>>,
    /// What a run's folder and a report are made of.
    pub record: Record,
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
    Option<StoredRecord<'py>>,
);
/// `run.json` and the other files of a run besides the model.
type StoredRecord<'py> = (String, Vec<(String, Bound<'py, PyBytes>)>);

/// Probabilities, labels and what is known of true classes.
type StoredCalibration<'a> = (PyReadonlyArray2<'a, f32>, PyReadonlyArray1<'a, u32>, Option<PyReadonlyArray2<'a, f32>>);

impl Fitted {
    /// Of a fit that has run. With its rows, a report can be made.
    pub fn new(
        outcome: FitOutcome,
        calibration: Option<Calibration>,
        raw: Option<Input>,
    ) -> Result<Self, cmrm_fit::Error> {
        let last = outcome.arms.len().saturating_sub(1);
        let mut calibration = Some(calibration);
        let arms = outcome.arms.iter().enumerate().map(|(at, arm)| {
            let calibration = if at == last { calibration.take().flatten() } else { None };
            Arm::new(&arm.name, arm.model.clone(), calibration)
        });
        let model =
            Model::new(outcome.rows.train.data.classes.clone(), outcome.rows.preprocess.clone(), arms.collect())?;
        let config = outcome.config.clone();
        let record = match raw {
            Some(raw) => Record::Kept(Box::new(Kept { outcome, raw })),
            None => Record::Parts(Box::new(Parts::of(&outcome)?)),
        };
        Ok(Fitted { config, model, waypoint: None, record })
    }

    fn arm(&self, arm: Option<&str>) -> PyResult<&Arm> {
        arm.map_or_else(|| Ok(self.model.chosen()), |arm| self.model.arm(arm).map_err(refuse))
    }

    fn evaluate<'py, T: Send>(
        &self,
        py: Python<'py>,
        features: &Given<'py>,
        of: impl Fn(Rows<'_, f32>, &Stop) -> cmrm_run::Result<T> + Send + Sync,
    ) -> PyResult<T> {
        let features = features.features()?;
        detached_on(py, None, |stop| {
            let rows = self.model.transform(&features).map_err(refuse)?;
            drop(features);
            of(rows.rows.view().map_err(refuse)?, stop).map_err(refuse)
        })
    }

    fn predictions<'py>(&self, py: Python<'py>, features: &Given<'py>, arm: Option<&str>) -> PyResult<Predictions> {
        let arm = self.arm(arm)?;
        self.evaluate(py, features, |rows, stop| self.model.predict_rows(arm, rows, stop))
    }

    fn numbers<'py>(&self, py: Python<'py>, values: Vec<f32>) -> PyResult<Numbers<'py>> {
        let classes = self.model.classes().len();
        let rows = values.len() / classes;
        values.into_pyarray(py).reshape([rows, classes])
    }
}

#[pymethods]
impl Fitted {
    /// Probabilities of the classes, a row each.
    #[pyo3(signature = (features, arm=None))]
    fn probabilities<'py>(&self, py: Python<'py>, features: Given<'py>, arm: Option<&str>) -> PyResult<Numbers<'py>> {
        self.numbers(py, self.predictions(py, &features, arm)?.into_probabilities())
    }

    /// The likeliest class of each row, by index.
    fn predict<'py>(&self, py: Python<'py>, features: Given<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(self.predictions(py, &features, None)?.labels().to_vec().into_pyarray(py))
    }

    /// Scaled logits of the classes, a row each; of a vote the logarithms of its probabilities.
    #[pyo3(signature = (features, arm=None))]
    fn logits<'py>(&self, py: Python<'py>, features: Given<'py>, arm: Option<&str>) -> PyResult<Numbers<'py>> {
        let arm = self.arm(arm)?;
        let logits = self.evaluate(py, &features, |rows, stop| Ok(arm.predictor().logits(rows, stop)?))?;
        self.numbers(py, logits)
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
        let arm = self.model.chosen();
        if arm.calibration().map_err(refuse)?.is_none() {
            return Err(refuse(
                "no rows were kept to calibrate prediction sets on: fit with validation_share above 0, or calibrate on \
                 rows of your own with cmrm.conformal",
            ));
        }
        let score = named::<ScoreKind>("score", score)?;
        let calibrated_for = calibrated_for.map(|name| named::<CalibratedFor>("calibration", name)).transpose()?;
        let options = SetOptions { coverage, score, calibrated_for, ..SetOptions::default() };
        let new = matrix(&probabilities)?;
        let predictor = detached(py, || self.model.set_predictor(arm, &options))?;
        mask(py, &predictor, new, 0)
    }

    /// Names of the arms, the one to predict with last.
    #[getter]
    fn arm_names(&self) -> Vec<&str> {
        self.model.arms().iter().map(Arm::name).collect()
    }

    /// The model as the command writes it: `model.safetensors`.
    #[pyo3(signature = (arm=None))]
    fn model_bytes<'py>(&self, py: Python<'py>, arm: Option<&str>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.arm(arm)?.predictor().to_bytes().map_err(refuse)?))
    }

    /// The settings as `cmrm fit --config` takes them.
    #[getter]
    fn config_toml(&self) -> PyResult<String> {
        self.config.to_toml().map_err(refuse)
    }

    /// How columns become features, as the command writes it: `preprocess.json`.
    #[getter]
    fn preprocess_json(&self) -> PyResult<String> {
        self.model.preprocess().to_json().map_err(refuse)
    }

    /// Writes the report.
    fn report(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        let Record::Kept(kept) = &self.record else {
            return Err(refuse(
                "the rows that the report shows were not kept; fit again in this process, with keep_data=True",
            ));
        };
        detached_on(py, None, |_| kept.write(&path))
    }

    /// Writes the folder of a run, new or empty.
    #[pyo3(signature = (path, label_type=None))]
    fn save(&self, py: Python<'_>, path: std::path::PathBuf, label_type: Option<String>) -> PyResult<()> {
        detached_on(py, None, |_| self.write_run(&path, label_type).map_err(refuse))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Stored<'py>)> {
        let (py, this) = (slf.py(), slf.get());
        // The last arm is the one to predict with.
        let chosen = this.model.chosen();
        let others = this.model.arms().iter().filter(|arm| arm.name() != chosen.name());
        let models = others
            .chain([chosen])
            .map(|arm| Ok((arm.name().to_owned(), PyBytes::new(py, &arm.predictor().to_bytes().map_err(refuse)?))));
        let calibration = match chosen.calibration().map_err(refuse)? {
            None => None,
            Some(Calibration { probabilities, labels, classes, clean }) => {
                let of_rows = |values: &Vec<f32>| values.clone().into_pyarray(py).reshape([labels.len(), *classes]);
                let clean = clean.as_ref().map(of_rows).transpose()?;
                Some((of_rows(probabilities)?, labels.clone().into_pyarray(py), clean))
            }
        };
        let stored = (
            this.config.to_toml().map_err(refuse)?,
            this.model.preprocess().to_json().map_err(refuse)?,
            this.model.classes().to_vec(),
            models.collect::<PyResult<_>>()?,
            calibration,
            Some(stored_record(py, &this.record)?),
        );
        Ok((py.get_type::<Fitted>().getattr("from_parts")?, stored))
    }

    /// What `__reduce__` took apart: settings, preprocessing, classes, models as safetensors, calibration rows, and what was recorded of
    /// the fit. Earlier versions stored no record.
    #[staticmethod]
    #[pyo3(signature = (config, preprocess, classes, models, calibration, record=None))]
    fn from_parts(
        config: &str,
        preprocess: &str,
        classes: Vec<String>,
        models: Vec<(String, Vec<u8>)>,
        calibration: Option<StoredCalibration<'_>>,
        record: Option<(String, Files)>,
    ) -> PyResult<Self> {
        let preprocess = Preprocess::from_json(preprocess).map_err(refuse)?;
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
        let mut calibration = Some(calibration);
        let last = models.len().saturating_sub(1);
        let arm = |(at, (name, bytes)): (usize, (String, Vec<u8>))| {
            let calibration = if at == last { calibration.take().flatten() } else { None };
            PyResult::Ok(Arm::new(name, Predictor::from_bytes(&bytes).map_err(refuse)?, calibration))
        };
        let arms = models.into_iter().enumerate().map(arm).collect::<PyResult<_>>()?;
        let model = Model::new(classes, preprocess, arms).map_err(refuse)?;
        let record = match record {
            Some((info, files)) => Record::Files(Box::new(serde_json::from_str(&info).map_err(refuse)?), files),
            None => {
                let names = model.arms().iter().map(|arm| arm.name().to_owned()).collect();
                let chosen = model.chosen().name().to_owned();
                Record::Files(
                    Box::new(RunInfo::new(model.classes().to_vec(), names, chosen, String::new())),
                    Files::new(),
                )
            }
        };
        Ok(Fitted { config, model, waypoint: None, record })
    }
}

fn stored_record<'py>(py: Python<'py>, record: &Record) -> PyResult<StoredRecord<'py>> {
    let (info, files) = record.to_store().map_err(refuse)?;
    let files = files.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes)));
    Ok((serde_json::to_string(&info).map_err(refuse)?, files.collect()))
}
