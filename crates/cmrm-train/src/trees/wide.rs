//! Loops compiled for the processor's widest vectors.

use pulp::{Arch, Simd, WithSimd};

struct Wide<F>(F);

impl<R, F: FnMut() -> R> WithSimd for Wide<F> {
    type Output = R;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) -> R {
        (self.0)()
    }
}

/// Runs `work` with the processor's widest vectors enabled; the closure itself must be `#[inline(always)]`, and so must what
/// it calls. A closure handed to pulp directly is called through a shim of `FnOnce` that is compiled for no vectors at all.
pub(crate) fn with_wide_vectors<R>(work: impl FnMut() -> R) -> R {
    Arch::new().dispatch(Wide(work))
}
