//! Results as Markdown tables, so that no number in a document is copied by hand.

use std::fmt::Write;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::plan::{Plan, Precision, RunSpec};
use crate::train::RunResult;

/// Reads a file of JSON lines.
pub fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::in_file(path, error))?;
    let parse = |(at, line)| {
        serde_json::from_str(line).map_err(|error| Error::in_file(path, format!("line {}: {error}", at + 1)))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(parse).collect()
}

/// The runs of a plan: a table for each kind of noise, arms in the plan's order against their base, and what is missing.
pub fn results(plan: &Plan, results: &[RunResult]) -> Result<String> {
    let runs = plan.runs()?;
    let result = |arm: &str, seed: u64| {
        results
            .iter()
            .find(|result| (result.plan == plan.name, result.arm == arm, result.seed == seed) == (true, true, true))
    };
    let noise = |run: &RunSpec| run.noise.as_ref().map_or("none".into(), ToString::to_string);
    let mut kinds: Vec<String> = Vec::new();
    for run in plan.arms.iter().filter_map(|arm| runs.iter().find(|run| run.arm == arm.name)) {
        if !kinds.contains(&noise(run)) {
            kinds.push(noise(run));
        }
    }
    let mut out = String::new();
    for kind in kinds {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}, noise {kind}:\n", plan.name);
        out += "| arm | epochs | accuracy, % | minus base | M.APSS | minus base | filtered rows that are wrong, % |\n";
        out += "|---|---|---|---|---|---|---|\n";
        for arm in &plan.arms {
            let of_arm: Vec<&RunSpec> = runs.iter().filter(|run| run.arm == arm.name && noise(run) == kind).collect();
            let pairs: Vec<_> = of_arm
                .iter()
                .filter_map(|run| {
                    let base = run.base.as_ref().and_then(|base| result(base, run.seed));
                    result(&run.arm, run.seed).map(|result| (result, base))
                })
                .collect();
            let Some((first, _)) = pairs.first() else { continue };
            let epochs = match first.forked_at {
                Some(fork) => format!("{fork} + {}", first.epochs - fork),
                None => first.epochs.to_string(),
            };
            let column = |of: fn(&RunResult) -> f64, digits: usize| {
                let values: Vec<f64> = pairs.iter().map(|(result, _)| of(result)).collect();
                let gains: Vec<f64> =
                    pairs.iter().filter_map(|(result, base)| base.map(|base| of(result) - of(base))).collect();
                (list(&values, digits, false), list(&gains, digits, true))
            };
            let (accuracy, gain) = column(|result| 100.0 * result.judgement.accuracy, 2);
            let (size, shrunk) = column(|result| result.judgement.mean_set_size, 2);
            let wrong: Vec<f64> = pairs.iter().filter_map(|(result, _)| result.filtered_wrong_share).collect();
            let wrong = if kind == "none" { String::new() } else { list(&scaled(&wrong), 1, false) };
            let _ = writeln!(out, "| {} | {epochs} | {accuracy} | {gain} | {size} | {shrunk} | {wrong} |", arm.name);
        }
        out.push('\n');
    }
    let missing: Vec<String> = runs
        .iter()
        .filter(|run| result(&run.arm, run.seed).is_none())
        .map(|run| format!("{} (seed {})", run.arm, run.seed))
        .collect();
    if !missing.is_empty() {
        let _ = writeln!(out, "Not finished in {}: {}.\n", plan.name, missing.join(", "));
    }
    Ok(out)
}

fn scaled(shares: &[f64]) -> Vec<f64> {
    shares.iter().map(|share| 100.0 * share).collect()
}

/// The mean, and the values it is of where they are several.
fn list(values: &[f64], digits: usize, signed: bool) -> String {
    let one = |value: f64| if signed { format!("{value:+.digits$}") } else { format!("{value:.digits$}") };
    match values {
        [] => String::new(),
        [value] => one(*value),
        many => {
            let each: Vec<String> = many.iter().map(|&value| one(value)).collect();
            format!("{} ({})", one(many.iter().sum::<f64>() / many.len() as f64), each.join(", "))
        }
    }
}

/// A line of `cmrm-images speed`, or of `research/images/speed.py`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum SpeedLine {
    /// PyTorch's.
    PyTorch {
        /// Its version.
        pytorch: String,
        /// `eager` or `graph`.
        mode: String,
        /// Whether a pixel's channels lie side by side.
        channels_last: bool,
        /// Whether convolutions may round to TF32.
        tf32: bool,
        /// Whether they run in bfloat16.
        bf16: bool,
        /// Images a second.
        images_per_second: f64,
    },
    /// Ours.
    Ours {
        /// Runs at once.
        runs: usize,
        /// How numbers were held.
        precision: Precision,
        /// Whether steps were captured.
        graphs: bool,
        /// Whether the envelope was on.
        envelope: bool,
        /// Whether several kernels were timed and the fastest kept.
        #[serde(default)]
        kernels_chosen: bool,
        /// Images a second, all runs together.
        images_per_second: f64,
    },
}

/// Multiply-adds of ResNet-20 for an image of 32×32, forward: 40,556,800. A training step takes three times as many, and
/// each is two operations.
const OPERATIONS: f64 = 6.0 * 40_556_800.0;

/// Dense peak of an H200, operations a second, as its data sheet states it.
fn peak(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 66.9e12,
        Precision::Tf32 => 494.7e12,
        Precision::Mixed => 989.4e12,
    }
}

/// Speeds beside each other, against the fastest eager loop of PyTorch.
pub fn speeds(lines: &[SpeedLine]) -> String {
    let eager = lines.iter().filter_map(|line| match line {
        SpeedLine::PyTorch { mode, images_per_second, .. } if mode == "eager" => Some(*images_per_second),
        _ => None,
    });
    let eager = eager.fold(f64::NAN, f64::max);
    let mut out =
        "| program | steps | numbers | runs at once | images/s | × PyTorch eager | TFLOP/s | of the peak, % |\n\
                   |---|---|---|---|---|---|---|---|\n"
            .to_string();
    for line in lines {
        let (program, steps, precision, runs, speed) = match line {
            SpeedLine::PyTorch { pytorch, mode, channels_last, tf32, bf16, images_per_second } => {
                let layout = if *channels_last { "channels last" } else { "channels first" };
                let precision = match (bf16, tf32) {
                    (true, _) => Precision::Mixed,
                    (false, true) => Precision::Tf32,
                    (false, false) => Precision::F32,
                };
                (format!("PyTorch {pytorch}"), format!("{mode}, {layout}"), precision, 1, *images_per_second)
            }
            SpeedLine::Ours { runs, precision, graphs, envelope, kernels_chosen, images_per_second } => {
                let steps = if *graphs { "graph" } else { "eager" };
                let with = if *envelope { ", envelope on" } else { "" };
                let chosen = if *kernels_chosen { ", kernels timed" } else { "" };
                ("cmrm-images".to_string(), format!("{steps}{with}{chosen}"), *precision, *runs, *images_per_second)
            }
        };
        let rate = speed * OPERATIONS;
        let _ = writeln!(
            out,
            "| {program} | {steps} | {} | {runs} | {speed:.0} | {:.2} | {:.1} | {:.1} |",
            precision.name(),
            speed / eager,
            rate / 1e12,
            100.0 * rate / peak(precision)
        );
    }
    out
}
