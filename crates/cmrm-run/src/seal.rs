//! A finished run is sealed: `run.json` has the checksums of its files and of itself.
//!
//! A sealed file changes in three steps, each of them whole or not at all: `run.json` allows what the file is and what it becomes; the
//! file is replaced; `run.json` allows the new one alone. So a run that was left between two steps opens, and the next change mends it.

use std::io::ErrorKind;
use std::path::Path;

use cmrm_data::files::{checksum, checksum_of_file};
use serde::Deserialize;

use crate::checksums::{Checksum, Checksums, is_sealed, sealed_text};
use crate::error::{Error, Result};
use crate::folder::RunDir;
use crate::info::{FORMAT, RunInfo, WITHOUT_CHECKSUMS};
use crate::names::{RUN, SEALED};

/// How often a run is looked at that somebody else is writing to meanwhile.
const LOOKS: usize = 5;

/// Writes `run.json` with the checksums of all files that are there.
pub(crate) fn seal(run: &RunDir, info: &RunInfo) -> Result<()> {
    let mut names: Vec<String> = SEALED.map(str::to_owned).to_vec();
    for arm in &info.arms {
        let files = [run.model_file(arm, &info.chosen), run.calibration_file(arm, &info.chosen)];
        names.extend(files.iter().filter_map(|file| Some(file.file_name()?.to_str()?.to_owned())));
    }
    let mut files = Checksums::new();
    for name in names {
        if let Some(sum) = checksum_of(&run.file(&name))? {
            files.insert(name, Checksum::Is(sum));
        }
    }
    // Of a run that was opened in an older format too: from here on it is of this one.
    run.write(RUN, &sealed_text(&RunInfo { format: FORMAT, files, ..info.clone() })?)
}

/// Reads `run.json`, and refuses files that are not what it says. One that is missing is named when it is needed.
pub(crate) fn check(run: &RunDir) -> Result<RunInfo> {
    let mut text = run.read(RUN)?;
    for _ in 1..LOOKS {
        let refused = match checked(run, &text) {
            Ok(info) => return Ok(info),
            Err(refused) => refused,
        };
        // Somebody may have replaced a file since the text was read, and the text with it.
        let now = run.read(RUN)?;
        if now == text {
            return Err(refused);
        }
        text = now;
    }
    checked(run, &text)
}

fn checked(run: &RunDir, text: &str) -> Result<RunInfo> {
    let info = read(run, text)?;
    for (name, allowed) in &info.files {
        let path = run.file(name);
        if checksum_of(&path)?.is_some_and(|found| !allowed.allows(&found)) {
            return Err(Error::altered(&path));
        }
    }
    Ok(info)
}

fn read(run: &RunDir, text: &str) -> Result<RunInfo> {
    /// The version is looked at first, so that a later one is named as such.
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let path = run.file(RUN);
    let garbled =
        |error| Error::in_file(&path, format!("{error}; the file is damaged: copy the folder again or fit again"));
    let Version { format } = serde_json::from_str(text).map_err(garbled)?;
    if !(WITHOUT_CHECKSUMS..=FORMAT).contains(&format) {
        let what = format!(
            "the run has format {format}, this version reads {WITHOUT_CHECKSUMS} to {FORMAT}; fit again, or use the version that wrote it"
        );
        return Err(Error::in_file(&path, what));
    }
    let info: RunInfo = serde_json::from_str(text).map_err(garbled)?;
    let sound = match format {
        WITHOUT_CHECKSUMS => info.files.is_empty() && info.checksum.is_none(),
        _ => is_sealed(text, &info),
    };
    // The names lead nowhere else: they come from a file that may come from anywhere.
    let plain = info.files.keys().all(|name| Path::new(name).file_name().is_some_and(|own| own == name.as_str()));
    if !sound || !plain {
        let what =
            "altered since the run was written: it does not fit its own checksum; copy the folder again or fit again";
        return Err(Error::in_file(&path, what));
    }
    Ok(info)
}

/// Replaces or adds files, as the head of this file says. A run without checksums stays without.
pub(crate) fn replace(run: &RunDir, files: &[(&str, String)]) -> Result<()> {
    let after = allow(run, files)?;
    files.iter().try_for_each(|(name, text)| run.write(name, text))?;
    after.map_or(Ok(()), |after| run.write(RUN, &sealed_text(&after)?))
}

