//! SHA-256 of files and streams.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use cmrm_data::files::text::hex;
use sha2::{Digest, Sha256};

use super::error::{Result, io};

const BUFFER: usize = 1 << 17;

/// SHA-256 of a byte slice, in hexadecimal.
#[cfg(test)]
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256, in hexadecimal, and length of all that `reader` yields.
pub(crate) fn of_reader(mut reader: impl Read) -> std::io::Result<(String, u64)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BUFFER];
    let mut length = 0;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((hex(&hasher.finalize()), length)),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                length += count as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// SHA-256, in hexadecimal, and length of a file.
pub(crate) fn of_file(path: &Path) -> Result<(String, u64)> {
    let file = File::open(path).map_err(io(path, "open"))?;
    of_reader(file).map_err(io(path, "read"))
}

/// A writer that hashes and counts what passes through it.
pub(crate) struct HashingWriter<W> {
    inner: W,
    hasher: Sha256,
    length: u64,
}

impl<W: Write> HashingWriter<W> {
    pub(crate) fn new(inner: W) -> Self {
        HashingWriter { inner, hasher: Sha256::new(), length: 0 }
    }

    /// The inner writer, the digest in hexadecimal and the number of bytes.
    pub(crate) fn finish(self) -> (W, String, u64) {
        (self.inner, hex(&self.hasher.finalize()), self.length)
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_vectors() {
        // FIPS 180-4 examples.
        assert_eq!(of_bytes(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(of_bytes(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn reader_and_writer_agree() {
        let data: Vec<u8> = (0..300_000u32).map(|i| (i % 251) as u8).collect();
        let mut writer = HashingWriter::new(Vec::new());
        writer.write_all(&data).unwrap();
        let (copy, digest, length) = writer.finish();
        assert_eq!(copy, data);
        assert_eq!((digest, length), of_reader(&data[..]).unwrap());
    }
}
