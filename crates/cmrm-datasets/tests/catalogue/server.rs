//! A tiny HTTP server on loopback that can misbehave on purpose.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What the server does with one request.
#[derive(Clone)]
pub enum Answer {
    /// Sends the file, or the part of it that is asked for.
    Serve,
    /// Promises the file, or the part, and hangs up after so many bytes of it.
    HangUpAfter(usize),
    /// Sends the whole file whatever is asked for.
    IgnoreRange,
    /// Sends another file.
    Other(&'static [u8]),
    /// Answers with a status and nothing else.
    Status(u16),
    /// Sends the client to another path of this server.
    Redirect(&'static str),
    /// Sends whole file in chunks, without its length.
    Chunked,
}

/// A request as the server saw it.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub path: String,
    pub range: Option<String>,
    pub if_range: Option<String>,
}

/// A running server; it lives until the test ends.
pub struct Server {
    pub address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Answers the requests in turn; the last answer holds for all later ones.
    pub fn start(file: &'static [u8], answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        std::thread::spawn(move || {
            for (index, stream) in listener.incoming().enumerate() {
                let answer = answers[index.min(answers.len() - 1)].clone();
                let Ok(stream) = stream else { return };
                // A client that hangs up is part of some tests.
                let _ = serve(stream, file, answer, &log);
            }
        });
        Server { address, seen }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, file: &[u8], answer: Answer, log: &Mutex<Vec<Seen>>) -> std::io::Result<()> {
    let mut seen = Seen::default();
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    seen.path = lines.next().unwrap()?.split(' ').nth(1).unwrap().to_owned();
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "range" => seen.range = Some(value.trim().to_owned()),
            "if-range" => seen.if_range = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let start = seen.range.as_ref().map(|range| range["bytes=".len()..].trim_end_matches('-').parse().unwrap());
    log.lock().unwrap().push(seen);
    match answer {
        Answer::Serve => send(&mut stream, file, start, usize::MAX),
        Answer::HangUpAfter(bytes) => send(&mut stream, file, start, bytes),
        Answer::IgnoreRange => send(&mut stream, file, None, usize::MAX),
        Answer::Other(other) => send(&mut stream, other, start, usize::MAX),
        Answer::Status(status) => {
            write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        Answer::Redirect(path) => {
            write!(stream, "HTTP/1.1 302 Found\r\nLocation: {path}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        Answer::Chunked => {
            write!(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")?;
            for piece in file.chunks(1000) {
                write!(stream, "{:x}\r\n", piece.len())?;
                stream.write_all(piece)?;
                write!(stream, "\r\n")?;
            }
            write!(stream, "0\r\n\r\n")
        }
    }
}

fn send(stream: &mut TcpStream, file: &[u8], start: Option<usize>, most: usize) -> std::io::Result<()> {
    let total = file.len();
    let body = match start {
        Some(start) if start >= total => {
            return write!(
                stream,
                "HTTP/1.1 416 X\r\nContent-Range: bytes */{total}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
        Some(start) => {
            let last = total - 1;
            write!(stream, "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {start}-{last}/{total}\r\n")?;
            &file[start..]
        }
        None => {
            write!(stream, "HTTP/1.1 200 OK\r\n")?;
            file
        }
    };
    write!(stream, "ETag: \"one\"\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    stream.write_all(&body[..body.len().min(most)])
}
