//! A model made ready for images of one size, and run on all cores.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cmrm_onnx::{DatumType, Length, OnnxFile, Plan, tensor};

use super::input::InputSpec;
use super::pixels::{Pixels, Preparation};
use crate::data::Images;
use crate::error::{Error, Result};

/// Images of a batch, unless the model or the caller says otherwise: one image's numbers stay in the cache.
const BATCH: usize = 1;
/// Images that one thread takes at a time.
const SHARE: usize = 32;

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
    model: cmrm_onnx::OnnxModel,
    input: InputSpec,
    options: OnnxOptions,
}

impl OnnxModel {
    /// Reads a model and looks at all that can be known without images.
    pub fn open(path: &Path, options: OnnxOptions) -> Result<Self> {
        let model = OnnxFile::read(path)?.keep(options.output.as_deref())?;
        let input = InputSpec::of(&model)?;
        Ok(OnnxModel { model, input, options })
    }

    /// Name of the tensor that [`Embedding`] reads.
    pub fn output(&self) -> &str {
        self.model.output()
    }

    /// Fits the model to images.
    pub fn embedding<'a>(&'a self, images: &'a Images) -> Result<Embedding<'a>> {
        let channels = self.input.channels.unwrap_or(images.channels);
        if images.channels != channels && images.channels != 1 {
            let (found, name) = (images.channels, &self.input.name);
            let why = format!("the input '{name}' has {channels} channels, but the images have {found}");
            return Err(self.model.refuse(why).into());
        }
        let pixels = Pixels::new(&self.options.preparation, self.input.layout, channels)?;
        let (height, width) = pixels.target(images);
        self.check_size(height, width)?;
        let batch = self.input.batch.or(self.options.batch).unwrap_or(BATCH).max(1);
        let shape = self.input.shape(batch, channels, height, width);
        let plan = self.model.plan(&[(self.input.kind, shape.map(Length::Fixed).to_vec())])?;
        let width = match plan.output_lengths() {
            [Some(rows), rest @ ..] if *rows == batch => rest.iter().copied().product::<Option<usize>>(),
            _ => None,
        };
        let Some(width) = width else {
            let (name, made) = (self.output(), plan.shown_output());
            let why = format!("the tensor '{name}' is {made}, expected one row for each of {batch} images");
            return Err(self.model.refuse(why).into());
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
        let images = format!("the images are {height}×{width}");
        let why = format!("the input '{name}' is {wanted_height}×{wanted_width} pixels, but {images}; {way_out}");
        Err(self.model.refuse(why).into())
    }
}

/// A model that knows its images.
pub struct Embedding<'a> {
    model: &'a OnnxModel,
    images: &'a Images,
    plan: Plan,
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
                let panicked = |_| Err(Error::Internal("a thread that runs the model panicked".into()));
                workers.into_iter().map(|worker| worker.join().unwrap_or_else(panicked)).collect()
            });
            for rows in done {
                take(&rows?)?;
            }
        }
        Ok(())
    }

    fn run_all(&self, starts: &[usize]) -> Result<Vec<f32>> {
        Ok(starts.iter().map(|&start| self.run(start)).collect::<Result<Vec<_>>>()?.concat())
    }

    /// The features of a batch, the one from image `start`.
    fn run(&self, start: usize) -> Result<Vec<f32>> {
        let count = self.batch.min(self.images.len() - start);
        // The last batch is filled up with its last image.
        let rows = (start..start + self.batch).map(|row| row.min(start + count - 1));
        let bytes = rows.map(|row| self.pixels.bytes(self.images, row));
        let input = match self.model.input.kind {
            DatumType::U8 => tensor(&self.shape, &bytes.flatten().collect::<Vec<_>>(), DatumType::U8)?,
            kind => {
                let mut numbers = Vec::with_capacity(self.shape.iter().product());
                bytes.for_each(|image| numbers.extend(self.pixels.numbers(&image)));
                tensor(&self.shape, &numbers, kind)?
            }
        };
        let (_, mut numbers) = self.plan.run(vec![input])?;
        numbers.truncate(count * self.width);
        Ok(numbers)
    }
}
