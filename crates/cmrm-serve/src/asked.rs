//! The rows of a request's body.

use bytes::Bytes;
use cmrm_data::read::{Format, ReadOptions, Source, Usual, read_json_rows};
use cmrm_data::{Column, Features};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, SeqAccess, Visitor};

use crate::numbers;
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

/// Reads at most so many rows; `lines` says that the request calls itself JSON Lines.
pub(crate) fn read(
    body: Bytes,
    lines: bool,
    options: &ReadOptions,
    usual: &Usual,
    most: usize,
) -> Result<Asked, Refusal> {
    let mut marks = body.iter().filter(|byte| !byte.is_ascii_whitespace());
    let marks = (marks.next(), marks.next());
    let width = options.expected.as_ref().filter(|expected| expected.unnamed).map(|expected| expected.width);
    let of_array = width.is_some();
    let (features, labels, in_array) = match marks {
        (None, _) => return Err(Refusal::new(400, format!("{NAME} is empty; send rows as JSON"))),
        (Some(b'['), Some(b'{')) if !of_array => named(body, options, usual, most)?,
        (Some(b'['), _) => numbers::read(&body, width, most)?,
        (Some(b'{'), _) if of_array && has_features(&body) => numbers::read(&body, width, most)?,
        (Some(b'{'), _) => named(body, options, usual, most)?,
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
fn named(body: Bytes, options: &ReadOptions, usual: &Usual, most: usize) -> Result<Rows, Refusal> {
    let in_array = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    refuse_many(&body, in_array, most)?;
    let options = ReadOptions { format: Some(Format::Json), ..options.clone() };
    let input = read_json_rows(&Source::bytes(NAME, body), &options, usual)?;
    Ok((input.features, input.labels, in_array))
}

/// Refuses more objects than there may be, before anything is made of them; what else is wrong with them is said when they are read.
fn refuse_many(body: &[u8], in_array: bool, most: usize) -> Result<(), Refusal> {
    // No object is shorter than its two braces.
    if body.len() / 2 <= most {
        return Ok(());
    }
    let mut rows = serde_json::Deserializer::from_slice(body);
    let mut counted = 0;
    if in_array {
        let _ = Counted { rows: &mut counted, most }.deserialize(&mut rows);
    } else {
        counted = rows.into_iter::<IgnoredAny>().take_while(Result::is_ok).take(most.saturating_add(1)).count();
    }
    if counted > most { Err(too_many(most)) } else { Ok(()) }
}

/// Counts the rows of an array, until there are too many.
struct Counted<'a> {
    rows: &'a mut usize,
    most: usize,
}

impl<'de> DeserializeSeed<'de> for Counted<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Counted<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while *self.rows <= self.most && seq.next_element::<IgnoredAny>()?.is_some() {
            *self.rows += 1;
        }
        Ok(())
    }
}

/// The refusal of more rows than there may be.
pub(crate) fn too_many(most: usize) -> Refusal {
    Refusal::new(413, format!("more rows than the limit of {most}; send them in several requests"))
}

/// Whether the first row is numbers beside a label.
fn has_features(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Row {
        #[serde(rename = "features")]
        _features: Vec<IgnoredAny>,
    }
    let mut rows = serde_json::Deserializer::from_slice(body).into_iter::<Row>();
    matches!(rows.next(), Some(Ok(_)))
}

#[cfg(test)]
mod tests {
    use cmrm_data::read::Expected;

    use super::*;

    fn of_array(body: &'static str) -> Result<Asked, Refusal> {
        let options = ReadOptions { expected: Some(Expected::of_array(2)), ..ReadOptions::default() };
        read(Bytes::from_static(body.as_bytes()), false, &options, &Usual::default(), 3)
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
            ("[[]]", "row 0: 0 cells, expected 2"),
            ("[1, 2, 3]", "row 0: 3 cells, expected 2"),
            ("[[1, 2], [\"x\", 2]]", "row 1: not a readable JSON file: this is no row of numbers"),
            ("[[1, 2], 3]", "row 1: not a readable JSON file: this is no row of numbers"),
            ("[1, [2, 3]]", "row 0: not a readable JSON file: this is no row of numbers"),
            (r#"{"features": [1, 2], "label": ["a"]}"#, "row 0: not a readable JSON file: this is no row of numbers"),
            (r#"[{"features": [1, 2]}, {"label": "a"}]"#, "row 1: not a readable JSON file: this is no row of numbers"),
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

    #[test]
    fn no_more_rows_are_read_than_there_may_be() {
        for body in [
            // What is wrong behind the limit is not looked at.
            "[[1, 2], [1, 2], [1, 2], [1, 2], nonsense",
            "[1, 2]\n[1, 2]\n[1, 2]\n[1, 2]\nnonsense",
        ] {
            assert_eq!(of_array(body).unwrap_err(), too_many(3), "{body}");
        }
        let of_table = |body: &'static str| {
            read(Bytes::from_static(body.as_bytes()), false, &ReadOptions::default(), &Usual::default(), 3)
        };
        for body in [
            r#"[{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}, nonsense"#,
            "{\"a\":1}{\"a\":2}\n{\"a\":3}\n{\"a\":4}\nnonsense",
        ] {
            assert_eq!(of_table(body).unwrap_err(), too_many(3), "{body}");
        }
        assert_eq!(of_table(r#"[{"a": 1}, {"a": 2}, {"a": 3}]"#).unwrap().features.rows(), 3);
    }
}
