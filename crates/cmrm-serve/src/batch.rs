//! Rows that wait are predicted together.

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

/// Predicts until nobody can ask any more.
pub(crate) fn work(served: &Served, jobs: &Receiver<Job>, mut taken: impl FnMut()) {
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
        taken();
        // A bug shown by one request must not end the service for all; nothing half done outlives the call.
        if catch_unwind(AssertUnwindSafe(|| together(served, &mut batch))).is_err() {
            batch.clear();
        }
    }
}

fn together(served: &Served, batch: &mut Vec<Job>) {
    let (mut rows, mut answers) = (Vec::new(), Vec::new());
    for Job { rows: of_job, labels, answer } in batch.drain(..) {
        let labels = labels.unwrap_or_else(|| vec![None; of_job.rows()]);
        rows.push(of_job);
        answers.push((labels, answer));
    }
    let labels: Vec<Option<u32>> = answers.iter().flat_map(|(labels, _)| labels).copied().collect();
    let said = joined(rows).and_then(|rows| match rows {
        Some(rows) => say(served, &rows, &labels),
        None => Ok(Said::default()),
    });
    let (classes, mut from) = (served.classes().len(), 0);
    for (labels, answer) in answers {
        let rows = from..from + labels.len();
        let part = said.as_ref().map_err(Clone::clone).map(|said| Said {
            probabilities: said.probabilities[rows.start * classes..rows.end * classes].to_vec(),
            judged: if said.judged.is_empty() { Vec::new() } else { said.judged[rows.clone()].to_vec() },
        });
        // Somebody who has gone meanwhile needs no answer.
        let _ = answer.send(part);
        from = rows.end;
    }
}

fn say(served: &Served, rows: &OwnedRows<f32>, labels: &[Option<u32>]) -> Result<Said, String> {
    let in_words = |error: cmrm_run::Error| error.to_string();
    let probabilities = served.predict(rows).map_err(in_words)?.into_probabilities();
    let (at, known): (Vec<usize>, Vec<u32>) =
        labels.iter().enumerate().filter_map(|(at, label)| Some((at, (*label)?))).unzip();
    let mut judged = Vec::new();
    if !known.is_empty() {
        judged.resize(labels.len(), None);
        for (at, found) in at.iter().zip(served.judge(&rows.gather(&at), &known).map_err(in_words)?) {
            judged[*at] = Some(found);
        }
    }
    Ok(Said { probabilities, judged })
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
