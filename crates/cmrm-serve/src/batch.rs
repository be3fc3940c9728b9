//! Rows that wait are predicted together.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use cmrm::OwnedRows;
use cmrm_run::JudgedLabel;
use tokio::sync::oneshot;

use crate::refusal::Refusal;
use crate::served::Served;

/// Rows beyond which no more are waited for.
const BATCH_ROWS: usize = 2048;

/// What the model says of a request's rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said {
    /// Probabilities of the classes, row after row.
    pub probabilities: Vec<f32>,
    /// The likeliest class of each row.
    pub predicted: Vec<u32>,
    /// Its probability minus that of the strongest other class.
    pub margins: Vec<f64>,
    /// What it says of each row's label, where there is one; nothing if no row has any.
    pub judged: Vec<Option<JudgedLabel>>,
}

/// The classes of the labels that rows came with.
pub(crate) type Labels = Option<Vec<Option<u32>>>;

/// Rows of a request, and who waits for what is said of them.
pub(crate) struct Job {
    rows: OwnedRows<f32>,
    labels: Labels,
    answer: oneshot::Sender<Result<Said, String>>,
}

/// Where requests leave their rows.
#[derive(Clone)]
pub(crate) struct Queue(SyncSender<Job>);

/// A queue that holds as many jobs as there may be requests, and its other end.
pub(crate) fn queue(requests: usize) -> (Queue, Receiver<Job>) {
    let (sender, receiver) = sync_channel(requests);
    (Queue(sender), receiver)
}

impl Queue {
    /// What the model says of the rows, once it is their turn.
    pub async fn predict(&self, rows: OwnedRows<f32>, labels: Labels) -> Result<Said, Refusal> {
        let (answer, waiting) = oneshot::channel();
        self.0.try_send(Job { rows, labels, answer }).map_err(|error| match error {
            TrySendError::Full(_) => Refusal::new(503, "too many requests at a time; try again later"),
            TrySendError::Disconnected(_) => Refusal::new(503, "the service is stopping"),
        })?;
        let predicted = waiting.await.map_err(|_| Refusal::internal("the prediction failed"))?;
        predicted.map_err(Refusal::internal)
    }
}

impl Said {
    /// What is said of some of the rows.
    fn part(&self, rows: Range<usize>) -> Said {
        let classes = self.probabilities.len() / self.predicted.len().max(1);
        Said {
            probabilities: self.probabilities[rows.start * classes..rows.end * classes].to_vec(),
            predicted: self.predicted[rows.clone()].to_vec(),
            margins: self.margins[rows.clone()].to_vec(),
            judged: if self.judged.is_empty() { Vec::new() } else { self.judged[rows].to_vec() },
        }
    }
}

/// Predicts until nobody can ask any more. `say` says what the model makes of rows and of their labels; `taken` counts batches.
pub(crate) fn work(
    jobs: &Receiver<Job>,
    say: impl Fn(&OwnedRows<f32>, &[Option<u32>]) -> Result<Said, String>,
    mut taken: impl FnMut(),
) {
    while let Ok(first) = jobs.recv() {
        // Whoever came while the last batch was predicted is in this one: under load batches grow, alone nobody waits.
        let mut rows = first.rows.rows();
        let mut batch = vec![first];
        while rows < BATCH_ROWS
            && let Ok(job) = jobs.try_recv()
        {
            rows += job.rows.rows();
            batch.push(job);
        }
        // Those who have gone need no answer.
        batch.retain(|job| !job.answer.is_closed());
        if batch.is_empty() {
            continue;
        }
        taken();
        // A bug shown by one request must not end the service for all; nothing half done outlives the call.
        if catch_unwind(AssertUnwindSafe(|| together(&say, &mut batch))).is_err() {
            batch.clear();
        }
    }
}

fn together(say: &impl Fn(&OwnedRows<f32>, &[Option<u32>]) -> Result<Said, String>, batch: &mut Vec<Job>) {
    let (mut rows, mut answers) = (Vec::new(), Vec::new());
    for Job { rows: of_job, labels, answer } in batch.drain(..) {
        let labels = labels.unwrap_or_else(|| vec![None; of_job.rows()]);
        rows.push(of_job);
        answers.push((labels, answer));
    }
    let labels: Vec<Option<u32>> = answers.iter().flat_map(|(labels, _)| labels).copied().collect();
    let said = joined(rows).and_then(|rows| match rows {
        Some(rows) => say(&rows, &labels),
        None => Ok(Said::default()),
    });
    let mut from = 0;
    for (labels, answer) in answers {
        let rows = from..from + labels.len();
        from = rows.end;
        // Somebody who has gone meanwhile needs no answer.
        let _ = answer.send(said.as_ref().map_err(Clone::clone).map(|said| said.part(rows)));
    }
}

