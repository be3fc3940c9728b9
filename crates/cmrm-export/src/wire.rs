//! The wire format of protocol buffers, as far as writing ONNX files needs it: whole numbers and blocks of bytes.
//!
//! A page of our own instead of a generator and its runtime: nothing is read here, and a file's layout never changes.

/// A message under way. Fields are written in the order of the calls.
#[derive(Debug, Clone, Default)]
pub struct Message {
    bytes: Vec<u8>,
}

/// How a field's contents are laid out.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Block = 2,
    Fixed32 = 5,
}

impl Message {
    /// A whole number.
    pub fn integer(&mut self, field: u32, value: i64) -> &mut Self {
        self.tag(field, Wire::Varint);
        // Negative numbers take ten bytes, in two's complement.
        self.varint(value as u64);
        self
    }

    /// A number in single precision.
    pub fn float(&mut self, field: u32, value: f32) -> &mut Self {
        self.tag(field, Wire::Fixed32);
        self.bytes.extend(value.to_le_bytes());
        self
    }

    /// Text, or any bytes.
    pub fn block(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        self.tag(field, Wire::Block);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// A message within this one.
    pub fn message(&mut self, field: u32, inner: &Message) -> &mut Self {
        self.block(field, &inner.bytes)
    }

    /// Whole numbers, packed.
    pub fn integers(&mut self, field: u32, values: &[i64]) -> &mut Self {
        let mut packed = Message::default();
        values.iter().for_each(|&value| packed.varint(value as u64));
        self.message(field, &packed)
    }

    /// Numbers in single precision, packed.
    pub fn floats(&mut self, field: u32, values: &[f32]) -> &mut Self {
        let packed: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.block(field, &packed)
    }

    /// How many bytes it takes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Its bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn tag(&mut self, field: u32, wire: Wire) {
        self.varint(u64::from(field) << 3 | wire as u64);
    }

    /// Seven bits a byte, the lowest first; the eighth says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_laid_out_as_the_format_says() {
        let mut inner = Message::default();
        inner.integer(1, 150);
        let mut message = Message::default();
        message.message(3, &inner).block(2, b"testing").integers(4, &[3, 270, 86942]).float(5, 1.0).integer(6, -1);
        let expected: [&[u8]; 5] = [
            &[0x1a, 0x03, 0x08, 0x96, 0x01],
            &[0x12, 0x07, b't', b'e', b's', b't', b'i', b'n', b'g'],
            &[0x22, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05],
            &[0x2d, 0x00, 0x00, 0x80, 0x3f],
            &[0x30, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        ];
        assert_eq!(message.into_bytes(), expected.concat());
    }
}
