//! `cmrm data`: the data sets that have a name, listed, fetched and verified.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use cmrm_datasets::{Cache, Entry, Error, Fetch, Network, Outcome, Source, State};
use indicatif::HumanBytes;
use serde_json::{Value, json};

use crate::failure::{FINDINGS, Failure, Result};
use crate::outputs::same_file;
use crate::progress::watch_interrupts;
use crate::terminal::Terminal;
use crate::transfer_bar::TransferBar;

#[derive(Debug, Args)]
pub struct DataArgs {
    #[command(subcommand)]
    pub verb: DataVerb,
}

#[derive(Debug, Subcommand)]
pub enum DataVerb {
    /// List all data sets with size, licence and state.
    List {
        /// Folder of downloaded data sets.
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
    },
    /// Download data sets, or copy them from a folder, and verify their checksums.
    Fetch {
        /// Names, as shown by `cmrm data list`.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Copy the files from this folder instead of downloading them.
        #[arg(long, value_name = "DIR")]
        from: Option<PathBuf>,
        /// Fetch again even if the files exist.
        #[arg(long)]
        force: bool,
        /// Folder of downloaded data sets.
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
    },
    /// Verify downloaded files against their checksums; exit with code 1 if one is damaged or missing.
    Verify {
        /// Names [default: all downloaded data sets].
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Folder of downloaded data sets.
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
    },
}

pub fn run(verb: &DataVerb, terminal: &Terminal) -> Result<ExitCode> {
    match verb {
        DataVerb::List { cache } => list(&Cache::locate(cache.as_deref())?, terminal),
        DataVerb::Fetch { names, from, force, cache } => {
            let (cache, entries) = (Cache::locate(cache.as_deref())?, entries(names)?);
            let source = match from {
                Some(folder) if !folder.is_dir() => {
                    return Err(Failure::input(format!(
                        "--from {}: not a folder; name the folder that holds the files",
                        folder.display()
                    )));
                }
                Some(folder) => {
                    let written = entries.iter().map(|entry| cache.folder(entry)).chain([cache.root().to_owned()]);
                    if let Some(own) = written.into_iter().find(|own| same_file(own, folder)) {
                        return Err(Failure::input(format!(
                            "--from {}: this is the cache itself ({}), where the files are written; name another folder",
                            folder.display(),
                            own.display()
                        )));
                    }
                    Source::Folder(folder.clone())
                }
                None => Source::Network(Network::default()),
            };
            fetch_all(&Fetch { cache, source, force: *force }, &entries, terminal)
        }
        DataVerb::Verify { names, cache } => verify(&entries(names)?, &Cache::locate(cache.as_deref())?, terminal),
    }
}

/// All names are looked up before anything is done.
fn entries(names: &[String]) -> Result<Vec<&'static Entry>> {
    names.iter().map(|name| Ok(cmrm_datasets::find(name)?)).collect()
}

