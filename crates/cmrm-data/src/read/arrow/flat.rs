//! FlatBuffers as far as Arrow's metadata needs them: tables, vectors and texts, every access checked.

use crate::error::{Error, Result};

/// A table: fields by slot, each of which may be absent.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where each field stands, as two bytes each, behind the sizes of this list and of the table.
    places: &'a [u8],
}

impl<'a> Table<'a> {
    /// The table that the bytes are about.
    pub fn root(bytes: &'a [u8]) -> Result<Self> {
        Table::at(bytes, u32::from_le_bytes(array(bytes, 0)?) as usize)
    }

    fn at(bytes: &'a [u8], at: usize) -> Result<Self> {
        let back = i64::from(i32::from_le_bytes(array(bytes, at)?));
        let start = usize::try_from(at as i64 - back).map_err(|_| broken())?;
        let size = usize::from(u16::from_le_bytes(array(bytes, start)?));
        let places = bytes.get(start..start.saturating_add(size)).and_then(|list| list.get(4..));
        Ok(Table { bytes, at, places: places.ok_or_else(broken)? })
    }

    fn field(&self, slot: usize) -> Option<usize> {
        let place = self.places.get(2 * slot..2 * slot + 2)?;
        let offset = usize::from(u16::from_le_bytes([place[0], place[1]]));
        (offset != 0).then(|| self.at + offset)
    }

    fn number<const N: usize>(&self, slot: usize) -> Result<Option<[u8; N]>> {
        self.field(slot).map(|at| array(self.bytes, at)).transpose()
    }

    pub fn u8(&self, slot: usize) -> Result<u8> {
        Ok(self.number::<1>(slot)?.map_or(0, |[byte]| byte))
    }

    pub fn i16(&self, slot: usize, default: i16) -> Result<i16> {
        Ok(self.number(slot)?.map_or(default, i16::from_le_bytes))
    }

    pub fn i32(&self, slot: usize, default: i32) -> Result<i32> {
        Ok(self.number(slot)?.map_or(default, i32::from_le_bytes))
    }

    pub fn i64(&self, slot: usize) -> Result<i64> {
        Ok(self.number(slot)?.map_or(0, i64::from_le_bytes))
    }

    pub fn table(&self, slot: usize) -> Result<Option<Table<'a>>> {
        self.field(slot).map(|at| Table::at(self.bytes, self.follow(at)?)).transpose()
    }

    pub fn text(&self, slot: usize) -> Result<Option<&'a str>> {
        let Some((start, length)) = self.vector(slot, 1)? else { return Ok(None) };
        std::str::from_utf8(&self.bytes[start..start + length]).map(Some).map_err(|_| broken())
    }

    pub fn tables(&self, slot: usize) -> Result<Vec<Table<'a>>> {
        let Some((start, length)) = self.vector(slot, 4)? else { return Ok(Vec::new()) };
        (0..length).map(|entry| Table::at(self.bytes, self.follow(start + 4 * entry)?)).collect()
    }

    pub fn longs(&self, slot: usize) -> Result<Vec<i64>> {
        let Some((start, length)) = self.vector(slot, 8)? else { return Ok(Vec::new()) };
        (0..length).map(|entry| Ok(i64::from_le_bytes(array(self.bytes, start + 8 * entry)?))).collect()
    }

    /// A vector of structs that are two numbers each.
    pub fn pairs(&self, slot: usize) -> Result<Vec<(i64, i64)>> {
        let Some((start, length)) = self.vector(slot, 16)? else { return Ok(Vec::new()) };
        let long = |at: usize| array(self.bytes, at).map(i64::from_le_bytes);
        (0..length).map(|entry| Ok((long(start + 16 * entry)?, long(start + 16 * entry + 8)?))).collect()
    }

    /// The places that a vector of blocks names: each has a place and two lengths, in 24 bytes.
    pub fn block_places(&self, slot: usize) -> Result<Vec<u64>> {
        let Some((start, length)) = self.vector(slot, 24)? else { return Ok(Vec::new()) };
        let place = |block: usize| {
            let place = i64::from_le_bytes(array(self.bytes, start + 24 * block)?);
            u64::try_from(place).map_err(|_| broken())
        };
        (0..length).map(place).collect()
    }

    /// Start and length of a vector, all of whose entries are there.
    fn vector(&self, slot: usize, entry: usize) -> Result<Option<(usize, usize)>> {
        let Some(at) = self.field(slot) else { return Ok(None) };
        let at = self.follow(at)?;
        let length = u32::from_le_bytes(array(self.bytes, at)?) as usize;
        let start = at + 4;
        let there = length.checked_mul(entry).is_some_and(|size| size <= self.bytes.len() - start);
        if there { Ok(Some((start, length))) } else { Err(broken()) }
    }

    /// Where an offset leads, always forward.
    fn follow(&self, at: usize) -> Result<usize> {
        at.checked_add(u32::from_le_bytes(array(self.bytes, at)?) as usize).ok_or_else(broken)
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let found = at.checked_add(N).and_then(|end| bytes.get(at..end)).and_then(|found| found.try_into().ok());
    found.ok_or_else(broken)
}

pub(super) fn broken() -> Error {
    super::malformed("its metadata leads outside itself")
}
