//! The fused kernel for `cmrm.torch`: one object a loss, whose buffers every call reuses.

use std::sync::{Mutex, TryLockError};

use cmrm::envelope::{
    Batch, Envelope, EnvelopeConfig, MarginKind, Objective, Preset, RowMemory, RunningMargins, RunningTargets, Scratch,
    couple,
};
use cmrm::error::{check_labels, check_length, check_row_weights};
use cmrm::loss::{BaseLoss, Loss, LossConfig, Row, RowLoss};
use cmrm::noise_model::Transition;
use cmrm::{Error, Matrix, Scalar};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use serde_json::Value;

use crate::arrays::not_contiguous;
use crate::errors::{detached, refuse};

/// Numbers in a batch above which the interpreter's lock is worth giving back.
const LONG: usize = 1 << 15;

/// A base loss in the envelope, checked once.
///
/// `base` is the JSON of a name (`"focal:1"`) or of a loss as configuration files write it; `None` stands for a loss that
/// the caller computes. `overrides` is a JSON object of envelope settings that replace the preset's.
#[pyclass(frozen, module = "cmrm._native")]
pub struct EnvelopeKernel {
    arguments: Arguments,
    config: LossConfig,
    transition: Option<Transition>,
    base: Option<BaseLoss>,
    envelope: Envelope,
    single: Mutex<Buffers<f32>>,
    double: Mutex<Buffers<f64>>,
}

/// What a kernel was made of: base, class counts, preset, overrides, transition matrix.
type Arguments = (Option<String>, Vec<f64>, String, String, Option<Vec<Vec<f64>>>);

/// What one call after another reuses.
#[derive(Default)]
struct Buffers<T> {
    scratch: Scratch<T>,
    selection: Vec<T>,
    labels: Vec<u32>,
    places: Vec<u32>,
}

/// Total, base loss, risk, λ as it counted, and τ; all of these in double precision.
type Scalars = (f64, f64, f64, f64, Option<f64>);

#[pymethods]
impl EnvelopeKernel {
    #[new]
    #[pyo3(signature = (base, class_counts, preset, overrides, transition = None))]
    fn new(
        base: Option<String>,
        class_counts: Vec<f64>,
        preset: String,
        overrides: String,
        transition: Option<Vec<Vec<f64>>>,
    ) -> PyResult<Self> {
        // Where the base is the caller's own, the presets' values for cross-entropy hold.
        let config = base.as_deref().map_or(Ok(LossConfig::CrossEntropy), loss_config).map_err(refuse)?;
        let rows = transition.clone();
        let known = transition.map(Transition::try_from).transpose().map_err(refuse)?;
        let checked = config.validate_with(&class_counts, known.as_ref()).map_err(refuse)?;
        let named = preset.parse::<Preset>().map_err(refuse)?.config(&config);
        let envelope = overridden(named, &overrides).map_err(refuse)?.validate().map_err(refuse)?;
        Ok(EnvelopeKernel {
            config,
            base: base.is_some().then_some(checked),
            envelope,
            transition: known,
            arguments: (base, class_counts, preset, overrides, rows),
            single: Mutex::default(),
            double: Mutex::default(),
        })
    }

    /// What `new` was given, for pickle and copy.
    fn __getnewargs__(&self) -> Arguments {
        self.arguments.clone()
    }

    /// The settings as two JSON objects: the base loss (also where it is the caller's own) and the envelope.
    fn settings(&self) -> PyResult<(String, String)> {
        let json = |value: Result<String, serde_json::Error>| value.map_err(refuse);
        Ok((json(serde_json::to_string(&self.config))?, json(serde_json::to_string(self.envelope.config()))?))
    }

    /// What the loss reads beside its settings: LDAM's `scale · Δ` of every class, the prior of CORES, the transition matrix of the forward
    /// correction or the inverse of the backward one, row after row; `None` for other losses.
    fn constants(&self) -> Option<Vec<f64>> {
        let classes = self.transition.as_ref().map_or(0, Transition::classes);
        let rows = |row: fn(&Transition, usize) -> &[f64]| {
            let transition = self.transition.as_ref()?;
            Some((0..classes).flat_map(|class| row(transition, class).to_vec()).collect())
        };
        match &self.base {
            Some(BaseLoss::Ldam(ldam)) => Some(ldam.offsets().to_vec()),
            Some(BaseLoss::Cores(cores)) => Some(cores.prior().to_vec()),
            Some(BaseLoss::Forward(_)) => rows(Transition::row),
            Some(BaseLoss::Backward(_)) => rows(Transition::unbiased),
            _ => None,
        }
    }

