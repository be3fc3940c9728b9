//! Takes wanted files out of archives. Names in an archive are only ever compared, never used as paths,
//! so an archive cannot write anywhere it should not; sizes are limited while unpacking.

use std::fs::File as Handle;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::digest::HashingWriter;
use super::error::{Error, Result, io};
use super::{Download, File, Packing};

/// No archive of the catalogue has nearly so many entries.
const MOST_ENTRIES: usize = 10_000;
/// Bytes that headers and unwanted files may take in an archive, beside as much again as is wanted from it.
const SLACK: u64 = 16 << 20;

/// A file that was unpacked or copied next to where it will live.
pub(crate) struct Staged {
    pub file: &'static File,
    pub path: PathBuf,
    pub sha256: String,
    pub bytes: u64,
}

/// Unpacks every file of `download` from `archive` into `folder`, each under its own name.
pub(crate) fn unpack(download: &Download, archive: &Path, folder: &Path) -> Result<Vec<Staged>> {
    let staged = match download.packing {
        Packing::Plain => download
            .files
            .iter()
            .map(|file| {
                let source = Handle::open(archive).map_err(io(archive, "open"))?;
                stage(file, source, archive, folder)
            })
            .collect::<Result<Vec<_>>>()?,
        Packing::Zip => unzip(download, archive, folder)?,
        Packing::TarGz => untar(download, archive, folder)?,
    };
    let missing = download.files.iter().find(|file| !staged.iter().any(|one| one.file.name == file.name));
    match missing {
        None => Ok(staged),
        Some(file) => Err(damaged(archive, format!("the archive holds no {}; is it the right one?", file.member))),
    }
}

fn damaged(archive: &Path, reason: String) -> Error {
    Error::Archive { path: archive.to_path_buf(), reason }
}

/// Whether an archive's entry is the wanted member, possibly below some folder.
fn is_member(entry: &str, wanted: &str) -> bool {
    let entry = entry.strip_prefix("./").unwrap_or(entry);
    entry == wanted || entry.strip_suffix(wanted).is_some_and(|folder| folder.ends_with('/'))
}

fn unzip(download: &Download, archive: &Path, folder: &Path) -> Result<Vec<Staged>> {
    let not_zip = |error: zip::result::ZipError| damaged(archive, format!("not a readable zip archive: {error}"));
    let handle = Handle::open(archive).map_err(io(archive, "open"))?;
    let mut zip = zip::ZipArchive::new(std::io::BufReader::new(handle)).map_err(not_zip)?;
    if zip.len() > MOST_ENTRIES {
        return Err(damaged(archive, format!("{} entries, more than the limit {MOST_ENTRIES}", zip.len())));
    }
    let mut staged = Vec::new();
    for file in download.files {
        // A name that cannot be decoded is not one that is wanted.
        let name = zip
            .file_names()
            .filter_map(std::result::Result::ok)
            .find(|name| is_member(name, file.member))
            .map(std::borrow::Cow::into_owned);
        let Some(name) = name else { continue };
        let member = zip.by_name(&name).map_err(not_zip)?;
        if !member.is_file() {
            return Err(damaged(archive, format!("{name} is not a plain file")));
        }
        staged.push(stage(file, member, archive, folder)?);
    }
    Ok(staged)
}

fn untar(download: &Download, archive: &Path, folder: &Path) -> Result<Vec<Staged>> {
    let not_tar = |error: std::io::Error| damaged(archive, format!("not a readable tar.gz archive: {error}"));
    let handle = Handle::open(archive).map_err(io(archive, "open"))?;
    let allowed = download.files.iter().map(|file| file.max_bytes).sum::<u64>().saturating_mul(2).saturating_add(SLACK);
    let mut tar = tar::Archive::new(MultiGzDecoder::new(std::io::BufReader::new(handle)).take(allowed));
    let mut staged: Vec<Staged> = Vec::new();
    for (index, entry) in tar.entries().map_err(not_tar)?.enumerate() {
        if index >= MOST_ENTRIES {
            return Err(damaged(archive, format!("more entries than the limit {MOST_ENTRIES}")));
        }
        let entry = entry.map_err(not_tar)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let wanted = download.files.iter().find(|file| is_member(&name, file.member));
        let Some(file) = wanted else { continue };
        if !entry.header().entry_type().is_file() {
            return Err(damaged(archive, format!("{name} is not a plain file")));
        }
        if staged.iter().any(|one| one.file.name == file.name) {
            return Err(damaged(archive, format!("{name} occurs twice")));
        }
        staged.push(stage(file, entry, archive, folder)?);
        // The rest need not be unpacked.
        if staged.len() == download.files.len() {
            break;
        }
    }
    Ok(staged)
}

