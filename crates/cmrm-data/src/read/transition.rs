//! A transition matrix from a text file.

use std::path::Path;

use cmrm::Matrix;
use cmrm::noise_model::Transition;

use crate::error::{Error, Problem, Result};
use crate::table::closest;

/// How far a row's sum may be from 1: room for six decimals.
const SUM_TOLERANCE: f64 = 1e-5;
const WAY_OUT: &str = "write one row and one column for each class, with the classes named in the first row and the first column, or \
                       the numbers alone in the order of the classes; entry (row, column) is the probability that a label of the row's \
                       class is observed as the column's";

/// Reads the probabilities that labels of each class are observed as each class: a CSV file of as many rows and columns as there are
/// classes, in their order, or of one more of each, with the classes named (in any order) in the first row and the first column. Lines and
/// columns are counted from one in messages.
pub fn read_transition(path: &Path, classes: &[String]) -> Result<Transition> {
    read(path, classes).map_err(|error| error.in_file(path.display()))
}

fn read(path: &Path, classes: &[String]) -> Result<Transition> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::new(Problem::Io(error)))?;
    let cells = cells(&text)?;
    let count = classes.len();
    let wrong_shape = |found: String| {
        Error::option(format!("the transition matrix has {found}, and the data has {count} classes")).way_out(WAY_OUT)
    };
    let named = match cells.len() {
        rows if rows == count => false,
        rows if rows == count + 1 => true,
        rows => return Err(wrong_shape(format!("{rows} rows"))),
    };
    let wide = count + usize::from(named);
    if let Some(line) = cells.iter().position(|row| row.len() != wide) {
        return Err(wrong_shape(format!("{} cells in row {} where {wide} are needed", cells[line].len(), line + 1)));
    }
    let (rows, columns) = match named {
        true => {
            let down: Vec<&str> = cells[1..].iter().map(|row| row[0].as_str()).collect();
            let across: Vec<&str> = cells[0][1..].iter().map(String::as_str).collect();
            (order(&down, classes, "first column")?, order(&across, classes, "first row")?)
        }
        false => ((0..count).collect(), (0..count).collect()),
    };
    let shift = usize::from(named);
    let mut entries = vec![0.0; count * count];
    for (at, &class) in rows.iter().enumerate() {
        let line = at + shift + 1;
        let mut sum = 0.0;
        for (from, &observed) in columns.iter().enumerate() {
            let cell = &cells[at + shift][from + shift];
            let number = cell.parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
            let number = number.ok_or_else(|| {
                let column = from + shift + 1;
                Error::option(format!(
                    "'{cell}' in row {line}, column {column} (how often '{}' is observed as '{}') is not a probability between 0 and 1",
                    classes[class], classes[observed]
                ))
            })?;
            entries[class * count + observed] = number;
            sum += number;
        }
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            let sum = (1e6 * sum).round() / 1e6;
            return Err(Error::option(format!(
                "row {line} (class '{}') sums to {sum}, and every row must sum to 1",
                classes[class]
            ))
            .way_out("divide the row by its sum; rows are true classes, columns what they are observed as"));
        }
    }
    let matrix = Matrix::new(&entries, count.max(1)).and_then(Transition::new);
    matrix.map_err(|error| Error::option(error.to_string()))
}

/// The cells of the lines that are not empty, separated by the first of comma, semicolon and tab that the first line has.
fn cells(text: &str) -> Result<Vec<Vec<String>>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let delimiter = [b',', b';', b'\t'].into_iter().find(|&byte| first.contains(char::from(byte))).unwrap_or(b',');
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).flexible(true).trim(csv::Trim::All).delimiter(delimiter);
    let mut cells = Vec::new();
    for record in reader.from_reader(text.as_bytes()).records() {
        let malformed = |error: csv::Error| Problem::Malformed { format: "CSV", what: error.to_string() };
        cells.push(record.map_err(|error| Error::new(malformed(error)))?.iter().map(str::to_owned).collect());
    }
    if cells.is_empty() {
        return Err(Error::new(Problem::Empty("the transition matrix".into())).way_out(WAY_OUT));
    }
    Ok(cells)
}

/// The classes that these are the names of.
fn order(names: &[&str], classes: &[String], place: &str) -> Result<Vec<usize>> {
    let mut found = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let Some(class) = classes.iter().position(|class| class == name) else {
            let near = closest(name, classes).first().map(|near| format!(", did you mean '{near}'?"));
            return Err(Error::option(format!(
                "'{name}', name {} in the {place}, is not a class of the data{}",
                at + 1,
                near.unwrap_or_default()
            ))
            .way_out(format!("the classes are {}", crate::error::quoted(classes))));
        };
        if found.contains(&class) {
            return Err(Error::option(format!("the {place} names the class '{name}' twice")));
        }
        found.push(class);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, classes: &[&str]) -> std::result::Result<Transition, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("T.csv");
        crate::files::write_atomically::<_, std::io::Error>(&path, |file| {
            std::io::Write::write_all(file, text.as_bytes())
        })
        .unwrap();
        let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
        read_transition(&path, &classes).map_err(|error| error.to_string())
    }

    #[test]
    fn with_names_or_without_the_same_matrix_is_read() {
        let classes = ["cat", "dog", "7"];
        let plain = read_text("0.9,0.1,0\n0.2,0.7,0.1\n0,0.25,0.75\n", &classes).unwrap();
        for text in [
            ",dog,cat,7\n7,0.25,0,0.75\ncat,0.1,0.9,0\ndog,0.7,0.2,0.1\n",
            "\u{feff}true;cat;dog;7\r\ncat; 0.9; 0.1; 0\r\n\r\ndog;0.2;0.7;0.1\r\n7;0;0.25;0.75\r\n",
        ] {
            assert_eq!(read_text(text, &classes).unwrap(), plain);
        }
        assert_eq!((plain.probability(1, 0), plain.probability(2, 1)), (0.2, 0.25));
        // Classes that are numbers: the shape tells names from entries.
        let numbers = read_text(",1,0\n1,0.8,0.2\n0,0.1,0.9\n", &["0", "1"]).unwrap();
        assert_eq!(numbers.row(0), [0.9, 0.1]);
    }

    #[test]
    fn what_is_no_matrix_is_refused_with_its_place() {
        for (text, expected) in [
            ("", "the transition matrix is empty"),
            ("0.9,0.1\n", "has 1 rows, and the data has 2 classes"),
            ("0.9,0.1\n0.2\n", "1 cells in row 2 where 2 are needed"),
            ("0.9,0.1\n0.2,much\n", "'much' in row 2, column 2 (how often 'dog' is observed as 'dog')"),
            ("0.9,0.1\n1.2,-0.2\n", "'1.2' in row 2, column 1"),
            ("0.9,0.1\n0.2,0.7\n", "row 2 (class 'dog') sums to 0.9, and every row must sum to 1"),
            (
                ",cat,dog\ncat,0.9,0.1\ndgo,0.2,0.8\n",
                "'dgo', name 2 in the first column, is not a class of the data, did you mean 'dog'?",
            ),
            (",cat,cat\ncat,0.9,0.1\ndog,0.2,0.8\n", "the first row names the class 'cat' twice"),
            ("0.5,0.5\n0.5,0.5\n", "it has no inverse"),
        ] {
            let error = read_text(text, &["cat", "dog"]).unwrap_err();
            assert!(error.contains(expected) && error.contains("T.csv"), "{error}");
        }
    }
}
