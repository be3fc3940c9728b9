//! The command `cmrm-images`: trains the runs of plans, applies what they learned, and measures how fast.

mod embed;
#[cfg(feature = "onnx")]
mod onnx;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand, ValueEnum};
use cmrm_data::files::text::printable;
use cmrm_images::cuda::Cuda;
use cmrm_images::data::{Decided, apply_decisions, read_images};
use cmrm_images::libtorch;
use cmrm_images::plan::{Plan, Precision};
use cmrm_images::speed::SpeedTest;
use cmrm_images::tables;
use cmrm_images::train::{Control, train_all};
use cmrm_images::{Error, Result};
use embed::{EmbedArgs, embed};
use tch::Device;

/// Train image classifiers on labels that are partly wrong, several at once.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(subcommand)]
    verb: Verb,
    /// Where to compute [default: a GPU if there is one].
    #[arg(long, value_enum, global = true)]
    device: Option<DeviceChoice>,
    /// Let libtorch time several kernels per convolution and keep the fastest.
    #[arg(long, global = true)]
    choose_kernels: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum DeviceChoice {
    Cpu,
    Cuda,
}

#[derive(Clone, Copy, ValueEnum)]
enum PrecisionChoice {
    F32,
    Tf32,
    Mixed,
}

impl From<PrecisionChoice> for Precision {
    fn from(choice: PrecisionChoice) -> Self {
        match choice {
            PrecisionChoice::F32 => Precision::F32,
            PrecisionChoice::Tf32 => Precision::Tf32,
            PrecisionChoice::Mixed => Precision::Mixed,
        }
    }
}

#[derive(Subcommand)]
enum Verb {
    /// Train all unfinished runs of the plans; run it again to continue after a stop.
    Train {
        /// Plans (TOML files).
        #[arg(required = true)]
        plans: Vec<PathBuf>,
        /// Folder of the runs.
        #[arg(long, default_value = "runs")]
        out: PathBuf,
        /// Data folder; overrides the plans' own.
        #[arg(long)]
        data: Option<PathBuf>,
        /// Number of runs at once.
        #[arg(long, default_value_t = 1)]
        workers: usize,
        /// Stop with checkpoints after this many minutes.
        #[arg(long)]
        minutes: Option<f64>,
        /// Epochs between checkpoints; with 0, only when stopped.
        #[arg(long, default_value_t = 10)]
        checkpoint_every: usize,
        /// Number format; overrides the plans' own.
        #[arg(long, value_enum)]
        precision: Option<PrecisionChoice>,
    },
    /// Write the features of images as NPY, for a linear probe or any other model.
    Embed(EmbedArgs),
    /// Print results as Markdown tables.
    Tables {
        /// Plans (TOML files).
        plans: Vec<PathBuf>,
        /// Results of their runs.
        #[arg(long, default_value = "runs/results.jsonl")]
        results: PathBuf,
        /// Print speeds instead, from the output of `speed` and research/images/speed.py.
        #[arg(long, num_args = 1.., value_name = "FILE")]
        speed: Vec<PathBuf>,
    },
    /// Measure training steps of ResNet-20 on synthetic images; prints one JSON line per setting.
    Speed {
        /// Number of runs at once.
        #[arg(long, value_delimiter = ',', default_value = "1")]
        runs: Vec<usize>,
        /// Number format.
        #[arg(long, value_enum, value_delimiter = ',', default_value = "tf32")]
        precision: Vec<PrecisionChoice>,
        /// Images per step.
        #[arg(long, default_value_t = 128)]
        batch: usize,
        /// Timed steps per run.
        #[arg(long, default_value_t = 300)]
        steps: usize,
        /// Launch kernels one at a time instead of a captured graph.
        #[arg(long)]
        eager: bool,
        /// Train with the envelope (`robust`).
        #[arg(long)]
        envelope: bool,
    },
}

static STOP: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    match work(Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("cmrm-images: {}", printable(&error.to_string()));
            ExitCode::from(match error {
                Error::Interrupted => 130,
                _ if error.is_internal() => 101,
                _ => 2,
            })
        }
    }
}

