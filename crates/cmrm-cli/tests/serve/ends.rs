//! What `cmrm serve` does not wait for, and how it stops.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::serving::{Running, read_answer};
use crate::{ROW, fitted};

#[test]
fn a_body_that_never_ends_and_too_many_requests_are_turned_away() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path(), "linear");
    let server = Running::start(folder.path(), &["--max-requests", "1", "--timeout", "2"]);
    let mut slow = server.connect();
    write!(slow, "POST /predict HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 99\r\n\r\n{{")
        .unwrap();
    // The slow one has the only place; until it is given up, others are told to come back.
    let busy = std::iter::repeat_with(|| server.predict(ROW)).find(|answer| answer.status == 503).unwrap();
    assert!(busy.head.contains("retry-after: 1"), "{}", busy.head);
    assert_eq!(server.ask("GET", "/health", &[], "").status, 200);
    let given_up = read_answer(&mut slow);
    assert!([408, 503].contains(&given_up.status), "{}", given_up.body);
    assert_eq!(server.predict(ROW).status, 200);
}

#[test]
fn who_never_reads_keeps_no_place() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path(), "linear");
    let server = Running::start(folder.path(), &["--max-requests", "1", "--timeout", "2", "--quiet"]);
    // As many as there are places for connections.
    let silent: Vec<TcpStream> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| server.never_reads())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(server.predict(ROW).status, 200);
    drop(silent);
}

/// Requests that are under way when it is asked to stop are answered, and what it says of them holds nothing of their rows.
#[cfg(unix)]
#[test]
fn it_stops_gracefully() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path(), "linear");
    for signal in ["-TERM", "-INT"] {
        let mut server = Running::start(folder.path(), &[]);
        assert_eq!(server.predict(ROW).status, 200);
        let idle = server.connect();
        let mut under_way = server.connect();
        let (first, second) = ROW.split_at(9);
        write!(under_way, "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{first}", ROW.len())
            .unwrap();
        // Its head has arrived once the server counts it.
        let patience = Instant::now() + Duration::from_secs(60);
        while !server.ask("GET", "/metrics", &[], "").body.contains("cmrm_requests_under_way 1") {
            assert!(Instant::now() < patience, "the request is not counted");
        }
        assert!(Command::new("kill").args([signal, &server.child.id().to_string()]).status().unwrap().success());
        while TcpStream::connect(&server.address).is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        write!(under_way, "{second}").unwrap();
        let answer = read_answer(&mut under_way);
        assert_eq!(answer.status, 200, "{}", answer.body);
        drop(idle);
        let mut words = String::new();
        server.child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
        assert_eq!(server.child.wait().unwrap().code(), Some(0), "{words}");
        assert!(words.contains("/predict 200, 1 row,") && !words.contains("free"), "{words}");
    }
}

/// Whoever does not take an answer is not said to have got it.
#[cfg(unix)]
#[test]
fn it_says_so_if_requests_are_not_answered() {
    let folder = tempfile::tempdir().unwrap();
    fitted(folder.path(), "linear");
    let mut server = Running::start(folder.path(), &["--timeout", "3"]);
    let mut said = server.child.stderr.take().unwrap();
    // It says a line for each request, and nobody may keep it waiting.
    let words = std::thread::spawn(move || {
        let mut words = String::new();
        said.read_to_string(&mut words).map(|_| words)
    });
    let silent = server.never_reads();
    assert!(Command::new("kill").args(["-TERM", &server.child.id().to_string()]).status().unwrap().success());
    let last = words.join().unwrap().unwrap().lines().last().map(str::to_owned);
    assert_eq!(last.as_deref(), Some("stopped; some requests under way were not answered within 3 s"));
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    drop(silent);
}
