//! `cmrm report`: what a run found, again: as text, as a page, as figures.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use cmrm_report::{encode_png, figures, raster, svg};
use cmrm_run::RunDir;
use cmrm_run::names::{SUMMARY, SUMMARY_TEXT};

use crate::failure::{Failure, Result, in_file};
use crate::outputs::Outputs;
use crate::terminal::Terminal;

/// Pixels a unit of a figure: 680 units become 2040 pixels, enough for two columns of print.
const SCALE: f64 = 3.0;

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folder of a run.
    pub run: PathBuf,
    /// Write the page to this file; the run folder already has report.html.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write every figure into this folder as SVG and PNG.
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
}

pub fn run(args: &ReportArgs, terminal: &Terminal) -> Result<ExitCode> {
    let (run, _) = RunDir::open(&args.run)?;
    if args.html.is_some() || args.figures.is_some() {
        return write_files(&run, args, terminal);
    }
    if terminal.json() {
        let mut summary: serde_json::Value = run.read_json(SUMMARY)?;
        if let Some(check) = run.read_self_check()? {
            summary["self_check"] = serde_json::json!(check);
        }
        terminal.result(&summary, "")?;
    } else {
        let mut text = run.read(SUMMARY_TEXT)?;
        if let Some(check) = run.read_self_check()? {
            text += &format!("\n{}", check.to_text());
        }
        terminal.text(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_files(run: &RunDir, args: &ReportArgs, terminal: &Terminal) -> Result<ExitCode> {
    let report = run.read_report()?;
    // Every file is claimed before the first is written.
    let mut outputs = Outputs::default().reads_run(run.path());
    let page = args.html.as_deref().map(|path| outputs.file("--html", path)).transpose()?;
    let mut drawn = Vec::new();
    if let Some(folder) = &args.figures {
        for figure in figures(&report) {
            let mut claim = |kind: &str| outputs.file("--figures", &folder.join(format!("{}.{kind}", figure.id)));
            drawn.push((claim("svg")?, claim("png")?, figure));
        }
        std::fs::create_dir_all(folder).map_err(|error| in_file(folder, error))?;
    }
    let mut written = Vec::new();
    if let Some(file) = page {
        file.write(cmrm_report::page(&report).as_bytes())?;
        written.push(file.path().to_owned());
    }
    for (vector, pixels, figure) in drawn {
        vector.write(svg(&figure).as_bytes())?;
        let image = raster(&figure.scene, SCALE).and_then(|image| encode_png(&image));
        pixels.write(&image.ok_or_else(|| Failure::internal(format!("figure {}: could not be drawn", figure.id)))?)?;
        written.extend([vector.path().to_owned(), pixels.path().to_owned()]);
    }
    let object = serde_json::json!({ "schema": "cmrm/report-files/1", "run": run.path(), "files": written });
    let lines: String = written.iter().map(|path| format!("{}\n", path.display())).collect();
    terminal.result(&object, &lines)?;
    Ok(ExitCode::SUCCESS)
}
