//! Finds the pickle inside the files that PyTorch and NumPy write.

use std::io::{Cursor, Read};

use super::array::{integers, wrapped};
use super::{Machine, Result, Value};

/// PyTorch's old format has three short pickles before the one that matters.
const MOST_PICKLES: usize = 5;

/// The arrays of integers called `names` in the dictionary that `file` holds, in that order.
/// Understands PyTorch's archive and its older plain format, and NumPy's `.npy` with an object inside.
pub(crate) fn named_arrays(file: &[u8], names: &[&str]) -> Result<Vec<Vec<i64>>> {
    if file.starts_with(b"PK") {
        return from_archive(file, names);
    }
    let pickles = if file.starts_with(b"\x93NUMPY") { after_npy_header(file)? } else { file };
    if !pickles.starts_with(b"\x80") {
        return Err("neither a PyTorch file nor a NumPy file with an object inside".into());
    }
    let mut rest = pickles;
    for _ in 0..MOST_PICKLES {
        let (value, length) = Machine::new(rest).run()?;
        if let Some(dictionary) = dictionary(value)
            && dictionary.iter().any(|(key, _)| key.text() == names.first().copied())
        {
            let outside =
                |_: &str| Err("a tensor in PyTorch's old format; save it again with PyTorch 1.6 or later".into());
            return select(&dictionary, names, &outside);
        }
        rest = &rest[length..];
        if rest.is_empty() {
            break;
        }
    }
    Err(format!("no dictionary with the key '{}'", names.first().unwrap_or(&"")))
}

fn from_archive(file: &[u8], names: &[&str]) -> Result<Vec<Vec<i64>>> {
    let archive =
        || zip::ZipArchive::new(Cursor::new(file)).map_err(|error| format!("a damaged PyTorch file: {error}"));
    let zip = archive()?;
    let entry = zip
        .file_names()
        .filter_map(std::result::Result::ok)
        .find(|name| name == "data.pkl" || name.ends_with("/data.pkl"))
        .ok_or("a zip archive without data.pkl: not a PyTorch file")?
        .into_owned();
    let folder = entry.strip_suffix("data.pkl").unwrap_or_default().to_owned();
    let read = |name: &str| -> Result<Vec<u8>> {
        let mut zip = archive()?;
        let member = zip.by_name(name).map_err(|error| format!("a damaged PyTorch file: {name}: {error}"))?;
        let mut bytes = Vec::new();
        // PyTorch stores without compression, so nothing inside is larger than the file.
        let limit = file.len() as u64;
        member
            .take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("a damaged PyTorch file: {name}: {error}"))?;
        if bytes.len() as u64 > limit { Err(format!("{name} unpacks to more than the file")) } else { Ok(bytes) }
    };
    let pickle = read(&entry)?;
    let (value, _) = Machine::new(&pickle).run()?;
    let dictionary = dictionary(value).ok_or("no dictionary inside")?;
    select(&dictionary, names, &|key: &str| read(&format!("{folder}data/{key}")))
}

/// Skips magic, version and header of an `.npy` file that must hold an object.
fn after_npy_header(file: &[u8]) -> Result<&[u8]> {
    let short = "a NumPy file that ends within its header";
    let (width, start) = if file.get(6).ok_or(short)? == &1 { (2, 10) } else { (4, 12) };
    let length =
        file.get(8..8 + width).ok_or(short)?.iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte));
    let header = file.get(start..start + length).ok_or(short)?;
    if !header.windows(3).any(|piece| piece == b"'|O" || piece == b"'O'") {
        return Err("a NumPy array of plain numbers; a dictionary of arrays is expected".into());
    }
    Ok(&file[start + length..])
}

fn dictionary(value: Value) -> Option<Vec<(Value, Value)>> {
    let value = wrapped(&value).unwrap_or(value);
    if let Value::Dict(items) = value { Some(items.borrow().clone()) } else { None }
}

fn select(items: &[(Value, Value)], names: &[&str], storage: &super::array::Storage) -> Result<Vec<Vec<i64>>> {
    let find = |name: &str| {
        let found = items.iter().rev().find(|(key, _)| key.text() == Some(name));
        let (_, value) = found.ok_or_else(|| format!("no array named '{name}'"))?;
        integers(value, storage).map_err(|reason| format!("'{name}': {reason}"))
    };
    names.iter().map(|name| find(name)).collect()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
