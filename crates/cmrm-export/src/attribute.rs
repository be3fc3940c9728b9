//! What an operator is told beside its inputs.

use crate::wire::Message;

/// What an operator is told beside its inputs.
pub enum Attribute<'a> {
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f32),
    /// Text.
    Text(&'a str),
    /// Whole numbers.
    Integers(&'a [i64]),
    /// Numbers.
    Floats(&'a [f32]),
    /// Texts.
    Texts(&'a [&'a str]),
}

impl Attribute<'_> {
    /// As a node has it, under that name.
    pub fn message(&self, name: &str) -> Message {
        let mut message = Message::default();
        message.block(1, name.as_bytes());
        match self {
            Attribute::Float(value) => message.float(2, *value),
            Attribute::Integer(value) => message.integer(3, *value),
            Attribute::Text(value) => message.block(4, value.as_bytes()),
            Attribute::Floats(values) => message.floats(7, values),
            Attribute::Integers(values) => message.integers(8, values),
            Attribute::Texts(values) => values.iter().fold(&mut message, |to, value| to.block(9, value.as_bytes())),
        };
        message.integer(20, self.kind());
        message
    }

    /// The number of its kind in the format.
    fn kind(&self) -> i64 {
        match self {
            Attribute::Float(_) => 1,
            Attribute::Integer(_) => 2,
            Attribute::Text(_) => 3,
            Attribute::Floats(_) => 6,
            Attribute::Integers(_) => 7,
            Attribute::Texts(_) => 8,
        }
    }
}
