//! The threads that the library works on.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::refuse;

/// What the system calls our threads, followed by a number.
const THREAD_NAME: &str = "cmrm";

/// The pool of a process, and which process that is: a fork inherits the memory but not the threads, and a pool without
/// threads would wait for them forever.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// A pool of `count` threads, or the process's own of one thread a core. Results do not depend on it.
pub fn pool(count: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let build = |count: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(count).thread_name(|n| format!("{THREAD_NAME}-{n}")).build();
        pool.map(Arc::new).map_err(|error| refuse(format!("cannot start threads: {error}")))
    };
    if let Some(count) = count {
        return build(count);
    }
    // Nobody forks meanwhile: that needs the interpreter's lock, which the caller has.
    let mut shared = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match &*shared {
        Some((owner, pool)) if *owner == process => Ok(pool.clone()),
        _ => {
            let pool = build(0)?;
            // The pool of another process is left alone: to drop it would mean to wait for its threads.
            std::mem::forget(shared.replace((process, pool.clone())));
            Ok(pool)
        }
    }
}
