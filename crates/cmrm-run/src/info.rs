//! `run.json`: the last file of a run to be written, and the first to be read.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::checksums::Checksums;
use crate::data_root::DataRoot;
use crate::error::{Error, Result};

/// Version of the folder's layout; a reader refuses later ones. See docs/run-folder.md for what changed.
pub const FORMAT: u32 = 2;
/// The last version without checksums; it is still read.
pub(crate) const WITHOUT_CHECKSUMS: u32 = 1;

/// What a run has trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// Tables and arrays: `cmrm fit`.
    #[default]
    Rows,
    /// Images: `cmrm-images train`. There is no preprocessing and no model of the native engine.
    Images,
}

/// What a run is about, besides its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunInfo {
    /// Version of the folder's layout.
    pub format: u32,
    /// Version of the program.
    pub version: String,
    /// What it has trained on.
    #[serde(default)]
    pub kind: RunKind,
    /// Names of the classes, by index.
    pub classes: Vec<String>,
    /// Names of the arms; each has a model file.
    pub arms: Vec<String>,
    /// The arm to predict with.
    pub chosen: String,
    /// SHA-256 of the features and labels that were trained on.
    pub fingerprint: String,
    /// Fingerprint of the rows of the data (`Fingerprint::of_rows`), for decisions on them; earlier runs have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_fingerprint: Option<String>,
    /// Where paths of the settings start; nothing for a run whose data was in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_root: Option<DataRoot>,
    /// The NumPy type of the labels of a run that Python saved, where they are not strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_type: Option<String>,
    /// Checksums of all other files of the run that are not written to later; none in format 1.
    #[serde(default, skip_serializing_if = "Checksums::is_empty")]
    pub files: Checksums,
    /// The checksum of this file, without these digits. The last field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

impl RunInfo {
    /// Of this version.
    pub fn new(classes: Vec<String>, arms: Vec<String>, chosen: String, fingerprint: String) -> Self {
        let version = env!("CARGO_PKG_VERSION").into();
        RunInfo {
            format: FORMAT,
            version,
            kind: RunKind::Rows,
            classes,
            arms,
            chosen,
            fingerprint,
            rows_fingerprint: None,
            data_root: None,
            label_type: None,
            files: Checksums::new(),
            checksum: None,
        }
    }

    /// Refuses what no run says of itself: a folder may come from somewhere else. An arm's name is part of a file's name,
    /// so one with a separator in it would lead out of the folder.
    pub fn check(&self) -> Result<()> {
        let refused = |words: String| Err(Error::refused(format!("{words}; copy the folder again or fit again")));
        for (what, names) in [("class", &self.classes), ("arm", &self.arms)] {
            let mut seen = HashSet::new();
            if names.is_empty() {
                return refused(format!("no {what} is listed"));
            }
            if names.iter().any(String::is_empty) {
                return refused(format!("the name of one {what} is empty"));
            }
            if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
                return refused(format!("the {what} '{}' is named twice", twice.escape_debug()));
            }
        }
        if let Some(arm) = self.arms.iter().find(|arm| !is_plain(arm)) {
            let arm = arm.escape_debug();
            return refused(format!("the name of the arm '{arm}' may contain only letters, digits, '-', '_' and '.'"));
        }
        if !self.arms.contains(&self.chosen) {
            let chosen = self.chosen.escape_debug();
            return refused(format!("the chosen arm '{chosen}' is not among the arms {}", self.arms.join(", ")));
        }
        Ok(())
    }
}

/// Whether a name can be part of a file's name on any system, in the folder it is meant for.
fn is_plain(name: &str) -> bool {
    !name.starts_with('.') && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(classes: &[&str], arms: &[&str], chosen: &str) -> Result<()> {
        let text = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
        RunInfo::new(text(classes), text(arms), chosen.into(), "0".repeat(64)).check()
    }

    #[test]
    fn what_a_run_says_of_itself_is_checked() {
        with(&["no", "yes"], &["base", "robust"], "robust").unwrap();
        with(&["../no", "a b"], &["ce-0.5_é"], "ce-0.5_é").unwrap();
        for (classes, arms, chosen, part) in [
            (&["no", "yes"][..], &["base", "../../x"][..], "base", "'../../x'"),
            (&["no", "yes"], &["base", "/etc/x"], "base", "'/etc/x'"),
            (&["no", "yes"], &["base", "..\\x"], "base", "letters, digits"),
            (&["no", "yes"], &[".."], "..", "'..'"),
            (&["no", "yes"], &["C:x"], "C:x", "'C:x'"),
            (&["no", "yes"], &["a\u{1b}[2J"], "a\u{1b}[2J", "'a\\u{1b}[2J'"),
            (&["no", "yes"], &["base", "base"], "base", "arm 'base' is named twice"),
            (&["no", "yes"], &["base"], "robust", "'robust' is not among the arms base"),
            (&["no", "yes"], &[], "base", "no arm"),
            (&["no", "no"], &["base"], "base", "class 'no' is named twice"),
            (&["no", ""], &["base"], "base", "one class is empty"),
            (&[], &["base"], "base", "no class"),
        ] {
            let message = with(classes, arms, chosen).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
