//! A stream put aside, so that it can be read again.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;

/// Most bytes of a stream that are kept in memory.
const MEMORY_BYTES: usize = 64 << 20;
/// Bytes that are moved at a time.
const BLOCK: usize = 1 << 16;

/// Where a stream was put.
pub(super) enum Spooled {
    Memory(Vec<u8>),
    File(File),
}

/// Reads a stream to its end. The temporary file has no name, so that nothing is left of it even if the program is
/// killed.
pub(super) fn spool(mut reader: impl Read) -> std::io::Result<Spooled> {
    let mut start = Vec::new();
    reader.by_ref().take(MEMORY_BYTES as u64).read_to_end(&mut start)?;
    if start.len() < MEMORY_BYTES {
        return Ok(Spooled::Memory(start));
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(&start)?;
    drop(start);
    let mut block = vec![0; BLOCK];
    loop {
        match reader.read(&mut block) {
            Ok(0) => return Ok(Spooled::File(file)),
            Ok(read) => file.write_all(&block[..read])?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Reads a file from a place of its own: any number of readers share one handle without disturbing each other.
pub(super) struct ReadAt {
    file: Arc<File>,
    at: u64,
}

impl ReadAt {
    pub fn new(file: Arc<File>) -> Self {
        ReadAt { file, at: 0 }
    }
}

impl Read for ReadAt {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.at)?;
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for ReadAt {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let place = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.file.metadata()?.len().checked_add_signed(by),
        };
        self.at = place.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_stream_goes_to_a_file_that_many_can_read() {
        let long = MEMORY_BYTES + 12_345;
        let Spooled::File(file) = spool(std::io::repeat(7).take(long as u64)).unwrap() else {
            panic!("kept in memory")
        };
        let file = Arc::new(file);
        let (mut first, mut second) = (ReadAt::new(file.clone()), ReadAt::new(file));
        first.seek(SeekFrom::End(-3)).unwrap();
        let mut rest = Vec::new();
        first.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, [7, 7, 7]);
        assert_eq!(std::io::copy(&mut second, &mut std::io::sink()).unwrap(), long as u64);
        assert!(second.seek(SeekFrom::Current(-(long as i64) - 1)).is_err());
        assert!(matches!(spool(&b"abc"[..]).unwrap(), Spooled::Memory(bytes) if bytes == b"abc"));
    }
}
