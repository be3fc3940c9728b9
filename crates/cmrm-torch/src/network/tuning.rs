//! Choices about speed alone, the same for a whole process.

use std::sync::OnceLock;

/// How tensors lie in memory and whose kernels run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tuning {
    /// Planes of one channel after the other, rather than the channels of a pixel side by side.
    pub channels_first: bool,
    /// libtorch's own batch normalisation rather than cuDNN's.
    pub native_norm: bool,
}

static TUNING: OnceLock<Tuning> = OnceLock::new();

/// Sets the choices, before anything else is done; later calls change nothing.
pub fn set(tuning: Tuning) {
    // The first call counts.
    let _ = TUNING.set(tuning);
}

pub(crate) fn get() -> Tuning {
    *TUNING.get_or_init(Tuning::default)
}
