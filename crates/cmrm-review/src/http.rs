//! As much of HTTP/1.1 as one browser on this machine needs: one request a connection, small and with a length.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longest request line and headers together.
const LONGEST_HEAD: usize = 16 * 1024;
/// Longest body.
const LONGEST_BODY: usize = 64 * 1024;

/// A stream that is to be done by a point in time, however little each read or write moves.
struct Until<'a> {
    stream: &'a TcpStream,
    end: Instant,
}

impl<'a> Until<'a> {
    fn within(stream: &'a TcpStream, time: Duration) -> Self {
        Until { stream, end: Instant::now() + time }
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Until<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub method: String,
    /// The path as it was sent; nothing is decoded, since no address of ours needs it.
    pub path: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// The header of that name, which is lower case. One that is sent twice counts as none that could be trusted.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|header| header.0 == name);
        match (found.next(), found.next()) {
            (Some(header), None) => Some(&header.1),
            (Some(_), Some(_)) => Some("\u{fffd}"),
            _ => None,
        }
    }

    /// Reads a request that has to be here whole within `time`; an error is the answer to give. `asked` hears the path as
    /// soon as it is known.
    pub fn read(
        stream: &TcpStream,
        time: Duration,
        asked: impl FnOnce(&str) -> Result<(), Response>,
    ) -> Result<Self, Response> {
        Request::parse(BufReader::new(Until::within(stream, time)), asked)
    }

    fn parse(mut reader: impl BufRead, asked: impl FnOnce(&str) -> Result<(), Response>) -> Result<Self, Response> {
        let mut left = LONGEST_HEAD;
        let mut line = || -> Result<String, Response> {
            let mut bytes = Vec::new();
            let read = reader.by_ref().take(left as u64 + 1).read_until(b'\n', &mut bytes);
            read.map_err(|_| Response::refuse(408, "the request did not arrive in time"))?;
            if bytes.len() > left {
                return Err(Response::refuse(431, "the request header is too long"));
            }
            left -= bytes.len();
            let text =
                String::from_utf8(bytes).map_err(|_| Response::refuse(400, "the request header is not valid text"))?;
            text.strip_suffix("\r\n").map(str::to_owned).ok_or_else(|| Response::refuse(400, "incomplete header line"))
        };
        let first = line()?;
        let mut words = first.split(' ');
        let (Some(method), Some(path), Some("HTTP/1.1"), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Response::refuse(400, "not an HTTP/1.1 request"));
        };
        asked(path)?;
        let (method, path) = (method.to_owned(), path.to_owned());
        let mut headers = Vec::new();
        loop {
            let text = line()?;
            if text.is_empty() {
                break;
            }
            let (name, value) =
                text.split_once(':').ok_or_else(|| Response::refuse(400, "header line without a colon"))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut request = Request { method, path, headers, body: Vec::new() };
        if request.header("transfer-encoding").is_some() {
            return Err(Response::refuse(400, "a body needs a content-length"));
        }
        if let Some(length) = request.header("content-length") {
            let length: usize = length.parse().map_err(|_| Response::refuse(400, "content-length is not a number"))?;
            if length > LONGEST_BODY {
                return Err(Response::refuse(413, "the body is too long"));
            }
            request.body = vec![0; length];
            reader
                .read_exact(&mut request.body)
                .map_err(|_| Response::refuse(408, "the body did not arrive in time"))?;
        }
        Ok(request)
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    pub status: u16,
    kind: &'static str,
    body: Vec<u8>,
    /// Name of the file to save it as.
    file: Option<&'static str>,
}

impl Response {
    pub fn ok(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Response { status: 200, kind, body: body.into(), file: None }
    }

    pub fn file(kind: &'static str, name: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Response { file: Some(name), ..Response::ok(kind, body) }
    }

    pub fn refuse(status: u16, why: &str) -> Self {
        Response { status, kind: "text/plain; charset=utf-8", body: format!("{why}\n").into_bytes(), file: None }
    }

    /// Writes the answer, as far as the client takes it within `time`.
    pub fn write(&self, stream: &TcpStream, time: Duration) -> io::Result<()> {
        let mut stream = Until::within(stream, time);
        let words = match self.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            413 => "Content Too Large",
            415 => "Unsupported Media Type",
            422 => "Unprocessable Content",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            _ => "Internal Server Error",
        };
        let save = self.file.map(|name| format!("Content-Disposition: attachment; filename=\"{name}\"\r\n"));
        let head = format!(
            "HTTP/1.1 {} {words}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}Connection: close\r\nCache-Control: no-store\r\n\
             Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\nX-Content-Type-Options: nosniff\r\n\
             Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\r\n",
            self.status,
            self.kind,
            self.body.len(),
            save.unwrap_or_default()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&self.body)?;
        stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Request, u16> {
        Request::parse(text.as_bytes(), |_| Ok(())).map_err(|answer| answer.status)
    }

    #[test]
    fn no_bytes_make_it_panic() {
        // Pieces of real requests, cut and joined by a small generator.
        let pieces =
            ["GET ", "POST ", "/", " HTTP/1.1", "\r\n", "\n", ":", "Host", "Content-Length: 3", "abc", "\0", "é", " "];
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut text = Vec::new();
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let piece = pieces[(state >> 33) as usize % pieces.len()].as_bytes();
                text.extend_from_slice(&piece[..piece.len() - usize::from(state >> 63 == 1 && piece.len() > 1)]);
            }
            let _ = Request::parse(text.as_slice(), |_| Ok(()));
        }
    }

    #[test]
    fn requests_are_read_and_malformed_ones_refused() {
        let request = parse("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi").unwrap();
        assert_eq!(
            (request.path.as_str(), request.header("host"), request.body.as_slice()),
            ("/a", Some("x"), &b"hi"[..])
        );
        for (text, status) in [
            ("", 400),
            ("GET / HTTP/1.0\r\n\r\n", 400),
            ("GET /a b HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
            ("GET / HTTP/1.1\nHost: x\n\n", 400),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", 400),
            ("POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413),
            ("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nshort", 408),
        ] {
            assert_eq!(parse(text), Err(status), "{text:?}");
        }
        assert_eq!(parse(&format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(LONGEST_HEAD))), Err(431));
        assert_eq!(parse("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").unwrap().header("host"), Some("\u{fffd}"));
    }
}
