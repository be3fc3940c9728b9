//! How the files of a data set become features and labels.

use cmrm_data::table::Kind;

/// How the files of a data set become features and labels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Layout {
    /// A gzipped CSV file inside the program, with the label in its last column.
    Embedded {
        /// The bytes of the file.
        csv_gz: &'static [u8],
        /// Rows are images of this height and width, in shades of grey.
        image: Option<(usize, usize)>,
        /// Names of the classes, in order of their index.
        classes: &'static [&'static str],
    },
    /// Text files of separated cells.
    Text(&'static TextLayout),
    /// Images and labels in IDX files.
    Idx {
        /// Images and labels of the training part.
        train: [&'static str; 2],
        /// Images and labels of the test part.
        test: [&'static str; 2],
        /// Names of the classes, in order of their index.
        classes: &'static [&'static str],
    },
    /// CIFAR's binary records: one or more label bytes, then 3 × 32 × 32 pixels.
    Cifar {
        /// The files of the training part, in order.
        train: &'static [&'static str],
        /// The file of the test part.
        test: &'static str,
        /// The labels of a record, in the order of its first bytes.
        labels: &'static [LabelSet],
    },
    /// Other labels for the training part of another entry.
    Relabelled {
        /// The entry with the images.
        base: &'static str,
        /// The CSV file with the labels, one column each.
        file: &'static str,
        /// Column with the labels that the base has.
        clean: &'static str,
        /// Names of the label sets and their columns; the first is the default.
        columns: &'static [(&'static str, &'static str)],
    },
}

/// One of several kinds of label that a record carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelSet {
    /// What a user calls it.
    pub name: &'static str,
    /// Names of the classes, in order of their index.
    pub classes: &'static [&'static str],
}

/// Text files of separated cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextLayout {
    /// The file of the training part.
    pub train: &'static str,
    /// The file of the test part, if the makers publish a split.
    pub test: Option<&'static str>,
    /// Whether the first line holds names.
    pub header: bool,
    /// A line that starts with this says nothing about the data.
    pub comment: Option<u8>,
    /// The text of a missing cell.
    pub missing: Option<&'static str>,
    /// The columns, in order.
    pub columns: &'static [(&'static str, Role)],
    /// Taken off the end of a label, where some lines have it.
    pub label_suffix: &'static str,
    /// Labels in the file and the names of their classes, in order of their index.
    pub classes: &'static [(&'static str, &'static str)],
}

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A feature of that kind.
    Feature(Kind),
    /// The label.
    Label,
    /// Names the row.
    Id,
}
