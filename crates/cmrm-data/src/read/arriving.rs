//! Bytes of a stream as they arrive, so that its rows can be taken while it is still open.
//!
//! A thread waits for them and hands on whole lines. Whoever reads can ask whether all that has come is read: the next
//! read would wait then, and what is there already should not wait with it.

use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Bytes that are asked for at a time: what a pipe holds.
const PIECE: usize = 1 << 16;
/// Lines longer than this are handed on in parts, for one line may be an array of any length.
const LONGEST_WHOLE: usize = 1 << 20;
/// Blocks that wait to be read; then the stream's other end waits.
const BLOCKS: usize = 64;

type Block = std::io::Result<Vec<u8>>;

/// A stream whose bytes come when they come.
pub(super) struct Arriving {
    blocks: Receiver<Block>,
    block: Vec<u8>,
    at: usize,
    arrived: Arrived,
}

/// How many bytes have come.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrived(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    bytes: AtomicU64,
    /// Up to the last one that does not end a line.
    in_lines: AtomicU64,
}

impl Arrived {
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Acquire)
    }

    /// Where the last line with anything in it ends: behind it there may be empty ones.
    pub fn in_lines(&self) -> u64 {
        self.0.in_lines.load(Ordering::Acquire)
    }

    fn count(&self, block: &[u8]) {
        let before = self.bytes();
        if let Some(last) = block.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')) {
            self.0.in_lines.store(before + last as u64 + 1, Ordering::Release);
        }
        self.0.bytes.store(before + block.len() as u64, Ordering::Release);
    }
}

impl Arriving {
    pub fn new(stream: impl Read + Send + 'static) -> std::io::Result<Self> {
        let (sender, blocks) = sync_channel(BLOCKS);
        let arrived = Arrived::default();
        let counted = arrived.clone();
        std::thread::Builder::new().name("stream".into()).spawn(move || hand_on(stream, &sender, &counted))?;
        Ok(Arriving { blocks, block: Vec::new(), at: 0, arrived })
    }

    pub fn arrived(&self) -> Arrived {
        self.arrived.clone()
    }

    /// The first line with its end, or as much of it as is handed on at once. It stays to be read.
    pub fn first_line(&mut self) -> std::io::Result<&[u8]> {
        if self.block.is_empty() {
            self.next_block()?;
        }
        let end = self.block.iter().position(|&byte| byte == b'\n').map_or(self.block.len(), |at| at + 1);
        Ok(&self.block[..end])
    }

    fn next_block(&mut self) -> std::io::Result<()> {
        // The thread is gone once it has come to the end.
        self.block = self.blocks.recv().unwrap_or_else(|_| Ok(Vec::new()))?;
        self.at = 0;
        Ok(())
    }
}

impl Read for Arriving {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.block.len() {
            self.next_block()?;
        }
        let read = buffer.len().min(self.block.len() - self.at);
        buffer[..read].copy_from_slice(&self.block[self.at..][..read]);
        self.at += read;
        Ok(read)
    }
}

/// Reads the stream to its end, or until nobody wants more of it.
fn hand_on(mut stream: impl Read, to: &SyncSender<Block>, arrived: &Arrived) {
    let mut pending = Vec::new();
    loop {
        let known = pending.len();
        pending.resize(known + PIECE, 0);
        let read = stream.read(&mut pending[known..]);
        pending.truncate(known + *read.as_ref().unwrap_or(&0));
        let line_end = pending[known..].iter().rposition(|&byte| byte == b'\n').map(|at| known + at + 1);
        let end = match (&read, line_end) {
            (Err(error), _) if error.kind() == ErrorKind::Interrupted => continue,
            (Err(_) | Ok(0), _) => pending.len(),
            (Ok(_), Some(end)) => end,
            (Ok(_), None) if pending.len() >= LONGEST_WHOLE => pending.len(),
            (Ok(_), None) => continue,
        };
        let rest = pending.split_off(end);
        let block = std::mem::replace(&mut pending, rest);
        // Counted first: a reader that knows of a byte too early waits a moment, one that knows too late would wait for more.
        arrived.count(&block);
        let goes_on = block.is_empty() || to.send(Ok(block)).is_ok();
        match read {
            Ok(0) => return,
            Err(error) => {
                let _ = to.send(Err(error));
                return;
            }
            Ok(_) if !goes_on => return,
            Ok(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_nothing_is_lost() {
        let mut long = vec![b'x'; 3 * LONGEST_WHOLE];
        long.extend_from_slice(b"\nlast, without an end");
        let text = [b"one\ntwo\n".as_slice(), &long].concat();
        let mut arriving = Arriving::new(std::io::Cursor::new(text.clone())).unwrap();
        assert_eq!(arriving.first_line().unwrap(), b"one\n");
        let mut read = Vec::new();
        arriving.read_to_end(&mut read).unwrap();
        assert!(read == text);
        assert_eq!(arriving.arrived().bytes(), text.len() as u64);
    }

    #[test]
    fn empty_lines_at_the_end_are_told_apart() {
        let mut arriving = Arriving::new(b"a\n1\n\r\n\n".as_slice()).unwrap();
        arriving.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!((arriving.arrived().in_lines(), arriving.arrived().bytes()), (3, 7));
    }

    #[test]
    fn an_error_comes_behind_what_was_read_before_it() {
        struct Breaks(bool);
        impl Read for Breaks {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                if std::mem::replace(&mut self.0, true) {
                    return Err(std::io::Error::other("broken"));
                }
                buffer[..5].copy_from_slice(b"a\nb\nc");
                Ok(5)
            }
        }
        let mut arriving = Arriving::new(Breaks(false)).unwrap();
        let mut read = Vec::new();
        assert_eq!(arriving.read_to_end(&mut read).unwrap_err().to_string(), "broken");
        assert_eq!(read, b"a\nb\nc");
        assert_eq!(Arriving::new(std::io::empty()).unwrap().first_line().unwrap(), b"");
    }
}
