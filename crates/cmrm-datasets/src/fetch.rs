//! Puts the files of a data set into the cache: transferred or copied, unpacked, checked, and only then placed.

use std::fs::{self, File as Handle, TryLockError};
use std::path::{Path, PathBuf};

use super::error::{Error, Result, io};
use super::record::{Known, Record};
use super::unpack::{Staged, stage, unpack};
use super::{Cache, Download, Entry, File, Network, Packing, Progress, Trust, digest, find, form};

const STAGING: &str = ".staging";
const LOCK: &str = ".lock";

/// Where files come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// From their makers.
    Network(Network),
    /// From a folder on this machine, which is only read.
    Folder(PathBuf),
}

/// Fetches data sets into a cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Fetch {
    /// Where the files go.
    pub cache: Cache,
    /// Where they come from.
    pub source: Source,
    /// Fetch even what is there already.
    pub force: bool,
}

/// A file in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The data set it belongs to.
    pub dataset: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// How far it can be trusted.
    pub trust: Trust,
    /// Whether it was there before.
    pub already: bool,
}

impl Fetch {
    /// Fetches `entry` and the entries it needs; nothing to do for an embedded one.
    pub fn run(&self, entry: &'static Entry, progress: &mut dyn Progress) -> Result<Vec<Placed>> {
        let mut placed = Vec::new();
        for &name in entry.needs {
            placed.extend(self.run(find(name)?, progress)?);
        }
        if entry.is_embedded() {
            return Ok(placed);
        }
        let folder = self.cache.folder(entry);
        fs::create_dir_all(&folder).map_err(io(&folder, "create the folder"))?;
        let _lock = lock(&folder, entry.name, progress)?;
        let mut record = Record::read(&folder)?;
        for download in entry.downloads {
            if !self.force
                && let Some(there) = already_there(entry, download, &folder, &record)
            {
                placed.extend(there);
                continue;
            }
            placed.extend(self.one(entry, download, &folder, &mut record, progress)?);
        }
        Ok(placed)
    }

    fn one(
        &self,
        entry: &'static Entry,
        download: &'static Download,
        folder: &Path,
        record: &mut Record,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Placed>> {
        let staging = Staging::create(folder)?;
        let gathered = match &self.source {
            Source::Network(network) => transferred(entry, download, folder, &staging.0, network, progress)?,
            Source::Folder(from) => copied(entry, download, from, &staging.0)?,
        };
        let mut checked = Vec::new();
        for (staged, origin, vouched) in gathered {
            let staged = form::apply(staged, Path::new(&origin), &staging.0)?;
            let trust = check(&staged, &origin, vouched, record, self.force, progress)?;
            checked.push((staged, origin, trust));
        }
        let mut placed = Vec::new();
        for (staged, source, trust) in checked {
            let path = folder.join(staged.file.name);
            // A record of a file that is about to be replaced must not outlive it.
            record.forget(staged.file.name);
            fs::rename(&staged.path, &path).map_err(io(&path, "place"))?;
            let known = Known { sha256: staged.sha256.clone(), bytes: staged.bytes, trust, source };
            record.set(staged.file.name, known);
            let (bytes, sha256) = (staged.bytes, staged.sha256);
            placed.push(Placed { dataset: entry.name, path, bytes, sha256, trust, already: false });
        }
        record.write(folder)?;
        #[cfg(feature = "fetch")]
        super::transfer::Part::new(folder, download.name).discard();
        Ok(placed)
    }
}

/// A staged file, where it came from, and whether a checksum of its archive vouches for it.
type Gathered = (Staged, String, bool);

#[cfg(feature = "fetch")]
fn transferred(
    entry: &'static Entry,
    download: &'static Download,
    folder: &Path,
    staging: &Path,
    network: &Network,
    progress: &mut dyn Progress,
) -> Result<Vec<Gathered>> {
    let part = super::transfer::Part::new(folder, download.name);
    let url = super::transfer::download(entry.name, download, &part, network, progress)?;
    let staged = unpack(download, part.path(), staging).inspect_err(|_| {
        // Complete, yet not what it should be: going on with it would fail for ever.
        part.discard();
    })?;
    Ok(staged.into_iter().map(|one| (one, url.to_owned(), download.sha256.is_some())).collect())
}

#[cfg(not(feature = "fetch"))]
fn transferred(
    entry: &'static Entry,
    download: &'static Download,
    _folder: &Path,
    _staging: &Path,
    _network: &Network,
    _progress: &mut dyn Progress,
) -> Result<Vec<Gathered>> {
    let way_out = format!(
        "download {} by other means and run `cmrm data fetch {} --from DIR`",
        download.urls.first().unwrap_or(&download.name),
        entry.name
    );
    Err(Error::NotBuiltIn { what: "downloads", feature: "fetch", way_out })
}

/// From a folder: the archive, or each file on its own, there or in a folder named like the data set.
fn copied(entry: &Entry, download: &'static Download, from: &Path, staging: &Path) -> Result<Vec<Gathered>> {
    let look = |name: &str| [from.join(name), from.join(entry.name).join(name)].into_iter().find(|path| path.is_file());
    let archive = look(download.name).filter(|_| download.packing != Packing::Plain);
    if let Some(archive) = archive {
        let vouched = match download.sha256 {
            Some(expected) => digest::of_file(&archive)?.0 == expected,
            None => false,
        };
        let staged = unpack(download, &archive, staging)?;
        let origin = archive.display().to_string();
        return Ok(staged.into_iter().map(|one| (one, origin.clone(), vouched)).collect());
    }
    let one = |file: &'static File| {
        // As the archive lays it out, or under its bare name.
        let Some(path) = look(file.member).or_else(|| file.names().find_map(look)) else {
            let names = std::iter::once(download.name).chain(file.names());
            let mut names: Vec<String> = names.map(str::to_owned).collect();
            names.dedup();
            return Err(Error::NotInFolder { folder: from.to_path_buf(), names });
        };
        let source = Handle::open(&path).map_err(io(&path, "open"))?;
        Ok((stage(file, source, &path, staging)?, path.display().to_string(), false))
    };
    download.files.iter().map(one).collect()
}

