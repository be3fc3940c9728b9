//! Tables from the UCI Machine Learning Repository.

use super::uci_columns::{ADULT_COLUMNS, CREDIT_COLUMNS, CREDIT_NAMES, SPAMBASE_COLUMNS};
use crate::{Download, Entry, File, Form, Layout, Packing, TextLayout};

const MB: u64 = 1 << 20;

pub(super) const ADULT: Entry = Entry {
    name: "adult",
    title: "does a person earn more than 50,000 dollars a year? United States census of 1994",
    homepage: "https://archive.ics.uci.edu/dataset/2/adult",
    licence: "CC BY 4.0",
    citation: "Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository. https://doi.org/10.24432/C5XW20",
    train_rows: 32_561,
    test_rows: 16_281,
    columns: 14,
    classes: 2,
    needs: &[],
    downloads: &[Download {
        urls: &["https://archive.ics.uci.edu/static/public/2/adult.zip"],
        name: "adult.zip",
        packing: Packing::Zip,
        sha256: None,
        bytes: None,
        max_bytes: 32 * MB,
        files: &[
            File {
                member: "adult.data",
                name: "adult.data",
                also: &[],
                form: Form::AsIs,
                sha256: Some("5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),
                bytes: Some(3_974_305),
                max_bytes: 16 * MB,
            },
            File {
                member: "adult.test",
                name: "adult.test",
                also: &[],
                form: Form::AsIs,
                sha256: Some("a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"),
                bytes: Some(2_003_153),
                max_bytes: 16 * MB,
            },
        ],
    }],
    layout: Layout::Text(&TextLayout {
        train: "adult.data",
        test: Some("adult.test"),
        header: false,
        comment: Some(b'|'),
        missing: Some("?"),
        columns: ADULT_COLUMNS,
        // Only the test file ends its labels with a point.
        label_suffix: ".",
        classes: &[("<=50K", "<=50K"), (">50K", ">50K")],
    }),
    note: "Missing cells in 3,620 rows (workclass, occupation, native-country); without them 45,222 rows remain.",
};

pub(super) const SPAMBASE: Entry = Entry {
    name: "spambase",
    title: "is an e-mail spam? Word and character frequencies",
    homepage: "https://archive.ics.uci.edu/dataset/94/spambase",
    licence: "CC BY 4.0",
    citation: "Hopkins, M., Reeber, E., Forman, G. and Suermondt, J. (1999). Spambase. \
               UCI Machine Learning Repository. https://doi.org/10.24432/C53G6X",
    train_rows: 4_601,
    test_rows: 0,
    columns: 57,
    classes: 2,
    needs: &[],
    downloads: &[Download {
        urls: &["https://archive.ics.uci.edu/static/public/94/spambase.zip"],
        name: "spambase.zip",
        packing: Packing::Zip,
        sha256: None,
        bytes: None,
        max_bytes: 16 * MB,
        files: &[File {
            member: "spambase.data",
            name: "spambase.data",
            also: &[],
            form: Form::AsIs,
            sha256: Some("b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12"),
            bytes: Some(702_942),
            max_bytes: 4 * MB,
        }],
    }],
    layout: Layout::Text(&TextLayout {
        train: "spambase.data",
        test: None,
        header: false,
        comment: None,
        missing: None,
        columns: SPAMBASE_COLUMNS,
        label_suffix: "",
        classes: &[("0", "non-spam"), ("1", "spam")],
    }),
    note: "The rows are sorted by class: shuffle before splitting.",
};

pub(super) const CREDIT_DEFAULT: Entry = Entry {
    name: "credit-default",
    title: "does a credit card client default next month? Taiwan, 2005",
    homepage: "https://archive.ics.uci.edu/dataset/350/default+of+credit+card+clients",
    licence: "CC BY 4.0",
    citation: "Yeh, I. (2009). Default of Credit Card Clients. \
               UCI Machine Learning Repository. https://doi.org/10.24432/C55S3H",
    train_rows: 30_000,
    test_rows: 0,
    columns: 23,
    classes: 2,
    needs: &[],
    downloads: &[Download {
        urls: &["https://archive.ics.uci.edu/static/public/350/default+of+credit+card+clients.zip"],
        name: "default+of+credit+card+clients.zip",
        packing: Packing::Zip,
        sha256: None,
        bytes: None,
        max_bytes: 32 * MB,
        files: &[File {
            member: "default of credit card clients.xls",
            name: "credit-default.csv",
            also: &["default of credit card clients.csv", "default_credit_card_clients.csv"],
            form: Form::WholeNumbers(CREDIT_NAMES),
            sha256: Some("f6c131c25f5ea6716c1439d986550832a5ba1ed218fbbfc3013bb92bb78dcee2"),
            bytes: Some(2_867_189),
            max_bytes: 16 * MB,
        }],
    }],
    layout: Layout::Text(&TextLayout {
        train: "credit-default.csv",
        test: None,
        header: true,
        comment: None,
        missing: None,
        columns: CREDIT_COLUMNS,
        label_suffix: "",
        classes: &[("0", "non-default"), ("1", "default")],
    }),
    note: "Published as a spreadsheet, kept as CSV. Its content is what is checked, so a CSV copy (ID first, label last) will do.",
};
