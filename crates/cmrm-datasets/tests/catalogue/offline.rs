//! Files that are on this machine already.

use std::fs;
use std::io::Write;

use cmrm_datasets::{Cache, Download, Entry, Error, Fetch, File, Form, Packing, Source, Trust};

use crate::{entry, payload, placed, plain_download, sha256};

fn from_folder(cache: &Cache, folder: &std::path::Path) -> Fetch {
    Fetch { cache: cache.clone(), source: Source::Folder(folder.to_path_buf()), force: false }
}

fn folders() -> (tempfile::TempDir, tempfile::TempDir, Cache) {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cache = Cache::at(to.path().join("not/yet/there"));
    (from, to, cache)
}

fn zip(name: &str, data: &[u8]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(data).unwrap();
    zip.finish().unwrap().into_inner()
}

fn archived(archive_sum: Option<&'static str>, file_sum: Option<&'static str>, form: Form) -> &'static Entry {
    let file = File {
        member: "inside/data.bin",
        name: "data.bin",
        also: &["other name.csv"],
        form,
        sha256: file_sum,
        bytes: None,
        max_bytes: 1 << 20,
    };
    entry(Download {
        urls: &["http://127.0.0.1:1/never-asked"],
        name: "archive.zip",
        packing: Packing::Zip,
        sha256: archive_sum,
        bytes: None,
        max_bytes: 1 << 20,
        files: vec![file].leak(),
    })
}

#[test]
fn a_file_is_copied_and_the_original_left_alone() {
    let (from, _to, cache) = folders();
    let data = payload();
    fs::write(from.path().join("data.bin"), data).unwrap();
    let entry = entry(plain_download(&[], Some(sha256(data))));
    let files = from_folder(&cache, from.path()).run(entry, &mut ()).unwrap();
    assert_eq!((fs::read(&files[0].path).unwrap(), files[0].trust), (data.to_vec(), Trust::Published));
    assert_eq!(fs::read(from.path().join("data.bin")).unwrap(), data);
    assert_eq!(placed(&cache, entry), ["data.bin", "files.json"]);
}

#[test]
fn a_wrong_file_is_refused_and_a_missing_one_named() {
    let (from, _to, cache) = folders();
    let entry = entry(plain_download(&[], Some(sha256(payload()))));
    let error = from_folder(&cache, from.path()).run(entry, &mut ()).unwrap_err();
    assert!(matches!(error, Error::NotInFolder { .. }));
    assert!(error.to_string().contains("data.bin"), "{error}");
    fs::write(from.path().join("data.bin"), b"something else").unwrap();
    let error = from_folder(&cache, from.path()).run(entry, &mut ()).unwrap_err();
    assert!(matches!(error, Error::Checksum { .. }), "{error}");
    assert_eq!(placed(&cache, entry), [""; 0]);
}

#[test]
fn an_archive_vouches_for_its_files_when_its_sum_is_known() {
    let archive = zip("inside/data.bin", b"1,2,3");
    let known: &'static str = sha256(&archive);
    for (sum, trust) in [(known, Trust::Archive), (sha256(b"another"), Trust::FirstUse)] {
        let (from, _to, cache) = folders();
        fs::write(from.path().join("archive.zip"), &archive).unwrap();
        let files = from_folder(&cache, from.path()).run(archived(Some(sum), None, Form::AsIs), &mut ()).unwrap();
        assert_eq!((files[0].trust, fs::read(&files[0].path).unwrap()), (trust, b"1,2,3".to_vec()));
    }
}

#[test]
fn files_are_found_as_unpacked_under_another_name_or_in_the_sets_own_folder() {
    for place in ["inside/data.bin", "data.bin", "other name.csv", "test-set/inside/data.bin", "test-set/data.bin"] {
        let (from, _to, cache) = folders();
        let path = from.path().join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, b"1,2,3").unwrap();
        let entry = archived(None, Some(sha256(b"1,2,3")), Form::AsIs);
        let files = from_folder(&cache, from.path()).run(entry, &mut ()).unwrap();
        assert_eq!(files[0].trust, Trust::Published, "{place}");
    }
}

