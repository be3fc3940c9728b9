//! A model made ready for images of one size, and run on all cores.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tract_onnx::pb::ModelProto;
use tract_onnx::prelude::{
    DatumType, InferenceFact, InferenceModelExt, IntoRunnable, Tensor, TractResult, TypedRunnableModel, tvec,
};
use tract_onnx::{Onnx, onnx};

use super::file;
use super::input::InputSpec;
use super::pixels::{Pixels, Preparation};
use crate::data::Images;
use crate::error::{Error, Result};

/// Images of a batch, unless the model or the caller says otherwise: one image's numbers stay in the cache.
const BATCH: usize = 1;
/// Images that one thread takes at a time.
const SHARE: usize = 32;
/// Its own words went to standard error.
const PANICKED: &str = "the engine for ONNX models panicked";

/// What is wanted of a model.
#[derive(Debug, Clone, Default)]
pub struct OnnxOptions {
    /// Name of the tensor; the model's first output without one.
    pub output: Option<String>,
    /// What happens to the images.
    pub preparation: Preparation,
    /// Images of a batch, one without a number; a model that was exported for a fixed batch keeps it.
    pub batch: Option<usize>,
    /// Threads; all cores without a number.
    pub threads: Option<usize>,
}

/// An ONNX model that was read, and cut down to one tensor.
pub struct OnnxModel {
    path: PathBuf,
    engine: Onnx,
    model: ModelProto,
    input: InputSpec,
    output: String,
    options: OnnxOptions,
}

impl OnnxModel {
    /// Reads a model and looks at all that can be known without images.
    pub fn open(path: &Path, options: OnnxOptions) -> Result<Self> {
        let engine = onnx();
        let mut model = file::read(path, &engine)?;
        let graph = model.graph.get_or_insert_default();
        let output = file::keep(path, graph, options.output.as_deref())?;
        file::check_operators(path, graph, &engine)?;
        let input = InputSpec::of(path, graph)?;
        Ok(OnnxModel { path: path.to_owned(), engine, model, input, output, options })
    }

    /// Name of the tensor that [`Embedding`] reads.
    pub fn output(&self) -> &str {
        &self.output
    }

    /// Fits the model to images.
    pub fn embedding<'a>(&'a self, images: &'a Images) -> Result<Embedding<'a>> {
        let channels = self.input.channels.unwrap_or(images.channels);
        if images.channels != channels && images.channels != 1 {
            let (found, name) = (images.channels, &self.input.name);
            let why = format!("the input '{name}' has {channels} channels, but the images have {found}");
            return Err(Error::in_file(&self.path, why));
        }
        let pixels = Pixels::new(&self.options.preparation, self.input.layout, channels)?;
        let (height, width) = pixels.target(images);
        self.check_size(height, width)?;
        let batch = self.input.batch.or(self.options.batch).unwrap_or(BATCH).max(1);
        let shape = self.input.shape(batch, channels, height, width);
        // Models come from anywhere, and the engine is not proof against all of them.
        let plan = catch_unwind(AssertUnwindSafe(|| self.plan(shape)))
            .map_err(|_| self.failed(PANICKED))?
            .map_err(|error| self.failed(format!("{error:#}")))?;
        let fact = plan.model().output_fact(0).map_err(|error| self.failed(error))?;
        let width = match fact.shape.as_concrete() {
            Some([rows, rest @ ..]) if *rows == batch => rest.iter().product(),
            _ => {
                let (name, made) = (&self.output, &fact.shape);
                let why = format!("the tensor '{name}' is {made:?}, expected one row for each of {batch} images");
                return Err(Error::in_file(&self.path, why));
            }
        };
        Ok(Embedding { model: self, images, plan, pixels, shape, batch, width })
    }

