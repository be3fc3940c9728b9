//! Downloads that go well, badly, and badly at first.

use std::fs;
use std::time::Duration;

use cmrm_datasets::{Cache, Error, Fetch, Network, Outcome, Progress, Source, Trust, verify};

use crate::server::{Answer, Server};
use crate::{entry, payload, placed, plain_download, sha256};

/// Patient enough for a test.
fn network() -> Network {
    Network {
        attempts: 3,
        backoff: Duration::from_millis(1),
        longest_pause: Duration::from_millis(20),
        connect_timeout: Duration::from_secs(5),
        silence_timeout: Duration::from_secs(5),
        certificates: None,
    }
}

fn from_network(cache: &Cache) -> Fetch {
    Fetch { cache: cache.clone(), source: Source::Network(network()), force: false }
}

/// Writes down what it is told.
#[derive(Default)]
struct Diary {
    begun: Vec<(u64, Option<u64>)>,
    bytes: u64,
    warnings: Vec<String>,
    stop_after: Option<u64>,
}

impl Progress for Diary {
    fn begin(&mut self, _file: &str, have: u64, total: Option<u64>) {
        self.begun.push((have, total));
    }

    fn advance(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    fn warn(&mut self, message: &str) {
        self.warnings.push(message.to_owned());
    }

    fn cancelled(&self) -> bool {
        self.stop_after.is_some_and(|most| self.bytes >= most)
    }
}

fn cache() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    (folder, cache)
}

#[test]
fn a_good_transfer_is_placed_once() {
    let (_folder, cache) = cache();
    let data = payload();
    let server = Server::start(data, vec![Answer::Serve]);
    let entry = entry(plain_download(&[format!("{}/data.bin", server.address)], Some(sha256(data))));
    let mut diary = Diary::default();
    let files = from_network(&cache).run(entry, &mut diary).unwrap();
    assert_eq!((files.len(), files[0].trust, files[0].already), (1, Trust::Published, false));
    assert_eq!(fs::read(&files[0].path).unwrap(), data);
    assert_eq!(placed(&cache, entry), ["data.bin", "files.json"]);
    assert_eq!((diary.begun, diary.bytes), (vec![(0, Some(200_000))], 200_000));

    let again = from_network(&cache).run(entry, &mut ()).unwrap();
    assert!(again[0].already);
    assert_eq!(server.seen().len(), 1);

    assert!(matches!(verify(entry, &cache).unwrap()[0].outcome, Outcome::Intact { trust: Trust::Published, .. }));
    fs::write(&files[0].path, vec![0; data.len()]).unwrap();
    assert!(
        matches!(&verify(entry, &cache).unwrap()[0].outcome, Outcome::Damaged { expected, .. } if expected == sha256(data))
    );
    fs::remove_file(&files[0].path).unwrap();
    assert_eq!(verify(entry, &cache).unwrap()[0].outcome, Outcome::Missing);
}

#[test]
fn an_interrupted_transfer_goes_on_where_it_stopped() {
    let (_folder, cache) = cache();
    let data = payload();
    let server = Server::start(data, vec![Answer::HangUpAfter(70_000), Answer::HangUpAfter(50_000), Answer::Serve]);
    let entry = entry(plain_download(&[format!("{}/data.bin", server.address)], Some(sha256(data))));
    let mut diary = Diary::default();
    let files = from_network(&cache).run(entry, &mut diary).unwrap();
    assert_eq!(fs::read(&files[0].path).unwrap(), data);
    let ranges: Vec<_> = server.seen().into_iter().map(|seen| seen.range).collect();
    assert_eq!(ranges, [None, Some("bytes=70000-".into()), Some("bytes=120000-".into())]);
    // The version mark guards against joining halves of two files.
    assert_eq!(server.seen()[1].if_range.as_deref(), Some("\"one\""));
    assert_eq!(diary.begun, [(0, Some(200_000)), (70_000, Some(200_000)), (120_000, Some(200_000))]);
    assert_eq!(diary.bytes, 200_000);
    assert_eq!(diary.warnings.len(), 2);
}

