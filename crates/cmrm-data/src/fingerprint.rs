//! Fingerprints: of the data that a model saw, and of the rows that a file holds.

use std::fmt;

use crate::files::text::hex;
use cmrm::{OwnedRows, SparseRow, SparseRows};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::dataset::{Array, Dataset, Features, Input};
use crate::read::TextOptions;
use crate::table::{Column, Guess, Kind, Settled, Values, date, number as written_number, parse_boolean};

/// Bytes hashed at a time.
const BLOCK: usize = 1 << 14;

/// Bytes of a fingerprint of rows: enough against chance, and short enough to be a cell of every decision.
const ROWS_BYTES: usize = 8;

/// A SHA-256 checksum in hexadecimal digits: 64 of them for features, labels and class names, 16 for rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub String);

impl Fingerprint {
    /// The fingerprint of a data set. It depends on every bit of the features, on the order of the rows, and on the
    /// labels' names, but not on the file format the data came from nor on the names of the features.
    pub fn of(data: &Dataset) -> Self {
        // Sparse rows count by the numbers that they keep and where these stand.
        let places = match &data.features {
            OwnedRows::Dense { .. } => Vec::new(),
            OwnedRows::Sparse(rows) => {
                rows.view().iter_rows().flat_map(|row| row.columns.iter().copied().chain([u32::MAX])).collect()
            }
        };
        let features = data.features.values().iter().copied();
        Self::of_numbers(
            features.chain(places.into_iter().map(f32::from_bits)),
            data.width(),
            &data.labels,
            &data.classes,
        )
    }

    /// The same of rows of `width` bytes, as of a data set that holds them as numbers.
    pub fn of_bytes(bytes: &[u8], width: usize, labels: &[u32], classes: &[String]) -> Self {
        Self::of_numbers(bytes.iter().map(|&byte| f32::from(byte)), width, labels, classes)
    }

    /// Which rows the data holds, in which order: the cells of every column but the labels. It tells whether a row number
    /// still means the row that it meant, and it stays when labels are corrected. Neither the file's name and format nor
    /// the names and order of the columns count, and a number or date counts by its value, however it is written.
    ///
    /// Nothing if the reader left columns out: whoever reads the file in full would get another fingerprint.
    pub fn of_rows(input: &Input) -> Option<Self> {
        match &input.features {
            Features::Table(table) if table.skipped().is_empty() => {
                Some(Self::of_columns(table.columns().iter().chain(&input.ids)))
            }
            Features::Table(_) => None,
            Features::Array(array) => Some(Self::of_digests(array.rows(), array_digests(array))),
            Features::Sparse(array) => Some(Self::of_digests(array.rows.rows(), sparse_digests(&array.rows))),
        }
    }

    /// The same of columns, the one of the labels left out by the caller.
    pub fn of_columns<'a>(columns: impl Iterator<Item = &'a Column>) -> Self {
        let mut rows = 0;
        let digests = columns.map(|column| {
            rows = column.len();
            column_digest(column)
        });
        let digests = digests.collect();
        Self::of_digests(rows, digests)
    }

    fn of_digests(rows: usize, mut digests: Vec<u64>) -> Self {
        digests.sort_unstable();
        let mut hash = Sha256::new();
        hash.update(b"cmrm rows 1\0");
        hash.update((rows as u64).to_le_bytes());
        digests.iter().for_each(|digest| hash.update(digest.to_le_bytes()));
        Fingerprint(hex(&hash.finalize()[..ROWS_BYTES]))
    }

    fn of_numbers(features: impl Iterator<Item = f32>, width: usize, labels: &[u32], classes: &[String]) -> Self {
        let mut rows = RowsSeen::new(labels.len(), width);
        features.for_each(|value| rows.add_number(value.to_le_bytes()));
        rows.finish(labels, classes)
    }
}

/// [`Fingerprint::of`] dense rows that come one after the other.
#[derive(Debug, Clone)]
pub struct RowsSeen {
    hash: Sha256,
    block: Vec<u8>,
}