fn list(cache: &Cache, terminal: &Terminal) -> Result<ExitCode> {
    let listings = cmrm_datasets::list(cache)?;
    let mut text = format!(
        "{:<14} {:>7} {:>7} {:>8} {:>8}  {:<26} {}\n",
        "NAME", "ROWS", "TEST", "COLUMNS", "CLASSES", "STATE", "LICENCE"
    );
    let mut sets = Vec::new();
    for listing in &listings {
        let entry = listing.entry;
        let test = if entry.test_rows == 0 { "-".to_owned() } else { entry.test_rows.to_string() };
        text += &format!(
            "{:<14} {:>7} {test:>7} {:>8} {:>8}  {:<26} {}\n",
            entry.name,
            entry.train_rows,
            entry.columns,
            entry.classes,
            in_words(entry, &listing.state),
            entry.licence
        );
        let mut set = describe(entry);
        set["state"] = state_json(&listing.state);
        sets.push(set);
    }
    text += &format!("\ncache: {}\n", cache.root().display());
    let object = json!({ "schema": "cmrm/data-list/1", "cache": cache.root(), "datasets": sets });
    terminal.result(&object, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// What the catalogue says of a data set.
fn describe(entry: &Entry) -> Value {
    json!({
        "name": entry.name, "title": entry.title, "homepage": entry.homepage, "licence": entry.licence,
        "citation": entry.citation, "train_rows": entry.train_rows, "test_rows": entry.test_rows,
        "columns": entry.columns, "classes": entry.classes, "needs": entry.needs, "note": entry.note,
        "download_bytes": entry.download_bytes(),
    })
}

fn in_words(entry: &Entry, state: &State) -> String {
    match state {
        State::Embedded => "built in".into(),
        State::Ready { bytes, .. } => format!("downloaded, {}", HumanBytes(*bytes)),
        State::Partial { missing, .. } => format!("incomplete, {} missing", missing.len()),
        State::Absent => match entry.download_bytes() {
            Some(bytes) => format!("not downloaded, {}", HumanBytes(bytes)),
            None => "not downloaded".into(),
        },
    }
}

fn state_json(state: &State) -> Value {
    match state {
        State::Embedded => json!({ "kind": "embedded" }),
        State::Ready { bytes, trust } => json!({ "kind": "ready", "bytes": bytes, "trust": trust.describe() }),
        State::Partial { missing, unfinished } => {
            json!({ "kind": "partial", "missing": missing, "unfinished_bytes": unfinished })
        }
        State::Absent => json!({ "kind": "absent" }),
    }
}

fn fetch_all(fetch: &Fetch, entries: &[&'static Entry], terminal: &Terminal) -> Result<ExitCode> {
    watch_interrupts();
    let (mut sets, mut text) = (Vec::new(), String::new());
    for &entry in entries {
        terminal
            .say(format!("{}: {}\n  licence: {}\n  cite: {}", entry.name, entry.title, entry.licence, entry.citation));
        if !entry.note.is_empty() {
            terminal.say(format!("  note: {}", entry.note));
        }
        let placed = fetch.run(entry, &mut TransferBar::new(terminal)).map_err(|error| match error {
            Error::Cancelled => Failure::interrupted(format!("{}: {error}", entry.name)),
            error => Failure::input(format!("{}: {error}", entry.name)),
        })?;
        if placed.is_empty() {
            text += &format!("{}: built in, nothing to fetch\n", entry.name);
        }
        let mut files = Vec::new();
        for file in &placed {
            let before = if file.already { ", already present" } else { "" };
            let (size, trust) = (HumanBytes(file.bytes), file.trust.describe());
            text += &format!("{}  {size}  {trust}{before}\n", file.path.display());
            files.push(json!({
                "dataset": file.dataset, "path": file.path, "bytes": file.bytes, "sha256": file.sha256,
                "trust": trust, "already": file.already,
            }));
        }
        let mut set = describe(entry);
        set["files"] = files.into();
        sets.push(set);
    }
    let object = json!({ "schema": "cmrm/data-fetch/1", "cache": fetch.cache.root(), "datasets": sets });
    terminal.result(&object, &text)?;
    Ok(ExitCode::SUCCESS)
}

fn verify(entries: &[&'static Entry], cache: &Cache, terminal: &Terminal) -> Result<ExitCode> {
    let mut wanted = entries.to_vec();
    if wanted.is_empty() {
        let here = cmrm_datasets::list(cache)?.into_iter();
        let here = here.filter(|one| matches!(one.state, State::Ready { .. } | State::Partial { .. }));
        wanted = here.map(|one| one.entry).collect();
    }
    let (mut files, mut text, mut bad) = (Vec::new(), String::new(), 0);
    let mut seen = std::collections::HashSet::new();
    for entry in wanted {
        if entry.is_embedded() {
            text += &format!("{}: built in, nothing to verify\n", entry.name);
        }
        for file in cmrm_datasets::verify(entry, cache)? {
            // A set that another one needs may be asked for as well.
            if !seen.insert(file.path.clone()) {
                continue;
            }
            let (outcome, words) = match &file.outcome {
                Outcome::Intact { trust, .. } => ("intact", format!("intact ({})", trust.describe())),
                Outcome::Missing => ("missing", format!("missing; run `cmrm data fetch {}`", file.dataset)),
                Outcome::Damaged { expected, found } => (
                    "damaged",
                    format!(
                        "damaged: SHA-256 {found}, expected {expected}; run `cmrm data fetch {} --force`",
                        file.dataset
                    ),
                ),
            };
            bad += usize::from(outcome != "intact");
            text += &format!("{}: {words}\n", file.path.display());
            files.push(json!({ "dataset": file.dataset, "path": file.path, "outcome": outcome, "detail": words }));
        }
    }
    if text.is_empty() {
        text = format!("{}: no downloaded data sets to verify\n", cache.root().display());
    }
    let object = json!({ "schema": "cmrm/data-verify/1", "cache": cache.root(), "files": files, "bad": bad });
    terminal.result(&object, &text)?;
    Ok(if bad > 0 { ExitCode::from(FINDINGS) } else { ExitCode::SUCCESS })
}