/// From here on Ctrl-C asks to stop rather than ending the program.
fn watch_for_stop() -> Result<()> {
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))
        .map_err(|error| Error::settings(format!("cannot handle Ctrl-C: {error}")))
}

/// The card if there is one and the CPU was not asked for; words about it to standard error.
fn device(choice: Option<DeviceChoice>) -> Result<Device> {
    match choice {
        Some(DeviceChoice::Cpu) => Ok(Device::Cpu),
        Some(DeviceChoice::Cuda) => Cuda::load().map(|_| Device::Cuda(0)),
        None => match Cuda::load() {
            Ok(_) => Ok(Device::Cuda(0)),
            Err(why) => {
                eprintln!("running on the CPU ({why})");
                Ok(Device::Cpu)
            }
        },
    }
}

fn work(args: Args) -> Result<ExitCode> {
    libtorch::check()?;
    if let Verb::Tables { plans, results, speed } = &args.verb {
        return print_tables(plans, results, speed);
    }
    let device = device(args.device)?;
    tch::Cuda::cudnn_set_benchmark(args.choose_kernels);
    match args.verb {
        Verb::Train { plans, out, data, workers, minutes, checkpoint_every, precision } => {
            watch_for_stop()?;
            let deadline = minutes.map(|minutes| Instant::now() + Duration::from_secs_f64(60.0 * minutes));
            let mut work = Vec::new();
            for path in &plans {
                let mut plan = Plan::read(path)?;
                if let Some(precision) = precision {
                    plan.precision = precision.into();
                }
                let folder = data.as_ref().unwrap_or(&plan.data);
                let mut images = read_images(folder, plan.size)?;
                if let Some(decisions) = &plan.decisions {
                    let Decided { relabelled, dropped } = apply_decisions(&mut images, decisions)?;
                    eprintln!("{}: {relabelled} images relabelled, {dropped} dropped", decisions.display());
                }
                work.push((plan.runs()?, images));
            }
            let say = |line: &str| eprintln!("{}", printable(line));
            let control = Control { root: out, device, workers, deadline, checkpoint_every, stop: &STOP, say: &say };
            let ended = train_all(work, &control)?;
            for result in &ended.finished {
                // A result is plain numbers and text: it always has a JSON form.
                println!("{}", serde_json::to_string(result).unwrap_or_default());
            }
            let (finished, failed) = (ended.finished.len(), ended.failed.len());
            eprintln!(
                "{finished} runs finished, {} stopped with a checkpoint, {} not started, {failed} failed",
                ended.stopped, ended.waiting
            );
            Ok(match (failed > 0, STOP.load(Ordering::Relaxed)) {
                (_, true) => ExitCode::from(130),
                (true, _) => ExitCode::from(if ended.failed.iter().any(|(_, e)| e.is_internal()) { 101 } else { 2 }),
                _ => ExitCode::SUCCESS,
            })
        }
        Verb::Embed(args) => embed(&args, device),
        // Needs no device: done above.
        Verb::Tables { .. } => Ok(ExitCode::SUCCESS),
        Verb::Speed { runs, precision, batch, steps, eager, envelope } => {
            for precision in precision {
                for &runs in &runs {
                    let (precision, graphs, kernels_chosen) = (precision.into(), !eager, args.choose_kernels);
                    let test = SpeedTest { device, precision, runs, batch, steps, graphs, envelope, kernels_chosen };
                    println!("{}", serde_json::to_string(&test.measure()?).unwrap_or_default());
                }
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn print_tables(plans: &[PathBuf], results: &Path, speed: &[PathBuf]) -> Result<ExitCode> {
    if !plans.is_empty() {
        let results = tables::read_lines(results)?;
        for path in plans {
            print!("{}", tables::results(&Plan::read(path)?, &results)?);
        }
    }
    let mut lines = Vec::new();
    for path in speed {
        lines.extend(tables::read_lines(path)?);
    }
    if !lines.is_empty() {
        print!("{}", tables::speeds(&lines));
    }
    Ok(ExitCode::SUCCESS)
}
