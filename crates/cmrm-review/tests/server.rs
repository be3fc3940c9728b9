//! The server as a client on this machine sees it: who is answered, and what survives.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use cmrm_report::{Card, Content};
use cmrm_review::{Item, Server, Source, Store};

struct Rows;

impl Source for Rows {
    fn title(&self) -> String {
        "t".into()
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
    let server: &'static Server = Box::leak(Box::new(Server::bind(0, Store::open(store, "f").unwrap()).unwrap()));
    let address = server.address();
    std::thread::spawn(move || server.run(&Rows));
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
