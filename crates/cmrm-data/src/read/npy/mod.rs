//! NumPy's NPY files: features as rows of `f32`, or labels as a column.

mod dtype;
mod header;
mod rows;

pub use dtype::{Dtype, ElementKind};
pub use header::Header;
pub use rows::NpyRows;

use std::io::Read;

use super::source::read_blocks;
use super::{ReadOptions, Source};
use crate::dataset::{Array, Features, ImageShape, Input};
use crate::error::{Error, Problem, Result};
use crate::table::{Column, ColumnBuilder, Kind};

/// Whole numbers below this are looked up by themselves.
const SMALL_NUMBERS: usize = 1 << 12;

/// An open array: its header has been read, its elements follow in `reader`.
pub(crate) struct Open<'a> {
    pub header: Header,
    reader: Box<dyn Read + Send + 'a>,
    /// Bytes of elements, if they are known to be there rather than declared.
    present: Option<u64>,
}

impl<'a> Open<'a> {
    /// Reads the header and compares the declared shape with the `length` bytes of the whole, if known.
    pub fn new(mut reader: Box<dyn Read + Send + 'a>, length: Option<u64>) -> Result<Self> {
        let header = Header::read(&mut reader)?;
        Open::with_header(header, reader, length)
    }

    /// The same for a header that has been read already.
    pub fn with_header(header: Header, reader: Box<dyn Read + Send + 'a>, length: Option<u64>) -> Result<Self> {
        let expected = header.data_bytes()?;
        let present = length.map(|length| length.saturating_sub(header.data_offset));
        if let Some(found) = present
            && expected > found
        {
            return Err(Error::new(Problem::Truncated { what: header.describe(), expected, found })
                .way_out("the file is incomplete or its header is wrong: write it again"));
        }
        Ok(Open { header, reader, present })
    }

    /// Rows of features: everything behind the first dimension is one row.
    pub fn features(mut self) -> Result<Array> {
        let (rows, width) = self.header.rows_and_width()?;
        let mut values = Vec::with_capacity(if self.present.is_some() { rows * width } else { 0 });
        let dtype = self.header.dtype;
        dtype.check_numeric()?;
        self.each_block(|block| {
            dtype.append_f32(block, &mut values);
            Ok(())
        })?;
        if self.header.fortran && self.header.shape.len() > 1 {
            values = self.header.to_row_major(&values);
        }
        array_of(values, width, &self.header.shape)
    }

    /// A list of numbers.
    pub fn numbers(mut self) -> Result<Vec<f32>> {
        self.check_list()?;
        let dtype = self.header.dtype;
        dtype.check_numeric()?;
        let mut values = Vec::new();
        self.each_block(|block| {
            dtype.append_f32(block, &mut values);
            Ok(())
        })?;
        Ok(values)
    }

    /// A list of whole numbers, none of them negative: sizes and positions.
    pub fn whole_numbers(self) -> Result<Vec<usize>> {
        self.list_of("a size or index", |dtype, element| dtype.whole_number(element))
    }

    /// A list of whole numbers with a sign.
    pub fn signed_numbers(self) -> Result<Vec<i64>> {
        self.list_of("a whole number", |dtype, element| dtype.signed_number(element))
    }

    fn list_of<T>(mut self, what: &str, number: impl Fn(&Dtype, &[u8]) -> Option<T>) -> Result<Vec<T>> {
        self.check_list()?;
        let dtype = self.header.dtype;
        let mut values = Vec::new();
        self.each_block(|block| {
            for element in block.chunks_exact(dtype.size) {
                let number = number(&dtype, element).ok_or_else(|| {
                    let found = dtype.text(element).ok().flatten().unwrap_or_default();
                    Error::malformed("NPZ", format!("{found} at position {} is not {what}", values.len()))
                })?;
                values.push(number);
            }
            Ok(())
        })?;
        Ok(values)
    }

    /// A text in an array without dimensions.
    pub fn text(mut self) -> Result<String> {
        let dtype = self.header.dtype;
        let mut text = String::new();
        self.each_block(|block| {
            text = dtype.text(block)?.unwrap_or_default().into_owned();
            Ok(())
        })?;
        Ok(text)
    }

    fn check_list(&self) -> Result<()> {
        if self.header.shape.len() == 1 {
            return Ok(());
        }
        let what = format!("dimensions of {}", self.header.describe());
        Err(Error::new(Problem::Shape { what, expected: 1, found: self.header.shape.len() as u64 }))
    }

    fn each_block(&mut self, take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (bytes, what) = (self.header.data_bytes()?, self.header.describe());
        read_blocks(&mut self.reader, bytes, self.header.dtype.size, &what, take)
    }

