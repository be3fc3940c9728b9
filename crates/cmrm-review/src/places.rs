//! Who is connected. Any program on this machine can connect and say nothing; it does not take the user's place.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Connections at once that have not shown the secret.
const MOST_STRANGERS: usize = 32;
/// Connections at once that have shown it; a browser opens six for each window.
const MOST_KNOWN: usize = 64;

/// The connections under way. A newcomer always finds a place: the stranger who has waited longest goes.
#[derive(Debug, Default)]
pub(crate) struct Places {
    taken: Mutex<Taken>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Taken {
    /// Those who have not shown the secret, longest here first.
    strangers: VecDeque<Arc<TcpStream>>,
    known: usize,
}

/// A connection's place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    places: &'a Places,
    stream: Arc<TcpStream>,
    is_known: bool,
}

impl Places {
    /// A place for a stranger.
    pub fn take(&self, stream: Arc<TcpStream>) -> Place<'_> {
        let mut taken = self.taken();
        while let Some(oldest) = taken.strangers.front().filter(|_| taken.strangers.len() >= MOST_STRANGERS) {
            // Whatever its thread is reading or writing ends now, and with it the place.
            let _ = oldest.shutdown(Shutdown::Both);
            taken = self.left.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        taken.strangers.push_back(Arc::clone(&stream));
        Place { places: self, stream, is_known: false }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        // Nothing panics while it holds the lock.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn forget(&mut self, stream: &Arc<TcpStream>) {
        self.strangers.retain(|stranger| !Arc::ptr_eq(stranger, stream));
    }
}

impl Place<'_> {
    /// The connection has shown the secret: it gives its place among the strangers up. False if too many have.
    pub fn becomes_known(&mut self) -> bool {
        let mut taken = self.places.taken();
        if taken.known == MOST_KNOWN {
            return false;
        }
        taken.forget(&self.stream);
        taken.known += 1;
        self.is_known = true;
        self.places.left.notify_all();
        true
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        match self.is_known {
            true => taken.known -= 1,
            false => taken.forget(&self.stream),
        }
        self.places.left.notify_all();
    }
}
