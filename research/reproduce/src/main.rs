//! The command `cmrm-reproduce`: lists the experiments, trains their cells, writes the report.
//!
//! Exit codes: 0 fine, 1 a training failed, 2 bad input or usage.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use cmrm_datasets::Cache;
use cmrm_reproduce::{Block, Event, Experiment, Options, Results, Shard, all, csv, find, html, latex, markdown};

/// Folder of the figures, beside the report.
const FIGURES: &str = "figures";

const FAILED_TRAINING: u8 = 1;
const BAD_INPUT: u8 = 2;

/// Bad input or usage, in words.
type Result<T> = std::result::Result<T, String>;

/// Reproduce the tables and figures of the CMRM paper beside its printed numbers.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    /// Number of threads; all cores by default. Results do not depend on it.
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,
    /// Suppress progress; errors still print.
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the experiments: one for each table or figure of the paper.
    List,
    /// Train the cells of experiments that are not yet in the folder. Can be stopped at any time and started again.
    Run(RunArgs),
    /// Write the report from the stored results: tables, figures, and what holds.
    Report(ReportArgs),
}

#[derive(Debug, Args)]
struct ReportArgs {
    /// Experiments by name, or TOML files [default: all].
    names: Vec<String>,
    /// Folders of results, or files with one result per line; repeatable.
    #[arg(long, value_name = "PATH", default_value = "reproduced")]
    cells: Vec<PathBuf>,
    /// Write reproduction.md, .csv, .tex, .html and the figures to this folder [default: Markdown on standard output].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Number of seeds [default: the experiment's].
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// Only these losses.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Include training times, which differ from run to run.
    #[arg(long)]
    times: bool,
    /// Paragraph for the top of the report; repeatable.
    #[arg(long, value_name = "TEXT")]
    note: Vec<String>,
}

#[derive(Debug, Args)]
struct RunArgs {
    /// Experiments by name (`cmrm-reproduce list`), or TOML files [default: all].
    names: Vec<String>,
    /// Folder of the results, one small file per cell. To merge shards, copy their files into one folder.
    #[arg(long, value_name = "DIR", default_value = "reproduced")]
    out: PathBuf,
    /// Folder of the data sets (`cmrm data fetch`).
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Number of seeds [default: the experiment's].
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// Only these losses.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Run one part of several, such as 2/5, for array jobs.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Start nothing new after this many minutes.
    #[arg(long)]
    minutes: Option<f64>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.verb {
        Verb::List => list(),
        Verb::Run(args) => train(args, &cli),
        Verb::Report(args) => report(args),
    };
    done.unwrap_or_else(|message| {
        eprintln!("error: {message}");
        ExitCode::from(BAD_INPUT)
    })
}

fn list() -> Result<ExitCode> {
    let experiments = all().map_err(words)?;
    let width = experiments.iter().map(|experiment| experiment.name.len()).max().unwrap_or(0);
    let line = |e: &Experiment| format!("{:width$}  {}\n{:width$}  in the paper: {}\n", e.name, e.title, "", e.paper);
    print(&experiments.iter().map(line).collect::<String>())
}

fn named(names: &[String]) -> Result<Vec<Experiment>> {
    if names.is_empty() {
        return all().map_err(words);
    }
    names.iter().map(|name| find(name).map_err(words)).collect()
}

fn train(args: &RunArgs, cli: &Cli) -> Result<ExitCode> {
    let options = Options { seeds: args.seeds, only: args.only.clone(), shard: args.shard, ..Options::default() };
    let time = match args.minutes {
        Some(minutes) if !(0.0..1e6).contains(&minutes) => {
            return Err(format!("--minutes {minutes}: expected a number from 0 to a million"));
        }
        minutes => minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes)),
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let say = |text: String| {
        if !cli.quiet {
            eprintln!("{text}");
        }
    };
    let watch = |event: Event| match event {
        Event::Done { label, took, share, left } => {
            let left = left.map_or_else(String::new, |left| format!("; about {} left", in_words(left)));
            say(format!("{:5.1} %  {label}: {:.1} s{left}", 100.0 * share, took.as_secs_f64()));
        }
        Event::Failed { label, reason, again } => {
            say(format!("failed{}: {label}: {reason}", if again { ", will be retried" } else { "" }));
        }
    };
    let experiments = named(&args.names)?;
    let threads = cli.threads.unwrap_or(cores);
    let cache = Cache::locate(args.data.as_deref()).map_err(words)?;
    let outcome =
        cmrm_reproduce::run(&experiments, &options, &cache, &args.out, threads, time, &watch).map_err(words)?;
    let mut text = format!("{} trainings finished, results in {}\n", outcome.done, args.out.display());
    if outcome.left > 0 {
        text += &format!("{} not started (time limit): run again\n", outcome.left);
    }
    for (label, reason) in &outcome.failed {
        text += &format!("failed twice: {label}: {reason}\n");
    }
    print(&text)?;
    Ok(if outcome.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FAILED_TRAINING) })
}

fn in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..90 => format!("{seconds} s"),
        90..5400 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

fn report(args: &ReportArgs) -> Result<ExitCode> {
    let results = Results::read(&args.cells).map_err(words)?;
    let options = Options {
        seeds: args.seeds,
        only: args.only.clone(),
        shard: None,
        times: args.times,
        notes: args.note.clone(),
    };
    let report = cmrm_reproduce::report(&named(&args.names)?, &results, &options, Path::new(".")).map_err(words)?;
    let Some(folder) = &args.out else {
        return print(&markdown(&report.document, FIGURES));
    };
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
    for (path, _) in &files {
        let is_input =
            |input: &PathBuf| path.canonicalize().is_ok_and(|path| input.canonicalize().is_ok_and(|i| i == path));
        if args.cells.iter().any(is_input) {
            return Err(format!("--out: {} is one of the --cells; write to another folder", path.display()));
        }
    }
    for (path, text) in &files {
        cmrm_data::files::write_atomically(path, |file| file.write_all(text.as_bytes()))
            .map_err(|error| in_file(path, error))?;
    }
    print(&files.iter().map(|(path, _)| format!("{}\n", path.display())).collect::<String>())
}

/// Data on standard output. A reader that has gone away (`| head`) ends it quietly.
fn print(text: &str) -> Result<ExitCode> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn words(error: impl Display) -> String {
    error.to_string()
}

fn in_file(path: &Path, error: std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
