//! A row's cells: its keys and values, those of objects within it under `outer.inner`.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{Error, Problem, Result};

/// Most objects one within the other, the row included.
const MAX_DEPTH: usize = 8;

/// What stands behind a key.
pub(super) enum Value<'a> {
    Missing,
    /// A text, a number or a boolean, as a CSV file would have it.
    Text(Cow<'a, str>),
    Nested(Nested),
}

/// What is no cell.
#[derive(Debug, Clone, Copy)]
pub(super) enum Nested {
    Array,
    TooDeep,
}

impl Nested {
    pub fn refused(self, key: &str) -> Error {
        let (what, way_out) = match self {
            Nested::Array => ("an array within a row", "write a column for each of its entries, or ignore the column"),
            Nested::TooDeep => ("an object so deep within a row", "write its entries as columns, or ignore the column"),
        };
        Error::new(Problem::Unsupported(what.into())).in_column(key).way_out(way_out)
    }
}

/// Hands every cell of a row to `take`, with its full key.
pub(super) fn each_cell(row: &str, take: &mut dyn FnMut(&str, Value<'_>) -> Result<()>) -> Result<()> {
    flatten(row, &mut String::new(), 1, take)
}

fn flatten(
    object: &str,
    path: &mut String,
    depth: usize,
    take: &mut dyn FnMut(&str, Value<'_>) -> Result<()>,
) -> Result<()> {
    let Fields(fields) = serde_json::from_str(object).map_err(|error| malformed(&error, path))?;
    let outer = path.len();
    for (key, value) in fields {
        if depth > 1 {
            path.push('.');
        }
        path.push_str(&key);
        let value = value.get();
        match value.as_bytes().first() {
            Some(b'{') if depth < MAX_DEPTH => flatten(value, path, depth + 1, take)?,
            Some(b'{') => take(path, Value::Nested(Nested::TooDeep))?,
            Some(b'[') => take(path, Value::Nested(Nested::Array))?,
            Some(b'n') | None => take(path, Value::Missing)?,
            Some(b'"') => {
                let Text(text) = serde_json::from_str(value).map_err(|error| malformed(&error, path))?;
                let text = match text {
                    Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
                    Cow::Owned(text) => Cow::Owned(text.trim().to_string()),
                };
                take(path, Value::Text(text))?;
            }
            // A number, true or false. The text of a number is kept: an ID of twenty digits stays what it is.
            Some(_) => take(path, Value::Text(Cow::Borrowed(value)))?,
        }
        path.truncate(outer);
    }
    Ok(())
}

/// A text that is copied only if it has escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The keys of an object and their values as they are written, in the object's order.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((Text(key), value)) = map.next_entry()? {
                    fields.push((key, value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// What the parser says, placed within the row where it parsed the whole of it.
fn malformed(error: &serde_json::Error, path: &str) -> Error {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    let way_out = "correct the row; NaN and Infinity are not JSON, write null instead";
    if !path.is_empty() {
        return Error::malformed("JSON", what).in_column(path).way_out(way_out);
    }
    let of = if error.line() > 1 { format!("line {} of the row", error.line()) } else { "the row".to_string() };
    Error::malformed("JSON", format!("{what}, at character {} of {of}", error.column())).way_out(way_out)
}
