//! What the columns of an Arrow file are, and how many arrays and buffers each takes.

use super::flat::{Table, broken};
use super::malformed;
use crate::error::{Error, Problem, Result};
use crate::table::Kind;

/// Most lists and structs one within the other.
const MAX_DEPTH: usize = 32;
/// Most fields, nested ones included.
const MAX_FIELDS: usize = 1 << 20;

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Type {
    /// Nothing but missing cells.
    Null,
    Boolean,
    Integer {
        bytes: usize,
        signed: bool,
    },
    Float {
        bytes: usize,
    },
    /// An integer over a power of ten.
    Decimal {
        bytes: usize,
        scale: i32,
    },
    /// An integer of so many bytes, times this over that many microseconds since 1970.
    Time {
        bytes: usize,
        times: i64,
        over: i64,
    },
    /// Text, with offsets of eight bytes if it is wide, else of four.
    Text {
        wide: bool,
    },
    /// Text in pieces that are referred to.
    TextView,
    /// What is no cell, in words.
    Unsupported(&'static str),
}

impl Type {
    /// The kind of column that the values make.
    pub fn kind(self) -> Kind {
        match self {
            Type::Boolean => Kind::Boolean,
            Type::Time { .. } => Kind::Date,
            Type::Text { .. } | Type::TextView => Kind::Categorical,
            _ => Kind::Numeric,
        }
    }

    /// Whether a value may be a whole number that no double holds.
    pub fn may_be_large(self) -> bool {
        matches!(self, Type::Integer { bytes: 8, .. } | Type::Decimal { bytes: 8.., .. })
    }
}

/// A column whose values are given by their place in a dictionary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Encoding {
    pub id: i64,
    pub index_bytes: usize,
    pub index_signed: bool,
}

/// A column.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub name: String,
    pub of: Type,
    pub encoding: Option<Encoding>,
    /// Arrays that it takes, the nested ones included.
    pub arrays: usize,
    /// Buffers that it takes, apart from the pieces of text views.
    pub buffers: usize,
    /// How many of its arrays are views, each with a number of pieces of its own.
    pub views: usize,
}

impl Field {
    /// Refuses what cannot be read.
    pub fn check(&self) -> Result<()> {
        let Type::Unsupported(what) = self.of else { return Ok(()) };
        Err(Error::new(Problem::Unsupported(what.into()))
            .in_column(&*self.name)
            .way_out("write the file without it, or ignore the column"))
    }
}

/// The columns that a schema lists.
pub(super) fn fields_of(schema: Table<'_>) -> Result<Vec<Field>> {
    if schema.i16(0, 0)? != 0 {
        return Err(Error::new(Problem::Unsupported("an Arrow file with the highest byte first".into()))
            .way_out("write it on a machine with the lowest byte first"));
    }
    let mut left = MAX_FIELDS;
    schema.tables(1)?.into_iter().map(|field| read_field(field, 1, &mut left)).collect()
}

fn read_field(field: Table<'_>, depth: usize, left: &mut usize) -> Result<Field> {
    if depth > MAX_DEPTH || *left == 0 {
        return Err(malformed("its columns nest too deeply, or are too many"));
    }
    *left -= 1;
    let name = field.text(0)?.unwrap_or_default().to_string();
    let (number, about) = (field.u8(2)?, field.table(3)?.ok_or_else(broken)?);
    let (of, own_buffers) = read_type(number, about)?;
    let views = usize::from(matches!(number, BINARY_VIEW | TEXT_VIEW));
    let mut read = Field { name, of, encoding: None, arrays: 1, buffers: own_buffers, views };
    if let Some(encoding) = field.table(4)? {
        let (index_bytes, index_signed) = match encoding.table(1)? {
            Some(index) => integer(index)?,
            None => (4, true),
        };
        let encoding = Encoding { id: encoding.i64(0)?, index_bytes, index_signed };
        // The rows hold indices, whatever the dictionary holds.
        return Ok(Field { encoding: Some(encoding), buffers: 2, views: 0, ..read });
    }
    for child in field.tables(5)? {
        let child = read_field(child, depth + 1, left)?;
        read.arrays += child.arrays;
        read.buffers += child.buffers;
        read.views += child.views;
    }
    Ok(read)
}

const BINARY_VIEW: u8 = 23;
const TEXT_VIEW: u8 = 24;

/// The type of that number in Arrow's union of types, and how many buffers an array of it has.
fn read_type(number: u8, about: Table<'_>) -> Result<(Type, usize)> {
    let unit = |default: i16| about.i16(0, default);
    let plain = |of: Type| Ok((of, 2));
    let nested = |buffers: usize| Ok((Type::Unsupported("a nested column"), buffers));
    let bytes = "a column of bytes";
    match number {
        1 => Ok((Type::Null, 0)),
        2 => {
            let (bytes, signed) = integer(about)?;
            plain(Type::Integer { bytes, signed })
        }
        3 => plain(Type::Float { bytes: 2 << unit(0)?.clamp(0, 2) }),
        4 | 5 => Ok((Type::Text { wide: false }, 3)),
        6 => plain(Type::Boolean),
        7 => match (about.i32(2, 128)?, about.i32(1, 0)?) {
            (bits @ (32 | 64 | 128 | 256), scale @ -300..=300) => {
                plain(Type::Decimal { bytes: bits as usize / 8, scale })
            }
            _ => plain(Type::Unsupported("a decimal column of that width or scale")),
        },
        8 => plain(match unit(1)? {
            0 => Type::Time { bytes: 4, times: crate::table::date::DAY, over: 1 },
            _ => Type::Time { bytes: 8, times: 1000, over: 1 },
        }),
        9 => plain(Type::Integer { bytes: if about.i32(1, 32)? == 64 { 8 } else { 4 }, signed: true }),
        10 => plain(match unit(0)? {
            0 => Type::Time { bytes: 8, times: 1_000_000, over: 1 },
            1 => Type::Time { bytes: 8, times: 1000, over: 1 },
            2 => Type::Time { bytes: 8, times: 1, over: 1 },
            _ => Type::Time { bytes: 8, times: 1, over: 1000 },
        }),
        11 => plain(Type::Unsupported("a column of calendar intervals")),
        12 | 17 | 21 => nested(2),
        13 | 16 => nested(1),
        // A dense union has a type and an offset for each value, a sparse one a type.
        14 => nested(if unit(0)? == 1 { 2 } else { 1 }),
        15 => plain(Type::Unsupported(bytes)),
        18 => plain(Type::Integer { bytes: 8, signed: true }),
        19 | 20 => Ok((Type::Text { wide: true }, 3)),
        22 => nested(0),
        BINARY_VIEW | TEXT_VIEW => plain(Type::TextView),
        25 | 26 => nested(3),
        _ => Err(Error::new(Problem::Unsupported(format!("Arrow's type number {number}")))),
    }
}

fn integer(about: Table<'_>) -> Result<(usize, bool)> {
    match about.i32(0, 0)? {
        bits @ (8 | 16 | 32 | 64) => Ok((bits as usize / 8, about.u8(1)? != 0)),
        bits => Err(malformed(format!("it has an integer of {bits} bits"))),
    }
}
