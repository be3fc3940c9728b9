//! Every command of the README does what it says.

mod common;

use common::{succeed, write_table};

#[test]
fn the_commands_of_the_readme_run() {
    let readme = include_str!("../../../README.md");
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("customers.csv"), 300);
    let mut run = 0;
    let mut fenced = false;
    for line in readme.lines() {
        fenced ^= line.starts_with("```");
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
            run += 1;
        } else {
            // What else may stand there: building and testing, which this very run has done.
            assert!(["cargo test", "cargo build --release"].contains(&command), "untested command: {command}");
        }
    }
    assert!(run >= 2, "{run} commands");
}

#[test]
fn the_result_shown_in_the_readme_is_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let shown = succeed(folder.path(), &["fit", "digits", "--noise", "symmetric:0.4"]);
    let readme = include_str!("../../../README.md");
    let block = readme.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    // The figures depend on the processor's matrix kernels in their last digits only; words and layout do not.
    for line in block.lines().filter(|line| !line.is_empty() && !line.contains('…')) {
        let skeleton = |line: &str| line.replace(|c: char| c.is_ascii_digit(), "0");
        assert!(shown.lines().any(|found| skeleton(found) == skeleton(line)), "not in the output: {line}\n{shown}");
    }
}
