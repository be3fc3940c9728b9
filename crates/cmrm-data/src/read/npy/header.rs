//! The header of an NPY file: a Python dictionary in a fixed form.

use std::io::Read;

use super::Dtype;
use crate::error::{Error, Problem, Result};
use crate::read::limits::{MAX_DIMENSIONS, MAX_NPY_HEADER_BYTES};
use crate::read::source::read_blocks;

/// What an NPY file says about its array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Type of the elements.
    pub dtype: Dtype,
    /// Whether the first index runs fastest.
    pub fortran: bool,
    /// Sizes of the dimensions.
    pub shape: Vec<usize>,
    /// Where the elements start.
    pub data_offset: u64,
}

impl Header {
    /// Reads the header and leaves the reader at the first element.
    pub fn read(reader: &mut dyn Read) -> Result<Header> {
        let mut start = Vec::new();
        let mut take = |reader: &mut dyn Read, bytes: u64| {
            let mut taken = Vec::new();
            read_blocks(reader, bytes, 1, "the NPY header", |block| {
                taken.extend_from_slice(block);
                Ok(())
            })?;
            start.extend_from_slice(&taken);
            Ok::<_, Error>(taken)
        };
        let magic = take(reader, 8)?;
        if !magic.starts_with(b"\x93NUMPY") {
            return Err(Error::malformed("NPY", "it does not start with the NumPy magic"));
        }
        let length = match magic[6] {
            1 => take(reader, 2)?.iter().rev().fold(0, |length, &byte| length << 8 | u64::from(byte)),
            2 | 3 => take(reader, 4)?.iter().rev().fold(0, |length, &byte| length << 8 | u64::from(byte)),
            version => {
                return Err(Error::new(Problem::Version { what: "the NPY file", found: version.into(), supported: 3 }));
            }
        };
        if length > MAX_NPY_HEADER_BYTES {
            return Err(Error::new(Problem::TooLarge {
                what: "the NPY header, in bytes,".into(),
                size: length,
                limit: MAX_NPY_HEADER_BYTES,
            }));
        }
        let text = take(reader, length)?;
        let text = std::str::from_utf8(&text).map_err(|_| Error::malformed("NPY", "the header is not text"))?;
        let mut header = Parser { rest: text }.dictionary()?;
        header.data_offset = start.len() as u64;
        Ok(header)
    }

    /// Bytes of all elements; an overflow is a wrong header.
    pub fn data_bytes(&self) -> Result<u64> {
        let bytes = self.shape.iter().try_fold(self.dtype.size as u64, |bytes, &size| bytes.checked_mul(size as u64));
        bytes.filter(|&bytes| bytes <= isize::MAX as u64).ok_or_else(|| {
            Error::new(Problem::TooLarge {
                what: format!("{}, in bytes,", self.describe()),
                size: u64::MAX,
                limit: isize::MAX as u64,
            })
            .way_out("the header is wrong: write the file again")
        })
    }

    /// Rows, and numbers in a row.
    pub fn rows_and_width(&self) -> Result<(usize, usize)> {
        self.data_bytes()?;
        let (&rows, rest) =
            self.shape.split_first().ok_or_else(|| Error::new(Problem::Empty("an array without dimensions".into())))?;
        // Cannot overflow unless a dimension is zero, which is refused: the bytes of all elements fit.
        let width = rest.iter().fold(1, |width: usize, &size| width.saturating_mul(size));
        if rows == 0 || width == 0 {
            return Err(Error::new(Problem::Empty(format!("an array of shape {:?}", self.shape))));
        }
        Ok((rows, width))
    }

    /// The array in words.
    pub fn describe(&self) -> String {
        format!("the array of {} with shape {:?}", self.dtype, self.shape)
    }

    /// Turns elements with the first index fastest into rows. `values` has as many elements as the shape says.
    pub(super) fn to_row_major(&self, values: &[f32]) -> Vec<f32> {
        let (Some(&rows), dimensions) = (self.shape.first(), &self.shape[1..]) else { return values.to_vec() };
        let width = values.len() / rows.max(1);
        let mut turned = vec![0.0; values.len()];
        // Place in a row of each block of `rows` elements: its index with the second dimension fastest, turned round.
        for (block, column) in values.chunks_exact(rows).zip(0..) {
            let (mut rest, mut place, mut stride) = (column, 0, width);
            for &size in dimensions {
                stride /= size;
                place += rest % size * stride;
                rest /= size;
            }
            for (row, &value) in block.iter().enumerate() {
                turned[row * width + place] = value;
            }
        }
        turned
    }
}

/// Reads just the literals that NumPy writes.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn dictionary(mut self) -> Result<Header> {
        let (mut dtype, mut fortran, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.take('}') {
            let key = self.string()?;
            self.expect(':')?;
            match key {
                "descr" => dtype = Some(self.descr()?),
                "fortran_order" => fortran = Some(self.boolean()?),
                "shape" => shape = Some(self.tuple()?),
                _ => return Err(Error::malformed("NPY", format!("the header has an unknown key '{key}'"))),
            }
            if !self.take(',') {
                self.expect('}')?;
                break;
            }
        }
        match (dtype, fortran, shape) {
            (Some(dtype), Some(fortran), Some(shape)) => Ok(Header { dtype, fortran, shape, data_offset: 0 }),
            _ => Err(Error::malformed("NPY", "the header lacks descr, fortran_order or shape")),
        }
    }

    fn descr(&mut self) -> Result<Dtype> {
        if self.rest.trim_start().starts_with('[') {
            return Err(Error::new(Problem::Unsupported("a structured NumPy array".into()))
                .way_out("save it as a plain array, or as Parquet or CSV for named columns"));
        }
        Dtype::parse(self.string()?)
    }

    fn take(&mut self, wanted: char) -> bool {
        match self.rest.trim_start().strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        if self.take(wanted) {
            return Ok(());
        }
        let found: String = self.rest.trim_start().chars().take(12).collect();
        Err(Error::malformed("NPY", format!("the header has '{found}' where '{wanted}' is expected")))
    }

    fn string(&mut self) -> Result<&'a str> {
        let quote = if self.take('"') { '"' } else { '\'' };
        if quote == '\'' {
            self.expect(quote)?;
        }
        let end = self.rest.find(quote).ok_or_else(|| Error::malformed("NPY", "the header has an open string"))?;
        let (string, rest) = (&self.rest[..end], &self.rest[end + 1..]);
        self.rest = rest;
        Ok(string)
    }

    fn boolean(&mut self) -> Result<bool> {
        let rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(Error::malformed("NPY", "fortran_order is neither True nor False"))
    }

    fn tuple(&mut self) -> Result<Vec<usize>> {
        let mut sizes = Vec::new();
        self.expect('(')?;
        while !self.take(')') {
            let rest = self.rest.trim_start();
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let size = rest[..digits]
                .parse()
                .map_err(|_| Error::malformed("NPY", "a dimension of the shape is not a size this machine can hold"))?;
            // Python 2 wrote long integers with an L.
            self.rest = rest[digits..].strip_prefix('L').unwrap_or(&rest[digits..]);
            sizes.push(size);
            if sizes.len() > MAX_DIMENSIONS {
                return Err(Error::new(Problem::TooLarge {
                    what: "the number of dimensions".into(),
                    size: sizes.len() as u64,
                    limit: MAX_DIMENSIONS as u64,
                }));
            }
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(sizes)
    }
}
