//! Downloads that can be interrupted: over HTTP, into a `.part` file, going on where they stopped.

mod attempt;
mod client;
mod part;

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use super::error::{Error, Result};
use super::{Download, Network, Progress, digest};
use attempt::{Attempt, Failure};
pub(crate) use part::Part;

/// Transfers `download` to `part`, and checks its size and checksum where they are known.
/// On success the part file is complete and the address is returned; on failure what has arrived stays, unless it is known to be wrong.
pub(crate) fn download(
    dataset: &'static str,
    download: &Download,
    part: &Part,
    network: &Network,
    progress: &mut dyn Progress,
) -> Result<&'static str> {
    let mut reasons = Vec::new();
    for (index, &url) in download.urls.iter().enumerate() {
        match from_one_address(url, download, part, network, progress) {
            Ok(()) => return Ok(url),
            // Another address may still have the right file; if none has, the last wrong one is reported.
            Err(Failure::Fatal(error @ Error::Checksum { .. })) if index + 1 < download.urls.len() => {
                progress.warn(&error.to_string());
                reasons.push(format!("{url}: wrong checksum"));
            }
            Err(Failure::Fatal(error)) => return Err(error),
            Err(Failure::GiveUp(reason) | Failure::Transient { reason, .. }) => {
                reasons.push(format!("{url}: {reason}"))
            }
        }
    }
    Err(Error::Download { dataset, file: download.name, reason: reasons.join("; ") })
}

fn from_one_address(
    url: &str,
    download: &Download,
    part: &Part,
    network: &Network,
    progress: &mut dyn Progress,
) -> Result<(), Failure> {
    let agent = client::agent(url, network)?;
    // Pieces of two addresses may only be joined when a checksum will tell whether they fit.
    if download.sha256.is_none() && !part.is_from(url) {
        part.discard();
    }
    let mut fruitless = 0;
    let mut restarted = false;
    loop {
        let before = part.len();
        let attempt = Attempt { agent: &agent, url, download, part };
        let failure = match attempt.run(progress) {
            Ok(()) => match check(url, download, part.path(), progress) {
                Ok(()) => return Ok(()),
                Err(error) => {
                    part.discard();
                    // A file that changed between two halves of a transfer is worth one fresh start.
                    if before > 0 && !restarted {
                        restarted = true;
                        progress.warn(&format!("{}: {error}; starting over", download.name));
                        continue;
                    }
                    return Err(Failure::Fatal(error));
                }
            },
            Err(failure) => failure,
        };
        let Failure::Transient { reason, pause } = failure else { return Err(failure) };
        fruitless = if part.len() > before { 0 } else { fruitless + 1 };
        if fruitless >= network.attempts.max(1) {
            return Err(Failure::GiveUp(format!("{reason} ({} tries)", network.attempts.max(1))));
        }
        let grown = network.backoff.saturating_mul(1 << fruitless.saturating_sub(1).min(10));
        let pause = pause.unwrap_or(grown).min(network.longest_pause);
        progress.warn(&format!("{}: {reason}; trying again in {:.1} s", download.name, pause.as_secs_f64()));
        wait(pause, progress)?;
    }
}

/// Sleeps in slices, so that a stop is heard.
fn wait(pause: Duration, progress: &dyn Progress) -> Result<(), Failure> {
    let slice = Duration::from_millis(100);
    let mut left = pause;
    while !left.is_zero() {
        if progress.cancelled() {
            return Err(Failure::Fatal(Error::Cancelled));
        }
        let step = left.min(slice);
        sleep(step);
        left -= step;
    }
    Ok(())
}

fn check(url: &str, download: &Download, path: &Path, progress: &mut dyn Progress) -> Result<()> {
    progress.finish();
    let Some(expected) = download.sha256 else { return Ok(()) };
    let (found, _) = digest::of_file(path)?;
    if found == expected {
        return Ok(());
    }
    Err(Error::Checksum {
        path: url.into(),
        what: "the SHA-256 of the download",
        expected: expected.to_owned(),
        found,
        way_out: "Either the transfer was tampered with or the makers have changed the file: \
                  try again later, or use a copy of the original with --from DIR.",
    })
}
