//! A trained kernel machine.

use cmrm::error::{check_length, check_parameter};
use cmrm::scores::softmax;
use cmrm::{OwnedRows, Rows};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::matmul::{View, ViewMut, multiply_by_row};
use crate::products::{Compared, put_rows, squares, take_rows};
use crate::stop::Stop;
use crate::stored::TensorFile;

/// Rows evaluated at a time.
pub(super) const CHUNK_ROWS: usize = 512;

/// Scores `Σ_j exp(−γ‖x − l_j‖²) a_j + bias` over landmarks `l_j`, softened by a temperature into probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelMachine {
    pub(super) inputs: usize,
    pub(super) classes: usize,
    pub(super) gamma: f32,
    pub(super) temperature: f32,
    /// In the form of the rows they are of.
    pub(super) landmarks: OwnedRows<f32>,
    /// `[landmarks, classes]`.
    pub(super) weights: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

/// What a file says of a kernel machine beside its tensors.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KernelHeader {
    inputs: usize,
    classes: usize,
    landmarks: usize,
    gamma: f32,
    temperature: f32,
}

impl KernelMachine {
    /// Number of features.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Probabilities, `[rows, classes]`.
    pub fn probabilities<'x>(&self, x: impl Into<Rows<'x, f32>>, stop: &Stop) -> Result<Vec<f32>> {
        self.probabilities_of(x.into(), stop)
    }

    fn probabilities_of(&self, x: Rows<'_, f32>, stop: &Stop) -> Result<Vec<f32>> {
        check_length("features of a row against the model's inputs", self.inputs, x.columns())?;
        let landmarks = Landmarks::new(self.landmarks.view()?, self.gamma);
        let mut out = vec![0.0; x.rows() * self.classes];
        let mut kernel = Vec::new();
        for (chunk, out) in out.chunks_mut(CHUNK_ROWS * self.classes).enumerate() {
            stop.check()?;
            let count = out.len() / self.classes;
            landmarks.kernel(x.slice(chunk * CHUNK_ROWS..chunk * CHUNK_ROWS + count), true, &mut kernel);
            for row in out.chunks_exact_mut(self.classes) {
                row.copy_from_slice(&self.bias);
            }
            multiply_by_row(
                ViewMut::rows(out, count, self.classes, self.classes),
                View::rows(&kernel, count, landmarks.len(), landmarks.len()),
                View::rows(&self.weights, landmarks.len(), self.classes, self.classes),
                true,
            );
            soften(out, self.classes, self.temperature);
        }
        Ok(out)
    }

    /// Puts the tensors into a file, their names after `prefix`.
    pub(crate) fn put_into(&self, prefix: &str, file: &mut TensorFile) -> KernelHeader {
        let landmarks = self.landmarks.rows();
        put_rows(file, &format!("{prefix}landmarks"), &self.landmarks);
        file.put(format!("{prefix}weights"), &[landmarks, self.classes], &self.weights);
        file.put(format!("{prefix}bias"), &[self.classes], &self.bias);
        let (gamma, temperature) = (self.gamma, self.temperature);
        KernelHeader { inputs: self.inputs, classes: self.classes, landmarks, gamma, temperature }
    }

    /// Takes a kernel machine out of a file, and checks it.
    pub(crate) fn take_from(prefix: &str, header: &KernelHeader, file: &TensorFile) -> Result<Self> {
        let KernelHeader { inputs, classes, landmarks, gamma, temperature } = *header;
        for (name, value) in [("gamma", gamma), ("temperature", temperature)] {
            check_parameter(name, f64::from(value), value > 0.0 && value.is_finite(), "a finite positive number")?;
        }
        for (name, value) in [("inputs", inputs), ("classes", classes), ("landmarks", landmarks)] {
            check_parameter(name, value as f64, value > 0, "at least 1")?;
        }
        let found = KernelMachine {
            inputs,
            classes,
            gamma,
            temperature,
            landmarks: take_rows(file, &format!("{prefix}landmarks"), landmarks, inputs)?,
            weights: file.take_shaped(&format!("{prefix}weights"), &[landmarks, classes])?,
            bias: file.take_shaped(&format!("{prefix}bias"), &[classes])?,
        };
        for values in [&found.weights, &found.bias] {
            if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                return Err(cmrm::Error::non_finite("weight", 0, at, f64::from(values[at])).into());
            }
        }
        Ok(found)
    }
}

/// Rows that others are compared with.
pub(super) struct Landmarks<'a> {
    rows: Compared<'a>,
    squares: Vec<f32>,
    gamma: f32,
}

impl<'a> Landmarks<'a> {
    pub(super) fn new(rows: Rows<'a, f32>, gamma: f32) -> Self {
        Landmarks { rows: Compared::new(rows), squares: squares(rows), gamma }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// `exp(−γ‖x − l‖²)` of every row of `x` with every landmark; `by_row` as in [`Compared::products`].
    pub(super) fn kernel(&self, x: Rows<'_, f32>, by_row: bool, out: &mut Vec<f32>) {
        let own = squares(x);
        self.rows.products(x, by_row, out);
        pulp::Arch::new().dispatch(|| {
            for (row, &own) in out.chunks_exact_mut(self.len()).zip(&own) {
                for (value, &square) in row.iter_mut().zip(&self.squares) {
                    let distance = (own + square - 2.0 * *value).max(0.0);
                    *value = cmrm::Scalar::exp_of_nonpositive(-self.gamma * distance);
                }
            }
        });
    }
}

/// Scores over the temperature, as probabilities.
pub(super) fn soften(scores: &mut [f32], classes: usize, temperature: f32) {
    pulp::Arch::new().dispatch(|| {
        for row in scores.chunks_exact_mut(classes) {
            row.iter_mut().for_each(|score| *score /= temperature);
            softmax(row);
        }
    });
}