/// Copies `source` to `folder`, hashing it and refusing more than the file's limit.
pub(crate) fn stage(file: &'static File, source: impl Read, origin: &Path, folder: &Path) -> Result<Staged> {
    let path = folder.join(file.name);
    let handle = Handle::create(&path).map_err(io(&path, "create"))?;
    let mut writer = HashingWriter::new(handle);
    let mut limited = source.take(file.max_bytes.saturating_add(1));
    copy(&mut limited, &mut writer, origin, &path)?;
    let (handle, sha256, bytes) = writer.finish();
    if bytes > file.max_bytes {
        return Err(damaged(
            origin,
            format!("{} unpacks to more than the limit of {} bytes", file.member, file.max_bytes),
        ));
    }
    handle.sync_all().map_err(io(&path, "write"))?;
    Ok(Staged { file, path, sha256, bytes })
}

/// Like [`std::io::copy`], but tells a failure to read from a failure to write.
fn copy(source: &mut impl Read, target: &mut impl Write, origin: &Path, path: &Path) -> Result<()> {
    let mut buffer = vec![0; 1 << 17];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => target.write_all(&buffer[..count]).map_err(io(path, "write"))?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(damaged(origin, format!("cannot be unpacked: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;

    const FILE: File = File {
        member: "set/a.bin",
        name: "a.bin",
        also: &[],
        form: Form::AsIs,
        sha256: None,
        bytes: Some(3),
        max_bytes: 10,
    };
    const FILES: &[File] = &[FILE];

    fn a_download(packing: Packing) -> Download {
        Download { urls: &[], name: "x", packing, sha256: None, bytes: None, max_bytes: 1000, files: FILES }
    }

    fn tar_gz(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
        let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        for (name, kind, data) in entries {
            let mut header = tar::Header::new_gnu();
            // Set by hand: the crate refuses to write names that climb out of the folder.
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(data.len() as u64);
            header.set_cksum();
            tar.append(&header, *data).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    fn run(packing: Packing, archive: &[u8]) -> (tempfile::TempDir, Result<Vec<Staged>>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        std::fs::write(&path, archive).unwrap();
        let out = folder.path().join("out");
        std::fs::create_dir(&out).unwrap();
        let result = unpack(&a_download(packing), &path, &out);
        (folder, result)
    }

    fn message(packing: Packing, archive: &[u8]) -> String {
        run(packing, archive).1.err().expect("must be refused").to_string()
    }

    #[test]
    fn finds_a_member_below_a_folder() {
        let archive =
            tar_gz(&[("README", tar::EntryType::Regular, b"no"), ("./set/a.bin", tar::EntryType::Regular, b"abc")]);
        let (_folder, staged) = run(Packing::TarGz, &archive);
        let staged = staged.unwrap();
        assert_eq!(std::fs::read(&staged[0].path).unwrap(), b"abc");
        assert_eq!(staged[0].bytes, 3);
        assert_eq!(staged[0].sha256, crate::digest::of_bytes(b"abc"));
        assert!(is_member("main/set/a.bin", "set/a.bin") && !is_member("xset/a.bin", "set/a.bin"));
    }

    #[test]
    fn a_climbing_name_writes_only_inside_the_folder() {
        let archive = tar_gz(&[("../../set/a.bin", tar::EntryType::Regular, b"abc")]);
        let (folder, staged) = run(Packing::TarGz, &archive);
        assert_eq!(staged.unwrap()[0].path, folder.path().join("out/a.bin"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn refuses_links_bombs_and_missing_members() {
        let link = tar_gz(&[("set/a.bin", tar::EntryType::Symlink, b"")]);
        assert!(message(Packing::TarGz, &link).contains("not a plain file"));
        let big = tar_gz(&[("set/a.bin", tar::EntryType::Regular, &[0; 11])]);
        assert!(message(Packing::TarGz, &big).contains("more than the limit of 10 bytes"));
        let other = tar_gz(&[("set/b.bin", tar::EntryType::Regular, b"abc")]);
        assert!(message(Packing::TarGz, &other).contains("holds no set/a.bin"));
        assert!(message(Packing::TarGz, b"plain text").contains("not a readable tar.gz"));
        let cut = tar_gz(&[("set/a.bin", tar::EntryType::Regular, b"abc")]);
        assert!(message(Packing::TarGz, &cut[..cut.len() / 2]).contains("archive"));
        assert!(message(Packing::Zip, b"plain text").contains("not a readable zip"));
    }

    #[test]
    fn reads_zip_members_and_limits_them() {
        let zip_of = |data: &[u8]| {
            let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            zip.start_file("set/a.bin", zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(data).unwrap();
            zip.finish().unwrap().into_inner()
        };
        assert_eq!(run(Packing::Zip, &zip_of(b"abc")).1.unwrap()[0].bytes, 3);
        assert!(message(Packing::Zip, &zip_of(&[7; 1 << 20])).contains("more than the limit of 10 bytes"));
    }
}
