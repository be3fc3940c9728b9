//! Labels of any type as class indices, with their names kept.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Problem, Result};
use crate::table::number::MOST_EXACT;
use crate::table::{Column, Values, closest, is_nan};

/// What to do with a row that has no label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingLabels {
    /// Refuse the data.
    #[default]
    Refuse,
    /// Keep the row aside as unlabelled.
    HoldOut,
}

/// How labels are read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelOptions {
    /// What to do with a row that has no label.
    pub missing: MissingLabels,
    /// The classes, if a model has fixed them; otherwise they are the labels that occur.
    pub classes: Option<Vec<String>>,
    /// Whether a row whose label is none of these classes is kept aside; otherwise the data is refused.
    pub hold_out_unknown: bool,
}

/// Class indices and the names that belong to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// Class index of each labelled row.
    pub indices: Vec<u32>,
    /// Names of the classes: in numeric order if every one is a number, else in the order of their code points.
    pub classes: Vec<String>,
}

/// Labels, and the rows they belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledRows {
    /// The labels of `rows`.
    pub labels: Labels,
    /// Positions of the labelled rows, in order.
    pub rows: Vec<usize>,
    /// Positions of the rows without a label, in order; empty unless they are held out.
    pub unlabelled: Vec<usize>,
    /// Positions of the rows whose label is none of the classes, in order; empty unless they are held out.
    pub unknown: Vec<usize>,
}

impl LabelledRows {
    /// Turns a column into class indices. `first_row` is the column's first row in its file, for messages.
    pub fn encode(column: &Column, first_row: u64, options: &LabelOptions) -> Result<Self> {
        let (codes, levels) = codes_of(column);
        let mut rows = Vec::with_capacity(codes.len());
        let mut unlabelled = Vec::new();
        // What programs write for nothing, unless a model has a class of that name.
        let is_class = |level: &String| options.classes.as_ref().is_some_and(|classes| classes.contains(level));
        let is_none: Vec<bool> = levels.iter().map(|level| is_nan(level) && !is_class(level)).collect();
        let mut used = vec![false; levels.len()];
        for (row, &code) in codes.iter().enumerate() {
            if !column.missing.at(row) && !is_none[code as usize] {
                used[code as usize] = true;
                rows.push(row);
            } else if options.missing == MissingLabels::HoldOut {
                unlabelled.push(row);
            } else {
                return Err(Error::new(Problem::MissingLabel)
                    .at_row(first_row + row as u64)
                    .in_column(&*column.name)
                    .way_out("fill it in, delete the row, or set rows without a label aside (--hold-out-unlabelled)"));
            }
        }
        let (classes, index_of_level) = match &options.classes {
            Some(classes) => (classes.clone(), known_classes(classes, &levels)),
            None => found_classes(&levels, &used),
        };
        if options.classes.is_none() {
            match classes.as_slice() {
                [] => {
                    return Err(Error::new(Problem::Empty("the label column".into())).in_column(&*column.name));
                }
                [class] => {
                    return Err(Error::new(Problem::OneClass { class: class.clone() })
                        .in_column(&*column.name)
                        .way_out("check that this is the label column"));
                }
                _ => {}
            }
        }
        let mut unknown = Vec::new();
        if options.hold_out_unknown {
            let known = |row: &usize| index_of_level[codes[*row] as usize].is_some();
            (rows, unknown) = rows.into_iter().partition(known);
        }
        let mut indices = Vec::with_capacity(rows.len());
        for &row in &rows {
            let level = codes[row] as usize;
            indices.push(index_of_level[level].ok_or_else(|| {
                let label = levels[level].clone();
                let near = closest(&label, &classes);
                Error::new(Problem::UnknownLabel { label, classes: classes.len(), near })
                    .at_row(first_row + row as u64)
                    .in_column(&*column.name)
                    .way_out("correct the label, or fit on data that has this class")
            })?);
        }
        Ok(LabelledRows { labels: Labels { indices, classes }, rows, unlabelled, unknown })
    }
}

