//! Just enough of protobuf, and of ONNX's messages, to write a model without any library.

/// A message in the making.
#[derive(Default, Clone)]
pub struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    pub fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    pub fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    pub fn each<T>(self, items: impl IntoIterator<Item = T>, add: impl Fn(Self, T) -> Self) -> Self {
        items.into_iter().fold(self, add)
    }

    pub fn message(self, field: u64, message: &Message) -> Self {
        self.bytes(field, &message.0)
    }
}

pub const FLOAT: u64 = 1;
pub const UINT8: u64 = 2;

/// An operator: what it reads, what it makes, and its attributes.
pub fn node(operator: &str, inputs: &[&str], output: &str, attributes: &[Message]) -> Message {
    Message::default()
        .each(inputs, |message, input| message.text(1, input))
        .text(2, output)
        .text(4, operator)
        .each(attributes, |message, attribute| message.message(5, attribute))
}

pub fn integer(name: &str, value: u64) -> Message {
    Message::default().text(1, name).number(3, value).number(20, 2)
}

pub fn integers(name: &str, values: &[u64]) -> Message {
    Message::default().text(1, name).each(values, |message, &value| message.number(8, value)).number(20, 7)
}

/// A tensor of numbers that the model holds.
pub fn tensor(name: &str, shape: &[u64], values: &[f32]) -> Message {
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Message::default()
        .each(shape, |message, &length| message.number(1, length))
        .number(2, FLOAT)
        .text(8, name)
        .bytes(9, &raw)
}

/// An input or output; `None` is a length that is left open.
pub fn value(name: &str, kind: u64, shape: &[Option<u64>]) -> Message {
    let dimensions = Message::default().each(shape, |message, length| {
        let dimension = Message::default();
        message.message(1, &length.map_or(dimension.clone().text(2, "batch"), |length| dimension.number(1, length)))
    });
    let stated = Message::default().number(1, kind).message(2, &dimensions);
    Message::default().text(1, name).message(2, &Message::default().message(1, &stated))
}

/// The bytes of a model.
pub fn model(nodes: &[Message], tensors: &[Message], inputs: &[Message], outputs: &[Message]) -> Vec<u8> {
    let graph = Message::default()
        .each(nodes, |message, node| message.message(1, node))
        .text(2, "test")
        .each(tensors, |message, tensor| message.message(5, tensor))
        .each(inputs, |message, input| message.message(11, input))
        .each(outputs, |message, output| message.message(12, output));
    let operators = Message::default().text(1, "").number(2, 17);
    Message::default().number(1, 8).text(2, "cmrm").message(7, &graph).message(8, &operators).0
}
