//! `cmrm review`: suspects one at a time, on a page that this machine alone can open.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Args;
use cmrm_data::Fingerprint;
use cmrm_report::Card;
use cmrm_review::{Item, Server, Source, Store};
use cmrm_run::decision::{Action, Basis, csv};
use cmrm_run::names::{CARDS, DECISIONS, MARGINS};
use cmrm_run::{Cards, MANY_COLUMNS, RunDir, RunInfo, RunKind};
use serde_json::json;

use crate::failure::{Failure, INTERRUPTED, Result};
use crate::outputs::Outputs;
use crate::run_data::{self, RunData};
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// Folder of a run.
    pub run: PathBuf,
    /// Where the run's data is now, if it has moved.
    #[arg(long, value_name = "FILE|NAME")]
    pub data: Option<String>,
    /// Folder of downloaded data sets.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Port on this machine; 0 picks a free one.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Do not open a browser.
    #[arg(long)]
    pub no_open: bool,
    /// Write the decisions made so far to this file, for `cmrm clean`, and exit.
    #[arg(long, value_name = "FILE")]
    pub export: Option<PathBuf>,
}

pub fn run(args: &ReviewArgs, terminal: &Terminal) -> Result<ExitCode> {
    let (run, info) = RunDir::open(&args.run)?;
    if let Some(path) = &args.export {
        return export(&run, &info, path, terminal);
    }
    if info.kind == RunKind::Images {
        return review_images(&run, &info, args, terminal);
    }
    let config = run_data::settings(&run, args.data.as_deref())?;
    let reads = Outputs::default().reads_settings(&config, None, args.cache.as_deref());
    reads.run("decisions go to", run.path())?;
    let RunData { loaded, rows: prepared } = run_data::read(&config, &info, args.cache.as_deref())?;
    let fingerprint = Fingerprint::of_rows(&loaded.train).map(|fingerprint| fingerprint.0);
    let (title, raw) = (loaded.name, loaded.train);
    let rows = run.read_rows(&info)?;
    let cards = Cards::new(raw, Cow::Owned(prepared.train.data), Cow::Owned(rows))?;
    let cards = Rows { title, classes: info.classes.clone(), suspects: cards.suspects(), cards, fingerprint };
    if let Some(noise) = &config.noise {
        terminal
            .say(format!("note: these labels were corrupted by --noise {noise}; the data file has the original ones"));
    }
    serve(&run, &info, &cards, args, terminal)
}

/// Images are shown as the run kept them: this program reads neither all of their formats nor their networks.
fn review_images(run: &RunDir, info: &RunInfo, args: &ReviewArgs, terminal: &Terminal) -> Result<ExitCode> {
    if args.data.is_some() {
        return Err(Failure::input("--data: a run on images keeps its pictures in its folder; leave out the flag"));
    }
    if !run.file(CARDS).exists() {
        return Err(Failure::input(format!(
            "{}: missing; the run comes from a version that kept no pictures; train it again",
            run.file(CARDS).display()
        )));
    }
    let title = run.path().file_name().unwrap_or(run.path().as_os_str()).to_string_lossy().into_owned();
    serve(run, info, &Pictures { title, classes: info.classes.clone(), cards: run.read_json(CARDS)? }, args, terminal)
}

fn serve(
    run: &RunDir,
    info: &RunInfo,
    source: &dyn Source,
    args: &ReviewArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    // Opened last: a run that cannot be shown leaves no file of decisions.
    let store = Store::open(&run.file(DECISIONS), &info.fingerprint).map_err(Failure::input)?;
    let listening = |error: std::io::Error| Failure::input(format!("port {}: {error}", args.port));
    let server = Server::bind(args.port, store).map_err(listening)?;
    let (address, rows) = (server.address(), source.items().len());
    let text = format!("{address}\n");
    terminal.result(&json!({ "schema": "cmrm/review/1", "address": address, "rows": rows }), &text)?;
    terminal.say(format!(
        "{rows} suspects; every decision is saved to {} at once; press Ctrl-C to stop",
        run.file(DECISIONS).display()
    ));
    if !args.no_open && terminal.bars {
        open_browser(&server, run.path());
    }
    server.run(source).map_err(listening)?;
    Ok(ExitCode::SUCCESS)
}

