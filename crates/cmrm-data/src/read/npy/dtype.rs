//! Element types of NumPy arrays.

use std::borrow::Cow;
use std::fmt;

use half::f16;

use crate::error::{Error, Problem, Result};

/// The type of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dtype {
    /// What an element is.
    pub kind: ElementKind,
    /// Bytes of an element.
    pub size: usize,
    /// Whether the first byte is the highest.
    pub big_endian: bool,
}

/// What an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementKind {
    /// A float of two, four or eight bytes.
    Float,
    /// A signed integer of one, two, four or eight bytes.
    Signed,
    /// An unsigned integer of one, two, four or eight bytes.
    Unsigned,
    /// One byte, zero for false.
    Boolean,
    /// Text, four bytes a character.
    Unicode,
    /// Text, one byte a character.
    Bytes,
}

/// Longest text element, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 16;

impl Dtype {
    /// Reads a description such as `<f4`.
    pub(super) fn parse(text: &str) -> Result<Dtype> {
        let unsupported = || {
            let error = Error::new(Problem::Unsupported(format!("the NumPy element type '{text}'")));
            error.way_out("save it with astype as float16, float32, float64, an integer, bool or str")
        };
        let mut characters = text.chars();
        let first = characters.next().ok_or_else(unsupported)?;
        let (order, kind) = match first {
            '<' | '>' | '=' | '|' => (first, characters.next().ok_or_else(unsupported)?),
            _ => ('=', first),
        };
        let count: usize = characters.as_str().parse().map_err(|_| unsupported())?;
        let (kind, size) = match (kind, count) {
            ('f', 2 | 4 | 8) => (ElementKind::Float, count),
            ('i', 1 | 2 | 4 | 8) => (ElementKind::Signed, count),
            ('u', 1 | 2 | 4 | 8) => (ElementKind::Unsigned, count),
            ('b', 1) => (ElementKind::Boolean, 1),
            ('U', 1..) if count <= MAX_TEXT_BYTES / 4 => (ElementKind::Unicode, count * 4),
            ('S', 1..) if count <= MAX_TEXT_BYTES => (ElementKind::Bytes, count),
            _ => return Err(unsupported()),
        };
        let big_endian = order == '>' || order == '=' && cfg!(target_endian = "big");
        Ok(Dtype { kind, size, big_endian })
    }

    /// Refuses text where numbers are needed.
    pub(super) fn check_numeric(&self) -> Result<()> {
        match self.kind {
            ElementKind::Unicode | ElementKind::Bytes => {
                Err(Error::new(Problem::Unsupported("text as features of an array".into()))
                    .way_out("save the features as numbers, or use CSV or Parquet for categorical columns"))
            }
            _ => Ok(()),
        }
    }

    /// The element as it came, lowest byte first.
    fn low_first(&self, element: &[u8]) -> [u8; 8] {
        let mut bytes = [0; 8];
        let size = element.len().min(8);
        bytes[..size].copy_from_slice(&element[..size]);
        if self.big_endian {
            bytes[..size].reverse();
        }
        bytes
    }

    /// A number, exactly or, for an integer beyond 2⁵³, to the nearest double.
    fn number(&self, element: &[u8]) -> f64 {
        let [a, b, c, d, ..] = self.low_first(element);
        match (self.kind, self.size) {
            (ElementKind::Float, 2) => f16::from_le_bytes([a, b]).to_f64(),
            (ElementKind::Float, 4) => f64::from(f32::from_le_bytes([a, b, c, d])),
            (ElementKind::Float, _) => f64::from_le_bytes(self.low_first(element)),
            (ElementKind::Signed, _) => self.signed(element) as f64,
            (ElementKind::Boolean, _) => f64::from(u8::from(a != 0)),
            _ => self.unsigned(element) as f64,
        }
    }

    fn signed(&self, element: &[u8]) -> i64 {
        let unused = 64 - 8 * self.size.min(8) as u32;
        // The shifts carry the sign of a short integer up to all 64 bits.
        (self.unsigned(element) << unused) as i64 >> unused
    }

    fn unsigned(&self, element: &[u8]) -> u64 {
        u64::from_le_bytes(self.low_first(element))
    }

    /// Adds the elements as 32-bit floats, each rounded once from its double.
    pub(super) fn append_f32(&self, block: &[u8], values: &mut Vec<f32>) {
        let elements = block.chunks_exact(self.size);
        match (self.kind, self.size, self.big_endian) {
            // The usual types have loops of their own, which the compiler makes much faster.
            (ElementKind::Float, 4, false) => {
                values.extend(elements.map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])));
            }
            (ElementKind::Float, 2, false) => {
                values.extend(elements.map(|bytes| f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()));
            }
            (ElementKind::Unsigned, 1, _) => values.extend(block.iter().map(|&byte| f32::from(byte))),
            _ => values.extend(elements.map(|element| self.number(element) as f32)),
        }
    }

    /// The element as a label; NaN and empty text are missing.
    pub(super) fn text<'a>(&self, element: &'a [u8]) -> Result<Option<Cow<'a, str>>> {
        let text: Cow<'a, str> = match self.kind {
            ElementKind::Float => {
                let value = self.number(element);
                if value.is_nan() {
                    return Ok(None);
                }
                // The shortest text of a short float is that of its own type, not of the double it widens to.
                if self.size == 8 { value.to_string().into() } else { (value as f32).to_string().into() }
            }
            ElementKind::Signed => self.signed(element).to_string().into(),
            ElementKind::Unsigned => self.unsigned(element).to_string().into(),
            ElementKind::Boolean => if element.first() == Some(&0) { "false" } else { "true" }.into(),
            ElementKind::Bytes => {
                let length = element.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                std::str::from_utf8(&element[..length]).map_err(|_| self.bad_text())?.into()
            }
            ElementKind::Unicode => {
                let mut text = String::new();
                for unit in element.chunks_exact(4) {
                    let [a, b, c, d, ..] = self.low_first(unit);
                    text.push(char::from_u32(u32::from_le_bytes([a, b, c, d])).ok_or_else(|| self.bad_text())?);
                }
                text.truncate(text.trim_end_matches('\0').len());
                text.into()
            }
        };
        Ok(if text.is_empty() { None } else { Some(text) })
    }

    /// An element of a type of whole numbers, unless it is negative.
    pub(super) fn whole_number(&self, element: &[u8]) -> Option<usize> {
        match self.kind {
            ElementKind::Signed => usize::try_from(self.signed(element)).ok(),
            ElementKind::Unsigned => usize::try_from(self.unsigned(element)).ok(),
            _ => None,
        }
    }

    /// An element of a type of whole numbers, unless it is too large.
    pub(super) fn signed_number(&self, element: &[u8]) -> Option<i64> {
        match self.kind {
            ElementKind::Signed => Some(self.signed(element)),
            ElementKind::Unsigned => i64::try_from(self.unsigned(element)).ok(),
            _ => None,
        }
    }

    fn bad_text(&self) -> Error {
        Error::malformed("NPY", format!("an element of type {self} is not text"))
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            ElementKind::Float => "float",
            ElementKind::Signed => "int",
            ElementKind::Unsigned => "uint",
            ElementKind::Boolean => return f.write_str("bool"),
            ElementKind::Unicode | ElementKind::Bytes => return write!(f, "text of {} bytes", self.size),
        };
        write!(f, "{name}{}", self.size * 8)
    }
}
