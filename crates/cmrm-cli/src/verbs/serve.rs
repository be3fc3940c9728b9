//! `cmrm serve`: a run's model as a service.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use cmrm_run::{Model, Wanted};
use cmrm_serve::{Access, Limits, Served, ServedOptions, Server, Token, asked_to_stop};
use serde_json::json;

use crate::args::ReadArgs;
use crate::failure::{Failure, Result};
use crate::known;
use crate::terminal::Terminal;

/// The environment variable that may hold the token.
const TOKEN: &str = "CMRM_TOKEN";

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Folder of a run.
    pub run: PathBuf,
    /// Arm to predict with: base, or the preset's name [default: the envelope arm].
    #[arg(long, value_name = "NAME")]
    pub arm: Option<String>,
    /// Address to listen on; others than this machine's own can be reached by others.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub host: IpAddr,
    /// Port; 0 picks a free one.
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// File with the token that requests have to send [default: the environment variable CMRM_TOKEN].
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Answer anyone who reaches --host, without a token.
    #[arg(long, conflicts_with = "token_file")]
    pub without_token: bool,
    /// Column of given labels, to be doubted where rows have it [default: that of the run].
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    /// Add prediction sets with this coverage, such as 0.9, unless a request asks for another.
    #[arg(long, value_name = "SHARE", value_parser = crate::args::share)]
    pub coverage: Option<f64>,
    /// Add the probability of every class, unless a request says otherwise.
    #[arg(long)]
    pub probabilities: bool,
    /// Refuse cells that are not of their column's kind; by default they count as missing where the model fills missing ones in.
    #[arg(long)]
    pub strict: bool,
    /// Most mebibytes of a request.
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub max_body: u32,
    /// Most rows of a request.
    #[arg(long, value_name = "ROWS", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_rows: u32,
    /// Most requests at a time; others are told to come back.
    #[arg(long, value_name = "REQUESTS", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub max_requests: u32,
    /// Most seconds for an answer, and for those under way when the service stops.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub timeout: u32,
}

pub fn run(args: &ServeArgs, terminal: &Terminal) -> Result<ExitCode> {
    let token = token(args)?;
    let model = Model::open_arms(&args.run, args.arm.as_deref().map_or(Wanted::Chosen, Wanted::Named))?;
    let (read, usual) = known::of_stream(&ReadArgs { strict: args.strict, ..ReadArgs::default() }, &args.run);
    let label = args.label.clone().or(usual.label);
    let (coverage, probabilities) = (args.coverage, args.probabilities);
    let options = ServedOptions { label, strict: read.strict, coverage, probabilities };
    let (classes, arm) = (model.classes().len(), model.chosen().name().to_owned());
    let served = Served::new(model, options)?;
    let limits = Limits {
        body: (args.max_body as usize) << 20,
        rows: args.max_rows as usize,
        requests: args.max_requests as usize,
        time: Duration::from_secs(args.timeout.into()),
    };
    let address = SocketAddr::new(args.host, args.port);
    let listening = |error: std::io::Error| {
        Failure::input(format!(
            "{address}: {error}; choose another --port, or 0 for a free one, and a --host of this machine"
        ))
    };
    let server = Server::bind(address, served, Access::new(args.host, token), limits).map_err(listening)?;
    let said = *terminal;
    let server = server.logging(move |line| said.say(line));
    let address = format!("http://{}", server.address().map_err(listening)?);
    let object =
        json!({ "schema": "cmrm/serve/1", "address": address, "run": args.run, "arm": arm, "classes": classes });
    terminal.result(&object, &format!("{address}\n"))?;
    terminal.say(format!("POST rows to {address}/predict; press Ctrl-C to stop"));
    let all_answered = server.run(asked_to_stop()).map_err(|error| Failure::input(format!("{address}: {error}")))?;
    terminal.say(match all_answered {
        true => "stopped; all requests under way were answered".to_owned(),
        false => format!("stopped; some requests under way were not answered within {} s", args.timeout),
    });
    Ok(ExitCode::SUCCESS)
}

/// The token of the file or the environment. Whoever can be reached by others needs one, or has to say that they do not.
fn token(args: &ServeArgs) -> Result<Option<Token>> {
    if args.without_token {
        return Ok(None);
    }
    let token = match (&args.token_file, std::env::var(TOKEN)) {
        (Some(file), _) => Some(Token::read(file)),
        (None, Ok(text)) => Some(Token::new(&text, TOKEN)),
        (None, Err(_)) => None,
    };
    let token = token.transpose().map_err(Failure::input)?;
    if token.is_none() && !args.host.is_loopback() {
        return Err(Failure::input(format!(
            "--host {}: others can reach this address; give a token with --token-file or {TOKEN}, or say --without-token",
            args.host
        )));
    }
    Ok(token)
}
