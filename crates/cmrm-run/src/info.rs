//! `run.json`: the last file of a run to be written, and the first to be read.

use serde::{Deserialize, Serialize};

/// Version of the folder's layout; a reader refuses any other.
pub const FORMAT: u32 = 1;

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
        }
    }
}