/// Compares a staged file with what is known of it; how far it can be trusted.
fn check(
    staged: &Staged,
    origin: &str,
    vouched: bool,
    record: &Record,
    force: bool,
    progress: &mut dyn Progress,
) -> Result<Trust> {
    let file = staged.file;
    let wrong = |what, expected: String, found: String, way_out| Error::Checksum {
        path: if origin.ends_with(file.name) { origin.into() } else { format!("{origin}: {}", file.name).into() },
        what,
        expected,
        found,
        way_out,
    };
    if let Some(bytes) = file.bytes.filter(|&bytes| bytes != staged.bytes) {
        let found = staged.bytes.to_string();
        return Err(wrong("the size in bytes", bytes.to_string(), found, "Use the publisher's original file."));
    }
    if let Some(expected) = file.sha256 {
        if staged.sha256 == expected {
            return Ok(Trust::Published);
        }
        let found = staged.sha256.clone();
        return Err(wrong("the SHA-256", expected.to_owned(), found, "Use the publisher's original file."));
    }
    if vouched {
        return Ok(Trust::Archive);
    }
    match record.get(file.name) {
        Some(known) if known.sha256 == staged.sha256 => Ok(known.trust),
        Some(known) if !force => Err(wrong(
            "the SHA-256",
            format!("{} as recorded at first use", known.sha256),
            staged.sha256.clone(),
            "If the publisher changed it and you trust the change, fetch again with --force.",
        )),
        _ => {
            progress.warn(&format!(
                "{}: no published checksum; its SHA-256 {} is recorded, and later copies must match it",
                file.name, staged.sha256
            ));
            Ok(Trust::FirstUse)
        }
    }
}

/// The files of a download, if the cache has them all at the recorded size.
fn already_there(entry: &Entry, download: &Download, folder: &Path, record: &Record) -> Option<Vec<Placed>> {
    let one = |file: &File| {
        let path = folder.join(file.name);
        let known = record.get(file.name)?;
        let current = file.sha256.is_none_or(|sha256| sha256 == known.sha256);
        let size = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?.len();
        (current && size == known.bytes).then(|| Placed {
            dataset: entry.name,
            path,
            bytes: known.bytes,
            sha256: known.sha256.clone(),
            trust: known.trust,
            already: true,
        })
    };
    download.files.iter().map(one).collect()
}

/// Keeps a second program out of the folder. A file system without locks gives none, and none is insisted on.
fn lock(folder: &Path, dataset: &str, progress: &mut dyn Progress) -> Result<Handle> {
    let path = folder.join(LOCK);
    let handle = Handle::create(&path).map_err(io(&path, "create"))?;
    if let Err(TryLockError::WouldBlock) = handle.try_lock() {
        progress.warn(&format!("another program is fetching {dataset}; waiting for it"));
        handle.lock().map_err(io(&path, "lock"))?;
    }
    Ok(handle)
}

/// A folder beside the final place, so that placing is a rename; gone when dropped.
struct Staging(PathBuf);

impl Staging {
    fn create(folder: &Path) -> Result<Self> {
        let path = folder.join(STAGING);
        if path.exists() {
            fs::remove_dir_all(&path).map_err(io(&path, "clear"))?;
        }
        fs::create_dir(&path).map_err(io(&path, "create the folder"))?;
        Ok(Staging(path))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Left-overs are cleared by the next fetch.
        let _ = fs::remove_dir_all(&self.0);
    }
}
