//! What is known of the files in one folder of the cache: their checksums and how far they can be trusted.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Trust;
use super::error::{Error, Result, content, io};
use cmrm_data::files::atomic_write;

const NAME: &str = "files.json";
const VERSION: u32 = 1;

/// The record of one data set.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    files: BTreeMap<String, Known>,
}

/// One file of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Known {
    pub sha256: String,
    pub bytes: u64,
    pub trust: Trust,
    /// The address or path that it came from.
    pub source: String,
}

impl Record {
    /// The record in `folder`; an empty one when there is none.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let path = path(folder);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Record::default()),
            Err(error) => return Err(io(&path, "read")(error)),
        };
        let record: Record = serde_json::from_slice(&text)
            .map_err(|error| content(&path, format!("{error}; delete the file and fetch again")))?;
        if record.version != VERSION {
            let reason =
                format!("version {}, this program reads {VERSION}; delete the file and fetch again", record.version);
            return Err(content(&path, reason));
        }
        Ok(record)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Known> {
        self.files.get(name)
    }

    pub(crate) fn set(&mut self, name: &str, known: Known) {
        self.files.insert(name.to_owned(), known);
    }

    pub(crate) fn forget(&mut self, name: &str) {
        self.files.remove(name);
    }

    /// Writes the record beside the files it speaks of.
    pub(crate) fn write(&mut self, folder: &Path) -> Result<()> {
        self.version = VERSION;
        let path = path(folder);
        // A map of strings and numbers always has a JSON form.
        let text = serde_json::to_vec_pretty(self).map_err(|error| Error::Internal(format!("{NAME}: {error}")))?;
        Ok(atomic_write(&path, |file| Ok(file.write_all(&text)?))?)
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}
