//! What the catalogue knows of a data set: where it lives, how it is checked, how it is read.

use super::Layout;

/// One named data set.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The name a user types.
    pub name: &'static str,
    /// A line that says what it is.
    pub title: &'static str,
    /// The page of its makers.
    pub homepage: &'static str,
    /// The licence, as its makers state it.
    pub licence: &'static str,
    /// What to cite when publishing.
    pub citation: &'static str,
    /// Rows of the training part.
    pub train_rows: usize,
    /// Rows of the test part; zero when the makers publish no split.
    pub test_rows: usize,
    /// Columns before any encoding, without label and identifiers.
    pub columns: usize,
    /// Number of classes.
    pub classes: usize,
    /// Other entries whose files are needed too.
    pub needs: &'static [&'static str],
    /// The files to get; none for an embedded set.
    pub downloads: &'static [Download],
    /// How the files become a table.
    pub layout: Layout,
    /// What a user should know before using it; may be empty.
    pub note: &'static str,
}

impl Entry {
    /// Whether the set is part of the program.
    pub fn is_embedded(&self) -> bool {
        self.downloads.is_empty()
    }

    /// Every file that the set consists of in the cache.
    pub fn files(&self) -> impl Iterator<Item = &'static File> {
        self.downloads.iter().flat_map(|download| download.files)
    }

    /// Bytes to transfer, when the makers' sizes are all known.
    pub fn download_bytes(&self) -> Option<u64> {
        self.downloads.iter().map(|download| download.bytes).sum()
    }
}

/// One thing to transfer: a file, or an archive of files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Download {
    /// Official addresses, tried in this order.
    pub urls: &'static [&'static str],
    /// The name it has at its makers, also looked for by offline use.
    pub name: &'static str,
    /// What it is.
    pub packing: Packing,
    /// SHA-256 of the transferred bytes, in hexadecimal, where it is known.
    pub sha256: Option<&'static str>,
    /// Size of the transferred bytes, where it is known.
    pub bytes: Option<u64>,
    /// Refuse to transfer more than this.
    pub max_bytes: u64,
    /// The files inside; exactly one for [`Packing::Plain`].
    pub files: &'static [File],
}

/// How the files of a download are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// The download is the file.
    Plain,
    /// A zip archive.
    Zip,
    /// A gzipped tar archive.
    TarGz,
}

/// One file that a data set is read from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct File {
    /// Where it is in its archive; equal to the download's name for [`Packing::Plain`].
    pub member: &'static str,
    /// Its name in the cache.
    pub name: &'static str,
    /// Other names under which offline use accepts it, possibly in another format with the same content.
    pub also: &'static [&'static str],
    /// What is done to it on its way into the cache.
    pub form: Form,
    /// SHA-256, in hexadecimal, of the file in the cache. It does not depend on how the file was packed or stored
    /// before. Without one, the checksum of the archive vouches for the file, or nothing does.
    pub sha256: Option<&'static str>,
    /// Size of the file in the cache, where it is known.
    pub bytes: Option<u64>,
    /// Refuse to unpack more than this.
    pub max_bytes: u64,
}

impl File {
    /// The names under which the file may lie in a folder given by the user.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let base = self.member.rsplit('/').next().unwrap_or(self.member);
        std::iter::once(self.name).chain((base != self.name).then_some(base)).chain(self.also.iter().copied())
    }
}

/// What is done to a file on its way into the cache, so that the cache holds plain tables and arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Nothing.
    AsIs,
    /// It is unpacked, if it is a gzip file.
    Gunzip,
    /// The named arrays of labels in a PyTorch, NumPy or CSV file become a CSV file with these columns.
    Labels(&'static [&'static str]),
    /// The first sheet of a spreadsheet, or a CSV file, of whole numbers becomes a CSV file with these columns.
    WholeNumbers(&'static [&'static str]),
}

/// How far a file in the cache can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// It matches a checksum in the catalogue.
    Published,
    /// It came out of an archive that matches a checksum in the catalogue.
    Archive,
    /// Nothing to compare with: its checksum was recorded when it was first seen.
    FirstUse,
}

impl Trust {
    /// In words, for a table.
    pub fn describe(self) -> &'static str {
        match self {
            Trust::Published => "checksum of the file",
            Trust::Archive => "checksum of its archive",
            Trust::FirstUse => "not verified: checksum recorded at first use",
        }
    }
}
