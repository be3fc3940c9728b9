//! One column of a batch: cells into a column of a table.

use std::sync::Arc;

use bytes::Bytes;
use half::f16;

use super::malformed;
use super::schema::Type;
use crate::error::{Error, Result};
use crate::read::cell::{Cell, decimal};
use crate::table::{Column, ColumnBuilder, Values};

/// Bytes of a view: a length, and the text itself or where it is.
const VIEW_BYTES: usize = 16;
/// Longest text that a view holds itself.
const INLINE_BYTES: usize = 12;

/// The buffers of an array behind the one that says which cells are there.
pub(super) enum Data {
    /// Values of one size; bits, if they are booleans.
    Fixed(Bytes),
    Text {
        offsets: Bytes,
        text: Bytes,
        wide: bool,
    },
    Views {
        views: Bytes,
        pieces: Vec<Bytes>,
    },
}

/// An array whose buffers are long enough for its rows.
pub(super) struct Array {
    of: Type,
    /// A bit for each cell that is there; empty if all are.
    valid: Bytes,
    data: Data,
    /// What the values are places in.
    dictionary: Option<Arc<Column>>,
}

impl Array {
    /// Refuses buffers that are too short.
    pub fn new(of: Type, rows: usize, valid: Bytes, data: Data, dictionary: Option<Arc<Column>>) -> Result<Self> {
        let bits = rows.div_ceil(8);
        let (found, needed) = match (&data, of) {
            (Data::Text { offsets, wide, .. }, _) => {
                (offsets.len(), rows.saturating_add(1).saturating_mul(offset_bytes(*wide)))
            }
            (Data::Views { views, .. }, _) => (views.len(), rows.saturating_mul(VIEW_BYTES)),
            (Data::Fixed(_), Type::Null) => (0, 0),
            (Data::Fixed(values), Type::Boolean) => (values.len(), bits),
            (Data::Fixed(values), _) => (values.len(), rows.saturating_mul(width(of))),
        };
        let valid_is_short = !valid.is_empty() && valid.len() < bits;
        if valid_is_short || (found < needed && rows > 0) {
            return Err(malformed(format!("the buffers of an array are too short for its {rows} values")));
        }
        Ok(Array { of, valid, data, dictionary })
    }

    /// Adds `count` cells from `first` on, all of which exist. `row_of_first` is for messages.
    pub fn read_into(&self, first: usize, count: usize, row_of_first: u64, builder: &mut ColumnBuilder) -> Result<()> {
        // The codes that names of the dictionary have in the column.
        let mut codes: Vec<Option<u32>> = vec![None; self.dictionary.as_ref().map_or(0, |values| values.len())];
        for at in first..first + count {
            let there = self.of != Type::Null && (self.valid.is_empty() || bit(&self.valid, at));
            if !there {
                builder.push_missing();
                continue;
            }
            let pushed = match &self.dictionary {
                None => self.push(at, builder),
                Some(values) => self.push_of(values, &mut codes, at, builder),
            };
            pushed.map_err(|error| error.at_row(row_of_first + (at - first) as u64))?;
        }
        Ok(())
    }

    fn push(&self, at: usize, builder: &mut ColumnBuilder) -> Result<()> {
        match &self.data {
            Data::Text { .. } | Data::Views { .. } => Cell::Text(self.text(at)?).push(builder),
            Data::Fixed(values) => self.fixed(values, at)?.push(builder),
        }
        Ok(())
    }

