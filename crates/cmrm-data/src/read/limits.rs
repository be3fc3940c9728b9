//! Limits that keep memory bounded whatever a file declares.

/// Most bytes that one compressed member or file may unpack to, unless set otherwise.
pub const MAX_UNPACKED_BYTES: u64 = 16 << 30;
/// What a compressed file may unpack to whatever its own size, in bytes.
const HARMLESS_BYTES: u64 = 256 << 20;
/// How many times its own size a larger file may unpack to; real tables and arrays stay far below.
const MOST_TIMES_ITS_SIZE: u64 = 200;
/// Most bytes of an NPY header; real ones have about a hundred.
pub const MAX_NPY_HEADER_BYTES: u64 = 1 << 16;
/// Most dimensions of an array.
pub const MAX_DIMENSIONS: usize = 32;
/// Most bytes that one page of a Parquet column may unpack to, unless set otherwise; writers aim at one mebibyte.
pub const MAX_PAGE_BYTES: u64 = 512 << 20;
/// Most bytes of a Parquet footer.
pub const MAX_FOOTER_BYTES: u64 = 256 << 20;
/// Bytes at the start of a text file from which its delimiter and header are detected, if they hold a few whole rows.
pub const SAMPLE_BYTES: usize = 1 << 18;
/// Most bytes of one row of a text file: three million columns of twenty characters.
pub const MAX_ROW_BYTES: usize = 64 << 20;

/// The limits that a caller may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes that compressed data may unpack to, a table's cells counted at eight bytes each.
    pub unpacked_bytes: u64,
    /// Most bytes that one page of a Parquet column may unpack to.
    pub page_bytes: u64,
}

impl Limits {
    /// Most bytes that a compressed file of `packed` bytes may unpack to: a small file that stands for very much is more
    /// likely an attack on the memory than data.
    pub(crate) fn of_packed(&self, packed: u64) -> u64 {
        self.unpacked_bytes.min(packed.saturating_mul(MOST_TIMES_ITS_SIZE).max(HARMLESS_BYTES))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits { unpacked_bytes: MAX_UNPACKED_BYTES, page_bytes: MAX_PAGE_BYTES }
    }
}
