//! Which format a file has.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::cifar::{CIFAR10_RECORD, CIFAR100_RECORD};
use super::source::{io_error, read_head};
use super::{ReadOptions, Source, arrow, idx, json, sparse};
use crate::error::{Error, Problem, Result};

/// How names of text files end, before `.gz` or `.zst`.
const TEXT_ENDINGS: [&str; 3] = [".csv", ".tsv", ".tab"];
/// How names of JSON files end, before `.gz` or `.zst`.
const JSON_ENDINGS: [&str; 3] = [".jsonl", ".ndjson", ".json"];
/// How names of Arrow files and streams end, before `.gz` or `.zst`.
const ARROW_ENDINGS: [&str; 4] = [".arrow", ".arrows", ".feather", ".ipc"];
/// How names of svmlight files end, before `.gz` or `.zst`.
const SVMLIGHT_ENDINGS: [&str; 3] = [".svm", ".svmlight", ".libsvm"];

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Text with a delimiter.
    Csv,
    /// JSON Lines, or a JSON array of objects.
    Json,
    /// Parquet.
    Parquet,
    /// An Arrow IPC file (Feather version 2) or stream.
    Arrow,
    /// A NumPy array.
    Npy,
    /// Several NumPy arrays in an archive.
    Npz,
    /// Sparse rows as text, with their labels: svmlight's and libsvm's format.
    Svmlight,
    /// A matrix as text, sparse or dense: Matrix Market's format.
    Mtx,
    /// MNIST's format.
    Idx,
    /// CIFAR-10's binary format.
    Cifar10,
    /// CIFAR-100's binary format.
    Cifar100,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 11] = [
        Format::Csv,
        Format::Json,
        Format::Parquet,
        Format::Arrow,
        Format::Npy,
        Format::Npz,
        Format::Svmlight,
        Format::Mtx,
        Format::Idx,
        Format::Cifar10,
        Format::Cifar100,
    ];

    /// The format's name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Npy => "npy",
            Format::Npz => "npz",
            Format::Svmlight => "svmlight",
            Format::Mtx => "mtx",
            Format::Idx => "idx",
            Format::Cifar10 => "cifar10",
            Format::Cifar100 => "cifar100",
        }
    }

    /// Picks the format by the first bytes, unpacked if need be; CIFAR's files, which start with a picture, by their
    /// name and length.
    pub fn detect(source: &Source, options: &ReadOptions) -> Result<Format> {
        let head = source.open_unpacked(&options.limits).and_then(|reader| read_head(reader, 1024).map_err(io_error));
        let head = head.map_err(|error| error.in_file(source.name()))?;
        let length = source.len()?;
        let records = |size: usize| length > 0 && length.is_multiple_of(size as u64);
        let name = source.name().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        let format = match &head[..] {
            [] => return Err(Error::new(Problem::Empty("the file".into())).in_file(source.name())),
            head if head.starts_with(b"\x93NUMPY") => Format::Npy,
            head if head.starts_with(b"PAR1") => Format::Parquet,
            head if arrow::is_arrow(head) => Format::Arrow,
            head if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") => Format::Npz,
            head if sparse::is_matrix_market(head) => Format::Mtx,
            _ if name.ends_with(".bin") && records(CIFAR10_RECORD) => Format::Cifar10,
            _ if name.ends_with(".bin") && records(CIFAR100_RECORD) => Format::Cifar100,
            head if idx::is_idx(head) => Format::Idx,
            // The extension counts where the content says nothing, so that the right reader says what is wrong.
            _ if name.ends_with(".parquet") => Format::Parquet,
            _ if name.ends_with(".npy") => Format::Npy,
            _ if name.ends_with(".npz") => Format::Npz,
            _ if name.ends_with(".mtx") => Format::Mtx,
            _ if ends(&SVMLIGHT_ENDINGS) => Format::Svmlight,
            _ if ends(&ARROW_ENDINGS) => Format::Arrow,
            _ if ends(&JSON_ENDINGS) => Format::Json,
            head if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) => Format::Csv,
            _ if ends(&TEXT_ENDINGS) => Format::Csv,
            head if json::is_json(head) => Format::Json,
            head if sparse::is_svmlight(head) => Format::Svmlight,
            // Whatever it holds, this is text.
            _ if name.ends_with(".txt") => Format::Csv,
            head if head.contains(&0) => {
                return Err(Error::malformed("data", "its first bytes match no known format")
                    .in_file(source.name())
                    .way_out(format!("state the format: {}", Format::ALL.map(Format::name).join(", "))));
            }
            _ => Format::Csv,
        };
        Ok(format)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        // Delimiters are detected within text, lines and arrays within JSON, files and streams within Arrow.
        let wanted = match text {
            "tsv" | "txt" => "csv",
            "jsonl" | "ndjson" => "json",
            "feather" | "ipc" => "arrow",
            "svm" | "libsvm" => "svmlight",
            text => text,
        };
        Format::ALL.into_iter().find(|format| format.name() == wanted).ok_or_else(|| {
            let names = Format::ALL.map(Format::name).join(", ");
            Error::option(format!("unknown format '{text}'; expected one of {names}"))
        })
    }
}
