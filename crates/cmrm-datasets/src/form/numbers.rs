//! Tables of whole numbers: CSV, or the first sheet of a spreadsheet.

use super::csv;

/// First bytes of the container that `.xls` files are.
const XLS: &[u8] = &[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/// The whole table as CSV with the given names; the file's own names may differ in wording but not in number.
pub(super) fn to_csv(file: &[u8], columns: &[&str]) -> Result<String, String> {
    let rows = if file.starts_with(XLS) { from_sheet(file, columns)? } else { from_csv(file, columns)? };
    Ok(csv(columns, rows.chunks_exact(columns.len())))
}

#[cfg(feature = "xls")]
fn from_sheet(file: &[u8], columns: &[&str]) -> Result<Vec<i64>, String> {
    super::sheet::read(file, columns)
}

#[cfg(not(feature = "xls"))]
fn from_sheet(_file: &[u8], _columns: &[&str]) -> Result<Vec<i64>, String> {
    Err("a spreadsheet, which this build cannot read (cargo feature `xls`); save its first sheet as CSV and use that"
        .into())
}

/// Column by position, the header only counted: copies of the table differ in the name of the label.
fn from_csv(file: &[u8], columns: &[&str]) -> Result<Vec<i64>, String> {
    let (header, rows) = parse(file)?;
    if header.len() == columns.len() { Ok(rows) } else { Err(wrong_columns(header.len(), columns.len())) }
}

pub(super) fn wrong_columns(found: usize, expected: usize) -> String {
    format!("{found} columns, expected {expected}")
}

/// The named columns of a CSV file, row by row.
pub(super) fn select_csv(file: &[u8], columns: &[&str]) -> Result<Vec<i64>, String> {
    let (header, rows) = parse(file)?;
    let place =
        |name: &&str| header.iter().position(|title| title == name).ok_or_else(|| format!("no column '{name}'"));
    let places = columns.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    Ok(rows.chunks_exact(header.len()).flat_map(|row| places.iter().map(|&index| row[index])).collect())
}

/// Header and cells of a CSV file of whole numbers.
fn parse(file: &[u8]) -> Result<(Vec<String>, Vec<i64>), String> {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut reader = ::csv::ReaderBuilder::new().trim(::csv::Trim::All).from_reader(file);
    let header: Vec<String> = reader.headers().map_err(|error| error.to_string())?.iter().map(str::to_owned).collect();
    if header.is_empty() {
        return Err("the file is empty".into());
    }
    let mut rows = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(|error| error.to_string())?;
        for (cell, title) in record.iter().zip(&header) {
            let value =
                whole(cell).ok_or_else(|| format!("row {index}, column '{title}': '{cell}' is not a whole number"))?;
            rows.push(value);
        }
    }
    Ok((header, rows))
}

/// A whole number, possibly written with a fraction of zero, as spreadsheets and data frames do.
fn whole(cell: &str) -> Option<i64> {
    cell.parse().ok().or_else(|| as_whole(cell.parse().ok()?))
}

/// A float that is a whole number, exactly.
pub(super) fn as_whole(value: f64) -> Option<i64> {
    // Up to 2^53 every whole float stands for one integer.
    (value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0).then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wording_line_ends_and_fractions_do_not_matter() {
        let plain = to_csv(b"ID,Default\n1,0\n2,-1\n", &["id", "label"]);
        assert_eq!(plain, Ok("id,label\n1,0\n2,-1\n".to_owned()));
        assert_eq!(to_csv(b"\xef\xbb\xbf\"ID\", y\r\n1.0, 0\r\n2,-1.0\r\n", &["id", "label"]), plain);
    }

    #[test]
    fn says_where_a_cell_is_wrong() {
        let message = to_csv(b"ID,Default\n1,0\n2,yes\n", &["id", "label"]).unwrap_err();
        assert_eq!(message, "row 1, column 'Default': 'yes' is not a whole number");
        assert_eq!(to_csv(b"a\n1\n", &["id", "label"]), Err("1 columns, expected 2".to_owned()));
        assert!(to_csv(b"a,b\n1\n", &["id", "label"]).is_err());
        assert!(to_csv(b"", &["id", "label"]).is_err());
    }
}
