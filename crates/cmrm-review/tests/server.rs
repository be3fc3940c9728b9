//! The server as a client on this machine sees it: who is answered, and what survives.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use cmrm_report::{Card, Content};
use cmrm_review::{Item, Server, Source, Store};

/// Three rows, under a title of so many characters.
struct Rows(usize);

impl Source for Rows {
    fn title(&self) -> String {
        "t".repeat(self.0)
    }

    fn classes(&self) -> Vec<String> {
        vec!["a".into(), "<b>".into()]
    }

    fn items(&self) -> Vec<Item> {
        (0..3).map(|row| Item { row: 10 * row, given: "a".into(), suggested: "<b>".into(), margin: -0.5 }).collect()
    }

    fn card(&self, place: usize) -> Result<Card, String> {
        let content = Content { picture: None, cells: vec![("x".into(), place.to_string())], more: 0 };
        let (given, suggested) = ("a".into(), "<b>".into());
        Ok(Card { row: 10 * place as u64, id: None, given, suggested, margin: -0.5, content, neighbours: Vec::new() })
    }

    fn id(&self, place: usize) -> Option<String> {
        Some(format!("p{place}"))
    }

    fn fingerprint(&self) -> Option<String> {
        Some("f00".into())
    }
}

/// Starts a server that lives as long as the test process; gives its host and its secret.
fn start(store: &Path) -> (String, String) {
    serve(Server::bind(0, Store::open(store, "f").unwrap()).unwrap(), Rows(1))
}

fn serve(server: Server, rows: Rows) -> (String, String) {
    let server: &'static Server = Box::leak(Box::new(server));
    let address = server.address();
    std::thread::spawn(move || server.run(&rows));
    let mut parts = address.strip_prefix("http://").unwrap().split('/');
    (parts.next().unwrap().to_owned(), parts.next().unwrap().to_owned())
}

