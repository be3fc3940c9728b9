//! `cmrm export`: a run's preprocessing and model as an ONNX file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use cmrm_export::{Export, Exported, OPSETS, Port, to_onnx};
use cmrm_run::{Model, Wanted};
use serde_json::{Value, json};

use crate::failure::{Failure, Result};
use crate::outputs::Outputs;
use crate::terminal::Terminal;

/// Inputs that the text for people names.
const LISTED: usize = 8;

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Folder of a run.
    pub run: PathBuf,
    /// File to write; its outputs are `label` and `probabilities`.
    #[arg(long, value_name = "FILE")]
    pub onnx: PathBuf,
    /// Arm to export: base, or the preset's name [default: the envelope arm].
    #[arg(long, value_name = "NAME")]
    pub arm: Option<String>,
    /// Export the model alone, without the preprocessing: one input `features`, the numbers that the preprocessing makes of a row.
    #[arg(long)]
    pub from_features: bool,
}

pub fn run(args: &ExportArgs, terminal: &Terminal) -> Result<ExitCode> {
    let out = Outputs::default().reads_run(&args.run).file("--onnx", &args.onnx)?;
    let model = Model::open_arms(&args.run, args.arm.as_deref().map_or(Wanted::Chosen, Wanted::Named))?;
    let info = model.info().ok_or_else(|| Failure::internal("a run without run.json"))?;
    let (arm, classes, preprocess) = (model.chosen(), model.classes(), model.preprocess());
    let mut notes = vec![
        ("cmrm_version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("fingerprint".to_owned(), info.fingerprint.clone()),
        ("arm".to_owned(), arm.name().to_owned()),
        ("classes".to_owned(), json!(classes).to_string()),
    ];
    if args.from_features {
        notes.push(("features".to_owned(), json!(preprocess.feature_names()).to_string()));
    }
    let export = Export { classes, preprocess, model: arm.predictor(), from_features: args.from_features };
    let Exported { bytes, inputs, outputs } = to_onnx(export, &notes)?;
    out.write(&bytes)?;
    let object = json!({
        "schema": "cmrm/export/1", "run": args.run, "arm": arm.name(), "onnx": out.path(), "bytes": bytes.len(),
        "inputs": ports(&inputs), "outputs": ports(&outputs),
        "opsets": OPSETS.iter().map(|(domain, version)| (*domain, *version)).collect::<std::collections::BTreeMap<_, _>>(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let text = format!(
        "{}: the arm {}, {}\n  takes {}\n  gives {}\n",
        out.path().display(),
        arm.name(),
        size(bytes.len()),
        in_words(&inputs),
        in_words(&outputs)
    );
    terminal.result(&object, &text)?;
    Ok(ExitCode::SUCCESS)
}

fn ports(ports: &[Port]) -> Value {
    ports.iter().map(|port| json!({ "name": port.name, "type": port.kind.name(), "width": port.width })).collect()
}

/// Such as `age (float), plan (string) and 12 others`.
fn in_words(ports: &[Port]) -> String {
    let word = |port: &Port| match port.width {
        None | Some(1) => format!("{} ({})", port.name, port.kind.name()),
        Some(width) => format!("{} ({width} × {})", port.name, port.kind.name()),
    };
    let listed: Vec<String> = ports.iter().take(LISTED).map(word).collect();
    let rest = ports.len() - listed.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    listed.join(", ") + &more
}

fn size(bytes: usize) -> String {
    match bytes as f64 {
        few if few < 1e6 => format!("{:.1} KB", few / 1e3),
        many => format!("{:.1} MB", many / 1e6),
    }
}
