//! What the files of a run have to be, to the last byte: their checksums in `run.json`, and that of `run.json` itself.

use std::collections::BTreeMap;

use cmrm_data::files::checksum;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::info::RunInfo;

/// Checksums of files by name.
pub type Checksums = BTreeMap<String, Checksum>;

/// What a file of a run may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Checksum {
    /// The SHA-256 of its bytes.
    Is(String),
    /// Of a file that is being replaced: what it was, nothing where it was not there, and what it becomes. A process that is killed in
    /// between leaves either of them.
    Becomes([Option<String>; 2]),
}

impl Checksum {
    /// Whether a file may have this checksum.
    pub(crate) fn allows(&self, found: &str) -> bool {
        match self {
            Checksum::Is(sum) => sum == found,
            Checksum::Becomes(sums) => sums.iter().flatten().any(|sum| sum == found),
        }
    }

    /// Whether the file has to be there.
    pub(crate) fn is_needed(&self) -> bool {
        !matches!(self, Checksum::Becomes([None, _]))
    }
}

/// The text of `run.json`: `info` with the checksum of its own text, taken while that checksum was empty.
pub(crate) fn sealed_text(info: &RunInfo) -> Result<String> {
    let text = text(&RunInfo { checksum: Some(String::new()), ..info.clone() })?;
    let seal = checksum(text.as_bytes());
    self::text(&RunInfo { checksum: Some(seal), ..info.clone() })
}

/// Whether the text of `run.json` is the one that was written.
pub(crate) fn is_sealed(text: &str, info: &RunInfo) -> bool {
    let Some(seal) = info.checksum.as_deref().filter(|seal| !seal.is_empty()) else { return false };
    // The last one: it ends the file, and a class may be called anything.
    let Some(at) = text.rfind(seal) else { return false };
    checksum([&text[..at], &text[at + seal.len()..]].concat().as_bytes()) == seal
}

fn text(info: &RunInfo) -> Result<String> {
    let text = serde_json::to_string_pretty(info).map_err(|error| Error::Internal(format!("run.json: {error}")))?;
    Ok(text + "\n")
}
