//! A server under test, and requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// Longer than any answer takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server on a free port, ended with the test.
pub struct Running {
    pub child: Child,
    pub address: String,
    /// What it printed with `--json`.
    pub said: Value,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Status, headers in lower case, and body.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Running {
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, None)
    }

    pub fn start_with(folder: &Path, arguments: &[&str], token: Option<&str>) -> Self {
        Self::start_run_with(folder, "run", arguments, token)
    }

    pub fn start_run(folder: &Path, run: &str, arguments: &[&str]) -> Self {
        Self::start_run_with(folder, run, arguments, None)
    }

    fn start_run_with(folder: &Path, run: &str, arguments: &[&str], token: Option<&str>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cmrm"));
        command.args(["serve", run, "--port", "0"]).args(arguments).current_dir(folder).env_remove("CMRM_TOKEN");
        if let Some(token) = token {
            command.env("CMRM_TOKEN", token);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said = serde_json::from_str(&line).unwrap_or(Value::Null);
        let address = said["address"].as_str().unwrap_or(line.trim());
        let address = address.strip_prefix("http://").unwrap_or_else(|| panic!("no address: {line}")).to_owned();
        Running { child, address, said }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A connection that asks again and again and never reads, until the server cannot write to it any more.
    pub fn never_reads(&self) -> TcpStream {
        let mut stream = self.connect();
        stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
        let many = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1000);
        while stream.write_all(many.as_bytes()).is_ok() {}
        stream
    }

    /// Sends these bytes on a connection of their own and reads until its end.
    pub fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that has refused already may have hung up.
        let _ = stream.write_all(bytes);
        read_answer(&mut stream)
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.address) };
        self.raw(
            format!(
                "{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .as_bytes(),
        )
    }

    pub fn predict(&self, body: &str) -> Answer {
        self.ask("POST", "/predict", &["Content-Type: application/json"], body)
    }
}

pub fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}
