//! `cmrm report`: what a run found, again.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::failure::Result;
use crate::run_dir::RunDir;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The folder of a run.
    pub run: PathBuf,
}

pub fn run(args: &ReportArgs, terminal: &Terminal) -> Result<ExitCode> {
    let (run, _) = RunDir::open(&args.run)?;
    if terminal.json() {
        let summary: serde_json::Value = run.read_json("summary.json")?;
        terminal.result(&summary, "")?;
    } else {
        terminal.data(run.read("report.md")?.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}
