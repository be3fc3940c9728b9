//! The binary files of CIFAR-10 and CIFAR-100.

use super::source::read_blocks;
use super::{ReadOptions, Source};
use crate::dataset::{Array, Features, ImageShape, Input};
use crate::error::{Error, Problem, Result};
use crate::table::{ColumnBuilder, Kind};

/// Bytes of a picture: 32 by 32 pixels, all of red, then of green, then of blue.
const PIXELS: usize = 3 * 32 * 32;
/// Bytes of a CIFAR-10 record: its class and its picture.
pub(super) const CIFAR10_RECORD: usize = 1 + PIXELS;
/// Bytes of a CIFAR-100 record: its coarse class, its fine class and its picture.
pub(super) const CIFAR100_RECORD: usize = 2 + PIXELS;

/// Reads a file of CIFAR-10; labels are the class numbers.
pub fn read_cifar10(source: &Source, _options: &ReadOptions) -> Result<Input> {
    read_records(source, CIFAR10_RECORD, 0, 10)
}

/// Reads a file of CIFAR-100; labels are the numbers of the hundred fine classes or, if the options say so, of the
/// twenty coarse ones.
pub fn read_cifar100(source: &Source, options: &ReadOptions) -> Result<Input> {
    if options.coarse_labels {
        read_records(source, CIFAR100_RECORD, 0, 20)
    } else {
        read_records(source, CIFAR100_RECORD, 1, 100)
    }
}

fn read_records(source: &Source, record: usize, label: usize, classes: u8) -> Result<Input> {
    let in_file = |error: Error| error.in_file(source.name());
    let length = source.len()?;
    let rows = length / record as u64;
    if rows == 0 || !length.is_multiple_of(record as u64) {
        let expected = (rows + 1) * record as u64;
        let what = format!("a file of records of {record} bytes");
        return Err(in_file(
            Error::new(Problem::Truncated { what, expected, found: length })
                .way_out("the file is incomplete or not of this format"),
        ));
    }
    let mut reader = source.open()?;
    // The length is that of bytes which are there.
    let mut values = Vec::with_capacity(rows as usize * PIXELS);
    let mut labels = ColumnBuilder::new(Kind::Categorical);
    let mut row = 0;
    read_blocks(&mut reader, length, record, "the file", |block| {
        for record in block.chunks_exact(record) {
            let class = record[label];
            if class >= classes {
                return Err(Error::malformed("CIFAR", format!("class {class} is not below {classes}")).at_row(row));
            }
            labels.push_name(&class.to_string());
            values.extend(record[record.len() - PIXELS..].iter().map(|&byte| f32::from(byte)));
            row += 1;
        }
        Ok(())
    })
    .map_err(in_file)?;
    let image = ImageShape { channels: 3, height: 32, width: 32, channels_last: false };
    let features = Array::new(values, PIXELS).and_then(|array| array.with_image(image)).map_err(in_file)?;
    Ok(Input {
        features: Features::Array(features),
        labels: Some(labels.finish("label")),
        ids: None,
        source: source.name().to_string(),
    })
}
