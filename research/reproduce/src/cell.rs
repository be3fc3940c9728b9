//! Cells and their results: one small file each, named by a hash of all that its numbers depend on.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::binary::BinaryCell;
use crate::error::{Error, Result};
use crate::figure::FigureCell;
use crate::probe::ProbeCell;

/// Version of the results. A change to what a cell computes raises it, and old results are not mistaken for new ones.
pub const FORMAT: u32 = 1;

/// What one cell computes, in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellConfig {
    /// An arm of a binary table.
    Binary(BinaryCell),
    /// Fits of a linear probe.
    Probe(ProbeCell),
    /// What figures are drawn from.
    Figures(FigureCell),
}

impl CellConfig {
    /// The settings as one line of JSON: equal for equal cells.
    pub fn key(&self) -> String {
        // Plain structs of numbers and strings always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A cell with the name of its arm and the data it is trained on.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// What tells it from others, for people.
    pub name: String,
    /// What it computes.
    pub config: CellConfig,
    /// SHA-256 of the data.
    pub data: String,
}

impl Cell {
    /// SHA-256 of settings, data and version.
    pub fn hash(&self) -> String {
        let text = format!("{FORMAT}\n{}\n{}", self.data, self.config.key());
        cmrm_data::files::text::hex(&Sha256::digest(text.as_bytes()))
    }

    /// Its name for people.
    pub fn label(&self) -> &str {
        &self.name
    }

    fn file(&self) -> String {
        format!("{}.{}.json", self.name, &self.hash()[..16])
    }
}

/// What a cell found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellResult {
    /// Version of the results.
    pub format: u32,
    /// What was computed.
    pub config: CellConfig,
    /// SHA-256 of the data.
    pub data: String,
    /// The numbers.
    pub metrics: BTreeMap<String, f64>,
    /// How long it took on one core, shared steps included in the arm that made them.
    pub seconds: f64,
    /// What figures are drawn from, of cells that are for figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Box<cmrm_report::Report>>,
}

impl CellResult {
    /// The result of a cell.
    pub(crate) fn new(cell: &Cell, metrics: BTreeMap<String, f64>, took: Duration) -> Self {
        let Cell { config, data, .. } = cell.clone();
        CellResult { format: FORMAT, config, data, metrics, seconds: took.as_secs_f64(), figures: None }
    }
}

/// A folder of results. Shards that wrote into several are merged by copying their files into one; files of many
/// results, one a line (`*.jsonl`), count as well, so that a run can go on from the results that are in the repository.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
    lines: Arc<Results>,
}

impl Store {
    /// Opens a folder, and makes it if it is not there. A file of many results has to be one: its lines are gathered work,
    /// and one that cannot be read is said rather than trained again.
    pub fn open(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| Error::file(folder, error))?;
        let lines = Arc::new(Results::read_kinds(&[folder.to_owned()], &["jsonl"])?);
        Ok(Store { folder: folder.to_owned(), lines })
    }

    /// The result of a cell, if it is there. A file of its own that is damaged or of other settings is none.
    pub fn read(&self, cell: &Cell) -> Option<CellResult> {
        let own_file = || {
            let text = std::fs::read_to_string(self.folder.join(cell.file())).ok()?;
            serde_json::from_str::<CellResult>(&text).ok()
        };
        let of_this_cell =
            |found: &CellResult| found.format == FORMAT && found.config == cell.config && found.data == cell.data;
        own_file().filter(of_this_cell).or_else(|| self.lines.get(&cell.config).cloned().filter(of_this_cell))
    }

    /// Whether the result of a cell is there.
    pub fn has(&self, cell: &Cell) -> bool {
        self.read(cell).is_some()
    }

    /// Writes a result whole or not at all: a kill leaves what was there.
    pub(crate) fn write(&self, cell: &Cell, result: &CellResult) -> Result<()> {
        let path = self.folder.join(cell.file());
        let line = serde_json::to_string(result)
            .map_err(|error| Error::Stored { path: path.clone(), reason: error.to_string() })?;
        cmrm_data::files::write_atomically(&path, |file| writeln!(file, "{line}"))
            .map_err(|error| Error::file(&path, error))
    }
}

/// Results by the settings of their cells.
#[derive(Debug, Default)]
pub struct Results {
    by_key: BTreeMap<String, CellResult>,
}

impl Results {
    /// Reads folders of cells and files of many cells, one a line.
    pub fn read(paths: &[PathBuf]) -> Result<Self> {
        Results::read_kinds(paths, &["json", "jsonl"])
    }

    /// The same, of a folder only the files that end so.
    fn read_kinds(paths: &[PathBuf], kinds: &[&str]) -> Result<Self> {
        let mut results = Results::default();
        for path in paths {
            if path.is_dir() {
                let entries = std::fs::read_dir(path).map_err(|error| Error::file(path, error))?;
                let mut files = Vec::new();
                for entry in entries {
                    files.push(entry.map_err(|error| Error::file(path, error))?.path());
                }
                // The order of a folder is not the same everywhere.
                files.sort();
                let is_result = |file: &&PathBuf| {
                    let hidden = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
                    !hidden && file.extension().is_some_and(|extension| kinds.iter().any(|kind| extension == *kind))
                };
                files.iter().filter(is_result).try_for_each(|file| results.read_file(file))?;
            } else {
                results.read_file(path)?;
            }
        }
        Ok(results)
    }

    fn read_file(&mut self, path: &Path) -> Result<()> {
        let text = std::fs::read_to_string(path).map_err(|error| Error::file(path, error))?;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let stored = |reason: String| Error::Stored { path: path.to_owned(), reason };
            let result: CellResult = serde_json::from_str(line)
                .map_err(|error| stored(format!("line {}: {error}; remove it and run again", at + 1)))?;
            if result.format != FORMAT {
                return Err(stored(format!(
                    "line {}: results of version {}, this program reads {FORMAT}; run again",
                    at + 1,
                    result.format
                )));
            }
            let key = result.config.key();
            match self.by_key.get(&key) {
                Some(other) if other.data != result.data => {
                    let reason = "the same cell as another file's, with other data; keep results of one version of the \
                                  data in a folder";
                    return Err(stored(reason.into()));
                }
                Some(_) => {}
                None => drop(self.by_key.insert(key, result)),
            }
        }
        Ok(())
    }

    /// The result of a cell, if it is there.
    pub fn get(&self, config: &CellConfig) -> Option<&CellResult> {
        self.by_key.get(&config.key())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Seconds that all of them took, on one core each.
    pub fn core_seconds(&self) -> f64 {
        self.by_key.values().map(|result| result.seconds).sum()
    }
}
