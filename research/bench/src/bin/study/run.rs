//! Runs cells on several threads until they are done or the time is up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use cmrm_bench::sets::{Set, names};
use cmrm_bench::{Result, on_one_thread};

use crate::Options;
use crate::arms;
use crate::cells::{Cell, cells};
use crate::results::read_lines;
use crate::train::train;

/// A cell, and before it the names of the arms that it lacks.
type Task<'a> = (Vec<&'static str>, Cell<'a>);

pub fn run(options: &Options) -> Result<()> {
    let start = Instant::now();
    let wanted = |name: &&str| options.sets.as_ref().is_none_or(|sets| sets.iter().any(|set| set == name));
    let mut sets = Vec::new();
    for name in names().filter(wanted) {
        match Set::load(name, &options.folder) {
            Ok(set) => sets.push(set),
            Err(error) => eprintln!("{name} is left out: {error}"),
        }
    }
    let done = finished(&options.out)?;
    let cells = cells(&sets, options.seeds.clone(), &options.losses)?;
    let all = cells.len();
    let missing = |cell: &Cell<'_>| {
        let done = done.get(&cell.key());
        let mut names = arms::names(cell.model, &cell.loss, &options.arms);
        names.retain(|&name| done.is_none_or(|done| !done.contains(name)));
        names
    };
    let tasks = cells.into_iter().map(|cell| (missing(&cell), cell));
    let tasks: Vec<Task<'_>> = tasks.filter(|(names, _)| !names.is_empty()).collect();
    eprintln!("{all} cells, {} of them not yet done", tasks.len());
    let out = Mutex::new(OpenOptions::new().create(true).append(true).open(&options.out)?);
    let next = AtomicUsize::new(0);
    let worker = || on_one_thread(|| work(&tasks, &next, &out, start, options.minutes));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a worker panicked".to_owned())?)
    })?;
    eprintln!("{:.1} minutes", start.elapsed().as_secs_f64() / 60.0);
    Ok(())
}

/// Takes the next cell again and again; a cell that would not end in time, going by the longest so far, is not begun.
fn work(
    tasks: &[Task<'_>],
    next: &AtomicUsize,
    out: &Mutex<File>,
    start: Instant,
    minutes: f64,
) -> std::result::Result<(), String> {
    let mut longest = 0.0f64;
    loop {
        let at = next.fetch_add(1, Ordering::SeqCst);
        let Some((names, cell)) = tasks.get(at) else { return Ok(()) };
        let now = start.elapsed().as_secs_f64();
        if now + longest > 60.0 * minutes {
            return Ok(());
        }
        let result = train(cell, names).map_err(|error| format!("{}: {error}", cell.key()))?;
        longest = longest.max(start.elapsed().as_secs_f64() - now);
        let line = serde_json::to_string(&result).map_err(|error| error.to_string())? + "\n";
        let mut out = out.lock().map_err(|_| "another worker panicked".to_owned())?;
        out.write_all(line.as_bytes()).and_then(|()| out.flush()).map_err(|error| error.to_string())?;
        eprintln!("{:>5}/{} {}: {:.1} s, at {:.1} min", at + 1, tasks.len(), result.key, result.seconds, now / 60.0);
    }
}

/// The arms of each cell in a file of results. A last line that was cut off is no result, and is cut away.
fn finished(path: &Path) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut done: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    if path.exists() {
        let text = std::fs::read_to_string(path)?;
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            OpenOptions::new().write(true).open(path)?.set_len(whole as u64)?;
        }
        for cell in read_lines(path)? {
            done.entry(cell.key).or_default().extend(cell.arms.into_iter().map(|arm| arm.name));
        }
    }
    Ok(done)
}
