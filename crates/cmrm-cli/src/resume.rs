//! Going on with a run or a search: whatever has to agree is checked before a byte of the folder changes.

use std::path::Path;

use cmrm_data::Fingerprint;
use cmrm_fit::{FitConfig, Prepared, TransitionSetting, auto_candidates};
use cmrm_run::RunDir;
use cmrm_run::names::{BEST, DATA_STAMP, SEARCH, SETTINGS, SUMMARY};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::FitArgs;
use crate::config;
use crate::failure::{Failure, Result};

/// What was begun in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    Fit,
    Search,
}

impl Begun {
    fn verb(self) -> &'static str {
        match self {
            Begun::Fit => "fit",
            Begun::Search => "tune",
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Begun::Fit => "run",
            Begun::Search => "search",
        }
    }

    /// Whether it has come to its end: the last file is there.
    pub fn is_finished(self, run: &RunDir) -> bool {
        match self {
            Begun::Fit => run.is_finished(),
            Begun::Search => [BEST, SUMMARY].iter().all(|name| run.file(name).exists()),
        }
    }

    /// Locks what is to be gone on with. Nobody writes into what is finished, so that reading it needs no lock.
    pub fn take(self, run: RunDir) -> Result<RunDir> {
        Ok(if self.is_finished(&run) { run } else { RunDir::lock(run.path())? })
    }
}

/// With `--resume` the folder to go on with, and the settings it was begun with.
pub fn begun(args: &FitArgs, wanted: Begun) -> Result<Option<(RunDir, FitConfig)>> {
    let (true, Some(out)) = (args.resume, &args.out) else { return Ok(None) };
    let run = RunDir::at(out);
    let settings = run.file(SETTINGS);
    if !settings.exists() {
        return Err(Failure::input(format!(
            "{}: no {} has been started in this folder; leave out --resume to start one",
            out.display(),
            wanted.noun()
        )));
    }
    let other = match wanted {
        Begun::Fit => run.file(SEARCH).exists().then_some(Begun::Search),
        Begun::Search => (run.has_room_for_progress() || run.is_finished()).then_some(Begun::Fit),
    };
    if let Some(other) = other {
        return Err(Failure::input(format!(
            "{out}: a {} is in this folder, not a {}; continue it with `cmrm {} --resume --out {out}`, or choose another --out",
            other.noun(),
            wanted.noun(),
            other.verb(),
            out = out.display()
        )));
    }
    Ok(Some((run, config::read(&settings)?)))
}

/// The settings to go on with: the run's `own`, which those `asked` for must be, and the data where it is now. While a
/// run is unfinished its data may have moved, since its contents are compared ([`DataStamp`]). What rows decide stays as it
/// was asked for, until they are known and [`agree_on_rows`] compares it.
pub fn agree(run: &RunDir, own: &FitConfig, asked: FitConfig, args: &FitArgs, begun: Begun) -> Result<FitConfig> {
    // What the settings leave open is what the run decided when it began.
    let (own, asked) = (&own.resolved(), asked.resolved());
    // The file of a transition matrix was read then.
    let transition = match (&asked.transition, &own.transition) {
        (None, _) | (Some(TransitionSetting::File(_)), Some(TransitionSetting::Given(_))) => own.transition.clone(),
        (given, _) => given.clone(),
    };
    let asked = FitConfig { l2: asked.l2.or(own.l2), transition, ..asked };
    let finished = begun.is_finished(run);
    let places = |from: &FitConfig, to: &FitConfig| FitConfig {
        data: from.data.clone(),
        labels: from.labels.clone(),
        test: from.test.clone(),
        ..to.clone()
    };
    let compared = if !finished || same_places(own, &asked) { places(own, &asked) } else { asked.clone() };
    let compared =
        FitConfig { epochs: asked.epochs.or(own.epochs), steps: own.steps, keep: asked.keep.or(own.keep), ..compared };
    // The settings of `--auto` were found when the run began; they are one of those it tries.
    let found = args.auto && auto_candidates(&compared)?.iter().any(|candidate| candidate.config == *own);
    if !found {
        refuse_difference(run, own, &compared, begun)?;
    }
    Ok(by_rows(&asked, &places(&asked, own)))
}

/// Refuses to go on with other settings than the run's `own` where rows decide them.
pub fn agree_on_rows(run: &RunDir, own: &FitConfig, decided: &FitConfig, begun: Begun) -> Result<()> {
    let own = own.resolved();
    refuse_difference(run, &own, &by_rows(decided, &own), begun)
}

