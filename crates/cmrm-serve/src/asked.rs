//! The rows of a request's body.

use bytes::Bytes;
use cmrm_data::read::{Format, ReadOptions, Source, Usual, read_json_rows};
use cmrm_data::table::ColumnBuilder;
use cmrm_data::{Array, Column, Error, Features, Kind, Problem};
use serde::Deserialize;
use serde_json::Value;

use crate::refusal::Refusal;

/// What errors call the body.
pub(crate) const NAME: &str = "the request";

/// How rows are written; the answer is written alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One row alone.
    One,
    /// A JSON array of rows.
    Array,
    /// JSON Lines.
    Lines,
}

/// The rows as they were sent.
#[derive(Debug)]
pub(crate) struct Asked {
    pub features: Features,
    pub labels: Option<Column>,
    pub form: Form,
}

/// Reads rows; `lines` says that the request calls itself JSON Lines.
pub(crate) fn read(body: Bytes, lines: bool, options: &ReadOptions, usual: &Usual) -> Result<Asked, Refusal> {
    let mut marks = body.iter().filter(|byte| !byte.is_ascii_whitespace());
    let marks = (marks.next(), marks.next());
    let of_array = options.expected.as_ref().is_some_and(|expected| expected.unnamed);
    let (features, labels, in_array) = match marks {
        (None, _) => return Err(Refusal::new(400, format!("{NAME} is empty; send rows as JSON"))),
        (Some(b'['), Some(b'{')) if !of_array => named(body, options, usual)?,
        (Some(b'['), _) => numbers(&body)?,
        (Some(b'{'), _) if of_array && has_features(&body) => numbers(&body)?,
        (Some(b'{'), _) => named(body, options, usual)?,
        _ => {
            let words = format!("{NAME}: not JSON; send an object for each row, in an array or one a line");
            return Err(Refusal::new(400, words));
        }
    };
    let form = match in_array {
        true => Form::Array,
        false if lines || features.rows() != 1 => Form::Lines,
        false => Form::One,
    };
    Ok(Asked { features, labels, form })
}

type Rows = (Features, Option<Column>, bool);

/// Objects with the columns of a table.
fn named(body: Bytes, options: &ReadOptions, usual: &Usual) -> Result<Rows, Refusal> {
    let in_array = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let options = ReadOptions { format: Some(Format::Json), ..options.clone() };
    let input = read_json_rows(&Source::bytes(NAME, body), &options, usual)?;
    Ok((input.features, input.labels, in_array))
}

/// A row of numbers, with its label or without; null is a missing number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Numbers {
    Plain(Vec<Option<f64>>),
    Labelled(Labelled),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Labelled {
    features: Vec<Option<f64>>,
    #[serde(default)]
    label: Value,
}

/// Several rows in an array, or one: an array of numbers is a row. Several first, since two arrays would do for features and a label.
#[derive(Deserialize)]
#[serde(untagged)]
enum Top {
    Many(Vec<Numbers>),
    One(Numbers),
}

fn has_features(body: &[u8]) -> bool {
    let mut first = serde_json::Deserializer::from_slice(body).into_iter::<Value>();
    matches!(first.next(), Some(Ok(Value::Object(row))) if row.get("features").is_some_and(Value::is_array))
}