fn export(run: &RunDir, info: &RunInfo, path: &Path, terminal: &Terminal) -> Result<ExitCode> {
    let mut outputs = Outputs::default().reads_run(run.path());
    let out = outputs.file("--export", path)?;
    let file = run.file(DECISIONS);
    let none = || Failure::input(format!("{}: no decisions yet; make some with `cmrm review` first", file.display()));
    if !file.exists() {
        return Err(none());
    }
    let decisions =
        Store::open(&file, &info.fingerprint).and_then(|store| store.decisions()).map_err(Failure::input)?;
    if decisions.is_empty() {
        return Err(none());
    }
    let known = bases(run, info)?;
    let basis = |row| known.get(&row).cloned().unwrap_or_else(Basis::default);
    out.write(csv(&decisions, basis, info.rows_fingerprint.as_deref())?.as_bytes())?;
    let unsure = decisions.iter().filter(|decision| decision.action == Action::Unsure).count();
    let written = decisions.len() - unsure;
    let object = json!({ "schema": "cmrm/review-export/1", "out": path, "decisions": written, "unsure": unsure });
    terminal.result(&object, &format!("{}: {written} decisions\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// What decisions on a run's rows were made on, by the row's place in the data. An image is known by its file.
fn bases(run: &RunDir, info: &RunInfo) -> Result<HashMap<u64, Basis>> {
    if !run.file(MARGINS).exists() {
        return Ok(HashMap::new());
    }
    let rows = run.read_rows(info)?;
    let basis = |(at, &row): (usize, &u64)| {
        let given_label = Some(rows.name(rows.labels[at]).to_owned());
        (row, Basis { given_label, id: rows.ids.get(at).or(rows.files.get(at)).cloned() })
    };
    Ok(rows.rows.iter().enumerate().map(basis).collect())
}

/// The suspects of a run.
struct Rows {
    title: String,
    classes: Vec<String>,
    cards: Cards<'static>,
    /// Positions of the suspects among the training rows.
    suspects: Vec<usize>,
    fingerprint: Option<String>,
}

impl Source for Rows {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn classes(&self) -> Vec<String> {
        self.classes.clone()
    }

    fn items(&self) -> Vec<Item> {
        let item = |&at: &usize| {
            let (given, suggested) = self.cards.labels(at);
            Item {
                row: self.cards.row(at),
                given: given.into(),
                suggested: suggested.into(),
                margin: self.cards.margin(at),
            }
        };
        self.suspects.iter().map(item).collect()
    }

    fn card(&self, place: usize) -> std::result::Result<Card, String> {
        Ok(self.cards.card(self.suspects[place], MANY_COLUMNS))
    }

    fn id(&self, place: usize) -> Option<String> {
        self.cards.id(self.suspects[place])
    }

    fn fingerprint(&self) -> Option<String> {
        self.fingerprint.clone()
    }
}

/// The suspects of a run on images, as it kept them.
struct Pictures {
    title: String,
    classes: Vec<String>,
    cards: Vec<Card>,
}

impl Source for Pictures {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn classes(&self) -> Vec<String> {
        self.classes.clone()
    }

    fn items(&self) -> Vec<Item> {
        let item = |card: &Card| Item {
            row: card.row,
            given: card.given.clone(),
            suggested: card.suggested.clone(),
            margin: card.margin,
        };
        self.cards.iter().map(item).collect()
    }

    fn card(&self, place: usize) -> std::result::Result<Card, String> {
        Ok(self.cards[place].clone())
    }
}

/// Asks the system to show the page. The address is printed anyway, so nothing depends on this.
///
/// The browser is given a file, not the address: everyone on this machine can read what a program is called with. The file
/// is in the run's folder, since browsers that run in a sandbox do not see the system's folder for temporary files.
fn open_browser(server: &Server, folder: &Path) {
    let Ok(file) = server.entrance_in(folder) else { return };
    let entrance = server.entrance();
    // A handler that cannot be set leaves the system's own, and the file, whose secret has gone with the server.
    let _ = ctrlc::set_handler(move || {
        entrance.close();
        std::process::exit(INTERRUPTED.into());
    });
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let started = Command::new(program)
        .args(before)
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if started.is_err() {
        server.entrance().close();
    }
}