/// The column's cells as codes into a list of texts; missing cells have code zero.
fn codes_of(column: &Column) -> (Vec<u32>, Vec<String>) {
    if let Values::Categorical { codes, levels } = &column.values {
        return (codes.clone(), levels.clone());
    }
    let mut levels = Vec::new();
    let mut known: HashMap<String, u32> = HashMap::new();
    let codes = (0..column.len())
        .map(|row| match column.text(row) {
            None => 0,
            Some(text) => *known.entry(text.into_owned()).or_insert_with_key(|text| {
                levels.push(text.clone());
                levels.len() as u32 - 1
            }),
        })
        .collect();
    (codes, levels)
}

/// The class of each level: the one of that name, or else the only one that is the same number, as `1` is `1.0`.
fn known_classes(classes: &[String], levels: &[String]) -> Vec<Option<u32>> {
    let index: HashMap<&str, u32> = classes.iter().map(String::as_str).zip(0..).collect();
    let numbers: Vec<Option<f64>> = classes.iter().map(|class| exact_number(class)).collect();
    let same_number = |level: &String| {
        let number = exact_number(level)?;
        let mut same = (0..classes.len()).filter(|&class| numbers[class] == Some(number));
        same.next().filter(|_| same.next().is_none()).map(|class| class as u32)
    };
    levels.iter().map(|level| index.get(level.as_str()).copied().or_else(|| same_number(level))).collect()
}

/// The number that a label is, if it is one that no other is rounded to.
pub(crate) fn exact_number(label: &str) -> Option<f64> {
    label.trim().parse().ok().filter(|number: &f64| number.abs() < MOST_EXACT)
}

