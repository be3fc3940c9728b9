//! Data sets that are part of the program, as gzipped CSV. The folder `assets` says where they come from.

/// Handwritten digits: a header, 1797 rows of 64 pixels from 0 to 16, and the digit.
pub const DIGITS_CSV_GZ: &[u8] = include_bytes!("../assets/digits.csv.gz");

/// Breast tumours: a header, 569 rows of 30 measures, and `malignant` or `benign`.
pub const BREAST_CANCER_CSV_GZ: &[u8] = include_bytes!("../assets/breast-cancer.csv.gz");