/// Rows of an array.
fn numbers(body: &[u8]) -> Result<Rows, Refusal> {
    const SHAPE: &str = "send an array of numbers for each row, or {\"features\": [numbers], \"label\": class}; null is a missing number";
    let mut found: Vec<Numbers> = Vec::new();
    let mut in_array = false;
    for (at, top) in serde_json::Deserializer::from_slice(body).into_iter::<Top>().enumerate() {
        let malformed = |error: serde_json::Error| {
            let what = if error.is_data() { "this is no row of numbers".into() } else { error.to_string() };
            Error::malformed("JSON", what).in_file(NAME).at_row(at as u64).way_out(SHAPE)
        };
        match top.map_err(malformed)? {
            Top::One(row) => found.push(row),
            Top::Many(rows) => {
                in_array = true;
                found.extend(rows);
            }
        }
    }
    let (mut values, mut width, mut labels, mut labelled) =
        (Vec::new(), None, ColumnBuilder::new(Kind::Categorical), false);
    for (at, row) in found.iter().enumerate() {
        let (numbers, label) = match row {
            Numbers::Plain(numbers) => (numbers, &Value::Null),
            Numbers::Labelled(row) => (&row.features, &row.label),
        };
        let expected = *width.get_or_insert(numbers.len());
        if numbers.len() != expected || expected == 0 {
            let problem = Problem::Ragged { expected: expected.max(1), found: numbers.len() };
            return Err(Error::new(problem).in_file(NAME).at_row(at as u64).way_out(SHAPE).into());
        }
        // As a file of single precision would have them.
        values.extend(numbers.iter().map(|number| number.map_or(f32::NAN, |number| number as f32)));
        labelled |= !label.is_null();
        match label {
            Value::Null => labels.push_missing(),
            Value::String(text) => labels.push_name(text),
            Value::Array(_) | Value::Object(_) => {
                let error = Error::malformed("JSON", "this is no row of numbers").in_file(NAME).at_row(at as u64);
                return Err(error.way_out(SHAPE).into());
            }
            other => labels.push_name(&other.to_string()),
        }
    }
    let Some(width) = width else {
        return Err(Error::new(Problem::Empty("the list of rows".into())).in_file(NAME).way_out(SHAPE).into());
    };
    let array = Array::new(values, width)?;
    Ok((Features::Array(array), labelled.then(|| labels.finish("label")), in_array))
}

#[cfg(test)]
mod tests {
    use cmrm_data::read::Expected;

    use super::*;

    fn of_array(body: &'static str) -> Result<Asked, Refusal> {
        let options = ReadOptions { expected: Some(Expected::of_array(2)), ..ReadOptions::default() };
        read(Bytes::from_static(body.as_bytes()), false, &options, &Usual::default())
    }

    #[test]
    fn rows_of_numbers_come_alone_in_an_array_or_one_a_line() {
        for (body, rows, form) in [
            ("[1, 2.5]", 1, Form::One),
            ("[[1, 2.5]]", 1, Form::Array),
            ("[[1, 2.5], [3, null]]", 2, Form::Array),
            ("[1, 2.5]\n[3, 4]\n", 2, Form::Lines),
            (r#"{"features": [1, 2.5], "label": "a"}"#, 1, Form::One),
            (r#"[{"features": [1, 2.5], "label": 3}, {"features": [3, 4]}]"#, 2, Form::Array),
        ] {
            let asked = of_array(body).unwrap();
            assert_eq!((asked.features.rows(), asked.form), (rows, form), "{body}");
            let Features::Array(array) = &asked.features else { panic!("{body}") };
            assert_eq!(array.values()[..2], [1.0, 2.5], "{body}");
            assert_eq!(asked.labels.is_some(), body.contains("label"), "{body}");
        }
    }

    #[test]
    fn what_is_no_row_of_numbers_is_refused_with_its_place() {
        for (body, part) in [
            ("", "the request is empty"),
            ("  \n", "the request is empty"),
            ("hello", "not JSON"),
            ("[]", "empty"),
            ("[[]]", "row 0: 0 cells, expected 1"),
            ("[[1, 2], [3]]", "row 1: 1 cells, expected 2"),
            ("[1, \"two\"]", "row 0: not a readable JSON file: this is no row of numbers"),
            ("[[1, 2]", "EOF"),
            ("[[[1, 2], [3, 4]]]", "row 0: not a readable JSON file: this is no row of numbers"),
            (r#"{"features": [1, 2], "lable": "a"}"#, "no row of numbers"),
        ] {
            let refusal = of_array(body).unwrap_err();
            let words = String::from_utf8(refusal.body().to_vec()).unwrap();
            assert!(refusal.status == 400 && words.contains(part), "{body}: {words}");
        }
    }
}