    /// The first of `epochs` epochs that has the envelope on.
    fn first_epoch(&self, epochs: usize) -> usize {
        self.envelope.config().start.first_epoch(epochs)
    }

    /// Loss and gradient of a batch. `grad` gets the gradient by the logits, `rows` the margins and the weights.
    ///
    /// Without a base loss the total is `λ·risk` alone. `active`: whether the envelope is on. What is remembered of the
    /// batch's rows takes in the batch: `running`, their running margins, NaN where a row is met for the first time, and
    /// `targets`, the running targets of a loss that reads any.
    #[expect(clippy::too_many_arguments, reason = "Python's side names them")]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        logits: &Bound<'py, PyAny>,
        labels: PyReadonlyArray1<'py, i64>,
        row_weights: Option<&Bound<'py, PyAny>>,
        grad: &Bound<'py, PyAny>,
        rows: &Bound<'py, PyAny>,
        active: bool,
        running: Option<&Bound<'py, PyAny>>,
        targets: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Scalars> {
        match logits.cast::<PyArray2<f32>>() {
            Ok(z) => self.evaluate_as(py, &self.single, z, labels, row_weights, grad, rows, active, running, targets),
            Err(_) => {
                let z = logits.cast()?;
                self.evaluate_as(py, &self.double, z, labels, row_weights, grad, rows, active, running, targets)
            }
        }
    }

    /// From margins to the risk: `slopes` gets `∂R/∂M`, `weights` the weights. Returns `(τ, R)`.
    fn couple<'py>(
        &self,
        margins: &Bound<'py, PyAny>,
        labels: PyReadonlyArray1<'py, i64>,
        classes: usize,
        row_weights: Option<&Bound<'py, PyAny>>,
        weights: &Bound<'py, PyAny>,
        slopes: &Bound<'py, PyAny>,
    ) -> PyResult<(f64, f64)> {
        match margins.cast::<PyArray1<f32>>() {
            Ok(single) => self.couple_as(&self.single, single, labels, classes, row_weights, weights, slopes),
            Err(_) => self.couple_as(&self.double, margins.cast()?, labels, classes, row_weights, weights, slopes),
        }
    }
}

