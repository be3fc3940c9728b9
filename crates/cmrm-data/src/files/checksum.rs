//! Checksums of files: whether a byte has changed since they were written.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::text::hex;

/// Bytes read at a time.
const BLOCK: usize = 1 << 17;

/// SHA-256 in 64 hexadecimal digits.
pub fn checksum(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The same of a file, a block at a time.
pub fn checksum_of_file(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut block) = (File::open(path)?, Sha256::new(), vec![0; BLOCK]);
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(read) => hash.update(&block[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_checksum_of_its_bytes() {
        assert_eq!(checksum(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..3 * BLOCK + 7).map(|at| at as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(checksum_of_file(&path).unwrap(), checksum(&bytes));
    }
}