    fn check_size(&self, height: usize, width: usize) -> Result<()> {
        let InputSpec { height: wanted_height, width: wanted_width, name, .. } = &self.input;
        let (wanted_height, wanted_width) = (wanted_height.unwrap_or(height), wanted_width.unwrap_or(width));
        if (wanted_height, wanted_width) == (height, width) {
            return Ok(());
        }
        let way_out = match wanted_height == wanted_width {
            true => format!("--size {wanted_height} scales them"),
            false => "scale the images first".into(),
        };
        Err(Error::in_file(
            &self.path,
            format!(
                "the input '{name}' is {wanted_height}×{wanted_width} pixels, but the images are {height}×{width}; {way_out}"
            ),
        ))
    }

    fn plan(&self, shape: [usize; 4]) -> TractResult<Arc<TypedRunnableModel>> {
        // Large models keep their numbers in files beside them.
        let folder = self.path.parent().and_then(Path::to_str);
        let mut model = self.engine.parse(&self.model, folder)?.model;
        model.set_input_fact(0, InferenceFact::dt_shape(self.input.kind, shape))?;
        model.into_optimized()?.into_runnable()
    }

    /// The engine's own words, all of them: they name the operator.
    fn failed(&self, why: impl Display) -> Error {
        Error::in_file(&self.path, format!("the model cannot be run: {why}"))
    }
}

/// A model that knows its images.
pub struct Embedding<'a> {
    model: &'a OnnxModel,
    images: &'a Images,
    plan: Arc<TypedRunnableModel>,
    pixels: Pixels,
    shape: [usize; 4],
    batch: usize,
    width: usize,
}

impl Embedding<'_> {
    /// Features of an image.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Hands the features of all images to `take`, some rows at a time in the images' order. `stop` ends it between
    /// batches with [`Error::Interrupted`].
    pub fn compute(&self, stop: &AtomicBool, mut take: impl FnMut(&[f32]) -> Result<()>) -> Result<()> {
        let threads = self.model.options.threads;
        let threads = threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1);
        let starts: Vec<usize> = (0..self.images.len()).step_by(self.batch).collect();
        let share = (SHARE / self.batch).max(1);
        for starts in starts.chunks(threads * share) {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let done: Vec<Result<Vec<f32>>> = thread::scope(|scope| {
                let workers: Vec<_> =
                    starts.chunks(share).map(|starts| scope.spawn(move || self.run_all(starts))).collect();
                let panicked = |_| Err(self.model.failed(PANICKED));
                workers.into_iter().map(|worker| worker.join().unwrap_or_else(panicked)).collect()
            });
            for rows in done {
                take(&rows?)?;
            }
        }
        Ok(())
    }

    fn run_all(&self, starts: &[usize]) -> Result<Vec<f32>> {
        let run = |&start: &usize| self.run(start).map_err(|error| self.model.failed(format!("{error:#}")));
        Ok(starts.iter().map(run).collect::<Result<Vec<_>>>()?.concat())
    }

    /// The features of a batch, the one from image `start`.
    fn run(&self, start: usize) -> TractResult<Vec<f32>> {
        let count = self.batch.min(self.images.len() - start);
        // The last batch is filled up with its last image.
        let rows = (start..start + self.batch).map(|row| row.min(start + count - 1));
        let bytes = rows.map(|row| self.pixels.bytes(self.images, row));
        let input = match self.model.input.kind {
            DatumType::U8 => Tensor::from_shape(&self.shape, &bytes.flatten().collect::<Vec<_>>())?,
            kind => {
                let mut numbers = Vec::with_capacity(self.shape.iter().product());
                bytes.for_each(|image| numbers.extend(self.pixels.numbers(&image)));
                Tensor::from_shape(&self.shape, &numbers)?.cast_to_dt(kind)?.into_owned()
            }
        };
        let output = self.plan.run(tvec!(input.into()))?.remove(0);
        let output = output.cast_to::<f32>()?;
        Ok(output.try_as_plain_ram()?.as_slice::<f32>()?[..count * self.width].to_vec())
    }
}
