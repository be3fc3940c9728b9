//! Rows of numbers, for models of arrays: each goes straight to where the model reads it, and none beyond the limits is kept.

use std::fmt;

use cmrm_data::table::ColumnBuilder;
use cmrm_data::{Array, Column, Error, Features, Kind, Problem};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::asked::{NAME, too_many};
use crate::refusal::Refusal;

const SHAPE: &str =
    "send an array of numbers for each row, or {\"features\": [numbers], \"label\": class}; null is a missing number";

/// Reads `[1, 2]`, `[[1, 2], …]` and `{"features": [1, 2], "label": "a"}`, alone, in an array, or one after the other: features,
/// labels, and whether they came in an array. Without a `width` that of the first row counts.
pub(crate) fn read(
    body: &[u8],
    width: Option<usize>,
    most: usize,
) -> Result<(Features, Option<Column>, bool), Refusal> {
    let (values, labels) = (Vec::new(), ColumnBuilder::new(Kind::Categorical));
    let mut found = Found { values, width, rows: 0, most, labels, labelled: false, in_array: false, refused: None };
    let mut rows = serde_json::Deserializer::from_slice(body);
    while rows.end().is_err() {
        if let Err(error) = Top(&mut found).deserialize(&mut rows) {
            return Err(found.refused.take().unwrap_or_else(|| {
                let what = if error.is_data() { "this is no row of numbers".into() } else { error.to_string() };
                in_row(Error::malformed("JSON", what), found.rows)
            }));
        }
    }
    let Some(width) = found.width.filter(|_| found.rows > 0) else {
        return Err(Error::new(Problem::Empty("the list of rows".into())).in_file(NAME).way_out(SHAPE).into());
    };
    let array = Array::new(found.values, width)?;
    Ok((Features::Array(array), found.labelled.then(|| found.labels.finish("label")), found.in_array))
}

fn in_row(error: Error, row: usize) -> Refusal {
    error.in_file(NAME).at_row(row as u64).way_out(SHAPE).into()
}

/// What has been read.
struct Found {
    values: Vec<f32>,
    width: Option<usize>,
    rows: usize,
    most: usize,
    labels: ColumnBuilder,
    labelled: bool,
    in_array: bool,
    /// Why the reading stopped, where that is not for JSON to say.
    refused: Option<Refusal>,
}

impl Found {
    /// Takes a cell of the current row, unless there is no place for it; `at` cells are before it.
    fn cell(&mut self, at: usize, number: Option<f64>) {
        if self.rows < self.most && self.width.is_none_or(|width| at < width) {
            // As a file of single precision would have it.
            self.values.push(number.map_or(f32::NAN, |number| number as f32));
        }
    }

    /// Ends a row of so many cells.
    fn end_row<E: serde::de::Error>(&mut self, cells: usize, label: &Value) -> Result<(), E> {
        let expected = *self.width.get_or_insert(cells);
        if self.rows == self.most {
            self.refused = Some(too_many(self.most));
        } else if cells != expected || expected == 0 {
            let problem = Problem::Ragged { expected: expected.max(1), found: cells };
            self.refused = Some(in_row(Error::new(problem), self.rows));
        }
        if self.refused.is_some() {
            return Err(E::custom("refused"));
        }
        self.rows += 1;
        self.labelled |= !label.is_null();
        match label {
            Value::Null => self.labels.push_missing(),
            Value::String(text) => self.labels.push_name(text),
            other => self.labels.push_name(&other.to_string()),
        }
        Ok(())
    }
}

/// A row, or an array of rows.
struct Top<'a>(&'a mut Found);

impl<'de> DeserializeSeed<'de> for Top<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Top<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Top(found) = self;
        let (mut first, mut cells) = (None, 0);
        while let Some(part) = seq.next_element_seed(Element { found, first, cells })? {
            (first, cells) = (Some(part), cells + 1);
        }
        match first {
            Some(Part::Cell) => found.end_row(cells, &Value::Null),
            Some(Part::Row) | None => {
                found.in_array = true;
                Ok(())
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        labelled(self.0, map)
    }
}

/// What an array is made of: it is a row or has rows, as its first element shows.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Cell,
    Row,
}

/// An element of the outermost array, behind so many others.
struct Element<'a> {
    found: &'a mut Found,
    first: Option<Part>,
    cells: usize,
}

impl Element<'_> {
    /// Refuses numbers among rows, and rows among numbers.
    fn is<E: serde::de::Error>(&self, part: Part) -> Result<Part, E> {
        match self.first {
            Some(first) if first != part => Err(E::custom("numbers and rows in one array")),
            _ => Ok(part),
        }
    }

    fn number<E: serde::de::Error>(self, number: Option<f64>) -> Result<Part, E> {
        let part = self.is(Part::Cell)?;
        self.found.cell(self.cells, number);
        Ok(part)
    }
}

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = Part;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Part, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Element<'_> {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a row of numbers")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Part, E> {
        self.number(None)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Part, E> {
        self.number(Some(number as f64))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Part, E> {
        self.number(Some(number as f64))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Part, E> {
        self.number(Some(number))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Part, A::Error> {
        let part = self.is(Part::Row)?;
        let cells = Cells(self.found).visit_seq(seq)?;
        self.found.end_row(cells, &Value::Null)?;
        Ok(part)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Part, A::Error> {
        let part = self.is(Part::Row)?;
        labelled(self.found, map)?;
        Ok(part)
    }
}

/// The cells of a row; how many there are.
struct Cells<'a>(&'a mut Found);

impl<'de> DeserializeSeed<'de> for Cells<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<usize, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Cells<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<usize, A::Error> {
        let mut cells = 0;
        while let Some(number) = seq.next_element()? {
            self.0.cell(cells, number);
            cells += 1;
        }
        Ok(cells)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Features,
    Label,
}

/// A row with its label.
fn labelled<'de, A: MapAccess<'de>>(found: &mut Found, mut map: A) -> Result<(), A::Error> {
    let (mut cells, mut label) = (None, Value::Null);
    while let Some(key) = map.next_key()? {
        match key {
            Key::Features if cells.is_some() => return Err(A::Error::duplicate_field("features")),
            Key::Features => cells = Some(map.next_value_seed(Cells(&mut *found))?),
            Key::Label => {
                let text = map.next_value::<&RawValue>()?.get();
                if text.starts_with(['[', '{']) {
                    return Err(A::Error::custom("a label is a name, a number or a truth value"));
                }
                label = serde_json::from_str(text).map_err(A::Error::custom)?;
            }
        }
    }
    let cells = cells.ok_or_else(|| A::Error::missing_field("features"))?;
    found.end_row(cells, &label)
}
