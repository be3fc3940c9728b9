//! Reading fields of a reference file, with errors that name the field.

use serde_json::Value;

/// The field `key`, which must be there.
pub fn field<'a>(object: &'a Value, key: &str) -> Result<&'a Value, String> {
    object.get(key).ok_or_else(|| format!("field \"{key}\" is missing"))
}

/// Refuses fields that are not among `known`: what is not understood would not be checked.
pub fn only(object: &Value, known: &[&str]) -> Result<(), String> {
    let fields = object.as_object().ok_or_else(|| format!("{} is not an object", excerpt(object)))?;
    match fields.keys().find(|field| !known.contains(&field.as_str())) {
        None => Ok(()),
        Some(field) => Err(format!("unknown field \"{field}\"; known are {}", known.join(", "))),
    }
}

/// A field that is text.
pub fn text<'a>(object: &'a Value, key: &str) -> Result<&'a str, String> {
    let value = field(object, key)?;
    value.as_str().ok_or_else(|| format!("field \"{key}\" is {}, not text", excerpt(value)))
}

/// A field that is a number, or an infinity written as the text `inf` or `-inf`.
pub fn number(object: &Value, key: &str) -> Result<f64, String> {
    as_number(field(object, key)?).map_err(|error| format!("field \"{key}\": {error}"))
}

/// A field that counts something.
pub fn count(object: &Value, key: &str) -> Result<usize, String> {
    let value = field(object, key)?;
    let count = value.as_u64().and_then(|n| usize::try_from(n).ok());
    count.ok_or_else(|| format!("field \"{key}\" is {}, not a whole number", excerpt(value)))
}

/// A field that lists numbers.
pub fn numbers(object: &Value, key: &str) -> Result<Vec<f64>, String> {
    as_numbers(field(object, key)?).map_err(|error| format!("field \"{key}\": {error}"))
}

/// A field that may be missing or null and otherwise lists numbers.
pub fn optional_numbers(object: &Value, key: &str) -> Result<Option<Vec<f64>>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => numbers(object, key).map(Some),
    }
}

/// A field that lists class labels.
pub fn labels(object: &Value, key: &str) -> Result<Vec<u32>, String> {
    let label = |(row, value): (usize, f64)| {
        let is_label = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
        if is_label { Ok(value as u32) } else { Err(format!("field \"{key}\", row {row}: {value} is not a label")) }
    };
    numbers(object, key)?.into_iter().enumerate().map(label).collect()
}

/// A field that is a list of equally long rows: all numbers, row after row, and the length of a row.
pub fn matrix(object: &Value, key: &str) -> Result<(Vec<f64>, usize), String> {
    let rows = list(object, key)?;
    let mut values = Vec::new();
    let mut columns = 0;
    for (i, row) in rows.iter().enumerate() {
        let row = as_numbers(row).map_err(|error| format!("field \"{key}\", row {i}: {error}"))?;
        if i > 0 && row.len() != columns {
            return Err(format!("field \"{key}\", row {i}: {} numbers, but {columns} in row 0", row.len()));
        }
        columns = row.len();
        values.extend(row);
    }
    Ok((values, columns))
}

/// A field that is a list.
pub fn list<'a>(object: &'a Value, key: &str) -> Result<&'a [Value], String> {
    let value = field(object, key)?;
    value.as_array().map(Vec::as_slice).ok_or_else(|| format!("field \"{key}\" is {}, not a list", excerpt(value)))
}

/// `field` if it is one of `known`, by name.
pub fn choice<C: Copy>(object: &Value, key: &str, known: &[(&str, C)]) -> Result<C, String> {
    let name = text(object, key)?;
    let found = known.iter().find(|(known, _)| *known == name).map(|&(_, choice)| choice);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|&(name, _)| name).collect();
        format!("unknown {key} \"{name}\"; known are {}", names.join(", "))
    })
}

fn as_number(value: &Value) -> Result<f64, String> {
    match value.as_str() {
        Some("inf") => Ok(f64::INFINITY),
        Some("-inf") => Ok(f64::NEG_INFINITY),
        _ => value.as_f64().ok_or_else(|| format!("{} is not a number", excerpt(value))),
    }
}

fn as_numbers(value: &Value) -> Result<Vec<f64>, String> {
    let list = value.as_array().ok_or_else(|| format!("{} is not a list of numbers", excerpt(value)))?;
    list.iter().map(as_number).collect()
}

/// The beginning of a value, for messages.
fn excerpt(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 40 { text } else { text.chars().take(40).chain("…".chars()).collect() }
}
