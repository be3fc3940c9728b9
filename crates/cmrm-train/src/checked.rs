//! Parameters that have passed their checks, as a type of their own.

use std::ops::Deref;

/// Parameters that have passed their checks. The `validate` of a `…Config` makes it and nothing else does, so what is built
/// from it need not check again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Checked<C>(C);

impl<C> Checked<C> {
    /// At the end of a `validate`, or for a part of what one has checked.
    pub(crate) fn new(config: C) -> Self {
        Checked(config)
    }
}

impl<C> Deref for Checked<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.0
    }
}
