//! What the columns of a Parquet file are.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::schema::types::ColumnDescriptor;

use crate::error::{Error, Problem, Result};
use crate::table::Kind;

/// How the values of a column are to be understood.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Meaning {
    Boolean,
    Signed,
    Unsigned,
    Float,
    Half,
    /// An integer over a power of ten.
    Decimal(i32),
    /// Days since 1970.
    Days,
    /// An integer times this over that many microseconds since 1970.
    Timestamp {
        times: i64,
        over: i64,
    },
    /// Days since a Julian epoch and nanoseconds, as older Spark wrote them.
    Julian,
    Text,
    Uuid,
}

impl Meaning {
    /// The kind of column that the values make.
    pub fn kind(self) -> Kind {
        match self {
            Meaning::Boolean => Kind::Boolean,
            Meaning::Days | Meaning::Timestamp { .. } | Meaning::Julian => Kind::Date,
            Meaning::Text | Meaning::Uuid => Kind::Categorical,
            _ => Kind::Numeric,
        }
    }

    /// Whether a value may be a whole number that no double holds.
    pub fn may_be_large(self, physical: Type) -> bool {
        match self {
            Meaning::Signed | Meaning::Unsigned => physical == Type::INT64,
            Meaning::Decimal(_) => physical != Type::INT32,
            _ => false,
        }
    }

    /// The meaning of a column, or why it cannot be read.
    pub fn of(column: &ColumnDescriptor) -> Result<Meaning> {
        if column.max_rep_level() > 0 || column.path().parts().len() != 1 || column.max_def_level() > 1 {
            return Err(unsupported(column, "a nested column"));
        }
        let logical = column.logical_type_ref();
        let converted = column.converted_type();
        let decimal = match logical {
            Some(LogicalType::Decimal(decimal)) => Some(decimal.scale),
            _ => (converted == ConvertedType::DECIMAL).then(|| column.type_scale()),
        };
        let unsigned = match logical {
            Some(LogicalType::Integer(integer)) => !integer.is_signed,
            _ => matches!(
                converted,
                ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
            ),
        };
        let integer = if unsigned { Meaning::Unsigned } else { Meaning::Signed };
        Ok(match (column.physical_type(), decimal) {
            (Type::BOOLEAN, _) => Meaning::Boolean,
            (Type::FLOAT | Type::DOUBLE, _) => Meaning::Float,
            (Type::INT96, _) => Meaning::Julian,
            (_, Some(scale)) if (0..=38).contains(&scale) => Meaning::Decimal(scale),
            (_, Some(_)) => return Err(unsupported(column, "a decimal column of that scale")),
            (Type::INT32, None) => match logical {
                Some(LogicalType::Date) => Meaning::Days,
                _ if converted == ConvertedType::DATE => Meaning::Days,
                _ => integer,
            },
            (Type::INT64, None) => match (logical, converted) {
                (Some(LogicalType::Timestamp(timestamp)), _) => match timestamp.unit {
                    TimeUnit::MILLIS => Meaning::Timestamp { times: 1000, over: 1 },
                    TimeUnit::MICROS => Meaning::Timestamp { times: 1, over: 1 },
                    TimeUnit::NANOS => Meaning::Timestamp { times: 1, over: 1000 },
                },
                (_, ConvertedType::TIMESTAMP_MILLIS) => Meaning::Timestamp { times: 1000, over: 1 },
                (_, ConvertedType::TIMESTAMP_MICROS) => Meaning::Timestamp { times: 1, over: 1 },
                _ => integer,
            },
            (Type::BYTE_ARRAY, None) => Meaning::Text,
            (Type::FIXED_LEN_BYTE_ARRAY, None) => match logical {
                Some(LogicalType::Float16) if column.type_length() == 2 => Meaning::Half,
                Some(LogicalType::Uuid) => Meaning::Uuid,
                _ => return Err(unsupported(column, "a column of bytes")),
            },
        })
    }
}

fn unsupported(column: &ColumnDescriptor, what: &str) -> Error {
    Error::new(Problem::Unsupported(what.into()))
        .in_column(column.path().string())
        .way_out("write the file without it, or ignore the column")
}