    /// A column of labels: one dimension, or two of which the second is one.
    pub fn column(mut self, name: &str) -> Result<Column> {
        let shape = &self.header.shape;
        if !(shape.len() == 1 || shape.len() == 2 && shape[1] == 1) {
            return Err(Error::new(Problem::Shape {
                what: format!("dimensions of the labels {shape:?}"),
                expected: 1,
                found: shape.len() as u64,
            })
            .way_out("save labels as one class per row, for instance with argmax over one-hot rows"));
        }
        let dtype = self.header.dtype;
        let mut builder = ColumnBuilder::new(Kind::Categorical);
        // Labels are mostly small numbers, each of which needs to be written out and looked up only once.
        let mut codes = vec![None; SMALL_NUMBERS];
        let mut row = 0;
        self.each_block(|block| {
            for element in block.chunks_exact(dtype.size) {
                let small = dtype.whole_number(element).filter(|&number| number < SMALL_NUMBERS);
                if let Some(code) = small.and_then(|number| codes[number]) {
                    builder.push_again(code);
                } else {
                    match dtype.text(element).map_err(|error| error.at_row(row))? {
                        Some(text) => {
                            builder.push_name(&text);
                            small.iter().for_each(|&number| codes[number] = builder.last_code());
                        }
                        None => builder.push_missing(),
                    }
                }
                row += 1;
            }
            Ok(())
        })?;
        Ok(builder.finish(name))
    }
}

/// Opens an array in a file of its own; its bytes are known to be there.
pub(crate) fn open(source: &Source, options: &ReadOptions) -> Result<Open<'static>> {
    let length = if source.is_packed()? { None } else { Some(source.len()?) };
    Open::new(source.open_unpacked(&options.limits)?, length).map_err(|error| error.in_file(source.name()))
}

/// Reads a file of features.
pub fn read_npy(source: &Source, options: &ReadOptions) -> Result<Input> {
    let features = open(source, options)?.features().map_err(|error| error.in_file(source.name()))?;
    let features = Features::Array(features);
    Ok(Input { features, labels: None, ids: None, source: source.name().to_string() })
}

/// Reads a file of labels.
pub fn read_npy_labels(source: &Source, options: &ReadOptions) -> Result<Column> {
    open(source, options)?.column("label").map_err(|error| error.in_file(source.name()))
}

/// Reads an array of features in chunks; only row-major arrays can be.
pub(crate) struct NpyChunks {
    open: Open<'static>,
    name: String,
    rows: usize,
    row: u64,
    failed: bool,
}

impl NpyChunks {
    /// At most `rows` rows at a time.
    pub fn new(source: &Source, options: &ReadOptions, rows: usize) -> Result<Self> {
        let open = open(source, options)?;
        open.header
            .rows_and_width()
            .and(open.header.dtype.check_numeric())
            .map_err(|error| error.in_file(source.name()))?;
        Ok(NpyChunks { open, name: source.name().to_string(), rows: rows.max(1), row: 0, failed: false })
    }

    fn read_chunk(&mut self) -> Result<Option<Input>> {
        let header = &self.open.header;
        let (rows, width) = header.rows_and_width()?;
        let count = ((rows as u64).saturating_sub(self.row)).min(self.rows as u64);
        if count == 0 {
            return Ok(None);
        }
        let dtype = header.dtype;
        let mut values = Vec::new();
        let bytes = count * width as u64 * dtype.size as u64;
        read_blocks(&mut self.open.reader, bytes, dtype.size, "a chunk of rows", |block| {
            dtype.append_f32(block, &mut values);
            Ok(())
        })?;
        let mut array = Array::new(values, width)?.starting_at(self.row);
        if let Some(image) = image_shape(&self.open.header.shape) {
            array = array.with_image(image)?;
        }
        self.row += count;
        Ok(Some(Input { features: Features::Array(array), labels: None, ids: None, source: self.name.clone() }))
    }
}

impl Iterator for NpyChunks {
    type Item = Result<Input>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let chunk = self.read_chunk().map_err(|error| error.in_file(&self.name)).transpose();
        self.failed = matches!(chunk, Some(Err(_)));
        chunk
    }
}

fn array_of(values: Vec<f32>, width: usize, shape: &[usize]) -> Result<Array> {
    let array = Array::new(values, width)?;
    match image_shape(shape) {
        Some(image) => array.with_image(image),
        None => Ok(array),
    }
}

/// Three dimensions are grey images; four are colour images if a second or last dimension looks like colours.
fn image_shape(shape: &[usize]) -> Option<ImageShape> {
    match *shape {
        [_, height, width] => Some(ImageShape { channels: 1, height, width, channels_last: true }),
        [_, height, width, channels @ (1 | 3 | 4)] => Some(ImageShape { channels, height, width, channels_last: true }),
        [_, channels @ (1 | 3 | 4), height, width] => {
            Some(ImageShape { channels, height, width, channels_last: false })
        }
        _ => None,
    }
}