#[test]
fn a_stopped_transfer_is_resumed_by_the_next_run() {
    let (_folder, cache) = cache();
    let data = payload();
    let server = Server::start(data, vec![Answer::Serve]);
    let entry = entry(plain_download(&[format!("{}/data.bin", server.address)], Some(sha256(data))));
    let mut diary = Diary { stop_after: Some(1), ..Diary::default() };
    assert!(matches!(from_network(&cache).run(entry, &mut diary), Err(Error::Cancelled)));
    let part = cache.folder(entry).join("data.bin.part");
    let have = fs::metadata(&part).unwrap().len();
    assert!(have > 0 && have < 200_000);
    let files = from_network(&cache).run(entry, &mut ()).unwrap();
    assert_eq!(fs::read(&files[0].path).unwrap(), data);
    assert_eq!(server.seen()[1].range, Some(format!("bytes={have}-")));
    assert_eq!(placed(&cache, entry), ["data.bin", "files.json"]);
}

#[test]
fn a_server_without_ranges_sends_it_all_again() {
    let (_folder, cache) = cache();
    let data = payload();
    let server = Server::start(data, vec![Answer::HangUpAfter(70_000), Answer::IgnoreRange]);
    let entry = entry(plain_download(&[format!("{}/data.bin", server.address)], Some(sha256(data))));
    let files = from_network(&cache).run(entry, &mut ()).unwrap();
    assert_eq!(fs::read(&files[0].path).unwrap(), data);
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn a_file_without_a_stated_length_arrives_too() {
    let (_folder, cache) = cache();
    let data = payload();
    let server = Server::start(data, vec![Answer::Chunked]);
    let entry = entry(plain_download(&[format!("{}/data.bin", server.address)], Some(sha256(data))));
    let files = from_network(&cache).run(entry, &mut ()).unwrap();
    assert_eq!(fs::read(&files[0].path).unwrap(), data);
}

#[test]
fn a_wrong_checksum_places_nothing() {
    let (_folder, cache) = cache();
    let server = Server::start(payload(), vec![Answer::Other(b"not the file")]);
    let expected = sha256(payload());
    let entry = entry(plain_download(&[format!("{}/data.bin", server.address)], Some(expected)));
    let error = from_network(&cache).run(entry, &mut ()).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, Error::Checksum { .. }), "{message}");
    assert!(message.contains(expected) && message.contains(sha256(b"not the file")), "{message}");
    assert!(message.contains("nothing was cached") && message.contains("--from DIR"), "{message}");
    assert_eq!(placed(&cache, entry), [""; 0]);
}

#[test]
fn a_half_of_another_version_is_dropped_and_fetched_afresh() {
    let (_folder, cache) = cache();
    let data = payload();
    let server = Server::start(data, vec![Answer::Serve]);
    let entry = entry(plain_download(&[format!("{}/data.bin", server.address)], Some(sha256(data))));
    fs::create_dir_all(cache.folder(entry)).unwrap();
    fs::write(cache.folder(entry).join("data.bin.part"), vec![0; 1000]).unwrap();
    let mut diary = Diary::default();
    let files = from_network(&cache).run(entry, &mut diary).unwrap();
    assert_eq!(fs::read(&files[0].path).unwrap(), data);
    assert!(diary.warnings[0].contains("starting over"), "{:?}", diary.warnings);
}

#[test]
fn a_part_longer_than_the_file_is_dropped() {
    let (_folder, cache) = cache();
    let data = payload();
    let server = Server::start(data, vec![Answer::Serve]);
    let entry = entry(plain_download(&[format!("{}/data.bin", server.address)], Some(sha256(data))));
    fs::create_dir_all(cache.folder(entry)).unwrap();
    fs::write(cache.folder(entry).join("data.bin.part"), vec![0; 300_000]).unwrap();
    let files = from_network(&cache).run(entry, &mut ()).unwrap();
    assert_eq!(fs::read(&files[0].path).unwrap(), data);
}

#[test]
fn a_missing_file_is_not_asked_for_twice() {
    let (_folder, cache) = cache();
    let server = Server::start(payload(), vec![Answer::Status(404)]);
    let entry = entry(plain_download(&[format!("{}/data.bin", server.address)], None));
    let message = from_network(&cache).run(entry, &mut ()).unwrap_err().to_string();
    assert!(message.contains("no such file (status 404)") && message.contains("--from DIR"), "{message}");
    assert_eq!(server.seen().len(), 1);
    assert_eq!(placed(&cache, entry), [""; 0]);
}

