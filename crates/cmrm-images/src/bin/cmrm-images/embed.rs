//! `cmrm-images embed`: features of images, from a run or from an ONNX model.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use cmrm_data::files::atomic_write;
use cmrm_data::write::write_npy_labels;
use cmrm_images::data::{ImageSet, Images, read_images};
use cmrm_images::embed::TrainedNetwork;
use cmrm_images::train::write_array;
use cmrm_images::{Error, Result};
use tch::Device;

#[cfg(feature = "onnx")]
use crate::onnx;

#[derive(Args)]
pub struct EmbedArgs {
    /// The folder of a finished run, or a model with --onnx: what the last layer of the network sees.
    #[arg(required_unless_present = "onnx", conflicts_with = "onnx")]
    run: Option<PathBuf>,
    /// An ONNX model instead of a run.
    #[arg(long, value_name = "FILE")]
    onnx: Option<PathBuf>,
    /// Folder of the data.
    #[arg(long)]
    pub data: PathBuf,
    /// The features, as NPY: a row for each image.
    #[arg(long)]
    pub out: PathBuf,
    /// Which images.
    #[arg(long, value_enum, default_value = "train")]
    part: Part,
    /// Write the labels of the images too, by name, as NPY.
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    #[command(flatten)]
    pub model: OnnxArgs,
}

/// What only an ONNX model needs to be told.
#[derive(Args)]
#[cfg_attr(not(feature = "onnx"), allow(dead_code))]
pub struct OnnxArgs {
    /// The tensor whose numbers are the features, by name; any in the model will do [default: its first output].
    #[arg(long, value_name = "NAME", conflicts_with = "run")]
    pub output: Option<String>,
    /// Scale images until the shorter side has so many pixels, and cut out the middle square [default: as they are].
    #[arg(long, conflicts_with = "run", value_parser = clap::value_parser!(u16).range(1..))]
    pub size: Option<u16>,
    /// Subtracted from pixels between 0 and 1: a number a channel, or one for all [default: ImageNet's
    /// 0.485,0.456,0.406 for colours, 0 for grey].
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true, conflicts_with = "run")]
    pub mean: Vec<f32>,
    /// Pixels are then divided by, likewise [default: ImageNet's 0.229,0.224,0.225 for colours, 1 for grey].
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true, conflicts_with = "run")]
    pub std: Vec<f32>,
    /// Images of a batch, where the model leaves it open; convolutions are fastest with one [default: 1].
    #[arg(long, conflicts_with = "run", value_parser = clap::value_parser!(u16).range(1..))]
    pub batch: Option<u16>,
    /// Threads [default: all cores].
    #[arg(long, conflicts_with = "run", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Part {
    Train,
    Test,
}

impl EmbedArgs {
    pub fn images<'a>(&self, set: &'a ImageSet) -> &'a Images {
        match self.part {
            Part::Train => &set.train,
            Part::Test => &set.test,
        }
    }

    pub fn write_labels(&self, set: &ImageSet) -> Result<()> {
        let Some(path) = &self.labels else { return Ok(()) };
        let indices = &self.images(set).labels;
        let names: Vec<&str> = indices.iter().map(|&label| set.classes[label as usize].as_str()).collect();
        Ok(atomic_write(path, |file| write_npy_labels(file, &names))?)
    }
}

pub fn embed(args: &EmbedArgs, device: Device) -> Result<ExitCode> {
    match (&args.run, &args.onnx) {
        (_, Some(model)) => onnx::embed(args, model)?,
        (Some(run), None) => {
            let network = TrainedNetwork::open(run, device)?;
            let set = read_images(&args.data, network.size())?;
            let (features, width) = network.features(args.images(&set))?;
            write_array(&args.out, &features, width)?;
            args.write_labels(&set)?;
            eprintln!("{}: {} rows of {width} features", args.out.display(), args.images(&set).len());
        }
        // clap asks for one of the two.
        (None, None) => return Err(Error::settings("name the folder of a run, or a model with --onnx")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Stands in for onnx.rs.
#[cfg(not(feature = "onnx"))]
mod onnx {
    pub fn embed(_: &super::EmbedArgs, model: &std::path::Path) -> super::Result<()> {
        let way_out = "build it with `cargo build --release -p cmrm-images --features onnx`";
        Err(super::Error::in_file(model, format!("this program was built without ONNX models; {way_out}")))
    }
}
