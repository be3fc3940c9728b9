//! Bad input is refused: exit code 2, a message with the place and the way out, and nothing half-written.
//!
//! `docs/bad-input.md` is made from this table; `CMRM_WRITE_DOCS=1 cargo test -p cmrm-cli --test bad_input` writes it.

// Tests write files that they read.
#![allow(clippy::disallowed_methods)]

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod files;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cases::{CASES, Case};

/// Runs a case, insists on a refusal that names what it must, and gives the message.
fn check(case: &Case) -> String {
    let folder = tempfile::tempdir().unwrap();
    (case.make)(folder.path());
    let before = listing(folder.path());
    let output = match case.command.strip_prefix("$ ") {
        Some(line) => {
            let mut shell = Command::new("sh");
            let line = line.replace("cmrm ", &format!("{} ", env!("CARGO_BIN_EXE_cmrm")));
            shell.args(["-c", &format!("{line} 2> message; code=$?; cat message >&2; rm message; exit $code")]);
            shell.current_dir(folder.path()).output().unwrap()
        }
        None => {
            let locked = locked_name(folder.path());
            let arguments: Vec<String> = case.command.split(' ').map(|word| word.replace("locked", &locked)).collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--quiet"]).collect();
            common::cmrm(folder.path(), &arguments)
        }
    };
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{}:\n{words}", case.about);
    assert!(output.stdout.is_empty(), "{}", case.about);
    let message = everywhere_the_same(words.lines().skip_while(|line| !line.starts_with("error: ")), folder.path());
    for part in case.names {
        assert!(message.contains(part), "{}: '{part}' is not in:\n{message}", case.about);
    }
    // A folder that a fit had begun stays, without the file that would make it a finished run.
    let mut left = listing(folder.path());
    left.retain(|path| !before.contains(path));
    assert!(left.iter().all(|path| path.starts_with(folder.path().join("run"))), "{}: {left:?}", case.about);
    assert!(
        !left.iter().any(|path| path.ends_with("run.json") || path.to_string_lossy().contains(".part")),
        "{left:?}"
    );
    message
}

/// A folder that nobody can write to; root can, and gets one of the kernel's instead.
fn lock(path: &Path) {
    fs::create_dir(path).unwrap();
    let mut permissions = fs::metadata(path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(path, permissions).unwrap();
}

fn locked_name(folder: &Path) -> String {
    let locked = folder.join("locked");
    let writable = locked.is_dir() && fs::write(locked.join("trial"), "").is_ok();
    if writable {
        fs::remove_file(locked.join("trial")).unwrap();
    }
    if writable { "/sys".into() } else { "locked".into() }
}

/// Without what differs between machines and users.
fn everywhere_the_same<'a>(lines: impl Iterator<Item = &'a str>, folder: &Path) -> String {
    let text = lines.collect::<Vec<_>>().join("\n").replace(&format!("{}/", folder.display()), "");
    let text = match text.split_once("(ulimit -v) leaves ") {
        // How much of its address space a process takes for itself depends on its threads.
        Some((before, after)) => {
            format!("{before}(ulimit -v) leaves 1.4 GB{}", after.split_once(" GB").map_or(after, |(_, rest)| rest))
        }
        None => text,
    };
    ["Operation not permitted (os error 1)", "Read-only file system (os error 30)"]
        .iter()
        .fold(text.replace("/sys/run", "locked/run"), |text, words| {
            text.replace(words, "Permission denied (os error 13)")
        })
}

fn listing(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(listing(&path));
        }
        found.push(path);
    }
    found
}

#[test]
fn the_document_is_up_to_date() {
    let mut text = String::from(
        "# Bad input\n\nHow the command answers each kind of bad input. It exits with code 2, leaves no half-written files, \
         and with `--json`\nalso prints the message as an object on standard output. Rows count from 0, lines of a text \
         file from 1.\n\n`crates/cmrm-cli/tests/bad_input` runs every case and writes this page.\n",
    );
    for case in CASES {
        let command = case.command.strip_prefix("$ ").map_or_else(|| format!("cmrm {}", case.command), str::to_owned);
        text += &format!("\n## {}\n\n```text\n$ {command}\n{}\n```\n", capital(case.about), check(case).trim_end());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bad-input.md");
    if std::env::var_os("CMRM_WRITE_DOCS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let current = fs::read_to_string(&path).unwrap_or_default() == text;
    assert!(current, "{} is not what the command says now: run this test with CMRM_WRITE_DOCS=1", path.display());
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
