//! NumPy's NPZ files: a ZIP archive of NPY files, stored or deflated. One that SciPy wrote holds a sparse matrix.

use zip::ZipArchive;

use super::arrays::choose;
use super::npy::Open;
use super::source::{Bounded, ReadSeek, UNPACK_FIRST};
use super::{ArrayNames, ReadOptions, Source, sparse};
use crate::dataset::{Features, Input};
use crate::error::{Error, Problem, Result};

/// Reads the features and, where there are any, the labels.
pub fn read_npz(source: &Source, options: &ReadOptions) -> Result<Input> {
    read_here(source, options).map_err(|error| error.in_file(source.name()))
}

fn read_here(source: &Source, options: &ReadOptions) -> Result<Input> {
    let limit = options.limits.of_packed(source.len()?);
    let mut arrays = Arrays::open(source.open_seekable()?, limit)?;
    if sparse::is_sparse(&arrays.names) && options.arrays == ArrayNames::default() {
        let features = sparse::read_scipy(&mut arrays, limit)?;
        return Ok(Input { features, labels: None, ids: None, source: source.name().to_string() });
    }
    let chosen = choose(&arrays.names, &options.arrays)?;
    let mut features = None;
    for at in chosen.features {
        let array = arrays.take(at, |open| open.features())?;
        match &mut features {
            None => features = Some(Features::Array(array)),
            Some(features) => features.append(Features::Array(array))?,
        }
    }
    let mut labels = None;
    for at in chosen.labels {
        let column = arrays.take(at, |open| open.column("label"))?;
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

/// The arrays of an archive.
pub(super) struct Arrays {
    archive: ZipArchive<Box<dyn ReadSeek>>,
    /// Their names, without the extension.
    pub names: Vec<String>,
    /// Where they are in the archive.
    places: Vec<usize>,
    /// Most bytes that one of them may unpack to.
    limit: u64,
}

impl Arrays {
    fn open(reader: Box<dyn ReadSeek>, limit: u64) -> Result<Self> {
        let archive = ZipArchive::new(reader).map_err(malformed)?;
        let (mut names, mut places) = (Vec::new(), Vec::new());
        for (place, name) in archive.file_names().enumerate() {
            let name = name.map_err(malformed)?;
            if let Some(stem) = name.strip_suffix(".npy") {
                names.push(stem.to_string());
                places.push(place);
            }
        }
        if names.is_empty() {
            return Err(Error::new(Problem::Empty("the archive, which holds no NPY file,".into())));
        }
        Ok(Arrays { archive, names, places, limit })
    }

    /// Opens one array. Neither the size that the archive declares nor what really comes out may be over the limit.
    pub fn take<T>(&mut self, at: usize, take: impl FnOnce(Open<'_>) -> Result<T>) -> Result<T> {
        let (name, limit) = (&self.names[at], self.limit);
        let file = self.archive.by_index(self.places[at]).map_err(malformed)?;
        if file.size() > limit {
            let what = format!("array '{name}', unpacked, in bytes,");
            return Err(Error::new(Problem::TooLarge { what, size: file.size(), limit }).way_out(UNPACK_FIRST));
        }
        let bounded = Bounded { reader: file, left: limit, limit };
        Open::new(Box::new(bounded), None).and_then(take).map_err(|error| error.in_column(name))
    }
}

fn malformed(error: zip::result::ZipError) -> Error {
    Error::malformed("NPZ", error)
}
