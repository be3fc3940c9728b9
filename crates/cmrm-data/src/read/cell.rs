//! A typed value on its way from a file into a column.

use std::borrow::Cow;

use crate::table::{ColumnBuilder, Kind, date};

/// A value as the file has it.
pub(super) enum Cell<'a> {
    Boolean(bool),
    Signed(i64),
    Unsigned(u64),
    Single(f32),
    Double(f64),
    Date(i64),
    Text(&'a str),
}

impl Cell<'_> {
    /// Adds the value to a column of its own kind, or its text to one of names.
    pub fn push(self, builder: &mut ColumnBuilder) {
        match (self, builder.kind()) {
            (Cell::Text(text), _) => builder.push_name(text),
            (Cell::Single(value), Kind::Categorical) if value.is_nan() => builder.push_missing(),
            (Cell::Double(value), Kind::Categorical) if value.is_nan() => builder.push_missing(),
            (cell, Kind::Categorical) => builder.push_name(&cell.text()),
            (Cell::Boolean(value), _) => builder.push_boolean(value),
            (Cell::Signed(value), _) => builder.push_number(value as f64),
            (Cell::Unsigned(value), _) => builder.push_number(value as f64),
            (Cell::Single(value), _) => builder.push_number(f64::from(value)),
            (Cell::Double(value), _) => builder.push_number(value),
            (Cell::Date(value), _) => builder.push_date(value),
        }
    }

    fn text(&self) -> Cow<'_, str> {
        match self {
            Cell::Boolean(value) => Cow::Borrowed(if *value { "true" } else { "false" }),
            Cell::Signed(value) => Cow::Owned(value.to_string()),
            Cell::Unsigned(value) => Cow::Owned(value.to_string()),
            Cell::Single(value) => Cow::Owned(value.to_string()),
            Cell::Double(value) => Cow::Owned(value.to_string()),
            Cell::Date(value) => Cow::Owned(date::format(*value)),
            Cell::Text(text) => Cow::Borrowed(text),
        }
    }
}

/// The kind to read values as that are of the `natural` one: names keep the text of the value, anything else is read as
/// what it is and then turned into what is wanted.
pub(super) fn kind_to_read(wanted: Kind, natural: Kind) -> Kind {
    if wanted == Kind::Categorical { wanted } else { natural }
}

/// The nearest double to an integer over a power of ten.
pub(super) fn decimal(unscaled: f64, scale: i32) -> Cell<'static> {
    Cell::Double(unscaled / 10f64.powi(scale))
}

/// A two's-complement integer of any length, highest byte first, to the nearest double or nearly so.
pub(super) fn big_endian(bytes: impl Iterator<Item = u8> + Clone) -> f64 {
    let negative = bytes.clone().next().is_some_and(|byte| byte & 0x80 != 0);
    let flip = if negative { 0xff } else { 0 };
    let magnitude = bytes.fold(0.0, |value, byte| value * 256.0 + f64::from(byte ^ flip));
    if negative { -(magnitude + 1.0) } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_any_length() {
        let of = |bytes: &[u8]| big_endian(bytes.iter().copied());
        assert_eq!(of(&[0x01, 0x00]), 256.0);
        assert_eq!(of(&[0xff]), -1.0);
        assert_eq!(of(&[0xff, 0x00]), -256.0);
        assert_eq!(of(&[]), 0.0);
        assert!(matches!(decimal(12345.0, 2), Cell::Double(123.45)));
    }
}