impl EnvelopeKernel {
    #[expect(clippy::too_many_arguments, reason = "as in `evaluate`")]
    fn evaluate_as<'py, T: Scalar + Default + Element>(
        &self,
        py: Python<'py>,
        buffers: &Mutex<Buffers<T>>,
        logits: &Bound<'py, PyArray2<T>>,
        labels: PyReadonlyArray1<'py, i64>,
        row_weights: Option<&Bound<'py, PyAny>>,
        grad: &Bound<'py, PyAny>,
        rows: &Bound<'py, PyAny>,
        active: bool,
        running: Option<&Bound<'py, PyAny>>,
        targets: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Scalars> {
        let (logits, labels) = (logits.try_readonly()?, labels.as_slice().map_err(not_contiguous)?);
        let columns = logits.shape()[1];
        let matrix = Matrix::new(logits.as_slice().map_err(not_contiguous)?, columns).map_err(refuse)?;
        let row_weights = row_weights.map(|v| PyResult::Ok(v.cast::<PyArray1<T>>()?.try_readonly()?)).transpose()?;
        let row_weights = row_weights.as_ref().map(|v| v.as_slice().map_err(not_contiguous)).transpose()?;
        let (mut grad, mut rows) =
            (grad.cast::<PyArray2<T>>()?.try_readwrite()?, rows.cast::<PyArray2<T>>()?.try_readwrite()?);
        let (grad, rows) = (grad.as_slice_mut().map_err(not_contiguous)?, rows.as_slice_mut().map_err(not_contiguous)?);
        let mut running = running.map(|v| PyResult::Ok(v.cast::<PyArray1<T>>()?.try_readwrite()?)).transpose()?;
        let mut running = running.as_mut().map(|v| v.as_slice_mut().map_err(not_contiguous)).transpose()?;
        let mut targets = targets.map(|v| PyResult::Ok(v.cast::<PyArray2<T>>()?.try_readwrite()?)).transpose()?;
        let mut targets = targets.as_mut().map(|v| v.as_slice_mut().map_err(not_contiguous)).transpose()?;
        let mut memory = RowMemory::default();
        if let (Some(beta), Some(old)) = (self.envelope.config().running, running.as_deref()) {
            let margins = memory.running.insert(RunningMargins::new(old.len(), beta));
            margins.margins_mut().copy_from_slice(old);
        }
        if let Some(old) = targets.as_deref().filter(|old| old.len() == matrix.values().len()) {
            let remembered = memory.targets.insert(RunningTargets::new(labels.len(), columns));
            remembered.targets_mut().copy_from_slice(old);
        }
        let envelope = active.then_some(self.envelope);
        let mut work = || {
            let memory = Some(&mut memory);
            with_free(buffers, |buffers| match &self.base {
                Some(loss) => {
                    buffers.evaluate(Objective { loss, envelope }, matrix, labels, row_weights, memory, grad, rows)
                }
                None => {
                    let objective = Objective { loss: Elsewhere, envelope };
                    buffers.evaluate(objective, matrix, labels, row_weights, memory, grad, rows)
                }
            })
        };
        let scalars = if matrix.values().len() > LONG { detached(py, work) } else { work().map_err(refuse) }?;
        // The caller holds the memory of all rows; here was that of the batch's, in their order.
        if let (Some(met), Some(running)) = (memory.running, &mut running) {
            running.copy_from_slice(met.margins());
        }
        if let (Some(met), Some(targets)) = (memory.targets, &mut targets) {
            targets.copy_from_slice(met.targets());
        }
        Ok(scalars)
    }

    #[expect(clippy::too_many_arguments, reason = "as in `couple`")]
    fn couple_as<'py, T: Scalar + Default + Element>(
        &self,
        buffers: &Mutex<Buffers<T>>,
        margins: &Bound<'py, PyArray1<T>>,
        labels: PyReadonlyArray1<'py, i64>,
        classes: usize,
        row_weights: Option<&Bound<'py, PyAny>>,
        weights: &Bound<'py, PyAny>,
        slopes: &Bound<'py, PyAny>,
    ) -> PyResult<(f64, f64)> {
        let margins = margins.try_readonly()?;
        let (margins, labels) =
            (margins.as_slice().map_err(not_contiguous)?, labels.as_slice().map_err(not_contiguous)?);
        let row_weights = row_weights.map(|v| PyResult::Ok(v.cast::<PyArray1<T>>()?.try_readonly()?)).transpose()?;
        let row_weights = row_weights.as_ref().map(|v| v.as_slice().map_err(not_contiguous)).transpose()?;
        let (mut weights, mut slopes) =
            (weights.cast::<PyArray1<T>>()?.try_readwrite()?, slopes.cast::<PyArray1<T>>()?.try_readwrite()?);
        let (weights, slopes) =
            (weights.as_slice_mut().map_err(not_contiguous)?, slopes.as_slice_mut().map_err(not_contiguous)?);
        let work = |buffers: &mut Buffers<T>| {
            buffers.couple(&self.envelope, margins, labels, classes, row_weights, weights, slopes)
        };
        with_free(buffers, work).map_err(refuse)
    }
}

