//! How a caller follows a transfer.

/// Told about a transfer as it goes; every method has an empty default.
pub trait Progress {
    /// A transfer of `file` starts with `have` bytes already here, out of `total` when that is known.
    /// Called again when a transfer has to start over or goes on at another address.
    fn begin(&mut self, file: &str, have: u64, total: Option<u64>) {
        let _ = (file, have, total);
    }

    /// So many more bytes have arrived.
    fn advance(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// The transfer is over and its bytes are being checked.
    fn finish(&mut self) {}

    /// Something the user should read, such as a retry or a file that cannot be verified.
    fn warn(&mut self, message: &str) {
        let _ = message;
    }

    /// Asked between blocks; true stops the transfer and keeps what has arrived.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Nobody watches.
impl Progress for () {}
