//! A request to stop that reaches a computation from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// A request to stop, which any thread may make while others compute. Copies share the request.
///
/// It is looked at between the products of a batch, so that the answer comes quickly however long a batch or an epoch
/// takes, and the price is one read of memory a product.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks to stop. Returns whether that was asked before.
    pub fn request(&self) -> bool {
        self.0.swap(true, Ordering::SeqCst)
    }

    /// Whether somebody asked to stop.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Refuses to go on once somebody asked to stop.
    pub fn check(&self) -> Result<()> {
        if self.is_requested() { Err(Error::Stopped) } else { Ok(()) }
    }
}
