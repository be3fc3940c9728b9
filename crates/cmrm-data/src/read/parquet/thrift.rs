//! A walk through bytes in thrift's compact protocol, which footers and the headers of pages are in.
//!
//! The decoder believes what it is told about lengths, so what it is to read is walked through first.

/// Deepest nesting of values; those of real files have up to ten levels.
const MOST_NESTED: usize = 16;

/// Types of the protocol, as a field's or a list's header numbers them.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
pub const I32: u8 = 5;
pub const I64: u8 = 6;
pub const BINARY: u8 = 8;
pub const LIST: u8 = 9;
pub const STRUCTURE: u8 = 12;

/// A place in the bytes; every step is `None` where they end.
pub struct Walk<'a> {
    pub rest: &'a [u8],
}

impl Walk<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    fn skip_bytes(&mut self, count: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The type of the next field, whose number goes into `field`; 0 ends a structure.
    pub fn field(&mut self, field: &mut i64) -> Option<u8> {
        let header = self.byte()?;
        if header == 0 {
            return Some(0);
        }
        let onwards = i64::from(header >> 4);
        *field = if onwards > 0 { *field + onwards } else { self.zigzag()? };
        // The decoder would take a greater number for a small one.
        let is_number = i16::try_from(*field).is_ok();
        Some(header & 0x0f).filter(|&kind| kind != 0 && is_number)
    }

    /// Length of a list and type of its elements.
    pub fn list(&mut self) -> Option<(u64, u8)> {
        let header = self.byte()?;
        let short = u64::from(header >> 4);
        Some((if short == 15 { self.varint()? } else { short }, header & 0x0f))
    }

    /// Passes over a value of that type.
    pub fn skip(&mut self, kind: u8) -> Option<()> {
        self.skip_within(kind, MOST_NESTED)
    }

    fn skip_within(&mut self, kind: u8, levels: usize) -> Option<()> {
        let levels = levels.checked_sub(1)?;
        match kind {
            TRUE | FALSE => Some(()),
            3 => self.skip_bytes(1),
            4 | I32 | I64 => self.varint().map(drop),
            7 => self.skip_bytes(8),
            BINARY => {
                let length = self.varint()?;
                self.skip_bytes(length)
            }
            LIST | 10 => {
                let (count, kind) = self.list()?;
                match kind {
                    // Parquet has none, and the decoder, to which it takes no bytes, would count to any number.
                    TRUE | FALSE => None,
                    _ => (0..count).try_for_each(|_| self.skip_within(kind, levels)),
                }
            }
            STRUCTURE => {
                let mut field = 0;
                loop {
                    match self.field(&mut field)? {
                        0 => return Some(()),
                        kind => self.skip_within(kind, levels)?,
                    }
                }
            }
            _ => None,
        }
    }
}
