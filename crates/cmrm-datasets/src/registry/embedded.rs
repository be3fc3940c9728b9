//! The sets that are part of the program.

use crate::embedded;
use crate::{Entry, Layout};

pub(super) const DIGITS: Entry = Entry {
    name: "digits",
    title: "handwritten digits, 8 × 8 pixels in 17 shades",
    homepage: "https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
    licence: "CC BY 4.0",
    citation: "Alpaydin, E. and Kaynak, C. (1998). Optical Recognition of Handwritten Digits. \
               UCI Machine Learning Repository. https://doi.org/10.24432/C50P49",
    train_rows: 1_797,
    test_rows: 0,
    columns: 64,
    classes: 10,
    needs: &[],
    downloads: &[],
    layout: Layout::Embedded {
        csv_gz: embedded::DIGITS_CSV_GZ,
        image: Some((8, 8)),
        classes: &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
    },
    note: "The test part of the original: 13 writers.",
};

pub(super) const BREAST_CANCER: Entry = Entry {
    name: "breast-cancer",
    title: "breast tumours, measured on images of cell nuclei (Wisconsin, diagnostic)",
    homepage: "https://archive.ics.uci.edu/dataset/17/breast+cancer+wisconsin+diagnostic",
    licence: "CC BY 4.0",
    citation: "Wolberg, W., Mangasarian, O., Street, N. and Street, W. (1993). Breast Cancer Wisconsin (Diagnostic). \
               UCI Machine Learning Repository. https://doi.org/10.24432/C5DW2B",
    train_rows: 569,
    test_rows: 0,
    columns: 30,
    classes: 2,
    needs: &[],
    downloads: &[],
    layout: Layout::Embedded { csv_gz: embedded::BREAST_CANCER_CSV_GZ, image: None, classes: &["malignant", "benign"] },
    note: "",
};
