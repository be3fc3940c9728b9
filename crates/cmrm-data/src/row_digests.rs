//! Rows known by what is in them, wherever they stand.

use crate::dataset::Features;
use crate::fingerprint::{MISSING, boolean, mix, number};
use crate::table::{Column, Values, made_up_name};

/// A digest of every row: of its cells in the columns that are `wanted`, by their names. The order of the columns does not count, nor
/// where the row stands; two rows with the same cells have the same digest. A sparse row counts by the numbers that are not zero, and so
/// does a row of a dense array. Against chance, not against malice.
pub fn row_digests(features: &Features, wanted: impl Fn(&str) -> bool) -> Vec<u64> {
    let mut digests = vec![0u64; features.rows()];
    match features {
        Features::Table(table) => {
            for column in table.columns().iter().filter(|column| wanted(&column.name)) {
                let name = text(&column.name);
                let cells = cells(column);
                digests.iter_mut().enumerate().for_each(|(row, digest)| add(digest, name, cells(row)));
            }
        }
        Features::Array(array) => {
            let names: Vec<u64> = (0..array.width()).map(|at| text(&made_up_name(at))).collect();
            for (digest, row) in digests.iter_mut().zip(array.values().chunks_exact(array.width())) {
                for (&name, &value) in names.iter().zip(row).filter(|(_, value)| **value != 0.0) {
                    add(digest, name, number(f64::from(value)));
                }
            }
        }
        Features::Sparse(array) => {
            for (digest, row) in digests.iter_mut().zip(array.rows.view().iter_rows()) {
                for (column, value) in row.iter().filter(|(_, value)| *value != 0.0) {
                    add(digest, text(&made_up_name(column)), number(f64::from(value)));
                }
            }
        }
    }
    digests
}

/// Adds a cell: a sum does not depend on the order.
fn add(digest: &mut u64, name: u64, cell: u64) {
    let mut both = name;
    mix(&mut both, cell);
    // Once more, so that high bits depend on all bits of the cell.
    mix(&mut both, name);
    *digest = digest.wrapping_add(both);
}

fn cells(column: &Column) -> Box<dyn Fn(usize) -> u64 + '_> {
    let levels: Vec<u64> = match &column.values {
        Values::Categorical { levels, .. } => levels.iter().map(|level| text(level.trim())).collect(),
        _ => Vec::new(),
    };
    Box::new(move |row| match &column.values {
        _ if column.missing.at(row) => MISSING,
        Values::Numeric(values) => number(values[row]),
        Values::Boolean(values) => boolean(values[row]),
        Values::Date(values) => values[row] as u64,
        Values::Categorical { codes, .. } => levels[codes[row] as usize],
        Values::Text(values) => text(values[row].trim()),
    })
}

fn text(text: &str) -> u64 {
    let mut key = text.len() as u64;
    text.bytes().for_each(|byte| mix(&mut key, u64::from(byte)));
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Array, SparseArray};
    use crate::read::{ReadOptions, Source, read};

    fn of(text: &str, wanted: &[&str]) -> Vec<u64> {
        let read = read(&Source::bytes("t.csv", text.as_bytes().to_vec()), &ReadOptions::default()).unwrap();
        row_digests(&read.features, |name| wanted.contains(&name))
    }

    #[test]
    fn a_row_is_known_wherever_it_stands() {
        let all = ["a", "b", "when", "ok"];
        let here = of("a,b,when,ok\n1.5,u,2024-05-31,yes\n,v,2024-06-01,no\n1.5,u,2024-05-31,yes\n", &all);
        assert!(here[0] == here[2] && here[0] != here[1]);
        let moved =
            of("ok,note,b,a,when\nno,x,v,?,2024-06-01\nyes,y,u,1.50,2024-05-31\nyes,z,w,1.5,2024-05-31\n", &all);
        assert_eq!(moved[..2], [here[1], here[0]]);
        assert_ne!(moved[2], here[0]);
        // Cells that have changed places are other cells.
        let swapped = of("a,b\n1,2\n2,1\n", &["a", "b"]);
        assert_ne!(swapped[0], swapped[1]);
        let unnoticed = of("a,b\n1,2\n1,3\n", &["a"]);
        assert_eq!(unnoticed[0], unnoticed[1]);
    }

    #[test]
    fn sparse_and_dense_rows_are_the_same_rows() {
        let values = vec![0.0, 2.0, 0.0, 1.0, 0.0, -0.0];
        let dense = row_digests(&Features::Array(Array::new(values, 3).unwrap()), |_| true);
        let rows = cmrm::SparseRows::new(vec![0, 1, 2], vec![1, 0], vec![2.0, 1.0], 3).unwrap();
        assert_eq!(row_digests(&Features::Sparse(SparseArray { rows, first_row: 0 }), |_| true), dense);
        assert_ne!(dense[0], dense[1]);
    }
}
