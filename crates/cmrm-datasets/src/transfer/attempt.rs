//! One request of a download: asks for the missing bytes and adds them to the part file.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use ureq::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderName, LAST_MODIFIED, RETRY_AFTER};
use ureq::http::{HeaderMap, Response};
use ureq::{Agent, Body};

use super::Part;
use crate::error::{Error, io};
use crate::{Download, Progress};

const BLOCK: usize = 1 << 16;

/// Why a request did not complete the file.
pub(super) enum Failure {
    /// Worth another try at the same address, after the pause the server asked for.
    Transient { reason: String, pause: Option<Duration> },
    /// This address will not do; another might.
    GiveUp(String),
    /// No address will do.
    Fatal(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Fatal(error)
    }
}

fn transient(reason: impl Into<String>) -> Failure {
    Failure::Transient { reason: reason.into(), pause: None }
}

pub(super) struct Attempt<'a> {
    pub agent: &'a Agent,
    pub url: &'a str,
    pub download: &'a Download,
    pub part: &'a Part,
}

impl Attempt<'_> {
    /// Sends the request; the part file holds the whole download when this returns `Ok`.
    pub(super) fn run(&self, progress: &mut dyn Progress) -> Result<(), Failure> {
        let have = self.part.len();
        if have > 0 && Some(have) == self.download.bytes {
            return Ok(());
        }
        let mut request = self.agent.get(self.url);
        if have > 0 {
            request = request.header("Range", format!("bytes={have}-"));
            if let Some(version) = self.part.version(self.url) {
                request = request.header("If-Range", version);
            }
        }
        let response = request.call().map_err(|error| failure_of(&error))?;
        let status = response.status().as_u16();
        match status {
            200 => {
                let version = version_of(response.headers());
                let file = self.part.start(self.url, version.as_deref())?;
                self.receive(response, file, 0, progress)
            }
            206 => self.go_on(response, have, progress),
            416 => self.past_the_end(&response, have),
            408 | 425 | 429 | 500..=599 => Err(Failure::Transient {
                reason: describe(status),
                pause: number(response.headers(), RETRY_AFTER).map(Duration::from_secs),
            }),
            _ => Err(Failure::GiveUp(describe(status))),
        }
    }

    fn go_on(&self, response: Response<Body>, have: u64, progress: &mut dyn Progress) -> Result<(), Failure> {
        match content_range(response.headers()) {
            Some((start, _)) if start == have => {
                let file = self.part.append()?;
                self.receive(response, file, have, progress)
            }
            range => {
                self.part.discard();
                let start = range.map_or("an unreadable place".to_owned(), |(start, _)| start.to_string());
                Err(transient(format!("asked for the bytes from {have}, the server sent those from {start}")))
            }
        }
    }

    /// 416: either everything has arrived already, or the part file belongs to something else.
    fn past_the_end(&self, response: &Response<Body>, have: u64) -> Result<(), Failure> {
        if have > 0 && unsatisfied_range(response.headers()) == Some(have) {
            return Ok(());
        }
        self.part.discard();
        Err(transient(format!("{have} bytes are more than the server has; starting over")))
    }

    fn receive(
        &self,
        response: Response<Body>,
        mut file: File,
        have: u64,
        progress: &mut dyn Progress,
    ) -> Result<(), Failure> {
        let rest = number(response.headers(), CONTENT_LENGTH);
        let total = rest.map(|rest| have.saturating_add(rest));
        self.check_total(total)?;
        progress.begin(self.download.name, have, total.or(self.download.bytes));
        let path = self.part.path();
        let mut body = response.into_body().into_reader();
        let mut buffer = vec![0; BLOCK];
        let mut length = have;
        loop {
            if progress.cancelled() {
                file.sync_all().map_err(io(path, "write"))?;
                return Err(Failure::Fatal(Error::Cancelled));
            }
            match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    file.write_all(&buffer[..count]).map_err(io(path, "write"))?;
                    length += count as u64;
                    self.check_limit(length)?;
                    progress.advance(count as u64);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(transient(format!("the connection broke after {length} bytes ({error})"))),
            }
        }
        file.sync_all().map_err(io(path, "write"))?;
        match total {
            Some(total) if length < total => {
                Err(transient(format!("the connection closed after {length} of {total} bytes")))
            }
            _ => self.check_length(length),
        }
    }

    /// Refuses a file of the wrong size before it is transferred.
    fn check_total(&self, total: Option<u64>) -> Result<(), Failure> {
        let Some(total) = total else { return Ok(()) };
        self.check_limit(total)?;
        self.check_length(total)
    }

    fn check_length(&self, found: u64) -> Result<(), Failure> {
        match self.download.bytes {
            Some(expected) if found != expected => {
                self.part.discard();
                Err(Failure::GiveUp(format!("the file has {found} bytes, expected {expected}")))
            }
            _ => Ok(()),
        }
    }

    fn check_limit(&self, length: u64) -> Result<(), Failure> {
        let limit = self.download.max_bytes;
        if length <= limit {
            return Ok(());
        }
        self.part.discard();
        Err(Failure::GiveUp(format!("the file has {length} bytes or more, the limit is {limit}")))
    }
}

