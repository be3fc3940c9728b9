//! Prediction sets.

use cmrm::Matrix;
use cmrm::conformal::{
    Assurance, Conformal, ConformalConfig, EmptySets, ScoreKind, SetPredictor as Predictor, ThresholdKind,
    draw_uniforms,
};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::arrays::{Floats, matrix, not_contiguous, slice};
use crate::audit::named;
use crate::errors::{detached, refuse};
use crate::noise_model::Said;

/// Which classes are in the set of each row.
pub fn mask<'py, T: Copy + Into<f64> + Sync>(
    py: Python<'py>,
    predictor: &Predictor,
    probabilities: Matrix<'_, T>,
    seed: u64,
) -> PyResult<Bound<'py, PyArray2<bool>>> {
    let (rows, classes) = (probabilities.rows(), probabilities.columns());
    // NumPy's memory: it asks for large pages, where this is written faster than computed.
    let mask = PyArray2::zeros(py, [rows, classes], false);
    let mut marks = mask.readwrite();
    let marks = marks.as_slice_mut().map_err(not_contiguous)?;
    detached(py, || predictor.predict_mask(probabilities, &uniforms(predictor.config.score, rows, seed), marks))?;
    Ok(mask)
}

/// Calibrated thresholds; plain data.
#[pyclass(frozen, module = "cmrm._native")]
pub struct SetPredictor(Predictor);

/// How sets are made.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    coverage: f64,
    score: String,
    per_class: bool,
    allow_empty: bool,
    raps_penalty: f64,
    raps_free_ranks: usize,
    guaranteed: bool,
}

/// Uniform numbers, where the score asks for them.
fn uniforms(score: ScoreKind, rows: usize, seed: u64) -> Vec<f64> {
    if score == ScoreKind::ApsRandomised { draw_uniforms(rows, seed) } else { Vec::new() }
}

/// Thresholds from probabilities and labels of rows that the model was not trained on.
#[pyfunction]
#[pyo3(signature = (probabilities, labels, options, seed, noise=None))]
pub fn calibrate_sets<'py>(
    py: Python<'py>,
    probabilities: Floats<'py>,
    labels: PyReadonlyArray1<'py, u32>,
    options: Options,
    seed: u64,
    noise: Option<Said<'py>>,
) -> PyResult<SetPredictor> {
    let config = ConformalConfig {
        coverage: options.coverage,
        score: named::<ScoreKind>("score", &options.score)?,
        thresholds: if options.per_class { ThresholdKind::PerClass } else { ThresholdKind::Marginal },
        empty_sets: if options.allow_empty { EmptySets::Allowed } else { EmptySets::TopClass },
        raps_penalty: options.raps_penalty,
        raps_free_ranks: options.raps_free_ranks,
    };
    let (score, labels) = (config.score, slice(&labels)?);
    let conformal = config.validate().map_err(refuse)?;
    let uniforms = uniforms(score, labels.len(), seed);
    let assurance = if options.guaranteed { Assurance::Guaranteed } else { Assurance::Estimated };
    let noise = noise.map(|noise| (noise, assurance));
    let predictor = match &probabilities {
        Floats::Single(array) => calibrated(py, &conformal, matrix(array)?, labels, &uniforms, noise.as_ref()),
        Floats::Double(array) => calibrated(py, &conformal, matrix(array)?, labels, &uniforms, noise.as_ref()),
    }?;
    Ok(SetPredictor(predictor))
}

fn calibrated<T: Copy + Into<f64> + Sync>(
    py: Python<'_>,
    conformal: &Conformal,
    rows: Matrix<'_, T>,
    labels: &[u32],
    uniforms: &[f64],
    noise: Option<&(Said<'_>, Assurance)>,
) -> PyResult<Predictor> {
    let Some((noise, assurance)) = noise else { return detached(py, || conformal.calibrate(rows, labels, uniforms)) };
    let transition = noise.transition(rows.columns())?;
    detached(py, || conformal.calibrate_known_noise(rows, labels, &transition, *assurance, uniforms))
}

#[pymethods]
impl SetPredictor {
    /// Which classes are in the set of each row.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        probabilities: Floats<'py>,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray2<bool>>> {
        match &probabilities {
            Floats::Single(array) => mask(py, &self.0, matrix(array)?, seed),
            Floats::Double(array) => mask(py, &self.0, matrix(array)?, seed),
        }
    }

    /// Number of classes.
    #[getter]
    fn classes(&self) -> usize {
        self.0.classes
    }

    /// The threshold of each class.
    #[getter]
    fn thresholds<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let of = |class| self.0.thresholds.of(class);
        (0..self.0.classes as u32).map(of).collect::<Vec<f64>>().into_pyarray(py)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let text = serde_json::to_string(&slf.get().0).map_err(refuse)?;
        Ok((slf.py().get_type::<SetPredictor>().getattr("from_text")?, (text,)))
    }

    /// What `__reduce__` wrote.
    #[staticmethod]
    fn from_text(text: &str) -> PyResult<Self> {
        serde_json::from_str(text).map(SetPredictor).map_err(refuse)
    }
}
