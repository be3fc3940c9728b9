//! What the cache holds of each data set, and whether it is still what was put there.

use std::path::PathBuf;

use super::error::Result;
use super::record::Record;
use super::{Cache, ENTRIES, Entry, Trust, digest, find};

/// A data set and what the cache holds of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// The data set.
    pub entry: &'static Entry,
    /// What is here.
    pub state: State,
}

/// What is here of a data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is part of the program.
    Embedded,
    /// All files are here.
    Ready {
        /// Bytes they take.
        bytes: u64,
        /// The least that any of them can be trusted.
        trust: Trust,
    },
    /// Some files are here, or part of a download.
    Partial {
        /// Files that are missing.
        missing: Vec<&'static str>,
        /// Bytes of unfinished downloads.
        unfinished: u64,
    },
    /// Nothing is here.
    Absent,
}

/// Every data set of the catalogue with its state, in the order of the catalogue. Reads sizes, not contents.
pub fn list(cache: &Cache) -> Result<Vec<Listing>> {
    ENTRIES.iter().map(|entry| Ok(Listing { entry, state: state(entry, cache)? })).collect()
}

/// What the cache holds of one data set, including the entries it needs.
pub fn state(entry: &'static Entry, cache: &Cache) -> Result<State> {
    if entry.is_embedded() {
        return Ok(State::Embedded);
    }
    let folder = cache.folder(entry);
    let record = Record::read(&folder)?;
    let size = |name: &str| std::fs::metadata(folder.join(name)).map(|data| data.len()).ok();
    let mut missing = Vec::new();
    let (mut bytes, mut trust) = (0, Trust::Published);
    for file in entry.files() {
        match record.get(file.name).filter(|known| size(file.name) == Some(known.bytes)) {
            Some(known) => {
                bytes += known.bytes;
                trust = trust.max(known.trust);
            }
            None => missing.push(file.name),
        }
    }
    let mut some = missing.len() < entry.files().count();
    let mut unfinished: u64 = entry.downloads.iter().filter_map(|one| size(&format!("{}.part", one.name))).sum();
    for &name in entry.needs {
        match state(find(name)?, cache)? {
            State::Ready { bytes: more, trust: other } => {
                (bytes, trust) = (bytes + more, trust.max(other));
            }
            State::Partial { missing: more, unfinished: other } => {
                missing.extend(more);
                unfinished += other;
                some = true;
            }
            State::Absent => missing.push(name),
            State::Embedded => {}
        }
    }
    Ok(match (missing.is_empty(), some || unfinished > 0) {
        (true, _) => State::Ready { bytes, trust },
        (false, true) => State::Partial { missing, unfinished },
        (false, false) => State::Absent,
    })
}

/// One file after checking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The data set it belongs to.
    pub dataset: &'static str,
    /// Where it is, or should be.
    pub path: PathBuf,
    /// What came out.
    pub outcome: Outcome,
}

/// What came out of checking a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is what it was when it was placed.
    Intact {
        /// How far that can be trusted.
        trust: Trust,
        /// Its SHA-256, in hexadecimal.
        sha256: String,
    },
    /// It is not there.
    Missing,
    /// It is something else.
    Damaged {
        /// The SHA-256 it should have.
        expected: String,
        /// The SHA-256 it has.
        found: String,
    },
}

/// Reads every file of a data set again and compares checksums; an empty list for an embedded one.
pub fn verify(entry: &'static Entry, cache: &Cache) -> Result<Vec<Verified>> {
    let mut verified = Vec::new();
    for &name in entry.needs {
        verified.extend(verify(find(name)?, cache)?);
    }
    let folder = cache.folder(entry);
    let record = Record::read(&folder)?;
    for file in entry.files() {
        let path = folder.join(file.name);
        let expected =
            file.sha256.map(str::to_owned).or_else(|| record.get(file.name).map(|known| known.sha256.clone()));
        let outcome = match expected {
            // Without a record nobody knows what the file should be.
            _ if !path.is_file() => Outcome::Missing,
            None => Outcome::Missing,
            Some(expected) => {
                let (found, _) = digest::of_file(&path)?;
                let trust = record.get(file.name).map_or(Trust::Published, |known| known.trust);
                if found == expected {
                    Outcome::Intact { trust, sha256: found }
                } else {
                    Outcome::Damaged { expected, found }
                }
            }
        };
        verified.push(Verified { dataset: entry.name, path, outcome });
    }
    Ok(verified)
}
