//! The catalogue against a server on loopback, and offline from a folder. Nothing outside this machine is asked.

#[cfg(feature = "fetch")]
mod fetching;
mod offline;
#[cfg(feature = "fetch")]
mod server;

use cmrm_datasets::{Cache, Download, Entry, File, Form, Layout, Packing, TextLayout};
use sha2::{Digest, Sha256};

/// Bytes without a pattern that a shifted resumption would keep.
fn payload() -> &'static [u8] {
    let mut state = 1u32;
    let bytes: Vec<u8> = (0..200_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    bytes.leak()
}

fn sha256(bytes: &[u8]) -> &'static str {
    cmrm_data::files::text::hex(&Sha256::digest(bytes)).leak()
}

fn plain_file(sha256: Option<&'static str>) -> File {
    File { member: "data.bin", name: "data.bin", also: &[], form: Form::AsIs, sha256, bytes: None, max_bytes: 1 << 20 }
}

fn plain_download(urls: &[String], sha256: Option<&'static str>) -> Download {
    let urls: Vec<&'static str> = urls.iter().map(|url| &*url.clone().leak()).collect();
    Download {
        urls: urls.leak(),
        name: "data.bin",
        packing: Packing::Plain,
        sha256,
        bytes: None,
        max_bytes: 1 << 20,
        files: vec![plain_file(sha256)].leak(),
    }
}

/// An entry that lives for the test; the catalogue's own are constants.
fn entry(download: Download) -> &'static Entry {
    static LAYOUT: TextLayout = TextLayout {
        train: "data.bin",
        test: None,
        header: false,
        comment: None,
        missing: None,
        columns: &[],
        label_suffix: "",
        classes: &[],
    };
    Box::leak(Box::new(Entry {
        name: "test-set",
        title: "",
        homepage: "",
        licence: "",
        citation: "",
        train_rows: 1,
        test_rows: 0,
        columns: 1,
        classes: 2,
        needs: &[],
        downloads: vec![download].leak(),
        layout: Layout::Text(&LAYOUT),
        note: "",
    }))
}

/// Names in the data set's folder that are not housekeeping.
fn placed(cache: &Cache, entry: &Entry) -> Vec<String> {
    let Ok(folder) = std::fs::read_dir(cache.folder(entry)) else { return Vec::new() };
    let mut names: Vec<String> = folder.map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != ".lock");
    names.sort();
    names
}
