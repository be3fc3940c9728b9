//! Work that would hold up the connections, on threads of its own.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::refusal::Refusal;

/// Does as many pieces of work at a time as there are cores.
pub(crate) struct Aside(Arc<Semaphore>);

impl Aside {
    pub fn new() -> Self {
        Aside::of(std::thread::available_parallelism().map_or(1, usize::from))
    }

    fn of(cores: usize) -> Self {
        Aside(Arc::new(Semaphore::new(cores)))
    }

    /// Does it, and gives the place of the request back. Whoever stops waiting leaves the place with the work, which holds rows
    /// in memory until it is done.
    pub async fn run<T: Send + 'static>(
        &self,
        place: OwnedSemaphorePermit,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(T, OwnedSemaphorePermit), Refusal> {
        let core = self.0.clone().acquire_owned().await.map_err(Refusal::internal)?;
        let work = move || {
            let _core = core;
            (work(), place)
        };
        tokio::task::spawn_blocking(work).await.map_err(Refusal::internal)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SHORTLY: Duration = Duration::from_millis(50);
    /// Longer than it takes, on a busy machine too.
    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_place_and_a_core_are_taken_until_the_work_is_done() {
        let (aside, places) = (Aside::of(1), Arc::new(Semaphore::new(2)));
        let (end, ended) = channel::<()>();
        let place = places.clone().try_acquire_owned().unwrap();
        let first = aside.run(place, move || ended.recv().is_ok());
        assert!(timeout(SHORTLY, first).await.is_err());
        // Nobody waits for it any more, and still it has its place.
        assert_eq!(places.available_permits(), 1);
        let place = places.clone().try_acquire_owned().unwrap();
        let mut second = std::pin::pin!(aside.run(place, || 2));
        assert!(timeout(SHORTLY, second.as_mut()).await.is_err());
        end.send(()).unwrap();
        let (found, place) = second.await.unwrap();
        assert_eq!(found, 2);
        drop(place);
        assert!(timeout(LONG, places.acquire_many(2)).await.is_ok());
    }
}