#[test]
fn a_second_address_helps_out() {
    let (_folder, cache) = cache();
    let data = payload();
    for first in [Answer::Status(404), Answer::Other(b"not the file")] {
        let bad = Server::start(data, vec![first]);
        let good = Server::start(data, vec![Answer::Serve]);
        let urls = [format!("{}/data.bin", bad.address), format!("{}/data.bin", good.address)];
        let entry = entry(plain_download(&urls, Some(sha256(data))));
        let mut fetch = from_network(&cache);
        fetch.force = true;
        let files = fetch.run(entry, &mut ()).unwrap();
        assert_eq!(fs::read(&files[0].path).unwrap(), data);
    }
}

#[test]
fn a_busy_server_is_asked_again_but_not_for_ever() {
    let (_folder, cache) = cache();
    let data = payload();
    let server = Server::start(data, vec![Answer::Status(503), Answer::Status(429), Answer::Serve]);
    let good = entry(plain_download(&[format!("{}/data.bin", server.address)], Some(sha256(data))));
    from_network(&cache).run(good, &mut ()).unwrap();
    assert_eq!(server.seen().len(), 3);

    let never = Server::start(data, vec![Answer::Status(503)]);
    let entry = entry(plain_download(&[format!("{}/data.bin", never.address)], None));
    let mut fetch = from_network(&cache);
    fetch.force = true;
    let message = fetch.run(entry, &mut ()).unwrap_err().to_string();
    assert!(message.contains("busy (status 503) (3 tries)"), "{message}");
    assert_eq!(never.seen().len(), 3);
}

#[test]
fn a_redirect_is_followed_and_a_circle_is_left() {
    let (_folder, cache) = cache();
    let data = payload();
    let server = Server::start(data, vec![Answer::Redirect("/elsewhere"), Answer::Serve]);
    let good = entry(plain_download(&[format!("{}/data.bin", server.address)], Some(sha256(data))));
    let files = from_network(&cache).run(good, &mut ()).unwrap();
    assert_eq!(fs::read(&files[0].path).unwrap(), data);
    let paths: Vec<_> = server.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(paths, ["/data.bin", "/elsewhere"]);

    let circle = Server::start(data, vec![Answer::Redirect("/round")]);
    let entry = entry(plain_download(&[format!("{}/data.bin", circle.address)], None));
    let mut fetch = from_network(&cache);
    fetch.force = true;
    let message = fetch.run(entry, &mut ()).unwrap_err().to_string();
    assert!(message.contains("redirect"), "{message}");
    assert!(circle.seen().len() < 20);
}

#[test]
fn a_refused_connection_says_what_to_do() {
    let (_folder, cache) = cache();
    // A port that was free a moment ago and that nobody listens on now.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let entry = entry(plain_download(&[format!("http://{address}/data.bin")], None));
    let message = from_network(&cache).run(entry, &mut ()).unwrap_err().to_string();
    assert!(message.contains("refused") && message.contains("offline"), "{message}");
    assert!(message.contains("cmrm data fetch test-set --from DIR"), "{message}");
}

#[test]
fn a_file_over_the_limit_is_not_transferred() {
    let (_folder, cache) = cache();
    let data = payload();
    for answer in [Answer::Serve, Answer::Chunked] {
        let server = Server::start(data, vec![answer]);
        let mut download = plain_download(&[format!("{}/data.bin", server.address)], None);
        download.max_bytes = 100_000;
        let entry = entry(download);
        let message = from_network(&cache).run(entry, &mut ()).unwrap_err().to_string();
        assert!(message.contains("the limit is 100000"), "{message}");
        assert_eq!(placed(&cache, entry), [""; 0]);
    }
}

#[test]
fn without_a_checksum_the_first_copy_is_recorded_and_later_ones_held_to_it() {
    let (_folder, cache) = cache();
    let data = payload();
    let server = Server::start(data, vec![Answer::Serve, Answer::Other(b"changed")]);
    let entry = entry(plain_download(&[format!("{}/data.bin", server.address)], None));
    let mut diary = Diary::default();
    let files = from_network(&cache).run(entry, &mut diary).unwrap();
    assert_eq!(files[0].trust, Trust::FirstUse);
    assert!(diary.warnings[0].contains("no published checksum") && diary.warnings[0].contains(sha256(data)));
    fs::remove_file(&files[0].path).unwrap();
    let message = from_network(&cache).run(entry, &mut ()).unwrap_err().to_string();
    assert!(message.contains("as recorded at first use") && message.contains("--force"), "{message}");
    assert!(!files[0].path.exists());
    let mut fetch = from_network(&cache);
    fetch.force = true;
    assert_eq!(fetch.run(entry, &mut ()).unwrap()[0].sha256, sha256(b"changed"));
}
