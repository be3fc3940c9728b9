//! A model made ready for inputs of stated lengths, and run.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cmrm_data::{Error, Problem, Result};
use tract_onnx::prelude::{
    Datum, DatumType, InferenceFact, InferenceModel, InferenceModelExt, IntoRunnable, TDim, Tensor, ToDim, TractResult,
    TypedRunnableModel,
};

use crate::input::{Input, Length, shown};

/// A model that is cut down to one tensor.
pub struct OnnxModel {
    pub(crate) path: PathBuf,
    pub(crate) model: InferenceModel,
    pub(crate) inputs: Vec<Input>,
    pub(crate) output: String,
}

impl OnnxModel {
    /// What the tensor depends on.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The name of the tensor.
    pub fn output(&self) -> &str {
        &self.output
    }

    /// An error that names the file.
    pub fn refuse(&self, why: impl Into<String>) -> Error {
        Error::option(why).in_file(self.path.display())
    }

    /// Prepares the model for inputs of these kinds and shapes, one for each of [`OnnxModel::inputs`].
    pub fn plan(&self, shapes: &[(DatumType, Vec<Length>)]) -> Result<Plan> {
        let engine = guarded(&self.path, || self.prepare(shapes))?;
        let lengths = |shape: &[TDim]| {
            shape.iter().map(|length| length.as_i64().and_then(|length| usize::try_from(length).ok())).collect()
        };
        let fact = engine.model().output_fact(0).map_err(|error| failed(&self.path, error))?;
        Ok(Plan { path: self.path.clone(), output_lengths: lengths(fact.shape.dims()), engine })
    }

    fn prepare(&self, shapes: &[(DatumType, Vec<Length>)]) -> TractResult<Arc<TypedRunnableModel>> {
        let mut model = self.model.clone();
        for (at, (kind, shape)) in shapes.iter().enumerate() {
            let length = |length: &Length| match *length {
                Length::Fixed(length) => length.to_dim(),
                Length::Open(name) => model.symbols.sym(name).to_dim(),
            };
            let shape: Vec<TDim> = shape.iter().map(length).collect();
            model.set_input_fact(at, InferenceFact::dt_shape(*kind, shape))?;
        }
        model.into_optimized()?.into_runnable()
    }
}

/// A model that is ready to run, from any number of threads at once.
#[derive(Clone)]
pub struct Plan {
    path: PathBuf,
    engine: Arc<TypedRunnableModel>,
    output_lengths: Vec<Option<usize>>,
}

impl Plan {
    /// Lengths of the tensor; those that depend on open ones are `None`.
    pub fn output_lengths(&self) -> &[Option<usize>] {
        &self.output_lengths
    }

    /// The same in words, such as `?×384`.
    pub fn shown_output(&self) -> String {
        shown(&self.output_lengths)
    }

    /// Runs the model: the tensor's lengths and its numbers.
    pub fn run(&self, inputs: Vec<Tensor>) -> Result<(Vec<usize>, Vec<f32>)> {
        guarded(&self.path, || {
            let output = self.engine.run(inputs.into_iter().map(Into::into).collect())?.remove(0);
            let numbers = output.cast_to::<f32>()?;
            Ok((numbers.shape().to_vec(), numbers.try_as_plain_ram()?.as_slice::<f32>()?.to_vec()))
        })
    }
}

/// Numbers as an input takes them: in this shape, cast to its kind.
pub fn tensor<T: Datum + Copy>(shape: &[usize], numbers: &[T], kind: DatumType) -> Result<Tensor> {
    let made = Tensor::from_shape(shape, numbers).and_then(|tensor| Ok(tensor.cast_to_dt(kind)?.into_owned()));
    made.map_err(|error| Error::new(Problem::Internal(format!("an input of the model: {error:#}"))))
}

/// What the engine says, or that it panicked: its own words went to standard error then.
pub(crate) fn guarded<T>(path: &Path, work: impl FnOnce() -> TractResult<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| failed(path, "the engine for ONNX models panicked"))?
        // All of its words: they name the operator.
        .map_err(|error| failed(path, format!("{error:#}")))
}

fn failed(path: &Path, why: impl Display) -> Error {
    Error::option(format!("the model cannot be run: {why}")).in_file(path.display())
}
