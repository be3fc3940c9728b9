//! A typed value on its way from a file into a column.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::options::Plan;
use crate::dataset::{Features, Input};
use crate::error::Result;
use crate::table::number::{MOST_EXACT, is_held};
use crate::table::{Column, ColumnBuilder, Kind, Values, date, unheld_numbers};

/// A value as the file has it.
pub(super) enum Cell<'a> {
    Boolean(bool),
    Signed(i64),
    Unsigned(u64),
    Single(f32),
    Double(f64),
    /// An integer over a power of ten.
    Decimal(i128, i32),
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
            (Cell::Decimal(unscaled, scale), _) => builder.push_number(unscaled as f64 / 10f64.powi(scale)),
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
            Cell::Decimal(unscaled, scale) => Cow::Owned(decimal_text(*unscaled, *scale)),
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

/// Adds the names of those among the columns `of` with a whole number that no double holds. Such numbers name things
/// (accounts, hashes): as doubles they would come out as others, and different ones as the same. `read` passes over the
/// file by a plan. No more rows than `most` are looked at: whoever holds more in memory is refused anyway.
pub(super) fn add_large<I: Iterator<Item = Result<Input>>>(
    mut of: BTreeSet<usize>,
    plan: &Plan,
    most: u64,
    names: &mut BTreeSet<String>,
    read: impl Fn(Plan) -> Result<I>,
) -> Result<()> {
    // Numbers are read quickly; only where they reach far does their exact text matter.
    for kind in [Kind::Numeric, Kind::Categorical] {
        let has = if kind == Kind::Numeric { reaches_far } else { has_unheld };
        if of.is_empty() {
            return Ok(());
        }
        let mut narrow = plan.clone();
        narrow.columns = (0..plan.names.len()).map(|at| of.contains(&at).then_some(Some(kind))).collect();
        let (mut found, mut rows) = (BTreeSet::new(), 0);
        for chunk in read(narrow)? {
            let Features::Table(table) = chunk?.features else { continue };
            found.extend(table.columns().iter().filter(|column| has(column)).map(|column| column.name.clone()));
            rows += table.rows() as u64;
            if rows > most || found.len() == of.len() {
                break;
            }
        }
        of.retain(|&at| found.contains(&plan.names[at]));
    }
    names.extend(of.into_iter().map(|at| plan.names[at].clone()));
    Ok(())
}

fn reaches_far(column: &Column) -> bool {
    matches!(&column.values, Values::Numeric(values) if values.iter().any(|value| value.abs() >= MOST_EXACT))
}

/// Whether a number in the column's text is one that no double holds.
fn has_unheld(column: &Column) -> bool {
    let held = |text: &String| match text.parse() {
        Ok(value) => is_held(value),
        // A decimal that is not whole; rounded, it is still itself unless it reaches far.
        Err(_) => text.parse::<f64>().is_ok_and(|value| value.abs() < MOST_EXACT),
    };
    matches!(&column.values, Values::Categorical { levels, .. } if !levels.iter().all(held))
}

/// Makes names of those columns of a plan that are `numbers` by their type alone and that [`add_large`] found.
pub(super) fn settle_large(plan: &mut Plan, numbers: &[bool], large: &BTreeSet<String>) {
    for at in (0..numbers.len()).filter(|&at| numbers[at] && large.contains(&plan.names[at])) {
        plan.columns[at] = Some(Some(Kind::Categorical));
        plan.reading[at].doubt = Some(unheld_numbers(&plan.names[at]));
    }
}

/// A two's-complement integer of any length, highest byte first, over a power of ten. One of more than 38 digits is rounded.
pub(super) fn decimal(bytes: impl Iterator<Item = u8> + Clone, scale: i32) -> Cell<'static> {
    let mut first = bytes.clone();
    let mut value = match first.next() {
        Some(byte) => i128::from(byte as i8),
        None => return Cell::Decimal(0, scale),
    };
    for byte in first {
        value = match value.checked_mul(256) {
            // The low byte is zero, so nothing is carried.
            Some(moved) => moved | i128::from(byte),
            None => return Cell::Double(big_endian(bytes) / 10f64.powi(scale)),
        };
    }
    Cell::Decimal(value, scale)
}

/// The same integer as a double, nearly.
fn big_endian(bytes: impl Iterator<Item = u8> + Clone) -> f64 {
    let negative = bytes.clone().next().is_some_and(|byte| byte & 0x80 != 0);
    let flip = if negative { 0xff } else { 0 };
    let magnitude = bytes.fold(0.0, |value, byte| value * 256.0 + f64::from(byte ^ flip));
    if negative { -(magnitude + 1.0) } else { magnitude }
}

/// Every digit, without zeros at the end of a fraction, as doubles are written.
fn decimal_text(unscaled: i128, scale: i32) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let mut digits = unscaled.unsigned_abs().to_string();
    let places = usize::try_from(scale).unwrap_or(0);
    if scale < 0 && unscaled != 0 {
        digits += &"0".repeat(scale.unsigned_abs() as usize);
    } else if digits.len() <= places {
        digits.insert_str(0, &"0".repeat(places + 1 - digits.len()));
    }
    let (whole, fraction) = digits.split_at(digits.len() - places);
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_any_length() {
        let of = |bytes: &[u8], scale| decimal(bytes.iter().copied(), scale);
        for (bytes, scale, text) in [
            (&[0x01, 0x00][..], 0, "256"),
            (&[0xff], 0, "-1"),
            (&[0xff, 0x00], 1, "-25.6"),
            (&[], 2, "0"),
            (&[0x30, 0x39], 2, "123.45"),
            (&[0x30, 0x39], 7, "0.0012345"),
            (&[0x64], 2, "1"),
            (&[0x07], -3, "7000"),
            (&[0x10, 0, 0, 0, 0, 0, 0, 0x07], 0, "1152921504606846983"),
        ] {
            let mut builder = ColumnBuilder::new(Kind::Categorical);
            of(bytes, scale).push(&mut builder);
            assert_eq!(builder.finish("").text(0).unwrap(), text);
        }
        assert!(matches!(of(&[0x30, 0x39], 2), Cell::Decimal(12345, 2)));
        // 2^160, beyond what has exact text.
        let long = [&[1][..], &[0; 20]].concat();
        assert!(matches!(of(&long, 0), Cell::Double(value) if value == 2f64.powi(160)));
    }

    #[test]
    fn numbers_that_doubles_do_not_hold() {
        let unheld = |text: &str| has_unheld(&Column::categorical("", &[text]));
        for text in ["9007199254740993", "-9007199254740993", "1152921504606846983", "9007199254740993.5"] {
            assert!(unheld(text), "{text}");
        }
        for text in ["9007199254740992", "-9223372036854775808", "17280000000000000", "0.1", "3"] {
            assert!(!unheld(text), "{text}");
        }
    }
}