impl RowsSeen {
    /// Of so many rows to come.
    pub fn new(rows: usize, width: usize) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"cmrm data 1\0");
        hash.update((rows as u64).to_le_bytes());
        hash.update((width as u64).to_le_bytes());
        RowsSeen { hash, block: Vec::with_capacity(BLOCK) }
    }

    /// The features of the next rows.
    pub fn add(&mut self, features: &[f32]) {
        features.iter().for_each(|value| self.add_number(value.to_le_bytes()));
    }

    fn add_number(&mut self, bytes: [u8; 4]) {
        self.block.extend_from_slice(&bytes);
        if self.block.len() >= BLOCK {
            self.hash.update(&self.block);
            self.block.clear();
        }
    }

    /// The fingerprint, once all rows were added; their labels are indices of the classes.
    pub fn finish(mut self, labels: &[u32], classes: &[String]) -> Fingerprint {
        labels.iter().for_each(|label| self.add_number(label.to_le_bytes()));
        self.hash.update(&self.block);
        for class in classes {
            // The length keeps `["ab", "c"]` apart from `["a", "bc"]`.
            self.hash.update((class.len() as u64).to_le_bytes());
            self.hash.update(class.as_bytes());
        }
        Fingerprint(hex(&self.hash.finalize()))
    }
}

/// What a missing cell counts as; no number or text is likely to.
pub(crate) const MISSING: u64 = 0x6d69_7373_696e_6721;

fn column_digest(column: &Column) -> u64 {
    let mut digest = 0;
    let mut add = |of: &dyn Fn(usize) -> u64| {
        for row in 0..column.len() {
            mix(&mut digest, if column.missing.at(row) { MISSING } else { of(row) });
        }
    };
    match &column.values {
        Values::Numeric(values) => add(&|row| number(values[row])),
        Values::Boolean(values) => add(&|row| boolean(values[row])),
        Values::Date(values) => add(&|row| values[row] as u64),
        Values::Categorical { codes, levels } => {
            let missing = TextOptions::default().missing;
            let settled = settle(column, &missing);
            let cells: Vec<u64> = levels.iter().map(|level| text(level.trim(), &missing, &settled)).collect();
            add(&|row| cells[codes[row] as usize]);
        }
        Values::Text(values) => {
            let missing = TextOptions::default().missing;
            let settled = settle(column, &missing);
            add(&|row| text(values[row].trim(), &missing, &settled));
        }
    }
    digest
}

/// One digest for each row, of its columns and numbers: what is not there costs nothing.
fn sparse_digests(rows: &SparseRows<f32>) -> Vec<u64> {
    let of_row = |(at, row): (usize, SparseRow<'_, f32>)| {
        let mut digest = at as u64;
        for (column, value) in row.iter() {
            mix(&mut digest, column as u64);
            mix(&mut digest, number(f64::from(value)));
        }
        digest
    };
    rows.view().iter_rows().enumerate().map(of_row).collect()
}

fn array_digests(array: &Array) -> Vec<u64> {
    let mut digests = vec![0; array.width()];
    for row in array.values().chunks_exact(array.width()) {
        for (digest, &value) in digests.iter_mut().zip(row) {
            mix(digest, number(f64::from(value)));
        }
    }
    digests
}

/// What a reader makes of a column of text.
fn settle(column: &Column, missing: &[String]) -> Settled {
    let mut guess = Guess::new(&column.name);
    for cell in (0..column.len()).filter_map(|row| column.text(row)) {
        let cell = cell.trim();
        if !missing.iter().any(|token| token == cell) {
            guess.add(cell);
        }
    }
    guess.settle(None)
}

/// A cell of text counts as what a reader may have taken it for, so that it does not matter which kind it was read as.
fn text(text: &str, missing: &[String], settled: &Settled) -> u64 {
    if missing.iter().any(|token| token == text) {
        return MISSING;
    }
    let as_number = || written_number::parse(text, settled.style.decimal).map(number);
    let as_boolean = || parse_boolean(text).map(boolean);
    let as_date = || date::parse_in(text, settled.style.dates).map(|time| time as u64);
    let value = match settled.kind {
        Kind::Numeric => Some(as_number().unwrap_or(MISSING)),
        Kind::Boolean => Some(as_boolean().unwrap_or(MISSING)),
        Kind::Date => Some(as_date().unwrap_or(MISSING)),
        Kind::Categorical | Kind::Text => as_number().or_else(as_boolean).or_else(as_date),
    };
    value.unwrap_or_else(|| {
        let mut key = text.len() as u64;
        text.bytes().for_each(|byte| mix(&mut key, u64::from(byte)));
        key
    })
}

/// Both zeros are one number, and so is every NaN.
pub(crate) fn number(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() }
}

pub(crate) fn boolean(value: bool) -> u64 {
    number(f64::from(u8::from(value)))
}

