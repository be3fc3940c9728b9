//! Numbers that start where a cache line starts.
//!
//! An allocator aligns to 16 bytes. A vector of 64 then straddles two lines in three cases of four, and a training in small
//! batches takes longer or not, as its buffers happen to lie: in `research/peers/run --only small` every other run took 8 % more.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line, and of the widest vector.
const LINE: usize = 64;

/// A buffer of numbers, reused from step to step.
#[derive(Debug)]
pub struct Aligned<T> {
    /// The numbers, with room before them for the start to be chosen.
    values: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Clone + Default> Aligned<T> {
    /// Changes the length. What the numbers are is not said; memory is taken only if they never were as many.
    pub fn resize(&mut self, length: usize) {
        if self.start + length > self.values.len() {
            *self = Aligned::default();
            (self.values, self.start) = with_room(length, &T::default());
            self.values.resize(self.start + length, T::default());
        }
        self.length = length;
    }
}

impl<T: Clone> From<&[T]> for Aligned<T> {
    fn from(numbers: &[T]) -> Self {
        let Some(filling) = numbers.first() else { return Aligned::default() };
        let (mut values, start) = with_room(numbers.len(), filling);
        values.extend_from_slice(numbers);
        Aligned { values, start, length: numbers.len() }
    }
}

/// Room for `length` numbers, filled up to where they are to start.
fn with_room<T: Clone>(length: usize, filling: &T) -> (Vec<T>, usize) {
    let spare = LINE / size_of::<T>();
    let mut values: Vec<T> = Vec::with_capacity(length + spare);
    // The offset may be unknown to a compiler, but not to the program that runs.
    let start = values.as_ptr().align_offset(LINE).min(spare);
    values.resize(start, filling.clone());
    (values, start)
}

impl<T> Default for Aligned<T> {
    fn default() -> Self {
        Aligned { values: Vec::new(), start: 0, length: 0 }
    }
}

impl<T: Clone> Clone for Aligned<T> {
    fn clone(&self) -> Self {
        Aligned::from(&**self)
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values[self.start..][..self.length]
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[self.start..][..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_buffer_starts_on_a_line_and_copies_are_equal() {
        for length in [0, 1, 7, 100, 1000, 100_000] {
            let numbers: Vec<f32> = (0..length).map(|i| i as f32).collect();
            let aligned = Aligned::from(&numbers[..]);
            let copy = aligned.clone();
            assert_eq!((&*aligned, &*copy), (&numbers[..], &numbers[..]));
            for buffer in [&aligned, &copy] {
                assert!(length == 0 || (buffer.as_ptr() as usize).is_multiple_of(LINE), "{length}");
            }
        }
    }

    #[test]
    fn a_shorter_length_keeps_the_memory() {
        let mut buffer = Aligned::<f64>::default();
        buffer.resize(500);
        let place = buffer.as_ptr();
        for length in [20, 0, 500] {
            buffer.resize(length);
            assert_eq!((buffer.len(), buffer.as_ptr()), (length, place));
        }
    }
}
