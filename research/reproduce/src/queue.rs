//! Tasks on several threads, one core each: a task may hand on others, a failed one is tried again.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How often a task is tried.
const ATTEMPTS: usize = 2;

type Work = dyn Fn(&Queue<'_>) -> Result<()> + Send + Sync;

/// Something to do.
#[derive(Clone)]
pub(crate) struct Task {
    label: String,
    /// Rough seconds, for the time that is left.
    cost: f64,
    work: Arc<Work>,
    attempt: usize,
}

impl Task {
    pub fn new(label: String, cost: f64, work: impl Fn(&Queue<'_>) -> Result<()> + Send + Sync + 'static) -> Self {
        Task { label, cost, work: Arc::new(work), attempt: 1 }
    }
}

/// What happens while tasks run.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A task is done.
    Done {
        /// What it was.
        label: String,
        /// How long it took.
        took: Duration,
        /// Share of all work that is done, by estimate.
        share: f64,
        /// Time that is left, by estimate; nothing while there is too little to go by.
        left: Option<Duration>,
    },
    /// A task failed.
    Failed {
        /// What it was.
        label: String,
        /// Why.
        reason: String,
        /// Whether it is tried again.
        again: bool,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Tasks that ended well.
    pub done: usize,
    /// What failed for good, and why.
    pub failed: Vec<(String, String)>,
    /// Tasks that the time did not allow to begin.
    pub left: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Task>,
    running: usize,
    cost_done: f64,
    outcome: Outcome,
}

/// Tasks to do, in order.
pub(crate) struct Queue<'a> {
    state: Mutex<State>,
    changed: Condvar,
    started: Instant,
    deadline: Option<Instant>,
    cost: f64,
    watch: &'a (dyn Fn(Event) + Sync),
}

impl<'a> Queue<'a> {
    /// `cost` is that of `tasks` and of all they will hand on.
    pub fn new(tasks: Vec<Task>, cost: f64, time: Option<Duration>, watch: &'a (dyn Fn(Event) + Sync)) -> Self {
        let started = Instant::now();
        Queue {
            state: Mutex::new(State { waiting: tasks.into(), ..State::default() }),
            changed: Condvar::new(),
            started,
            deadline: time.map(|time| started + time),
            cost,
            watch,
        }
    }

    /// Puts a task before all others.
    pub fn next(&self, task: Task) {
        self.lock().waiting.push_front(task);
        self.changed.notify_one();
    }

    /// Does everything on `threads` threads.
    pub fn run(self, threads: usize) -> Result<Outcome> {
        // Each task finds a pool of one thread: two trainings on one thread each are faster than one on two.
        let pools = (0..threads.max(1))
            .map(|_| {
                rayon::ThreadPoolBuilder::new()
                    .num_threads(1)
                    .build()
                    .map_err(|error| Error::Threads(error.to_string()))
            })
            .collect::<Result<Vec<_>>>()?;
        std::thread::scope(|scope| {
            for pool in &pools {
                let queue = &self;
                scope.spawn(move || pool.install(|| queue.work()));
            }
        });
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.outcome.left = state.waiting.len();
        Ok(state.outcome)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some(task) = self.take() {
            let start = Instant::now();
            let done = catch_unwind(AssertUnwindSafe(|| (task.work)(self)));
            let reason = match done {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(panic) => Some(format!("a bug of this program: {}", words_of(panic.as_ref()))),
            };
            let event = self.settle(task, reason, start.elapsed());
            self.changed.notify_all();
            (self.watch)(event);
        }
    }

    /// The next task; waits while a running one may hand on more. Nothing when all is done or the time is up.
    fn take(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return None;
            }
            if let Some(task) = state.waiting.pop_front() {
                state.running += 1;
                return Some(task);
            }
            if state.running == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn settle(&self, mut task: Task, reason: Option<String>, took: Duration) -> Event {
        let mut state = self.lock();
        state.running -= 1;
        let label = task.label.clone();
        let Some(reason) = reason else {
            state.outcome.done += 1;
            state.cost_done += task.cost;
            let share = (state.cost_done / self.cost.max(1e-9)).min(1.0);
            let elapsed = self.started.elapsed().as_secs_f64();
            let left = (share > 0.01).then(|| Duration::from_secs_f64(elapsed * (1.0 - share) / share));
            return Event::Done { label, took, share, left };
        };
        let again = task.attempt < ATTEMPTS;
        if again {
            // Last, so that what hinders it may pass and the others are not kept waiting.
            task.attempt += 1;
            state.waiting.push_back(task);
        } else {
            state.outcome.failed.push((label.clone(), reason.clone()));
        }
        Event::Failed { label, reason, again }
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_else(|| "no words".into())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn tasks_hand_on_others_and_a_failure_is_tried_again_without_losing_the_rest() {
        for threads in [1, 3] {
            let (count, tries) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let counted = count.clone();
            let fork = Task::new("fork".into(), 1.0, move |queue| {
                for _ in 0..5 {
                    let counted = counted.clone();
                    queue.next(Task::new("arm".into(), 1.0, move |_| {
                        counted.fetch_add(1, Ordering::SeqCst);
                        Ok(())
                    }));
                }
                Ok(())
            });
            let tried = tries.clone();
            let flaky = Task::new("flaky".into(), 1.0, move |_| match tried.fetch_add(1, Ordering::SeqCst) {
                0 => Err(Error::Unknown("once".into())),
                _ => Ok(()),
            });
            let broken = Task::new("broken".into(), 1.0, |_| panic!("always"));
            let events = Mutex::new(Vec::new());
            let watch = |event| events.lock().unwrap().push(event);
            let outcome = Queue::new(vec![flaky, broken, fork], 8.0, None, &watch).run(threads).unwrap();
            assert_eq!((count.load(Ordering::SeqCst), outcome.done, outcome.left), (5, 7, 0));
            assert_eq!(outcome.failed, [("broken".to_owned(), "a bug of this program: always".to_owned())]);
            let events = events.into_inner().unwrap();
            assert_eq!(events.iter().filter(|event| matches!(event, Event::Failed { .. })).count(), 3);
            assert!(events.iter().any(|event| matches!(event, Event::Done { share, .. } if *share > 0.8)));
        }
    }

    #[test]
    fn nothing_is_begun_when_the_time_is_up() {
        let task = Task::new("late".into(), 1.0, |_| Ok(()));
        let outcome = Queue::new(vec![task], 1.0, Some(Duration::ZERO), &|_| {}).run(2).unwrap();
        assert_eq!((outcome.done, outcome.left), (0, 1));
    }
}
