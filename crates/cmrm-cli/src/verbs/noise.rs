//! `cmrm noise`: a data file with some labels made wrong, and a log of which.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use cmrm::OwnedRows;
use cmrm::noise::{NoiseConfig, NoiseContext};
use cmrm_data::preprocess::{MissingCells, Preprocess, PreprocessOptions};
use cmrm_data::{Column, LabelOptions, MissingLabels, Table};
use serde_json::json;

use crate::args::ReadArgs;
use crate::data_file::{DataFile, Rewritten, settings};
use crate::failure::Result;
use crate::load::load;
use crate::outputs::Outputs;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub struct NoiseArgs {
    /// Data file, folder or quoted pattern of files, `-` for standard input, or name of a data set (`cmrm data list`).
    pub data: String,
    /// Kind and rate of the noise, such as `symmetric:0.4` or `binary-flip:0.2`.
    #[arg(long, value_name = "KIND:RATE")]
    pub kind: NoiseConfig,
    /// New data file: .csv, .tsv or .parquet. The changes are listed in FILE.flipped.csv.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Seed for the choice of rows.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    #[command(flatten, next_help_heading = "Reading the data")]
    pub read: ReadArgs,
}

pub fn run(args: &NoiseArgs, terminal: &Terminal) -> Result<ExitCode> {
    let out = Rewritten::claim(Outputs::default().reads_with(&args.data, &args.read), &args.out, "flipped")?;
    let mut whole = DataFile::read(&args.data, &args.read, terminal)?;
    let labelled = whole.encode()?;
    let (labels, classes) = (&labelled.labels.indices, &labelled.labels.classes);
    if !labelled.unlabelled.is_empty() {
        terminal.say(format!("note: {} rows without a label are left unchanged", labelled.unlabelled.len()));
    }
    let features = match args.kind {
        NoiseConfig::Instance { .. } => Some(features(args)?),
        _ => None,
    };
    let mut context = NoiseContext::new(classes.len());
    if let Some(features) = &features {
        context = context.with_features(features.view()?);
    }
    let made = args.kind.apply(labels, &context, args.seed)?;

    let name = |label: u32| classes[label as usize].as_str();
    let mut new = vec![None; whole.rows()];
    for &at in &made.flipped {
        new[labelled.rows[at]] = Some(name(made.labels[at]));
    }
    whole.relabel(&new);
    let pick = |labels: &[u32]| made.flipped.iter().map(|&at| name(labels[at])).collect::<Vec<_>>();
    let log = Table::new(vec![
        Column::numeric("row", made.flipped.iter().map(|&at| labelled.rows[at] as f64).collect()),
        Column::categorical("original", &pick(labels)),
        Column::categorical("new", &pick(&made.labels)),
    ])?;
    whole.write(&out, None, &log)?;
    let log = out.log.path();
    let object = json!({
        "schema": "cmrm/noise/1", "data": args.data, "kind": args.kind, "seed": args.seed, "rows": labels.len(),
        "flipped": made.flipped.len(), "rate": made.rate(), "out": args.out, "log": log,
    });
    let text = format!(
        "{}: {} of {} labels corrupted ({:.1} %); the rows are listed in {}\n",
        args.out.display(),
        made.flipped.len(),
        labels.len(),
        100.0 * made.rate(),
        log.display()
    );
    terminal.result(&object, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// The labelled rows as numbers, for noise that depends on them.
fn features(args: &NoiseArgs) -> Result<OwnedRows<f32>> {
    let loaded = load(&settings(&args.data, &args.read), args.read.cache.as_deref())?;
    let options = LabelOptions { missing: MissingLabels::HoldOut, classes: loaded.classes, ..LabelOptions::default() };
    let labelled = loaded.train.encode_labels(&options)?;
    let options = PreprocessOptions { missing: MissingCells::Impute, ..PreprocessOptions::default() };
    let (preprocess, _) = Preprocess::fit(&loaded.train.features, &labelled.rows, &options)?;
    let (data, _) = preprocess.dataset(&loaded.train, &labelled)?;
    Ok(data.features)
}
