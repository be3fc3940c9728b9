//! How `cmrm review` opens the browser: without the secret where other programs could read it.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cmrm_run::{RunDir, RunInfo, RunKind};

/// A run on images, which needs no data, and a browser that notes what it was called with.
fn prepare(folder: &Path) {
    let run = folder.join("run");
    fs::create_dir(&run).unwrap();
    let info = RunInfo::new(vec!["cat".into(), "dog".into()], vec!["ce".into()], "ce".into(), "0".repeat(64));
    let info = RunInfo { kind: RunKind::Images, ..info };
    fs::write(run.join("cards.json"), "[]").unwrap();
    RunDir::at(&run).finish(&info).unwrap();
    let browser = folder.join("xdg-open");
    let notes = "#!/bin/sh\ntr '\\0' ' ' < /proc/$$/cmdline > called\nenv >> called\n\
                 stat -c %a \"$1\" > mode\ncp \"$1\" page\necho \"$1\" > name.part\nmv name.part name\n";
    fs::write(&browser, notes).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The review on a terminal, which util-linux's `script` lends; nothing where that is missing.
fn start(folder: &Path) -> Option<Child> {
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let review = format!("'{}' review run", env!("CARGO_BIN_EXE_cmrm"));
    let mut script = Command::new("script");
    script.args(["-qec", &review, "/dev/null"]).current_dir(folder).env("PATH", path);
    match script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
        Ok(process) => Some(process),
        Err(_) => {
            eprintln!("skipped: there is no program `script`");
            None
        }
    }
}

/// The file that the browser was given, once it has been called.
fn called(folder: &Path) -> String {
    let begun = Instant::now();
    while !folder.join("name").exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the browser was not called");
        std::thread::sleep(Duration::from_millis(20));
    }
    fs::read_to_string(folder.join("name")).unwrap().trim().to_owned()
}

#[test]
fn the_browser_is_called_with_a_file_and_not_with_the_secret() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let Some(mut process) = start(folder.path()) else { return };
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let address = lines.find_map(|line| line.ok().filter(|line| line.contains("http://"))).unwrap();
    let address = address.trim().to_owned();
    let (host, secret) = address.strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
    let secret = secret.trim_end_matches('/');
    assert_eq!(secret.len(), 32, "{address}");

    let file = called(folder.path());
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("called").contains(&file) && !read("called").contains(secret), "{}", read("called"));
    assert_eq!(read("mode").trim(), "600");
    assert!(read("page").contains(&address), "{}", read("page"));
    // Opened once, it goes.
    assert!(Path::new(&file).exists());
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{secret}/ HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(!Path::new(&file).exists());
    end(process);
}

#[test]
fn ctrl_c_before_the_page_was_opened_removes_the_file() {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let Some(process) = start(folder.path()) else { return };
    let file = called(folder.path());
    assert!(Path::new(&file).exists());
    assert_eq!(end(process), Some(130));
    assert!(!Path::new(&file).exists());
}

/// Presses Ctrl-C on the terminal.
fn end(mut process: Child) -> Option<i32> {
    process.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    process.wait().unwrap().code()
}