/// The first step: files may be what they are and what they become. Returns what `run.json` says once they are replaced.
fn allow(run: &RunDir, files: &[(&str, String)]) -> Result<Option<RunInfo>> {
    let mut info = read(run, &run.read(RUN)?)?;
    if info.format == WITHOUT_CHECKSUMS {
        return Ok(None);
    }
    let mut after = info.files.clone();
    for (name, text) in files {
        let (path, new) = (run.file(name), checksum(text.as_bytes()));
        let now = checksum_of(&path)?;
        if let (Some(now), Some(allowed)) = (&now, info.files.get(*name))
            && !allowed.allows(now)
        {
            return Err(Error::altered(&path));
        }
        info.files.insert((*name).to_owned(), Checksum::Becomes([now, Some(new.clone())]));
        after.insert((*name).to_owned(), Checksum::Is(new));
    }
    run.write(RUN, &sealed_text(&info)?)?;
    Ok(Some(RunInfo { files: after, ..info }))
}

/// Nothing where there is no such file.
fn checksum_of(path: &Path) -> Result<Option<String>> {
    match checksum_of_file(path) {
        Ok(sum) => Ok(Some(sum)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::reading(path, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{PAGE, SELF_CHECK};

    fn finished() -> (tempfile::TempDir, RunDir, RunInfo) {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::at(folder.path());
        run.write(PAGE, "old").unwrap();
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<String>>();
        let info = RunInfo::new(names(&["no", "yes"]), names(&["robust"]), "robust".into(), "0".repeat(64));
        run.finish(&info).unwrap();
        (folder, run, info)
    }

    fn opens(run: &RunDir) -> bool {
        RunDir::open(run.path()).is_ok()
    }

    /// Killed after each step in turn.
    #[test]
    fn a_run_opens_whenever_a_replacement_ends_and_the_next_one_mends_it() {
        let (_folder, run, _) = finished();
        let files = [(SELF_CHECK, "{}".to_owned()), (PAGE, "new".to_owned())];
        let after = allow(&run, &files).unwrap().unwrap();
        assert!(opens(&run));
        for (name, text) in &files {
            run.write(name, text).unwrap();
            assert!(opens(&run), "{name}");
        }
        // What was being written may be either, but nothing else, and may still be missing.
        for (page, sound) in [("old", true), ("neither", false), ("new", true)] {
            run.write(PAGE, page).unwrap();
            assert_eq!(opens(&run), sound, "{page}");
        }
        std::fs::remove_file(run.file(SELF_CHECK)).unwrap();
        let (opened, _) = RunDir::open(run.path()).unwrap();
        assert!(!opened.needs(&run.file(SELF_CHECK)) && opened.needs(&run.file(PAGE)));
        // The process is gone before the last step; another one replaces the same files.
        drop(after);
        replace(&run, &files).unwrap();
        run.write(PAGE, "old").unwrap();
        assert!(!opens(&run));
    }

    #[test]
    fn a_run_of_the_first_format_is_sealed_in_this_one() {
        let (_folder, run, info) = finished();
        let old = RunInfo { format: WITHOUT_CHECKSUMS, files: Checksums::new(), checksum: None, ..info };
        run.write(RUN, &serde_json::to_string(&old).unwrap()).unwrap();
        let (_, opened) = RunDir::open(run.path()).unwrap();
        assert_eq!((opened.format, opened.files.len()), (WITHOUT_CHECKSUMS, 0));
        run.finish(&opened).unwrap();
        let (_, sealed) = RunDir::open(run.path()).unwrap();
        assert_eq!((sealed.format, sealed.files.len()), (FORMAT, 1));
    }

    #[test]
    fn what_was_altered_is_not_sealed_anew() {
        let (_folder, run, _) = finished();
        run.write(PAGE, "altered").unwrap();
        let refused = replace(&run, &[(PAGE, "new".into())]).unwrap_err().to_string();
        assert!(refused.contains(PAGE) && refused.contains("altered"), "{refused}");
    }

    #[test]
    fn names_in_a_run_lead_nowhere_else() {
        let (_folder, run, mut info) = finished();
        info.files.insert("../outside".into(), Checksum::Is("0".repeat(64)));
        run.write(RUN, &sealed_text(&info).unwrap()).unwrap();
        assert!(RunDir::open(run.path()).unwrap_err().to_string().contains(RUN));
    }
}
