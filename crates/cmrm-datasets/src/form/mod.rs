//! Brings a file into the form it has in the cache: unpacked, and tables as plain CSV whatever they came as.
//! The result depends on the content alone, so its checksum holds for every way the content is stored.

mod labels;
mod numbers;
#[cfg(feature = "xls")]
mod sheet;

use std::fs::File as Handle;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::Form;
use super::error::{Result, content, io};
use super::unpack::{Staged, stage};

/// Applies the file's form to a staged copy.
pub(crate) fn apply(staged: Staged, origin: &Path, folder: &Path) -> Result<Staged> {
    let replaced = match staged.file.form {
        Form::AsIs => return Ok(staged),
        Form::Gunzip => {
            if !starts_with_gzip(&staged.path)? {
                return Ok(staged);
            }
            // Read from a moved copy, since the unpacked file takes its name.
            let packed = folder.join(format!("{}.packed", staged.file.name));
            std::fs::rename(&staged.path, &packed).map_err(io(&packed, "move"))?;
            let reader = BufReader::new(Handle::open(&packed).map_err(io(&packed, "open"))?);
            return stage(staged.file, MultiGzDecoder::new(reader), origin, folder);
        }
        Form::Labels(columns) => labels::to_csv(&read(&staged)?, columns),
        Form::WholeNumbers(columns) => numbers::to_csv(&read(&staged)?, columns),
    };
    let text = replaced.map_err(|reason| content(origin, reason))?;
    stage(staged.file, text.as_bytes(), origin, folder)
}

fn read(staged: &Staged) -> Result<Vec<u8>> {
    std::fs::read(&staged.path).map_err(io(&staged.path, "read"))
}

fn starts_with_gzip(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    let file = Handle::open(path).map_err(io(path, "open"))?;
    file.take(2).read_to_end(&mut start).map_err(io(path, "read"))?;
    Ok(start == [0x1f, 0x8b])
}

/// Writes rows of whole numbers under a header.
fn csv<'a>(columns: &[&str], rows: impl Iterator<Item = &'a [i64]>) -> String {
    let mut text = columns.join(",");
    text.push('\n');
    for row in rows {
        for (index, value) in row.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(&value.to_string());
        }
        text.push('\n');
    }
    text
}