/// The levels that occur, in order, and the place of each level among them.
fn found_classes(levels: &[String], used: &[bool]) -> (Vec<String>, Vec<Option<u32>>) {
    let mut order: Vec<usize> = (0..levels.len()).filter(|&level| used[level]).collect();
    // A level that does not occur may be any number.
    let number = |level: usize| if used[level] { levels[level].parse().ok() } else { Some(0.0) };
    let numbers: Option<Vec<f64>> =
        (0..levels.len()).map(|level| number(level).filter(|value: &f64| !value.is_nan())).collect();
    match numbers {
        // `1` and `1.0` are two labels with one number: their text decides then.
        Some(numbers) => order.sort_by(|&a, &b| {
            numbers[a].partial_cmp(&numbers[b]).unwrap_or(Ordering::Equal).then_with(|| levels[a].cmp(&levels[b]))
        }),
        None => order.sort_by(|&a, &b| levels[a].cmp(&levels[b])),
    }
    let mut index = vec![None; levels.len()];
    for (place, &level) in order.iter().enumerate() {
        index[level] = Some(place as u32);
    }
    (order.into_iter().map(|level| levels[level].clone()).collect(), index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{ColumnBuilder, Kind};

    fn with_gap(cells: &[Option<&str>]) -> Column {
        let mut builder = ColumnBuilder::new(Kind::Categorical);
        for cell in cells {
            match cell {
                Some(text) => builder.push_name(text),
                None => builder.push_missing(),
            }
        }
        builder.finish("y")
    }

    #[test]
    fn numbers_sort_as_numbers_and_names_as_names() {
        let encode = |cells: &[&str]| {
            LabelledRows::encode(&Column::categorical("y", cells), 0, &LabelOptions::default()).unwrap().labels
        };
        let labels = encode(&["10", "9", "10", "-1"]);
        assert_eq!((labels.classes, labels.indices), (vec!["-1".into(), "9".into(), "10".into()], vec![2, 1, 2, 0]));
        let labels = encode(&["b", "10", "a", "b"]);
        assert_eq!((labels.classes, labels.indices), (vec!["10".into(), "a".into(), "b".into()], vec![2, 0, 1, 2]));
        let numeric = Column::numeric("y", vec![1.0, 0.0, 1.0]);
        let labels = LabelledRows::encode(&numeric, 0, &LabelOptions::default()).unwrap().labels;
        assert_eq!((labels.classes, labels.indices), (vec!["0".into(), "1".into()], vec![1, 0, 1]));
    }

    #[test]
    fn a_missing_label_is_refused_or_held_out() {
        let column = with_gap(&[Some("a"), None, Some("b"), None]);
        let error = LabelledRows::encode(&column, 100, &LabelOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with("row 101, column 'y': the label is missing"), "{error}");
        let options = LabelOptions { missing: MissingLabels::HoldOut, ..LabelOptions::default() };
        let held = LabelledRows::encode(&column, 0, &options).unwrap();
        assert_eq!((held.rows, held.unlabelled, held.labels.indices), (vec![0, 2], vec![1, 3], vec![0, 1]));
    }

    #[test]
    fn nan_is_no_label_unless_a_model_has_it() {
        let column = Column::categorical("y", &["a", "NaN", "b", "nan", "None"]);
        let error = LabelledRows::encode(&column, 0, &LabelOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with("row 1, column 'y': the label is missing"), "{error}");
        let held = |classes: Option<&[&str]>| {
            let classes = classes.map(|classes| classes.iter().map(|class| class.to_string()).collect());
            LabelledRows::encode(
                &column,
                0,
                &LabelOptions { missing: MissingLabels::HoldOut, classes, ..LabelOptions::default() },
            )
            .unwrap()
        };
        assert_eq!(
            (held(None).unlabelled, held(None).labels.classes),
            (vec![1, 3], vec!["None".into(), "a".into(), "b".into()])
        );
        assert_eq!(held(Some(&["NaN", "None", "a", "b"])).labels.indices, [2, 0, 3, 1]);
    }

    #[test]
    fn numbers_beside_nan_keep_their_order() {
        let column = Column::categorical("y", &["10", "NaN", "9"]);
        let options = LabelOptions { missing: MissingLabels::HoldOut, ..LabelOptions::default() };
        assert_eq!(LabelledRows::encode(&column, 0, &options).unwrap().labels.classes, ["9", "10"]);
    }

    #[test]
    fn a_class_is_known_by_its_number_too() {
        let options = |classes: &[&str]| LabelOptions {
            classes: Some(classes.iter().map(|class| class.to_string()).collect()),
            ..LabelOptions::default()
        };
        let encode = |classes: &[&str]| {
            LabelledRows::encode(&Column::categorical("y", &["1.0", "0", "1"]), 0, &options(classes))
        };
        assert_eq!(encode(&["0", "1"]).unwrap().labels.indices, [1, 0, 1]);
        assert_eq!(encode(&["0", "1", "1.0"]).unwrap().labels.indices, [2, 0, 1]);
        assert!(encode(&["0", "1", "1.00"]).is_err());
        let rounded = Column::categorical("y", &["18446744073709551614"]);
        assert!(LabelledRows::encode(&rounded, 0, &options(&["18446744073709551615", "1"])).is_err());
    }

    #[test]
    fn one_class_none_and_an_unknown_one_are_refused() {
        let refuse = |column: &Column, classes: Option<&[&str]>| {
            let classes = classes.map(|classes| classes.iter().map(|class| class.to_string()).collect());
            let options = LabelOptions { missing: MissingLabels::HoldOut, classes, ..LabelOptions::default() };
            LabelledRows::encode(column, 0, &options).unwrap_err().to_string()
        };
        assert!(refuse(&with_gap(&[Some("a"), Some("a")]), None).contains("every label is 'a'"));
        assert!(refuse(&with_gap(&[None, None]), None).contains("the label column is empty"));
        let unknown = refuse(&with_gap(&[Some("cat"), Some("dgo")]), Some(&["cat", "dog"]));
        assert!(unknown.contains("row 1") && unknown.contains("did you mean 'dog'?"), "{unknown}");
    }

    #[test]
    fn unknown_labels_are_held_out_if_wanted() {
        let column = with_gap(&[Some("cat"), Some("cow"), None, Some("dog"), Some("cow")]);
        let classes = Some(vec!["cat".to_owned(), "dog".to_owned()]);
        let options = LabelOptions { classes, hold_out_unknown: true, ..LabelOptions::default() };
        let error = LabelledRows::encode(&column, 0, &options).unwrap_err().to_string();
        assert!(error.starts_with("row 2, column 'y': the label is missing"), "{error}");
        let options = LabelOptions { missing: MissingLabels::HoldOut, ..options };
        let found = LabelledRows::encode(&column, 0, &options).unwrap();
        assert_eq!((found.rows, found.unlabelled, found.unknown), (vec![0, 3], vec![2], vec![1, 4]));
        assert_eq!(found.labels.indices, [0, 1]);
    }
}
