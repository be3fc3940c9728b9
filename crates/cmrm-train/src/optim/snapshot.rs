//! What a checkpoint keeps of an optimiser: counters and named buffers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The state of an optimiser between two steps. Continuing from it gives the bits of an uninterrupted run, provided that
/// the buffers are stored exactly: write them as binary tensors, not as decimal text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot<T> {
    /// The optimiser that made it: `sgd`, `adam`, `adamw` or `lbfgs`.
    pub kind: String,
    /// Step counts and the like. A 64-bit float among them is stored as its bits, so that text formats keep it exactly.
    pub counters: BTreeMap<String, u64>,
    /// Buffers by name.
    pub buffers: BTreeMap<String, Vec<T>>,
}

impl<T: Copy> Snapshot<T> {
    pub(crate) fn new(kind: &str) -> Self {
        Snapshot { kind: kind.to_owned(), counters: BTreeMap::new(), buffers: BTreeMap::new() }
    }

    pub(crate) fn with_counter(mut self, name: &str, value: u64) -> Self {
        self.counters.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn with_buffer(mut self, name: &str, values: &[T]) -> Self {
        self.buffers.insert(name.to_owned(), values.to_vec());
        self
    }

    /// Refuses a snapshot of another optimiser.
    pub(crate) fn check_kind(&self, expected: &str) -> Result<()> {
        if self.kind == expected { Ok(()) } else { Err(mismatch("kind of optimiser", expected, &self.kind)) }
    }

    pub(crate) fn counter(&self, name: &str) -> Result<u64> {
        self.counters.get(name).copied().ok_or_else(|| mismatch(&format!("counter `{name}`"), "a number", "nothing"))
    }

    pub(crate) fn buffer(&self, name: &str) -> Result<&[T]> {
        self.buffers
            .get(name)
            .map(Vec::as_slice)
            .ok_or_else(|| mismatch(&format!("buffer `{name}`"), "a buffer", "nothing"))
    }

    /// The buffer `name`, refused unless it has `length` numbers.
    pub(crate) fn buffer_of(&self, name: &str, length: usize) -> Result<&[T]> {
        let buffer = self.buffer(name)?;
        if buffer.len() == length {
            Ok(buffer)
        } else {
            Err(mismatch(&format!("length of buffer `{name}`"), length, buffer.len()))
        }
    }
}

pub(crate) fn mismatch(what: &str, expected: impl ToString, found: impl ToString) -> Error {
    Error::Snapshot { what: what.to_owned(), expected: expected.to_string(), found: found.to_string() }
}