/// What the model says of rows, and of the labels that some of them have.
pub(crate) fn say(served: &Served, rows: &OwnedRows<f32>, labels: &[Option<u32>]) -> Result<Said, String> {
    let in_words = |error: cmrm_run::Error| error.to_string();
    let said = served.predict(rows).map_err(in_words)?;
    let (at, known): (Vec<usize>, Vec<u32>) =
        labels.iter().enumerate().filter_map(|(at, label)| Some((at, (*label)?))).unzip();
    let mut judged = Vec::new();
    if !known.is_empty() {
        judged.resize(labels.len(), None);
        for (at, found) in at.iter().zip(served.judge(&rows.gather(&at), &known).map_err(in_words)?) {
            judged[*at] = Some(found);
        }
    }
    let (predicted, margins) = (said.labels().to_vec(), (0..said.len()).map(|row| said.margin(row)).collect());
    Ok(Said { probabilities: said.into_probabilities(), predicted, margins, judged })
}

/// All rows below each other; those of one model have one form.
fn joined(rows: Vec<OwnedRows<f32>>) -> Result<Option<OwnedRows<f32>>, String> {
    let mut rows = rows.into_iter();
    let Some(mut all) = rows.next() else { return Ok(None) };
    for more in rows {
        let more = more.view().map_err(|error| error.to_string())?;
        all.append(more).map_err(|error| error.to_string())?;
    }
    Ok(Some(all))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A job of so many rows of one number each.
    fn job(numbers: &[f32]) -> (Job, oneshot::Receiver<Result<Said, String>>) {
        let (answer, waiting) = oneshot::channel();
        (Job { rows: OwnedRows::Dense { values: numbers.to_vec(), width: 1 }, labels: None, answer }, waiting)
    }

    /// Twice the number of each row, once for either class; a bug at 13.
    fn doubled(rows: &OwnedRows<f32>) -> Said {
        let OwnedRows::Dense { values, .. } = rows else { panic!("sparse rows") };
        assert!(!values.contains(&13.0), "a bug");
        let probabilities = values.iter().flat_map(|number| [2.0 * number, -number]).collect();
        let predicted = values.iter().map(|&number| number as u32).collect();
        Said { probabilities, predicted, margins: vec![0.5; values.len()], judged: Vec::new() }
    }

    #[test]
    fn jobs_that_wait_are_one_batch_of_those_who_still_wait() {
        let (queue, jobs) = queue(8);
        let (first, mut first_waits) = job(&[1.0, 2.0]);
        let (second, gone) = job(&[3.0]);
        let (third, mut third_waits) = job(&[4.0]);
        [first, second, third].into_iter().for_each(|job| queue.0.send(job).unwrap());
        drop((gone, queue));
        let (asked, mut taken) = (RefCell::new(Vec::new()), 0);
        let say = |rows: &OwnedRows<f32>, _: &[Option<u32>]| {
            asked.borrow_mut().push(rows.rows());
            Ok(doubled(rows))
        };
        work(&jobs, say, || taken += 1);
        assert_eq!((taken, asked.into_inner()), (1, vec![3]));
        let first = first_waits.try_recv().unwrap().unwrap();
        assert_eq!((first.probabilities, first.predicted), (vec![2.0, -1.0, 4.0, -2.0], vec![1, 2]));
        let third = third_waits.try_recv().unwrap().unwrap();
        assert_eq!((third.probabilities, third.predicted, third.margins), (vec![8.0, -4.0], vec![4], vec![0.5]));
    }

    #[test]
    fn a_batch_of_nobody_is_none() {
        let (queue, jobs) = queue(8);
        queue.0.send(job(&[1.0]).0).unwrap();
        drop(queue);
        work(&jobs, |_, _| panic!("nobody asked"), || panic!("no batch"));
    }

    #[test]
    fn a_batch_that_panics_leaves_the_others() {
        let (queue, jobs) = queue(8);
        let (broken, mut broken_waits) = job(&[13.0]);
        // So many rows that nothing more is in their batch.
        let broken = Job { rows: OwnedRows::Dense { values: vec![13.0; BATCH_ROWS], width: 1 }, ..broken };
        let (sound, mut sound_waits) = job(&[5.0]);
        [broken, sound].into_iter().for_each(|job| queue.0.send(job).unwrap());
        drop(queue);
        let mut taken = 0;
        work(&jobs, |rows, _| Ok(doubled(rows)), || taken += 1);
        assert_eq!(taken, 2);
        assert!(broken_waits.try_recv().is_err());
        assert_eq!(sound_waits.try_recv().unwrap().unwrap().predicted, [5]);
    }
}
