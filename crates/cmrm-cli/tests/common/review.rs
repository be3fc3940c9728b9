//! The review page, asked as a browser asks it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `cmrm review` under way; ended with the test.
pub struct Review {
    process: Child,
    host: String,
    secret: String,
}

impl Review {
    /// Starts it and reads its address.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_cmrm"))
            .current_dir(folder)
            .args([&["review", "--quiet"], arguments].concat())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let mut parts = address.strip_prefix("http://127.0.0.1:").expect(&address).split('/');
        let host = format!("127.0.0.1:{}", parts.next().unwrap());
        Review { process, host, secret: parts.next().unwrap().to_owned() }
    }

    /// Asks, insists on success, and gives the answer.
    pub fn ask(&self, first: &str, body: &str) -> String {
        let Review { host, secret, .. } = self;
        let (method, path) = first.split_once(' ').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} /{secret}/{path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{first} {body}: {answer}");
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }
}

impl Drop for Review {
    fn drop(&mut self) {
        // Killed, not asked: what was answered must be on the disk.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
