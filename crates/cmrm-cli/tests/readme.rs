//! Every command of the README does what it says.

mod common;

use std::path::Path;

use common::{succeed, write_table};

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap()
}

#[test]
fn the_commands_of_the_readme_run() {
    let readme = readme();
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("customers.csv"), 300);
    let mut run = 0;
    let mut fenced = false;
    for (at, line) in readme.lines().enumerate() {
        fenced ^= line.starts_with("```");
        // A block that names a file is that file.
        if let Some(name) = line.strip_prefix("```csv ") {
            let text: String = readme
                .lines()
                .skip(at + 1)
                .take_while(|line| !line.starts_with("```"))
                .map(|l| format!("{l}\n"))
                .collect();
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let Some(command) = line.strip_prefix("    ").filter(|_| !fenced) else { continue };
        let arguments =
            command.strip_prefix("cargo run --release -- ").or(command.strip_prefix("./target/release/cmrm "));
        if let Some(arguments) = arguments {
            let arguments: Vec<&str> = arguments.split_whitespace().collect();
            let shown = succeed(folder.path(), &arguments);
            let out = arguments.iter().position(|&argument| argument == "--out").map(|at| arguments[at + 1]);
            // A result is shown, or written where it was asked for.
            match out {
                Some(file) => assert!(folder.path().join(file).exists(), "{command}"),
                None => assert!(!shown.is_empty(), "{command}"),
            }
            if arguments[0] == "noise" {
                write_labels(folder.path());
            }
            run += 1;
        } else {
            // Building and testing, which this very run has done, and research, which has tests of its own.
            let known = ["cargo test", "cargo build --release"].contains(&command)
                || command.starts_with("cargo run --release -p cmrm-reproduce -- ");
            assert!(known, "untested command: {command}");
        }
    }
    assert!(run >= 9, "{run} commands");
}

/// The labels of the table to try things on, in a file of their own, as someone who has probabilities has them.
fn write_labels(folder: &Path) {
    let text = std::fs::read_to_string(folder.join("patients.csv")).unwrap();
    let labels: String = text.lines().map(|line| format!("{}\n", line.rsplit(',').next().unwrap())).collect();
    std::fs::write(folder.join("labels.csv"), labels).unwrap();
}

/// Every line that the README shows of `shown`, in block `at`, is there but for its digits: those depend on the
/// processor's matrix kernels, words and layout do not.
fn is_shown(shown: &str, at: usize) {
    let readme = readme();
    let block = readme.split("```text\n").nth(at).unwrap().split("```").next().unwrap();
    for line in block.lines().filter(|line| !line.is_empty() && !line.contains('…')) {
        let skeleton = |line: &str| line.replace(|c: char| c.is_ascii_digit(), "0");
        assert!(shown.lines().any(|found| skeleton(found) == skeleton(line)), "not in the output: {line}\n{shown}");
    }
}

#[test]
fn the_results_shown_in_the_readme_are_the_results() {
    let folder = tempfile::tempdir().unwrap();
    is_shown(&succeed(folder.path(), &["fit", "digits", "--noise", "symmetric:0.4"]), 1);
    let noise = ["noise", "breast-cancer", "--kind", "binary-flip:0.2", "--seed", "1", "--out", "patients.csv"];
    succeed(folder.path(), &noise);
    succeed(folder.path(), &["fit", "patients.csv", "--label", "label", "--out", "run"]);
    is_shown(&succeed(folder.path(), &["audit", "run"]), 2);
}

/// The Rust blocks of a Markdown text, without the lines that rustdoc hides.
fn rust_blocks(markdown: &str) -> Vec<String> {
    let rust = |block: &str| block.strip_prefix("rust\n").or(block.strip_prefix("\n")).map(str::to_owned);
    let shown =
        |block: String| block.lines().filter(|line| !line.starts_with("# ")).map(|l| format!("{l}\n")).collect();
    markdown.split("```").skip(1).step_by(2).filter_map(rust).map(shown).collect()
}

/// Examples in documentation are compiled and run with the tests of their crate.
#[test]
fn the_rust_of_the_readme_is_that_of_the_documentation() {
    let documented = |of: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(of).join("src/lib.rs");
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix("//!"));
        rust_blocks(&lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect::<String>())
    };
    let shown = rust_blocks(&readme());
    assert_eq!(shown.len(), 2, "{shown:?}");
    for (block, of) in shown.iter().zip(["cmrm-fit", "cmrm"]) {
        assert!(documented(of).contains(block), "not in the documentation of {of}: {block}");
    }
}
