//! The reference in `docs/commands.md` is what the commands' own help says.
//!
//! `CMRM_WRITE_DOCS=1 cargo test -p cmrm-cli --test command_reference` writes it.

// Tests write files that they read.
#![allow(clippy::disallowed_methods)]

mod common;

use std::fs;
use std::path::Path;

/// The last line of the hand-written part.
const MARK: &str = "CMRM_WRITE_DOCS=1 updates it. -->\n";
/// Starts the flags that every command has. The reference shows them once.
const GLOBAL: &str = "\nGlobal options:\n";

#[test]
fn the_command_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let document = fs::read_to_string(&path).unwrap();
    let (introduction, _) = document.split_once(MARK).expect("the mark that ends the hand-written part");
    let mut text = format!("{introduction}{MARK}");
    add(&mut text, &[]);
    if std::env::var_os("CMRM_WRITE_DOCS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == text,
        "{} does not match the commands' help: run this test with CMRM_WRITE_DOCS=1",
        path.display()
    );
}

/// Adds the help of a command, then that of its subcommands.
fn add(text: &mut String, verb: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let help = common::succeed(folder.path(), &[verb, &["-h"]].concat());
    let shown = match help.split_once(GLOBAL) {
        Some((own, _)) if !verb.is_empty() => own,
        _ => &help,
    };
    *text += &format!("\n### {}\n\n```text\n{}\n```\n", [&["cmrm"], verb].concat().join(" "), shown.trim_end());
    let listed = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest.split("\n\n").next().unwrap_or_default());
    for name in listed.lines().filter_map(|line| line.split_whitespace().next()).filter(|&name| name != "help") {
        add(text, &[verb, &[name]].concat());
    }
}
