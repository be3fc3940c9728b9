//! Several runs at once: one thread and, on a card, one stream each; the images are shared.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cmrm_run::RunDir;
use cmrm_run::names::{MODEL, RESULT};
use tch::Device;

use super::folder::{add_base, write_run};
use super::queue::{CHECKPOINT, Queue, fork_file};
use super::report::RunResult;
use super::training::Training;
use crate::cuda::Cuda;
use crate::data::{ImageSet, Resident};
use crate::error::{Error, Result};
use crate::plan::{Precision, RunSpec};

/// How runs are carried out.
pub struct Control<'a> {
    /// Folder of all runs.
    pub root: PathBuf,
    /// Where to compute.
    pub device: Device,
    /// Runs at once.
    pub workers: usize,
    /// When to stop, with checkpoints.
    pub deadline: Option<Instant>,
    /// Epochs between checkpoints; 0 for none but those at a stop.
    pub checkpoint_every: usize,
    /// Set from outside to stop, with checkpoints.
    pub stop: &'a AtomicBool,
    /// Told what happens, a line at a time.
    pub say: &'a (dyn Fn(&str) + Sync),
}

/// How the work ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// Runs finished now.
    pub finished: Vec<RunResult>,
    /// Runs stopped before their last epoch.
    pub stopped: usize,
    /// Runs not started.
    pub waiting: usize,
    /// Runs that failed, and why.
    pub failed: Vec<(String, Error)>,
}

/// Images of one plan, on the device.
struct Prepared {
    runs: Vec<RunSpec>,
    set: ImageSet,
    train: Mutex<Resident>,
    test: Mutex<Resident>,
}

/// Trains all runs of `plans` that are not finished yet. Each plan brings its data.
pub fn train_all(plans: Vec<(Vec<RunSpec>, ImageSet)>, control: &Control<'_>) -> Result<Ended> {
    let mut prepared = Vec::new();
    let mut all = Vec::new();
    let mut precision: Option<Precision> = None;
    for (runs, set) in plans {
        let Some(first) = runs.first() else { continue };
        if *precision.get_or_insert(first.precision) != first.precision {
            return Err(Error::settings("plans that run together need the same precision"));
        }
        let scaling = first.normalise.scaling(&set.train)?;
        let train = Resident::new(&set.train, &scaling, first.augment.padding, control.device)?;
        let test = Resident::new(&set.test, &scaling, 0, control.device)?;
        let (plan, (train, test)) = (first.plan.clone(), (Mutex::new(train), Mutex::new(test)));
        all.extend(runs.iter().cloned());
        prepared.push((plan, Prepared { runs, set, train, test }));
    }
    if let (true, Some(precision)) = (control.device.is_cuda(), precision) {
        Cuda::load()?.allow_tf32(precision != Precision::F32)?;
        // The images are there before other streams read them.
        tch::Cuda::synchronize(0);
    }
    all.sort_by_key(|run| run.rank);
    let queue = Queue::new(&control.root, all);
    let ended = Mutex::new(Ended::default());
    std::thread::scope(|scope| {
        for _ in 0..control.workers.max(1) {
            scope.spawn(|| {
                while let Some(spec) = queue.next() {
                    let data = prepared.iter().find(|(plan, _)| *plan == spec.plan).map(|(_, data)| data);
                    let outcome = match data {
                        Some(data) => run(&spec, data, control, &queue),
                        None => Err(Error::Internal(format!("{}: no data", spec.plan))),
                    };
                    let mut ended = ended.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    match outcome {
                        Ok(Some(result)) => ended.finished.push(result),
                        Ok(None) => {
                            ended.stopped += 1;
                            ended.waiting += queue.close();
                        }
                        Err(error) => {
                            (control.say)(&format!("{}: {error}", spec.folder()));
                            ended.failed.push((spec.folder(), error));
                        }
                    }
                    queue.ended(&spec);
                }
            });
        }
    });
    let mut ended = ended.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    ended.waiting += queue.waiting();
    Ok(ended)
}