/// Works with the shared buffers, or with fresh ones while another thread has those. Nobody waits: a thread of the pool
/// that waited here could be the very one that has them, come by another task while its own is shared out.
fn with_free<T: Default, R>(shared: &Mutex<Buffers<T>>, work: impl FnOnce(&mut Buffers<T>) -> R) -> R {
    match shared.try_lock() {
        Ok(mut buffers) => work(&mut buffers),
        Err(TryLockError::Poisoned(poisoned)) => work(&mut poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => work(&mut Buffers::default()),
    }
}

impl<T: Scalar> Buffers<T> {
    #[expect(clippy::too_many_arguments, reason = "slices of one batch, each used on its own")]
    fn evaluate(
        &mut self,
        objective: Objective<impl Loss<T>>,
        logits: Matrix<'_, T>,
        labels: &[i64],
        row_weights: Option<&[T]>,
        memory: Option<&mut RowMemory<T>>,
        grad: &mut [T],
        rows: &mut [T],
    ) -> Result<Scalars, Error> {
        let Buffers { scratch, labels: indices, places, .. } = self;
        class_indices(labels, indices)?;
        let mut batch = Batch::new(logits, indices).with_row_weights(row_weights);
        if memory.as_ref().is_some_and(|memory| memory.running.is_some() || memory.targets.is_some()) {
            // Each row by its place in the batch: the memory is that of these rows alone.
            places.clear();
            places.extend((0..).take(labels.len()));
            batch = batch.with_identities(Some(places));
        }
        let outcome = objective.evaluate_remembering(&batch, memory, grad, scratch)?;
        check_length("margins and weights against rows", 2 * labels.len(), rows.len())?;
        let (margins, weights) = rows.split_at_mut(labels.len());
        margins.copy_from_slice(scratch.margins());
        weights.copy_from_slice(scratch.weights());
        Ok((outcome.total, outcome.base, outcome.risk, outcome.lambda, outcome.tau.map(Scalar::to_f64)))
    }

    #[expect(clippy::too_many_arguments, reason = "slices of one batch, each used on its own")]
    fn couple(
        &mut self,
        envelope: &Envelope,
        margins: &[T],
        labels: &[i64],
        classes: usize,
        row_weights: Option<&[T]>,
        weights: &mut [T],
        slopes: &mut [T],
    ) -> Result<(f64, f64), Error> {
        if margins.is_empty() {
            return Err(Error::Empty { what: "the batch" });
        }
        class_indices(labels, &mut self.labels)?;
        check_length("labels against rows of logits", margins.len(), labels.len())?;
        check_labels(&self.labels, classes)?;
        check_row_weights(row_weights, margins.len())?;
        check_length("weights against rows", margins.len(), weights.len())?;
        check_length("slopes against rows", margins.len(), slopes.len())?;
        if let Some(row) = margins.iter().position(|margin| !margin.is_finite()) {
            // The margin is the negative loss here.
            let (what, value) = match envelope.config().margin {
                MarginKind::Loss => ("loss", -margins[row].to_f64()),
                _ => ("margin", margins[row].to_f64()),
            };
            return Err(Error::non_finite(what, row, self.labels[row] as usize, value));
        }
        let (tau, risk) = couple(envelope, margins, &self.labels, row_weights, weights, slopes, &mut self.selection);
        Ok((tau.to_f64(), risk))
    }
}

/// Stands for a base loss that the caller computes.
struct Elsewhere;

impl<T: Scalar> Loss<T> for Elsewhere {
    fn row(&self, _row: Row<T>) -> RowLoss<T> {
        RowLoss { value: T::ZERO, on_probs: T::ZERO, at_label: T::ZERO, on_rival: T::ZERO }
    }
}

/// PyTorch's labels are signed; the library's are not.
fn class_indices(labels: &[i64], indices: &mut Vec<u32>) -> Result<(), Error> {
    indices.clear();
    for (row, &label) in labels.iter().enumerate() {
        let refused = |_| Error::Value {
            what: "label",
            row,
            value: label.to_string(),
            expected: "a class index, 0 or more, below the number of classes",
        };
        indices.push(u32::try_from(label).map_err(refused)?);
    }
    Ok(())
}

fn loss_config(text: &str) -> Result<LossConfig, String> {
    match serde_json::from_str(text).map_err(|error| error.to_string())? {
        Value::String(name) => name.parse(),
        settings => serde_json::from_value(settings).map_err(|error| format!("base: {error}")),
    }
}

fn overridden(config: EnvelopeConfig, overrides: &str) -> Result<EnvelopeConfig, String> {
    let words = |error: serde_json::Error| error.to_string();
    let mut settings = serde_json::to_value(config).map_err(words)?;
    let overrides: serde_json::Map<String, Value> = serde_json::from_str(overrides).map_err(words)?;
    for (name, value) in overrides {
        settings[&name] = value;
        // One at a time, so that the refusal can name it.
        serde_json::from_value::<EnvelopeConfig>(settings.clone()).map_err(|error| format!("{name}: {error}"))?;
    }
    serde_json::from_value(settings).map_err(words)
}
