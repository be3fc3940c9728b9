//! `cmrm completions` and `cmrm man`: this command as a shell and as `man` want it described.

use std::process::ExitCode;

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::failure::{Failure, Result};
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell.
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Command to describe [default: cmrm itself].
    pub verb: Option<String>,
}

pub fn completions(args: &CompletionsArgs, terminal: &Terminal) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "cmrm", &mut script);
    terminal.data(&script)?;
    Ok(ExitCode::SUCCESS)
}

pub fn man(args: &ManArgs, terminal: &Terminal) -> Result<ExitCode> {
    let mut whole = Cli::command();
    whole.build();
    let command = match &args.verb {
        None => whole,
        Some(verb) => whole.find_subcommand(verb).cloned().ok_or_else(|| no_such_verb(&whole, verb))?,
    };
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut page);
    rendered.map_err(|error| Failure::input(format!("manual page: {error}")))?;
    terminal.data(&page)?;
    Ok(ExitCode::SUCCESS)
}

fn no_such_verb(whole: &Command, verb: &str) -> Failure {
    let names: Vec<&str> = whole.get_subcommands().filter(|c| !c.is_hide_set()).map(Command::get_name).collect();
    Failure::input(format!("unknown command '{verb}'; expected one of {}", names.join(", ")))
}
