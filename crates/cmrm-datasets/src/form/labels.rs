//! Human labels: a dictionary of arrays in a PyTorch or NumPy file, or the same as CSV.

use super::csv;
use super::numbers::select_csv;
use crate::pickle::named_arrays;

/// The named columns of `file`, one row per image, as CSV.
pub(super) fn to_csv(file: &[u8], columns: &[&str]) -> Result<String, String> {
    let binary = file.starts_with(b"PK") || file.starts_with(b"\x80") || file.starts_with(b"\x93NUMPY");
    if !binary {
        let rows = select_csv(file, columns)?;
        return Ok(csv(columns, rows.chunks_exact(columns.len())));
    }
    let arrays = named_arrays(file, columns)?;
    let length = arrays.first().map_or(0, Vec::len);
    if let Some(index) = arrays.iter().position(|array| array.len() != length) {
        let found = arrays[index].len();
        return Err(format!("'{}' has {found} labels, '{}' has {length}", columns[index], columns[0]));
    }
    let rows: Vec<i64> = (0..length).flat_map(|row| arrays.iter().map(move |array| array[row])).collect();
    Ok(csv(columns, rows.chunks_exact(columns.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pickle_and_a_csv_of_the_same_labels_agree() {
        // {'a': [1, 2], 'b': [3, 4]} as Python's pickle writes it.
        let pickle =
            b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01K\x02eX\x01\x00\x00\x00bq\x03]q\x04(K\x03K\x04eu.";
        let expected = Ok("b,a\n3,1\n4,2\n".to_owned());
        assert_eq!(to_csv(pickle, &["b", "a"]), expected);
        assert_eq!(to_csv(b"a,other,b\r\n1,9,3\r\n2,9,4\r\n", &["b", "a"]), expected);
    }

    #[test]
    fn arrays_of_differing_length_are_refused() {
        let pickle = b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01K\x02eX\x01\x00\x00\x00bq\x03]q\x04K\x03au.";
        assert_eq!(to_csv(pickle, &["a", "b"]), Err("'b' has 1 labels, 'a' has 2".to_owned()));
    }
}