#[test]
fn content_counts_not_its_container() {
    let table = b"id,label\n1,0\n2,1\n";
    let sum = Some(sha256(table));
    for stored in [&b"ID,Default\r\n1,0\r\n2,1\r\n"[..], b"\"a\",\"b\"\n1.0,0\n2,1", table] {
        let (from, _to, cache) = folders();
        fs::write(from.path().join("archive.zip"), zip("inside/data.bin", stored)).unwrap();
        let entry = archived(None, sum, Form::WholeNumbers(&["id", "label"]));
        let files = from_folder(&cache, from.path()).run(entry, &mut ()).unwrap();
        assert_eq!((fs::read(&files[0].path).unwrap(), files[0].trust), (table.to_vec(), Trust::Published));
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(table).unwrap();
    let packed = packed.finish().unwrap();
    for stored in [&packed[..], table] {
        let (from, _to, cache) = folders();
        fs::write(from.path().join("data.bin"), stored).unwrap();
        let files = from_folder(&cache, from.path()).run(archived(None, sum, Form::Gunzip), &mut ()).unwrap();
        assert_eq!(fs::read(&files[0].path).unwrap(), table);
        assert_eq!(placed(&cache, archived(None, sum, Form::Gunzip)), ["data.bin", "files.json"]);
    }
}

/// Two rows of titles, then the same two rows of numbers, as a spreadsheet program writes them.
#[cfg(feature = "xls")]
#[test]
fn a_spreadsheet_counts_by_its_content_too() {
    let (from, _to, cache) = folders();
    fs::write(from.path().join("data.bin"), include_bytes!("whole-numbers.xls")).unwrap();
    let table = b"id,label\n1,0\n2,1\n";
    let entry = archived(None, Some(sha256(table)), Form::WholeNumbers(&["id", "label"]));
    let files = from_folder(&cache, from.path()).run(entry, &mut ()).unwrap();
    assert_eq!(fs::read(&files[0].path).unwrap(), table);

    let entry = archived(None, None, Form::WholeNumbers(&["id", "other", "label"]));
    fs::write(from.path().join("data.bin"), include_bytes!("whole-numbers.xls")).unwrap();
    let mut fetch = from_folder(&cache, from.path());
    fetch.force = true;
    assert!(fetch.run(entry, &mut ()).unwrap_err().to_string().contains("2 columns, expected 3"));
    let damaged = &include_bytes!("whole-numbers.xls")[..1000];
    fs::write(from.path().join("data.bin"), damaged).unwrap();
    assert!(fetch.run(entry, &mut ()).is_err());
}

#[test]
fn a_changed_table_names_its_sums() {
    let (from, _to, cache) = folders();
    fs::write(from.path().join("data.bin"), b"id,label\n1,0\n2,0\n").unwrap();
    let entry = archived(None, Some(sha256(b"id,label\n1,0\n2,1\n")), Form::WholeNumbers(&["id", "label"]));
    let message = from_folder(&cache, from.path()).run(entry, &mut ()).unwrap_err().to_string();
    assert!(message.contains("the SHA-256") && message.contains("data.bin"), "{message}");
}

#[cfg(unix)]
#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let (from, to, _) = folders();
    fs::write(from.path().join("data.bin"), payload()).unwrap();
    // A file where a folder is needed fails for every user, even the superuser.
    let path = to.path().join("file");
    fs::write(&path, b"").unwrap();
    let entry = entry(plain_download(&[], None));
    let message = from_folder(&Cache::at(&path), from.path()).run(entry, &mut ()).unwrap_err().to_string();
    assert!(message.contains("cannot create the folder") && message.contains("file/test-set"), "{message}");
}
