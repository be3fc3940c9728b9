//! NumPy's NPZ files: a ZIP archive of NPY files, stored or deflated.

use std::io::{BufReader, Cursor, Read, Seek};

use zip::ZipArchive;

use super::arrays::choose;
use super::npy::Open;
use super::source::{Bounded, Content, UNPACK_FIRST};
use super::{ReadOptions, Source};
use crate::dataset::{Features, Input};
use crate::error::{Error, Problem, Result};

/// What an archive is read from.
trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

type Archive = ZipArchive<Box<dyn ReadSeek>>;

/// Reads the features and, where there are any, the labels.
pub fn read_npz(source: &Source, options: &ReadOptions) -> Result<Input> {
    read_here(source, options).map_err(|error| error.in_file(source.name()))
}

fn read_here(source: &Source, options: &ReadOptions) -> Result<Input> {
    let reader: Box<dyn ReadSeek> = match source.content() {
        Content::Bytes(bytes) => Box::new(Cursor::new(bytes.clone())),
        Content::File(path) => Box::new(BufReader::new(source.open_file(path)?)),
    };
    let mut archive = ZipArchive::new(reader).map_err(malformed)?;
    let (names, places) = array_names(&archive)?;
    if names.is_empty() {
        return Err(Error::new(Problem::Empty("the archive, which holds no NPY file,".into())));
    }
    let chosen = choose(&names, &options.arrays)?;
    let limit = options.limits.of_packed(source.len()?);
    let mut features = None;
    for at in chosen.features {
        let array = with_array(&mut archive, places[at], &names[at], limit, |open| open.features())?;
        match &mut features {
            None => features = Some(Features::Array(array)),
            Some(features) => features.append(Features::Array(array))?,
        }
    }
    let mut labels = None;
    for at in chosen.labels {
        let column = with_array(&mut archive, places[at], &names[at], limit, |open| open.column("label"))?;
        match &mut labels {
            None => labels = Some(column),
            Some(labels) => labels.append(column)?,
        }
    }
    // `choose` has given at least one array of features.
    let features = features.ok_or_else(|| Error::new(Problem::Empty("the list of arrays".into())))?;
    let input = Input { features, labels: None, ids: None, source: source.name().to_string() };
    match labels {
        Some(labels) => input.with_labels(labels),
        None => Ok(input),
    }
}

/// Names of the arrays without their extension, and where they are in the archive.
fn array_names(archive: &Archive) -> Result<(Vec<String>, Vec<usize>)> {
    let (mut names, mut places) = (Vec::new(), Vec::new());
    for (place, name) in archive.file_names().enumerate() {
        let name = name.map_err(malformed)?;
        if let Some(stem) = name.strip_suffix(".npy") {
            names.push(stem.to_string());
            places.push(place);
        }
    }
    Ok((names, places))
}

/// Opens one array. Neither the size that the archive declares nor what really comes out may be over the limit.
fn with_array<T>(
    archive: &mut Archive,
    place: usize,
    name: &str,
    limit: u64,
    take: impl FnOnce(Open<'_>) -> Result<T>,
) -> Result<T> {
    let file = archive.by_index(place).map_err(malformed)?;
    if file.size() > limit {
        let what = format!("array '{name}', unpacked, in bytes,");
        return Err(Error::new(Problem::TooLarge { what, size: file.size(), limit }).way_out(UNPACK_FIRST));
    }
    let bounded = Bounded { reader: file, left: limit, limit };
    Open::new(Box::new(bounded), None).and_then(take).map_err(|error| error.in_column(name))
}

fn malformed(error: zip::result::ZipError) -> Error {
    Error::malformed("NPZ", error)
}
