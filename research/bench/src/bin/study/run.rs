//! Runs cells on several threads until they are done or the time is up.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use cmrm_bench::sets::{NAMES, Set};
use cmrm_bench::{Result, on_one_thread};

use crate::Options;
use crate::cells::{Cell, cells};
use crate::train::{CellResult, key, train};

pub fn run(options: &Options) -> Result<()> {
    let start = Instant::now();
    let mut sets = Vec::new();
    for name in NAMES.iter().filter(|&&name| options.sets.as_ref().is_none_or(|sets| sets.iter().any(|s| s == name))) {
        match Set::load(name, &options.folder) {
            Ok(set) => sets.push(set),
            Err(error) => eprintln!("{name} is left out: {error}"),
        }
    }
    let done = finished(&options.out)?;
    let (part, parts) = options.shard;
    let mut cells = cells(&sets, options.seeds.clone(), options.losses.as_deref());
    cells.retain(|cell| {
        options.noises.as_ref().is_none_or(|noises| noises.iter().any(|noise| noise == cell.noise.name()))
    });
    let all = cells.len();
    cells = cells
        .into_iter()
        .skip(part)
        .step_by(parts)
        .filter(|cell| !done.contains(&key(cell, &sets, options.folds)))
        .collect();
    eprintln!("{all} cells, {} here and not yet done", cells.len());
    let out = Mutex::new(OpenOptions::new().create(true).append(true).open(&options.out)?);
    let next = AtomicUsize::new(0);
    let worker = || on_one_thread(|| work(&sets, &cells, &next, &out, start, options));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a worker panicked".to_owned())?)
    })?;
    eprintln!("{:.1} minutes", start.elapsed().as_secs_f64() / 60.0);
    Ok(())
}

/// Takes the next cell again and again; a cell that would not end in time, going by the longest so far, is not begun.
fn work(
    sets: &[Set],
    cells: &[Cell],
    next: &AtomicUsize,
    out: &Mutex<File>,
    start: Instant,
    options: &Options,
) -> std::result::Result<(), String> {
    let mut longest = 0.0f64;
    loop {
        let at = next.fetch_add(1, Ordering::SeqCst);
        let Some(cell) = cells.get(at) else { return Ok(()) };
        let now = start.elapsed().as_secs_f64();
        if now + longest > 60.0 * options.minutes {
            return Ok(());
        }
        let key = key(cell, sets, options.folds);
        let result =
            train(sets, cell, options.arms.as_deref(), options.folds).map_err(|error| format!("{key}: {error}"))?;
        longest = longest.max(result.seconds);
        let line = serde_json::to_string(&result).map_err(|error| error.to_string())? + "\n";
        let mut out = out.lock().map_err(|_| "another worker panicked".to_owned())?;
        out.write_all(line.as_bytes()).and_then(|()| out.flush()).map_err(|error| error.to_string())?;
        eprintln!("{:>5}/{} {key}: {:.1} s, at {:.1} min", at + 1, cells.len(), result.seconds, now / 60.0);
    }
}

/// Keys of the cells in a file of results. A last line that was cut off is no result, and is cut away.
fn finished(path: &Path) -> Result<BTreeSet<String>> {
    if !path.exists() {
        return Ok(BTreeSet::new());
    }
    let text = std::fs::read_to_string(path)?;
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    if whole < text.len() {
        OpenOptions::new().write(true).open(path)?.set_len(whole as u64)?;
    }
    let mut keys = BTreeSet::new();
    for (row, line) in text[..whole].lines().enumerate() {
        let result: CellResult =
            serde_json::from_str(line).map_err(|error| format!("{}: line {}: {error}", path.display(), row + 1))?;
        keys.insert(result.key);
    }
    Ok(keys)
}