/// The settings that rows may decide as `from` has them, the others as `to` does.
fn by_rows(from: &FitConfig, to: &FitConfig) -> FitConfig {
    FitConfig { epochs: from.epochs, steps: from.steps, keep: from.keep, ..to.clone() }
}

/// Refuses settings that differ, and names the first of them.
pub fn refuse_difference<T: Serialize>(run: &RunDir, own: &T, asked: &T, begun: Begun) -> Result<()> {
    let as_value =
        |settings: &T| serde_json::to_value(settings).map_err(|e| Failure::internal(format!("settings: {e}")));
    let Some((name, own, asked)) = first_difference("", &as_value(own)?, &as_value(asked)?) else { return Ok(()) };
    let (place, noun) = (run.path().display(), begun.noun());
    Err(Failure::input(match begun.is_finished(run) {
        true => format!(
            "{place}: this {noun} was finished with other settings: {name} is {own} there and {asked} here; name a new \
             --out to train with these"
        ),
        false => format!(
            "{place}: this {noun} was started with other settings: {name} is {own} there and {asked} here; use the same value \
             or leave it out to continue, or name a new --out to start another {noun}"
        ),
    }))
}

/// Name and both values of the first setting that differs; a setting that is absent is "not set".
fn first_difference(name: &str, own: &Value, asked: &Value) -> Option<(String, String, String)> {
    if let (Value::Object(own), Value::Object(asked)) = (own, asked) {
        let names = own.keys().chain(asked.keys().filter(|name| !own.contains_key(*name)));
        let value = |of: &serde_json::Map<String, Value>, name: &str| of.get(name).cloned().unwrap_or_default();
        return names
            .map(|part| (if name.is_empty() { part.clone() } else { format!("{name}.{part}") }, part))
            .find_map(|(full, part)| first_difference(&full, &value(own, part), &value(asked, part)));
    }
    let words = |value: &Value| if value.is_null() { "not set".to_owned() } else { value.to_string() };
    (own != asked).then(|| (name.to_owned(), words(own), words(asked)))
}

/// Whether both settings read the same files, however these are spelled.
fn same_places(own: &FitConfig, asked: &FitConfig) -> bool {
    let same = |a: &Path, b: &Path| a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b);
    let both = |a: Option<&Path>, b: Option<&Path>| match (a, b) {
        (Some(a), Some(b)) => same(a, b),
        (a, b) => a == b,
    };
    same(Path::new(&own.data), Path::new(&asked.data))
        && both(own.labels.as_deref(), asked.labels.as_deref())
        && both(own.test.as_deref().map(Path::new), asked.test.as_deref().map(Path::new))
}

/// The refusal of data that a run or a search was not begun on.
pub fn other_data(run: &RunDir, what: &str, name: &str) -> Failure {
    Failure::input(format!(
        "{name}: not the {what} that {} was started with (the fingerprints differ); restore the original file, or \
         start another run with a new --out",
        run.path().display()
    ))
}

/// What a fit was begun on, as fingerprints; kept until it is finished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataStamp {
    /// The rows trained on.
    pub train: Fingerprint,
    /// The rows that epochs are chosen and sets are calibrated by.
    validation: Fingerprint,
    /// The rows that the arms are judged by, where those are others.
    test: Fingerprint,
}

impl DataStamp {
    pub fn of(rows: &Prepared) -> Result<Self> {
        let test = match &rows.test {
            Some((test, _)) => Fingerprint::of(test),
            None => Fingerprint::of(&rows.train.data.gather(&[])?),
        };
        let (train, validation) = (Fingerprint::of(&rows.train.data), Fingerprint::of(&rows.validation.data));
        Ok(DataStamp { train, validation, test })
    }

    /// Refuses data other than what the run was begun on. A run of a version that kept no stamp has its checkpoint alone
    /// to tell.
    pub fn check(&self, run: &RunDir, config: &FitConfig) -> Result<()> {
        if !run.file(DATA_STAMP).exists() {
            return Ok(());
        }
        let before: DataStamp = run.read_json(DATA_STAMP)?;
        match &config.test {
            _ if before == *self => Ok(()),
            Some(test) if (&before.train, &before.validation) == (&self.train, &self.validation) => {
                Err(other_data(run, "test data", test))
            }
            _ => Err(other_data(run, "data", &config.data)),
        }
    }

    /// Keeps it in the run's folder.
    pub fn write(&self, run: &RunDir) -> Result<()> {
        run.make_room_for_progress()?;
        Ok(run.write_json(DATA_STAMP, self)?)
    }
}
