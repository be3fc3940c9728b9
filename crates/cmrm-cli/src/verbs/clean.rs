//! `cmrm clean`: a file of decisions applied to a data file, and a log of what was changed.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use cmrm_data::{Column, Table};
use cmrm_run::RunDir;
use cmrm_run::decision::Action;
use serde_json::json;

use crate::args::ReadArgs;
use crate::data_file::{DataFile, Rewritten};
use crate::decisions::{Decided, Rules};
use crate::failure::{Failure, Result};
use crate::known;
use crate::outputs::Outputs;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Data file, folder or quoted pattern of files, `-` for standard input, or name of a data set.
    pub data: String,
    /// CSV file with the columns row (from 0, without the header), action (keep, relabel or drop) and label. The optional
    /// columns given_label, id (used with --id) and fingerprint are checked; others are ignored.
    pub decisions: PathBuf,
    /// Folder of the run that the decisions are about: what it was told about its data need not be repeated.
    #[arg(long, value_name = "DIR")]
    pub run: Option<PathBuf>,
    /// Accept labels that do not occur in the data yet.
    #[arg(long)]
    pub new_labels: bool,
    /// Apply the decisions even if labels or rows have changed since.
    #[arg(long)]
    pub force: bool,
    /// New data file: .csv, .tsv or .parquet. In the format of the data nothing but the changes differs; they are listed in
    /// FILE.changes.csv.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    #[command(flatten, next_help_heading = "Reading the data")]
    pub read: ReadArgs,
}

pub fn run(args: &CleanArgs, terminal: &Terminal) -> Result<ExitCode> {
    let read = match &args.run {
        None => args.read.clone(),
        Some(run) => {
            // Not a run: say so, rather than miss the label.
            let (folder, _) = RunDir::open(run)?;
            known::completed(&args.read, &args.data, folder.path(), None)?
        }
    };
    let outputs = Outputs::default().reads_with(&args.data, &read);
    let outputs = outputs.reads("the decision file itself", &args.decisions);
    let out = Rewritten::claim(outputs, &args.out, "changes")?;
    let mut whole = DataFile::read(&args.data, &read, terminal)?;
    let classes = whole.encode()?.labels.classes;
    let rules = Rules { classes: &classes, new_labels: args.new_labels, force: args.force };
    let decided = Decided::read(&args.decisions, &whole, &rules)?;
    if let Some(why) = &decided.overruled {
        terminal.say(format!("note: applied anyway (--force): {why}"));
    }
    if decided.unchecked > 0 {
        terminal.say(format!(
            "note: {}: {} of {} decisions have neither given_label nor fingerprint, so their row numbers cannot be \
             checked against {}",
            args.decisions.display(),
            decided.unchecked,
            decided.all,
            args.data
        ));
    }

    let old: Vec<String> =
        (0..whole.rows()).map(|row| whole.labels.text(row).unwrap_or_default().into_owned()).collect();
    let mut new = vec![None; old.len()];
    let mut kept = Vec::with_capacity(old.len());
    let mut log: Vec<(usize, &str, &str, &str)> = Vec::new();
    let (mut relabelled, mut dropped) = (0, 0);
    for row in 0..old.len() {
        match decided.actions.get(&row) {
            Some((Action::Drop, _)) => {
                log.push((row, "drop", &old[row], ""));
                dropped += 1;
                continue;
            }
            Some((Action::Relabel, label)) if *label != old[row] => {
                new[row] = Some(label.as_str());
                log.push((row, "relabel", &old[row], label));
                relabelled += 1;
            }
            _ => {}
        }
        kept.push(row);
    }
    if kept.is_empty() {
        return Err(Failure::input(format!(
            "{}: the decisions drop all {} rows; keep at least one",
            args.decisions.display(),
            old.len()
        )));
    }
    whole.relabel(&new);
    let table = Table::new(vec![
        Column::numeric("row", log.iter().map(|change| change.0 as f64).collect()),
        Column::categorical("action", &log.iter().map(|change| change.1).collect::<Vec<_>>()),
        Column::categorical("original", &log.iter().map(|change| change.2).collect::<Vec<_>>()),
        Column::categorical("new", &log.iter().map(|change| change.3).collect::<Vec<_>>()),
    ])?;
    whole.write(&out, Some(&kept), &table)?;
    let (log_path, already) = (out.log.path(), decided.already);
    let object = json!({
        "schema": "cmrm/clean/1", "data": args.data, "decisions": args.decisions, "rows": old.len(),
        "relabelled": relabelled, "dropped": dropped, "already_applied": already, "by_id": decided.by_id,
        "rows_written": kept.len(), "out": args.out, "log": log_path,
    });
    let before = if already > 0 { format!("; {already} decisions had already been applied") } else { String::new() };
    let text = format!(
        "{}: {} rows, {relabelled} relabelled, {dropped} dropped{before}; changes are listed in {}\n",
        args.out.display(),
        kept.len(),
        log_path.display()
    );
    terminal.result(&object, &text)?;
    Ok(ExitCode::SUCCESS)
}
