//! A large file of floats, read by several threads at once.
//!
//! Most of the time of reading one goes into making room for it in memory, which the system does page by page on the
//! thread that touches the page first.

use std::path::Path;

use super::{Dtype, ElementKind, Header};

/// Numbers that one thread reads at least.
const PIECE: usize = 1 << 20;

/// All numbers of an array that lies in `path` as it is wanted; `None` where it does not, or is too small to bother.
/// The bytes are known to be there.
pub(super) fn read(path: &Path, header: &Header, threads: usize) -> Option<std::io::Result<Vec<f32>>> {
    let count = header.shape.iter().product::<usize>();
    let plain = header.dtype == Dtype { kind: ElementKind::Float, size: 4, big_endian: false } && !header.fortran;
    (plain && threads > 1 && count > PIECE).then(|| read_floats(path, header.data_offset, count, threads))
}

#[cfg(unix)]
fn read_floats(path: &Path, offset: u64, count: usize, threads: usize) -> std::io::Result<Vec<f32>> {
    use std::os::unix::fs::FileExt;
    let file = &std::fs::File::open(path)?;
    let mut values = vec![0.0; count];
    let piece = count.div_ceil(threads).max(PIECE);
    std::thread::scope(|scope| {
        let read = |(at, values): (usize, &mut [f32])| -> std::io::Result<()> {
            file.read_exact_at(bytemuck::cast_slice_mut(values), offset + 4 * (at * piece) as u64)?;
            if cfg!(target_endian = "big") {
                values.iter_mut().for_each(|value| *value = f32::from_bits(value.to_bits().swap_bytes()));
            }
            Ok(())
        };
        let tasks: Vec<_> =
            values.chunks_mut(piece).enumerate().map(|piece| scope.spawn(move || read(piece))).collect();
        let ended = |task: std::thread::ScopedJoinHandle<'_, std::io::Result<()>>| {
            task.join().unwrap_or_else(|_| Err(std::io::Error::other("a reading thread ended early")))
        };
        // Every thread is waited for, whichever fails first.
        tasks.into_iter().map(ended).collect::<Vec<_>>().into_iter().collect::<std::io::Result<()>>()
    })?;
    Ok(values)
}

/// Elsewhere a file has one place to read from, and threads would be in each other's way.
#[cfg(not(unix))]
fn read_floats(path: &Path, offset: u64, count: usize, _threads: usize) -> std::io::Result<Vec<f32>> {
    use std::io::{BufReader, Read, Seek, SeekFrom};
    let mut file = BufReader::with_capacity(1 << 16, std::fs::File::open(path)?);
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = [0; 4];
    (0..count).map(|_| file.read_exact(&mut bytes).map(|()| f32::from_le_bytes(bytes))).collect()
}
