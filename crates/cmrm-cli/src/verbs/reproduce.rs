//! `cmrm reproduce`: the paper's tables and figures again.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use cmrm_data::catalogue::Cache;
use cmrm_reproduce::{Block, Event, Experiment, Options, Results, Shard, all, csv, find, html, latex, markdown};

use crate::failure::{FINDINGS, Failure, Result, in_file};
use crate::outputs::{OutFile, Outputs};
use crate::terminal::Terminal;

/// Folder of the figures, beside the report.
const FIGURES: &str = "images/reproduction";

#[derive(Debug, Args)]
pub struct ReproduceArgs {
    #[command(subcommand)]
    pub verb: ReproduceVerb,
}

#[derive(Debug, Subcommand)]
pub enum ReproduceVerb {
    /// The experiments: one for each table or figure of the paper.
    List,
    /// Train the cells of experiments that are not yet in the folder. Can be stopped at any time and started again.
    Run(RunArgs),
    /// Write the report from the results that are there: tables, figures, and sentences on what holds.
    Report(ReportArgs),
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Experiments by name, or files; all of them if absent.
    pub names: Vec<String>,
    /// Folders of results, or files with one result a line; may be given several times.
    #[arg(long, value_name = "PATH", default_value = "reproduced")]
    pub cells: Vec<PathBuf>,
    /// Write reproduction.md, .csv, .tex, .html and the figures into this folder; Markdown to standard output if absent.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How many seeds; the experiment says if absent.
    #[arg(long, value_name = "N")]
    pub seeds: Option<u64>,
    /// Only these losses.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Say how long the cells took; two runs then differ in that.
    #[arg(long)]
    pub times: bool,
    /// A paragraph for the top of the report, as where it was run; may be given several times.
    #[arg(long, value_name = "TEXT")]
    pub note: Vec<String>,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Experiments by name (`cmrm reproduce list`), or files; all of them if absent.
    pub names: Vec<String>,
    /// Folder of the results, one small file a cell. To merge shards, copy their files into one folder.
    #[arg(long, value_name = "DIR", default_value = "reproduced")]
    pub out: PathBuf,
    /// Folder of the data sets (`cmrm data fetch`).
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// How many seeds; the experiment says if absent.
    #[arg(long, value_name = "N")]
    pub seeds: Option<u64>,
    /// Only these losses.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Only one part of several, as 2/5, for array jobs.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Begin nothing after so many minutes.
    #[arg(long)]
    pub minutes: Option<f64>,
}

pub fn run(args: &ReproduceArgs, threads: Option<usize>, terminal: &Terminal) -> Result<ExitCode> {
    match &args.verb {
        ReproduceVerb::List => list(terminal),
        ReproduceVerb::Run(args) => train(args, threads, terminal),
        ReproduceVerb::Report(args) => report(args, terminal),
    }
}

fn list(terminal: &Terminal) -> Result<ExitCode> {
    let experiments = all()?;
    let width = experiments.iter().map(|experiment| experiment.name.len()).max().unwrap_or(0);
    let line = |e: &Experiment| format!("{:width$}  {}\n{:width$}  of the paper: {}\n", e.name, e.title, "", e.paper);
    let object = serde_json::json!({
        "schema": "cmrm/reproduce-list/1",
        "experiments": experiments.iter()
            .map(|e| serde_json::json!({ "name": e.name, "title": e.title, "paper": e.paper })).collect::<Vec<_>>(),
    });
    terminal.result(&object, &experiments.iter().map(line).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}

fn named(names: &[String]) -> Result<Vec<Experiment>> {
    if names.is_empty() {
        return Ok(all()?);
    }
    names.iter().map(|name| Ok(find(name)?)).collect()
}

fn cache(data: Option<&Path>) -> Result<Cache> {
    Ok(Cache::locate(data)?)
}

fn train(args: &RunArgs, threads: Option<usize>, terminal: &Terminal) -> Result<ExitCode> {
    let options = Options { seeds: args.seeds, only: args.only.clone(), shard: args.shard, ..Options::default() };
    let time = match args.minutes {
        Some(minutes) if !(0.0..1e6).contains(&minutes) => {
            return Err(Failure::input(format!("--minutes {minutes}: expected a number from 0 to a million")));
        }
        minutes => minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes)),
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let watch = |event: Event| match event {
        Event::Done { label, took, share, left } => {
            let left = left.map_or_else(String::new, |left| format!("; about {} left", in_words(left)));
            terminal.say(format!("{:5.1} %  {label}: {:.1} s{left}", 100.0 * share, took.as_secs_f64()));
        }
        Event::Failed { label, reason, again } => {
            terminal.say(format!("failed{}: {label}: {reason}", if again { ", to be tried again" } else { "" }));
        }
    };
    let experiments = named(&args.names)?;
    let threads = threads.unwrap_or(cores);
    let outcome =
        cmrm_reproduce::run(&experiments, &options, &cache(args.data.as_deref())?, &args.out, threads, time, &watch)?;
    let object = serde_json::json!({
        "schema": "cmrm/reproduce-run/1",
        "out": args.out,
        "done": outcome.done,
        "left": outcome.left,
        "failed": outcome.failed,
    });
    let mut text = format!("{} trainings done, results in {}\n", outcome.done, args.out.display());
    if outcome.left > 0 {
        text += &format!("{} not begun for want of time: run again\n", outcome.left);
    }
    for (label, reason) in &outcome.failed {
        text += &format!("failed twice: {label}: {reason}\n");
    }
    terminal.result(&object, &text)?;
    Ok(if outcome.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDINGS) })
}

fn in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..90 => format!("{seconds} s"),
        90..5400 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

fn report(args: &ReportArgs, terminal: &Terminal) -> Result<ExitCode> {
    let results = Results::read(&args.cells)?;
    let options = Options {
        seeds: args.seeds,
        only: args.only.clone(),
        shard: None,
        times: args.times,
        notes: args.note.clone(),
    };
    let report = cmrm_reproduce::report(&named(&args.names)?, &results, &options, Path::new("."))?;
    let Some(folder) = &args.out else {
        terminal.data(markdown(&report.document, FIGURES).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut outputs = args.cells.iter().fold(Outputs::default(), |outputs, cells| outputs.reads_results(cells));
    for name in &args.names {
        outputs = outputs.reads("the file of the experiment itself", Path::new(name));
    }
    let figures = folder.join(FIGURES);
    std::fs::create_dir_all(&figures).map_err(|error| in_file(&figures, error))?;
    let mut files = vec![
        (folder.join("reproduction.md"), markdown(&report.document, FIGURES)),
        (folder.join("reproduction.csv"), csv(&report.comparisons)),
        (folder.join("reproduction.tex"), latex(&report.document)),
        (folder.join("reproduction.html"), html(&report.document)),
    ];
    for block in &report.document.blocks {
        if let Block::Figure(file, figure) = block {
            files.push((figures.join(format!("{file}.svg")), cmrm_report::svg(figure)));
        }
    }
    let claimed: Vec<OutFile> = files.iter().map(|(path, _)| outputs.file("--out", path)).collect::<Result<_>>()?;
    for (file, (_, text)) in claimed.iter().zip(&files) {
        file.write(text.as_bytes())?;
    }
    let paths: Vec<&PathBuf> = files.iter().map(|(path, _)| path).collect();
    let object = serde_json::json!({ "schema": "cmrm/reproduce-report/1", "cells": results.len(), "files": paths });
    let lines: String = paths.iter().map(|path| format!("{}\n", path.display())).collect();
    terminal.result(&object, &lines)?;
    Ok(ExitCode::SUCCESS)
}
