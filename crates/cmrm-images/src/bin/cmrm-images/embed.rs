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
    /// Folder of a finished run; the features are the input of its network's last layer.
    #[arg(required_unless_present = "onnx", conflicts_with = "onnx")]
    run: Option<PathBuf>,
    /// ONNX model to use instead of a run.
    #[arg(long, value_name = "FILE")]
    onnx: Option<PathBuf>,
    /// Data folder.
    #[arg(long)]
    pub data: PathBuf,
    /// Output file for the features (NPY), one row per image.
    #[arg(long)]
    pub out: PathBuf,
    /// Images to use.
    #[arg(long, value_enum, default_value = "train")]
    part: Part,
    /// Also write the class names of the images to this file (NPY).
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    #[command(flatten)]
    pub model: OnnxArgs,
}

/// What only an ONNX model needs to be told.
#[derive(Args)]
#[cfg_attr(not(feature = "onnx"), allow(dead_code))]
pub struct OnnxArgs {
    /// Name of the tensor that holds the features [default: the model's first output].
    #[arg(long, value_name = "NAME", conflicts_with = "run")]
    pub output: Option<String>,
    /// Scale the shorter side to this many pixels and cut out the centre square [default: images unchanged].
    #[arg(long, conflicts_with = "run", value_parser = clap::value_parser!(u16).range(1..))]
    pub size: Option<u16>,
    /// Mean to subtract from pixels in 0..1: one number per channel, or one for all [default: ImageNet's
    /// 0.485,0.456,0.406 for colour, 0 for grey].
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true, conflicts_with = "run")]
    pub mean: Vec<f32>,
    /// Deviation to divide by afterwards [default: ImageNet's 0.229,0.224,0.225 for colour, 1 for grey].
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true, conflicts_with = "run")]
    pub std: Vec<f32>,
    /// Images per batch, if the model leaves it open [default: 1, the fastest for convolutions].
    #[arg(long, conflicts_with = "run", value_parser = clap::value_parser!(u16).range(1..))]
    pub batch: Option<u16>,
    /// Number of threads [default: all cores].
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
        Err(super::Error::in_file(model, format!("this program was built without ONNX support; {way_out}")))
    }
}
