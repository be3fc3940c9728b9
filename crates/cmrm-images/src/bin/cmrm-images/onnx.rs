//! `cmrm-images embed --onnx`: features as they come, chunk by chunk, into a file.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Instant;

use cmrm_data::write::NpyWriter;
use cmrm_images::data::{is_image_folder, read_images};
use cmrm_images::onnx::{Embedding, OnnxModel, OnnxOptions, Preparation};
use cmrm_images::{Error, Result};

use crate::embed::EmbedArgs;
use crate::{STOP, watch_for_stop};

pub fn embed(args: &EmbedArgs, path: &Path) -> Result<()> {
    let given = &args.model;
    let size = given.size.map(usize::from);
    let preparation = Preparation { size, mean: given.mean.clone(), deviation: given.std.clone() };
    let (batch, threads) = (given.batch.map(usize::from), given.threads.map(usize::from));
    let model = OnnxModel::open(path, OnnxOptions { output: given.output.clone(), preparation, batch, threads })?;
    watch_for_stop()?;
    // Files are scaled while they are read; images of data with a size of its own are scaled as they are needed.
    let set = read_images(&args.data, size.filter(|_| is_image_folder(&args.data)))?;
    let images = args.images(&set);
    let embedding = model.embedding(images)?;
    let progress = Progress::new(images.len());
    write_features(&args.out, &embedding, &progress)?;
    args.write_labels(&set)?;
    let (out, width, speed) = (args.out.display(), embedding.width(), progress.speed(images.len()));
    eprintln!("{out}: {} rows of {width} features ('{}'), {speed:.0} images/s", images.len(), model.output());
    Ok(())
}

fn write_features(path: &Path, embedding: &Embedding<'_>, progress: &Progress) -> Result<()> {
    let written = cmrm_data::files::write_atomically(path, |file| {
        let (mut writer, mut rows) = (NpyWriter::new(file, embedding.width())?, 0);
        embedding.compute(&STOP, |values| {
            writer.write(values)?;
            rows += values.len() / embedding.width();
            progress.show(rows);
            Ok(())
        })?;
        Ok::<(), Error>(writer.finish()?)
    });
    progress.end();
    written.map_err(|error| match error {
        Error::Data(error) => Error::Data(error.in_file(path.display())),
        other => other,
    })
}

/// A line on a terminal that is written over; nothing elsewhere.
struct Progress {
    all: usize,
    started: Instant,
    on_terminal: bool,
}

impl Progress {
    fn new(all: usize) -> Self {
        Progress { all, started: Instant::now(), on_terminal: std::io::stderr().is_terminal() }
    }

    fn speed(&self, done: usize) -> f64 {
        done as f64 / self.started.elapsed().as_secs_f64()
    }

    fn show(&self, done: usize) {
        if self.on_terminal {
            eprint!("\r{done} of {} images, {:.0} per second ", self.all, self.speed(done));
        }
    }

    fn end(&self) {
        if self.on_terminal {
            eprint!("\r{:60}\r", "");
        }
    }
}