    /// Adds the value of the dictionary that the cell refers to.
    fn push_of(
        &self,
        values: &Column,
        codes: &mut [Option<u32>],
        at: usize,
        builder: &mut ColumnBuilder,
    ) -> Result<()> {
        let Data::Fixed(indices) = &self.data else { return Err(outside(at, values.len())) };
        let index = match self.fixed(indices, at)? {
            Cell::Signed(index) => usize::try_from(index).unwrap_or(usize::MAX),
            Cell::Unsigned(index) => usize::try_from(index).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        if index >= values.len() {
            return Err(outside(index, values.len()));
        }
        if let Some(code) = codes[index] {
            builder.push_again(code);
            return Ok(());
        }
        if values.missing.at(index) {
            builder.push_missing();
            return Ok(());
        }
        match &values.values {
            Values::Numeric(values) => Cell::Double(values[index]).push(builder),
            Values::Boolean(values) => Cell::Boolean(values[index]).push(builder),
            Values::Date(values) => Cell::Date(values[index]).push(builder),
            Values::Text(values) => Cell::Text(&values[index]).push(builder),
            Values::Categorical { codes: names, levels } => {
                Cell::Text(&levels[names[index] as usize]).push(builder);
                codes[index] = builder.last_code();
            }
        }
        Ok(())
    }

    fn fixed(&self, values: &[u8], at: usize) -> Result<Cell<'static>> {
        if self.of == Type::Boolean {
            return Ok(Cell::Boolean(bit(values, at)));
        }
        let width = width(self.of);
        let bytes = values.get(at * width..(at + 1) * width).ok_or_else(|| outside(at, values.len()))?;
        Ok(match self.of {
            Type::Integer { signed: true, .. } => Cell::Signed(signed(bytes)),
            Type::Integer { .. } => Cell::Unsigned(unsigned(bytes)),
            Type::Time { times, over, .. } => Cell::Date(signed(bytes).saturating_mul(times).div_euclid(over)),
            Type::Decimal { scale, .. } => decimal(bytes.iter().rev().copied(), scale),
            Type::Float { bytes: 2 } => Cell::Single(f16::from_bits(unsigned(bytes) as u16).to_f32()),
            Type::Float { bytes: 4 } => Cell::Single(f32::from_bits(unsigned(bytes) as u32)),
            _ => Cell::Double(f64::from_bits(unsigned(bytes))),
        })
    }

    fn text(&self, at: usize) -> Result<&str> {
        let found = match &self.data {
            Data::Fixed(_) => None,
            Data::Text { offsets, text, wide } => {
                let width = offset_bytes(*wide);
                let offset = |at: usize| usize::try_from(signed(offsets.get(at * width..(at + 1) * width)?)).ok();
                offset(at).zip(offset(at + 1)).and_then(|(start, end)| text.get(start..end))
            }
            Data::Views { views, pieces } => viewed(&views[at * VIEW_BYTES..(at + 1) * VIEW_BYTES], pieces),
        };
        let bytes = found.ok_or_else(|| malformed("a text lies outside its buffer"))?;
        std::str::from_utf8(bytes).map_err(|error| {
            malformed(format!("byte {} of a text is not valid UTF-8", error.valid_up_to()))
                .way_out("write the column as text or numbers, or ignore it")
        })
    }
}

/// The text of a view: behind its length, or in a piece at an offset.
fn viewed<'a>(view: &'a [u8], pieces: &'a [Bytes]) -> Option<&'a [u8]> {
    let number = |at: usize| Some(unsigned(view.get(at..at + 4)?) as usize);
    let length = number(0)?;
    if length <= INLINE_BYTES {
        return view.get(4..4 + length);
    }
    let (piece, start) = (pieces.get(number(8)?)?, number(12)?);
    piece.get(start..start.checked_add(length)?)
}

fn offset_bytes(wide: bool) -> usize {
    if wide { 8 } else { 4 }
}

/// Bytes of a value, of those types whose values have one size.
fn width(of: Type) -> usize {
    match of {
        Type::Integer { bytes, .. }
        | Type::Float { bytes }
        | Type::Decimal { bytes, .. }
        | Type::Time { bytes, .. } => bytes,
        _ => 0,
    }
}

fn bit(bits: &[u8], at: usize) -> bool {
    bits.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1)
}

/// Up to eight bytes, lowest first.
fn unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    // Moved to the top and back, so that the sign fills the rest.
    ((unsigned(bytes) << unused) as i64) >> unused
}

fn outside(index: usize, length: usize) -> Error {
    malformed(format!("a cell refers to entry {index} of a dictionary of {length}"))
}