/// One run from where it stands to its end; `None` if it was stopped before.
fn run(spec: &RunSpec, data: &Prepared, control: &Control<'_>, queue: &Queue) -> Result<Option<RunResult>> {
    let folder = control.root.join(spec.folder());
    fs::create_dir_all(&folder).map_err(|error| Error::in_file(&folder, error))?;
    // Locked to the end of this run.
    let run = RunDir::lock(&folder)?;
    run.begin(&spec.settings)?;
    if control.device.is_cuda() {
        Cuda::load()?.enter_stream(spec.urgent)?;
    }
    let share = |images: &Mutex<Resident>| images.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).share();
    let mut training = Training::new(spec, &data.set, share(&data.train))?;
    let test = share(&data.test);
    let checkpoint = folder.join(CHECKPOINT);
    if checkpoint.exists() {
        training.restore(&checkpoint)?;
    } else if let (Some(fork), Some(parent)) = (&spec.fork, spec.parent_folder()) {
        training.restore_fork(&fork_file(&control.root.join(parent), fork.epoch))?;
    }
    while training.progress.epoch < spec.epochs {
        let late = control.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if late || control.stop.load(Ordering::Relaxed) {
            training.save(&checkpoint)?;
            run.write_metrics(&training.progress.epochs)?;
            return Ok(None);
        }
        let failed_before = training.graph_failure.is_some();
        training.epoch()?;
        if let (Some(why), false) = (&training.graph_failure, failed_before) {
            (control.say)(&format!("{}: no CUDA graph, launching kernels one at a time: {why}", spec.folder()));
        }
        let done = training.progress.epoch;
        if spec.judge_every > 0 && done.is_multiple_of(spec.judge_every) && done < spec.epochs {
            let judgement = training.judge(&test, &data.set.test.labels)?;
            let accuracy = 100.0 * judgement.accuracy;
            (control.say)(&format!("{}: epoch {done} of {}, {accuracy:.2} %", spec.folder(), spec.epochs));
        }
        if spec.forked_at.contains(&done) {
            training.save(&fork_file(&folder, done))?;
            queue.notify();
        }
        if control.checkpoint_every > 0 && done.is_multiple_of(control.checkpoint_every) && done < spec.epochs {
            training.save(&checkpoint)?;
        }
    }
    let judgement = training.judge(&test, &data.set.test.labels)?;
    let result = RunResult::new(spec, &training, judgement);
    run.write_metrics(&training.progress.epochs)?;
    training.save_model(&folder.join(MODEL))?;
    write_run(&run, spec, &data.set, &training, &test)?;
    compare(spec, data, control)?;
    append_result(&control.root, &result)?;
    run.replace_json(RESULT, &result)?;
    if checkpoint.exists() {
        fs::remove_file(&checkpoint).map_err(|error| Error::in_file(&checkpoint, error))?;
    }
    let (accuracy, size) = (100.0 * result.judgement.accuracy, result.judgement.mean_set_size);
    let speed = result.images_per_second;
    (control.say)(&format!("{}: {accuracy:.2} %, sets of {size:.3}, {speed:.0} images/s", spec.folder()));
    Ok(Some(result))
}

/// Puts base and envelope beside each other in the reports of this run, or of those that have this one as their base.
fn compare(spec: &RunSpec, data: &Prepared, control: &Control<'_>) -> Result<()> {
    let folder = |name: &String| control.root.join(name);
    let labels = &data.set.test.labels;
    if let Some(base) = spec.base_folder() {
        add_base(&folder(&spec.folder()), &folder(&base), labels)?;
    }
    for run in data.runs.iter().filter(|run| run.base_folder().is_some_and(|base| base == spec.folder())) {
        add_base(&folder(&run.folder()), &folder(&spec.folder()), labels)?;
    }
    Ok(())
}

/// One line at a time, from any worker: a single write to a file opened for appending.
fn append_result(root: &Path, result: &RunResult) -> Result<()> {
    let path = root.join("results.jsonl");
    let line = serde_json::to_string(result).map_err(|error| Error::in_file(&path, error))? + "\n";
    let file = fs::OpenOptions::new().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(|error| Error::in_file(&path, error))
}