/// Status and body of the answer to a request with these headers.
fn send(host: &str, first: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(host).unwrap();
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(stream, "{first} HTTP/1.1\r\n{lines}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

#[test]
fn strangers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (host, secret) = start(&folder.path().join("d.sqlite"));
    let own = format!("http://{host}");
    let get = |path: &str, headers: &[(&str, &str)]| send(&host, &format!("GET {path}"), headers, "").0;
    let with_host = [("Host", host.as_str())];
    assert_eq!(get(&format!("/{secret}/"), &with_host), 200);
    assert_eq!(get(&format!("/{secret}/list"), &with_host), 200);
    // Without the secret, with another, or with a part of it.
    for path in [
        "/",
        "/list",
        "/0123/list",
        &format!("/{}/list", &secret[..31]),
        &format!("/{secret}0/list"),
        &format!("/{secret}"),
    ] {
        assert_eq!(get(path, &with_host), 403, "{path}");
    }
    // Another path, however it is written.
    for path in ["nothing", "../list", "card/5", "card/-1", "card/10/", "list?x", "%6cist", "store", "d.sqlite"] {
        assert_eq!(get(&format!("/{secret}/{path}"), &with_host), 404, "{path}");
    }
    // Another name of this machine, another origin, another site.
    let list = format!("/{secret}/list");
    for headers in [
        vec![],
        vec![("Host", "evil.example")],
        vec![("Host", "localhost")],
        vec![("Host", host.as_str()), ("Host", host.as_str())],
        vec![("Host", host.as_str()), ("Origin", "https://evil.example")],
        vec![("Host", host.as_str()), ("Origin", "null")],
        vec![("Host", host.as_str()), ("Sec-Fetch-Site", "cross-site")],
    ] {
        assert_eq!(get(&list, &headers), 403, "{headers:?}");
    }
    // A window may be led to the page from elsewhere; nothing else may.
    let led = |path: &str, dest: &str| {
        let from = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", dest)];
        get(path, &[&with_host[..], &from].concat())
    };
    let page = format!("/{secret}/");
    assert_eq!([led(&page, "document"), led(&page, "iframe"), led(&list, "document")], [200, 403, 403]);
    let decide = format!("POST /{secret}/decide");
    let body = r#"{"row":10,"action":"keep"}"#;
    let (json, origin) = (("Content-Type", "application/json"), ("Origin", own.as_str()));
    assert_eq!(send(&host, &decide, &[with_host[0], json], body).0, 403);
    assert_eq!(send(&host, &decide, &[with_host[0], json, ("Origin", "https://evil.example")], body).0, 403);
    assert_eq!(send(&host, &decide, &[with_host[0], origin, ("Content-Type", "text/plain")], body).0, 415);
    assert_eq!(send(&host, &format!("PUT /{secret}/decide"), &[with_host[0], json, origin], body).0, 405);
    assert_eq!(send(&host, &decide, &[with_host[0], json, origin], body).0, 200);
}

#[test]
fn decisions_are_checked_kept_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("d.sqlite");
    let (host, secret) = start(&file);
    let own = format!("http://{host}");
    let headers = [("Host", host.as_str()), ("Origin", own.as_str()), ("Content-Type", "application/json")];
    let post = |path: &str, body: &str| send(&host, &format!("POST /{secret}/{path}"), &headers, body);
    for (body, status) in [
        (r#"{"row":10,"action":"relabel","label":"<b>"}"#, 200),
        (r#"{"row":20,"action":"drop"}"#, 200),
        (r#"{"row":0,"action":"unsure"}"#, 200),
        (r#"{"row":11,"action":"keep"}"#, 422),
        (r#"{"row":10,"action":"relabel","label":"c"}"#, 422),
        (r#"{"row":10,"action":"relabel"}"#, 422),
        (r#"{"row":10,"action":"keep","label":"a"}"#, 422),
        (r#"{"row":10,"action":"explode"}"#, 400),
        (r#"{"row":10,"action":"keep","more":1}"#, 400),
        ("", 400),
    ] {
        assert_eq!(post("decide", body).0, status, "{body}");
    }
    let csv = || send(&host, &format!("GET /{secret}/decisions.csv"), &headers[..1], "").1;
    assert_eq!(csv(), "row,action,label,given_label,id,fingerprint\n10,relabel,<b>,a,p1,f00\n20,drop,,a,p2,f00\n");
    assert_eq!(post("undo", "{}").1, r#"{"decision":null,"row":0}"#);
    assert_eq!(post("undo", "{}").1, r#"{"decision":null,"row":20}"#);
    // Another server on the same file, as after the first was killed, with another secret.
    let (_, other) = start(&file);
    assert_ne!(other, secret);
    assert_eq!(csv(), "row,action,label,given_label,id,fingerprint\n10,relabel,<b>,a,p1,f00\n");
    let card = send(&host, &format!("GET /{secret}/card/20"), &headers[..1], "").1;
    assert!(card.contains(r#""cells":[["x","2"]]"#), "{card}");
}

#[test]
fn undo_takes_back_what_the_same_page_decided() {
    let folder = tempfile::tempdir().unwrap();
    let (host, secret) = start(&folder.path().join("d.sqlite"));
    let own = format!("http://{host}");
    let post = |reviewer: &str, path: &str, body: &str| {
        let headers = [
            ("Host", host.as_str()),
            ("Origin", own.as_str()),
            ("Content-Type", "application/json"),
            ("Reviewer", reviewer),
        ];
        send(&host, &format!("POST /{secret}/{path}"), &headers, body)
    };
    for (reviewer, body) in [
        ("a-1", r#"{"row":10,"action":"keep"}"#),
        ("a-1", r#"{"row":20,"action":"keep"}"#),
        ("b-2", r#"{"row":20,"action":"drop"}"#),
        ("b-2", r#"{"row":0,"action":"drop"}"#),
    ] {
        assert_eq!(post(reviewer, "decide", body).0, 200);
    }
    // Both decided on row 20, b-2 last: that still counts.
    let undo = |reviewer: &str| post(reviewer, "undo", "{}").1;
    assert_eq!(undo("a-1"), r#"{"decision":{"action":"drop","label":null,"row":20},"row":20}"#);
    assert_eq!(undo("a-1"), r#"{"decision":null,"row":10}"#);
    assert_eq!(undo("a-1"), r#"{"decision":null,"row":null}"#);
    assert_eq!(undo(""), r#"{"decision":null,"row":null}"#);
    let csv = send(&host, &format!("GET /{secret}/decisions.csv"), &[("Host", &host)], "").1;
    assert_eq!(csv, "row,action,label,given_label,id,fingerprint\n0,drop,,a,p0,f00\n20,drop,,a,p2,f00\n");
    assert_eq!(post(&"x".repeat(65), "undo", "{}").0, 400);
    assert_eq!(post("x'; --", "undo", "{}").0, 400);
}

#[test]
fn slow_strangers_do_not_keep_the_user_out() {
    let folder = tempfile::tempdir().unwrap();
    let (host, secret) = start(&folder.path().join("d.sqlite"));
    for _ in 0..64 {
        let mut stream = TcpStream::connect(&host).unwrap();
        std::thread::spawn(move || {
            let request = format!("GET /{} HTTP/1.1\r\n", "x".repeat(1000));
            request.bytes().all(|byte| {
                std::thread::sleep(Duration::from_millis(300));
                stream.write_all(&[byte]).is_ok()
            })
        });
    }
    std::thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    for _ in 0..8 {
        assert_eq!(send(&host, &format!("GET /{secret}/list"), &[("Host", &host)], "").0, 200);
    }
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn a_request_has_one_deadline_however_often_it_moves() {
    let folder = tempfile::tempdir().unwrap();
    // More than the system takes off the server's hands.
    const LONG: usize = 64 << 20;
    let patience = Duration::from_millis(800);
    let store = Store::open(&folder.path().join("d.sqlite"), "f").unwrap();
    let (host, secret) = serve(Server::bind(0, store).unwrap().with_patience(patience), Rows(LONG));
    let head = format!("GET /{secret}/list HTTP/1.1\r\nHost: {host}\r\n");
    let body = format!("POST /{secret}/undo HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000\r\n\r\n");
    for begin in ["", &head, &body] {
        let mut stream = TcpStream::connect(&host).unwrap();
        let begun = Instant::now();
        stream.write_all(begin.as_bytes()).unwrap();
        let mut writer = stream.try_clone().unwrap();
        std::thread::spawn(move || {
            while writer.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        // What is still on its way when the server hangs up may take its words along.
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let took = begun.elapsed();
        assert!(took > patience / 2 && took < 4 * patience, "{begin:?}: {took:?}");
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 408 "), "{}", String::from_utf8_lossy(&answer));
    }
    // The same for an answer that the client does not take.
    let mut stream = TcpStream::connect(&host).unwrap();
    write!(stream, "{head}\r\n").unwrap();
    std::thread::sleep(3 * patience);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.starts_with(b"HTTP/1.1 200 ") && answer.len() < LONG, "{} bytes", answer.len());
}

#[test]
fn the_entrance_is_for_its_owner_and_goes_with_the_first_visit() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::bind(0, Store::open(&folder.path().join("d.sqlite"), "f").unwrap()).unwrap();
    let file = server.entrance_in(folder.path()).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(&format!("content=\"0; url={}\"", server.address())), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let (host, secret) = serve(server, Rows(1));
    assert_eq!(send(&host, "GET /", &[("Host", &host)], "").0, 403);
    assert!(file.exists());
    assert_eq!(send(&host, &format!("GET /{secret}/"), &[("Host", &host)], "").0, 200);
    assert!(!file.exists());
}
