//! Tables and arrays for cmrm: readers, writers and preprocessing.
//!
//! Data flows one way. A [`read::Source`] (a file, or bytes in memory) is read into an [`Input`]: features, either a
//! [`Table`] of typed columns, a dense [`Array`] or a [`SparseArray`], and perhaps a column of labels. [`Labels`] turns labels of any
//! type into class indices and keeps the names. [`preprocess::Preprocess`] learns on the training rows how columns
//! become numbers, is stored with a model as JSON, and yields a [`Dataset`]: what the training side takes.
//!
//! # Memory
//! A table read whole costs eight bytes a numeric cell, four a category, one a boolean. Chunked reading
//! ([`read::Opened::chunks`]) holds one chunk at a time. Features are `f32`: four bytes each, and four more for numeric
//! columns while medians are looked for. Sparse features cost eight bytes a number that is not zero and eight a row, and up
//! to five times as much while a file is read. No reader allocates from a size that a file merely declares; see
//! [`read::Limits`].

mod dataset;
pub mod error;
pub mod files;
mod fingerprint;
mod label_doubts;
mod labels;
pub mod preprocess;
pub mod read;
pub mod secret;
pub mod table;
pub mod write;

pub use dataset::{Array, Dataset, Features, ImageShape, Input, SparseArray};
pub use error::{Error, Place, Problem, Result};
pub use fingerprint::Fingerprint;
pub use labels::{LabelOptions, LabelledRows, Labels, MissingLabels};
pub use table::{Column, ColumnRef, Kind, Override, Table};
