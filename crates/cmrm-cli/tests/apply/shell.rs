//! `cmrm completions` and `cmrm man`.

use crate::run::{refuse, succeed, text};

#[test]
fn completions_know_the_verbs_in_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&succeed(&["completions", shell]).stdout);
        assert!(script.contains("predict") && script.contains("evaluate"), "{shell}");
    }
}

#[test]
fn there_is_a_manual_page_for_the_command_and_for_each_verb() {
    assert!(text(&succeed(&["man"]).stdout).contains(".TH cmrm"));
    assert!(text(&succeed(&["man", "predict"]).stdout).contains("coverage"));
    assert!(refuse(&["man", "perdict"]).contains("unknown command 'perdict'"));
}
