//! What a fit shows while it runs: a table that is drawn anew on a terminal, plain lines elsewhere.

mod common;

use std::process::Command;

use common::cmrm;

#[test]
fn a_log_gets_ten_plain_lines() {
    let folder = tempfile::tempdir().unwrap();
    let fit = ["fit", "digits", "--noise", "symmetric:0.4", "--epochs", "20", "--out", "run"];
    let words = String::from_utf8(cmrm(folder.path(), &fit).stderr).unwrap();
    let lines: Vec<&str> = words.lines().filter(|line| line.starts_with("epoch ")).collect();
    assert_eq!(lines.len(), 10, "{words}");
    assert!(!words.contains('\u{1b}') && !words.contains('\r'));
    for figure in
        ["epoch 20/20", "base: loss ", "robust: loss ", "envelope -", "τ ", "filtered ", "observed validation 0."]
    {
        assert!(lines[9].contains(figure), "{figure}: {}", lines[9]);
    }
    let quiet = cmrm(folder.path(), &["fit", "digits", "--epochs", "1", "--quiet", "--out", "quiet"]);
    assert!(quiet.stderr.is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn a_terminal_gets_a_live_table() {
    // util-linux's `script` lends a terminal; where it is missing there is none to draw on.
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_cmrm");
    let fit = format!("stty cols 100; '{program}' fit digits --noise symmetric:0.4 --epochs 60 --out run");
    let Ok(output) = Command::new("script").args(["-qec", &fit, "/dev/null"]).current_dir(folder.path()).output()
    else {
        eprintln!("skipped: there is no program `script`");
        return;
    };
    let drawn = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{drawn}");
    for part in ["/60", "left", "envelope", "filtered", "τ", "observed validation", "robust", " %", "█"] {
        assert!(drawn.contains(part), "{part}\n{drawn}");
    }
    // Drawn over itself, and gone when the result is shown.
    assert!(drawn.contains("\u{1b}[") && drawn.contains("Envelope minus base, with 95 % intervals: accuracy"));
    assert!(!drawn.contains("\nepoch "));
}
