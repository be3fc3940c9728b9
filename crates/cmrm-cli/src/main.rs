//! The command `cmrm`: one file a verb.
//!
//! Data goes to standard output, progress and words to standard error. Exit codes: 0 fine, 1 findings, 2 bad input or
//! usage, 130 interrupted, 101 a bug of ours.

mod args;
mod audit;
mod config;
mod data_file;
mod decisions;
mod evaluation;
mod failure;
mod fold_progress;
mod known;
mod labelled_rows;
mod live_view;
mod load;
mod new_rows;
mod outputs;
mod prediction_writer;
mod progress;
mod resume;
mod run_data;
mod sets;
mod sources;
mod terminal;
mod transfer_bar;
mod tuning;
mod verbs;

use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use args::{Cli, Verb};
use terminal::Terminal;

fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| with_tip(error).exit());
    let terminal = Terminal::new(cli.json, cli.quiet);
    let done = with_threads(cli.threads, || match cli.verb {
        Verb::Fit(args) => verbs::fit::run(*args, &terminal),
        Verb::Tune(args) => verbs::tune::run(*args, &terminal),
        Verb::Predict(args) => verbs::predict::run(&args, &terminal),
        Verb::Serve(args) => verbs::serve::run(&args, &terminal),
        Verb::Evaluate(args) => verbs::evaluate::run(&args, &terminal),
        Verb::Export(args) => verbs::export::run(&args, &terminal),
        Verb::Report(args) => verbs::report::run(&args, &terminal),
        Verb::Review(args) => verbs::review::run(&args, &terminal),
        Verb::Completions(args) => verbs::shell::completions(&args, &terminal),
        Verb::Man(args) => verbs::shell::man(&args, &terminal),
        Verb::Audit(args) => verbs::audit::run(&args, &terminal),
        Verb::Clean(args) => verbs::clean::run(&args, &terminal),
        Verb::Methods => verbs::methods::run(&terminal),
        Verb::Noise(args) => verbs::noise::run(&args, &terminal),
        #[cfg(feature = "embed")]
        Verb::Embed(args) => verbs::embed::run(&args, &terminal),
        Verb::Data(args) => verbs::data::run(&args.verb, &terminal),
    });
    match done {
        Ok(code) => code,
        Err(failure) => failure.report(&terminal),
    }
}

/// Names the way out where a shell made several files of a pattern.
fn with_tip(mut error: clap::Error) -> clap::Error {
    let surplus = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) if error.kind() == ErrorKind::UnknownArgument => argument,
        _ => return error,
    };
    if std::path::Path::new(surplus).is_file() {
        let tip = "for several files name their folder, or quote the pattern, as in 'data/*.parquet'";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Runs `work` on a pool of the wanted size; the results do not depend on it.
fn with_threads(
    threads: Option<usize>,
    work: impl FnOnce() -> Result<ExitCode, failure::Failure> + Send,
) -> Result<ExitCode, failure::Failure> {
    let mut pool = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = threads {
        pool = pool.num_threads(threads);
    }
    let pool = pool.build().map_err(|error| failure::Failure::input(format!("cannot start threads: {error}")))?;
    pool.install(work)
}