/// What names this version of the file for `If-Range`: a strong entity tag or, failing that, the date.
/// Nothing is worth keeping from a server that cannot resume.
fn version_of(headers: &HeaderMap) -> Option<String> {
    if text(headers, &ACCEPT_RANGES).is_some_and(|value| value.eq_ignore_ascii_case("none")) {
        return None;
    }
    let strong = text(headers, &ETAG).filter(|tag| !tag.starts_with("W/"));
    strong.or_else(|| text(headers, &LAST_MODIFIED)).map(str::to_owned)
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

fn number(headers: &HeaderMap, name: HeaderName) -> Option<u64> {
    text(headers, &name)?.parse().ok()
}

/// Start and, when given, total of `bytes START-END/TOTAL`.
fn content_range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let (range, total) = text(headers, &CONTENT_RANGE)?.strip_prefix("bytes ")?.split_once('/')?;
    let (start, _) = range.split_once('-')?;
    Some((start.trim().parse().ok()?, total.trim().parse().ok()))
}

/// Total of `bytes */TOTAL`.
fn unsatisfied_range(headers: &HeaderMap) -> Option<u64> {
    text(headers, &CONTENT_RANGE)?.strip_prefix("bytes")?.trim().strip_prefix("*/")?.trim().parse().ok()
}

fn describe(status: u16) -> String {
    match status {
        401 | 403 => format!("the server refuses access (status {status})"),
        404 | 410 => format!("the server has no such file (status {status})"),
        408 | 429 | 503 => format!("the server is busy (status {status})"),
        _ => format!("the server answered with status {status}"),
    }
}

/// Tells a broken connection, worth another try, from an answer that will not change.
fn failure_of(error: &ureq::Error) -> Failure {
    match error {
        ureq::Error::HostNotFound => transient("the host is not known: is this machine offline?"),
        ureq::Error::ConnectionFailed => transient("no connection: is this machine offline?"),
        ureq::Error::Io(inner) => match inner.kind() {
            // Rustls reports a handshake that failed for a reason this way; it would fail again.
            ErrorKind::InvalidData => Failure::GiveUp(format!(
                "no secure connection ({inner}); where the network has its own authority, name its certificates in SSL_CERT_FILE"
            )),
            ErrorKind::ConnectionRefused => {
                transient("the connection was refused: is this machine offline, or behind a proxy?")
            }
            _ => transient(format!("no connection ({inner}): is this machine offline?")),
        },
        ureq::Error::Timeout(_) | ureq::Error::Protocol(_) => transient(error.to_string()),
        ureq::Error::RequireHttpsOnly(_) => Failure::GiveUp("a redirect leads from https to plain http".to_owned()),
        _ => Failure::GiveUp(error.to_string()),
    }
}
