//! The file that data came from, for copies in which nothing but labels changes.

use std::path::Path;
use std::sync::Arc;

use cmrm_data::Column;
use cmrm_data::read::{Dialect, Limits, Opened, ParquetFile, Source, files_of};
use cmrm_data::write::{Change, TextCopy, can_copy_parquet, copy_parquet};

use crate::failure::Result;
use crate::outputs::OutFile;
use crate::sources::{is_standard_input, source};

/// A single file that can be copied.
pub enum Original {
    Text { source: Source, dialect: Dialect, limits: Limits },
    Parquet(Arc<ParquetFile>),
}

impl Original {
    /// The file behind `path`, if it is one, and of a kind that can be copied.
    pub fn of(path: &Path, opened: &Opened, limits: Limits) -> Result<Option<Self>> {
        match opened {
            Opened::Csv(file) => {
                let files = if is_standard_input(path) { vec![path.to_owned()] } else { files_of(path) };
                let [file_itself] = files.as_slice() else { return Ok(None) };
                let source = source("the data", file_itself)?;
                Ok(Some(Original::Text { source, dialect: file.dialect().clone(), limits }))
            }
            Opened::Parquet(file) => Ok(Some(Original::Parquet(file.clone()))),
            _ => Ok(None),
        }
    }

    /// Copies the file with changed labels, which are in the column at that place and were `labels`; false if `out` is to be
    /// of another format, or the file cannot be copied.
    pub fn copy(&self, out: &OutFile, place: usize, labels: &Column, changes: &[Change<'_>]) -> Result<bool> {
        let extension = extension_of(out.path());
        match self {
            Original::Text { source, dialect, limits } if matches!(&*extension, "csv" | "tsv") => {
                let delimiter = match (&*extension, dialect.delimiter) {
                    ("tsv", _) => b'\t',
                    // A file of tabs that gets the name of one with commas is to become one.
                    (_, b'\t') if !is_called_csv(source.name()) => b',',
                    (_, same) => same,
                };
                let Some(copy) = TextCopy::read(source, limits, dialect, place, labels)? else { return Ok(false) };
                out.fill(|file| Ok(copy.write(file, delimiter, changes)?))?;
            }
            Original::Parquet(file) if extension == "parquet" && can_copy_parquet(file, place) => {
                out.fill(|target| Ok(copy_parquet(file, target, place, changes)?))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn extension_of(path: &Path) -> String {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// Whether a file, packed or not, has the name of one with commas.
fn is_called_csv(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".csv", ".csv.gz", ".csv.zst"].iter().any(|end| name.ends_with(end))
}