/// One step of a multiplicative hash, an invertible one; the shift brings high bits down, where the next product needs
/// them. Against chance, not against malice: whoever writes decisions could as well change the labels.
pub(crate) fn mix(key: &mut u64, value: u64) {
    *key = (*key ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    *key ^= *key >> 32;
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts() {
        let data = Dataset {
            features: OwnedRows::Dense { values: vec![1.0, 2.0], width: 1 },
            feature_names: ["a".to_string()].into(),
            labels: vec![0, 1],
            classes: vec!["ab".into(), "c".into()],
            rows: vec![0, 1],
            image: None,
        };
        // Computed independently with Python's hashlib over the same bytes.
        assert_eq!(
            Fingerprint::of(&data).to_string(),
            "1739d2d94f097dd6ca73c48c4b99a25cd189f0236f1f1749aa18485017b071ef"
        );
        let bytes = Fingerprint::of_bytes(&[1, 2], 1, &data.labels, &data.classes);
        assert_eq!(bytes, Fingerprint::of(&data));
        let mut seen = RowsSeen::new(2, 1);
        [1.0, 2.0].iter().for_each(|&value| seen.add(&[value]));
        assert_eq!(seen.finish(&data.labels, &data.classes), bytes);
        let change = |edit: fn(&mut Dataset)| {
            let mut other = data.clone();
            edit(&mut other);
            Fingerprint::of(&other)
        };
        for other in [
            change(|data| data.features = OwnedRows::Dense { values: vec![-1.0, 2.0], width: 1 }),
            change(|data| data.labels.swap(0, 1)),
            change(|data| data.classes = vec!["a".into(), "bc".into()]),
        ] {
            assert_ne!(other, Fingerprint::of(&data));
        }
        assert_eq!(change(|data| data.feature_names = ["z".to_string()].into()), Fingerprint::of(&data));
    }

    #[test]
    fn rows_are_known_by_their_cells_in_their_order() {
        use crate::read::{ReadOptions, Source, read};
        use crate::table::{ColumnRef, Override};

        let of = |text: &str, options: &ReadOptions| {
            let input = read(&Source::bytes("t.csv", text.as_bytes().to_vec()), options).unwrap();
            Fingerprint::of_rows(&input)
        };
        let label = ReadOptions { label: Some(ColumnRef("y".into())), ..ReadOptions::default() };
        let text = "id,a,b,when,ok,y\n007,1.50,u,2024-05-31,yes,p\n008,NA,v,2024-06-01,no,q\n009,-0,u,,yes,p\n";
        let here = of(text, &label);
        assert_eq!(here.as_ref().unwrap().0.len(), 16);
        // Labels, the names and order of columns, how a value is written and what it was read as do not count.
        let same = "ok,y,x,day,b,id\nTRUE,q,1.5,2024/05/31,u,7\nfalse,q,,2024-06-01,v,8\ntrue,q,0,?,u,9\n";
        assert_eq!(of(same, &label), here);
        let with_id = ReadOptions { id: Some(ColumnRef("id".into())), ..label.clone() };
        assert_eq!(of(text, &with_id), here);
        let mut as_text = label.clone();
        for name in ["id", "a", "b", "when", "ok"] {
            as_text.overrides.insert(name.into(), Override::Categorical);
        }
        as_text.text.missing.clear();
        assert_eq!(of(text, &as_text), here);
        // A cell, a row more or less, another order of the rows do.
        let lines: Vec<&str> = text.lines().collect();
        for other in [
            text.replace("1.50", "1.51"),
            text.replace("u,2024", "w,2024"),
            format!("{}\n{}\n{}\n{}\n", lines[0], lines[2], lines[1], lines[3]),
            format!("{}\n{}\n{}\n", lines[0], lines[1], lines[2]),
        ] {
            assert_ne!(of(&other, &label), here, "{other}");
        }
        let mut ignoring = label.clone();
        ignoring.overrides.insert("a".into(), Override::Ignore);
        assert_eq!(of(text, &ignoring), None);
        // An array counts as a table of the same numbers.
        let array = Array::new(vec![1.0, 2.5, 3.0, 4.0], 2).unwrap();
        let input = Input { features: Features::Array(array), labels: None, ids: None, source: String::new() };
        let table = "x,y,z\n1,p,2.5\n3,q,4\n";
        assert_eq!(Fingerprint::of_rows(&input), of(table, &label));
    }
}
