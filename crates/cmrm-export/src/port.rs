//! Inputs and outputs of a model.

use crate::wire::Message;

/// What the numbers of a tensor are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Single precision.
    Float,
    /// Double precision.
    Double,
    /// Whole numbers.
    Integer,
    /// Text.
    Text,
    /// True or false.
    Truth,
}

impl Kind {
    /// Its number in the format.
    pub(crate) fn number(self) -> i64 {
        match self {
            Kind::Float => 1,
            Kind::Integer => 7,
            Kind::Text => 8,
            Kind::Truth => 9,
            Kind::Double => 11,
        }
    }

    /// Its name, as runtimes show it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Float => "float",
            Kind::Double => "double",
            Kind::Integer => "int64",
            Kind::Text => "string",
            Kind::Truth => "bool",
        }
    }
}

/// An input or output of the model; a width of none is one cell a row without a second dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// What its numbers are.
    pub kind: Kind,
    /// Columns.
    pub width: Option<usize>,
}

impl Port {
    /// As a graph lists it: one row for each of any number of them.
    pub(crate) fn message(&self) -> Message {
        let mut rows = Message::default();
        rows.block(2, b"N");
        let mut shape = Message::default();
        shape.message(1, &rows);
        if let Some(width) = self.width {
            let mut columns = Message::default();
            columns.integer(1, width as i64);
            shape.message(1, &columns);
        }
        let mut tensor = Message::default();
        tensor.integer(1, self.kind.number()).message(2, &shape);
        let mut kind = Message::default();
        kind.message(1, &tensor);
        let mut port = Message::default();
        port.block(1, self.name.as_bytes()).message(2, &kind);
        port
    }
}
