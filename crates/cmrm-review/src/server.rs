//! The server: who may ask, and what is answered.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cmrm_data::secret::is_same;
use cmrm_report::Card;
use cmrm_run::decision::{Action, Basis, Decision, csv};
use serde::Serialize;
use serde_json::json;

use crate::entrance::Entrance;
use crate::http::{Request, Response};
use crate::places::{Place, Places};
use crate::store::Store;

const PAGE: &str = include_str!("../page/index.html");
const SCRIPT: &str = include_str!("../page/review.js");
const STYLE: &str = include_str!("../page/review.css");
const JSON: &str = "application/json; charset=utf-8";

/// Time for a whole request, head and body, and again for its answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The header that tells one page from another, and the longest that it may be.
const REVIEWER: &str = "reviewer";
const LONGEST_REVIEWER: usize = 64;
/// Bytes of the secret.
const SECRET: usize = 16;

/// A suspect, in the list of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// Where it stands in the data, from zero.
    pub row: u64,
    /// Its label.
    pub given: String,
    /// The label that the model thinks is right.
    pub suggested: String,
    /// Probability of the given label minus that of the suggested one.
    pub margin: f64,
}

/// Where the rows come from.
pub trait Source: Sync {
    /// What to call the data.
    fn title(&self) -> String;
    /// Names of the classes.
    fn classes(&self) -> Vec<String>;
    /// The suspects, most suspicious first.
    fn items(&self) -> Vec<Item>;
    /// One of them, by its place in that list; an error is told to the user.
    fn card(&self, place: usize) -> Result<Card, String>;
    /// Its id, where the data has a column of them.
    fn id(&self, _place: usize) -> Option<String> {
        None
    }
    /// Fingerprint of the data's rows, for the file of decisions.
    fn fingerprint(&self) -> Option<String> {
        None
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    secret: String,
    host: String,
    store: Mutex<Store>,
    patience: Duration,
    places: Places,
    entrance: Entrance,
}

/// What does not change while the server runs.
struct Content<'a> {
    source: &'a dyn Source,
    title: String,
    classes: Vec<String>,
    items: Vec<Item>,
    places: HashMap<u64, usize>,
    labels: HashSet<String>,
}

impl Content<'_> {
    /// The decisions with what they were made on.
    fn csv(&self, decisions: &[Decision]) -> Result<String, String> {
        let basis = |row| {
            let place = self.places.get(&row).copied();
            let given_label = place.map(|place| self.items[place].given.clone());
            Basis { given_label, id: place.and_then(|place| self.source.id(place)) }
        };
        csv(decisions, basis, self.source.fingerprint().as_deref()).map_err(|error| error.to_string())
    }
}

impl Server {
    /// Listens on the loopback interface; port 0 takes a free one.
    pub fn bind(port: u16, store: Store) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let mut bytes = [0; SECRET];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let secret = cmrm_data::files::text::hex(&bytes);
        let host = listener.local_addr()?.to_string();
        let (places, entrance) = (Places::default(), Entrance::default());
        Ok(Server { listener, secret, host, store: Mutex::new(store), patience: PATIENCE, places, entrance })
    }

    /// Hangs up on requests that are not here whole within `time`, in place of ten seconds.
    pub fn with_patience(self, time: Duration) -> Self {
        Server { patience: time, ..self }
    }

    /// The address to open, with the secret in it.
    pub fn address(&self) -> String {
        format!("http://{}/{}/", self.host, self.secret)
    }

    /// A file in `folder` that leads a browser to the address. It goes when the page is first asked for.
    pub fn entrance_in(&self, folder: &Path) -> io::Result<PathBuf> {
        self.entrance.open(folder, &self.address())
    }

    /// What removes that file if the page is never asked for.
    pub fn entrance(&self) -> Entrance {
        self.entrance.clone()
    }

    /// Serves until the process ends.
    pub fn run(&self, source: &dyn Source) -> io::Result<()> {
        let items = source.items();
        let classes = source.classes();
        let content = Content {
            source,
            title: source.title(),
            labels: classes.iter().cloned().collect(),
            classes,
            places: items.iter().enumerate().map(|(place, item)| (item.row, place)).collect(),
            items,
        };
        std::thread::scope(|scope| {
            for stream in self.listener.incoming() {
                // A connection that broke before it began concerns nobody else.
                let Ok(stream) = stream else { continue };
                let (stream, content) = (Arc::new(stream), &content);
                let place = self.places.take(Arc::clone(&stream));
                scope.spawn(move || self.serve(&stream, place, content));
            }
        });
        Ok(())
    }

    fn serve(&self, stream: &TcpStream, mut place: Place<'_>, content: &Content<'_>) {
        let asked = |path: &str| match self.behind_secret(path).is_none() || place.becomes_known() {
            true => Ok(()),
            false => Err(Response::refuse(503, "too many connections")),
        };
        let request = Request::read(stream, self.patience, asked);
        let answer = request.and_then(|request| self.answer(&request, content)).unwrap_or_else(|refusal| refusal);
        // The client has gone: there is nobody left to tell.
        let _ = answer.write(stream, self.patience);
    }

    /// The answer; an error is one too.
    fn answer(&self, request: &Request, content: &Content<'_>) -> Result<Response, Response> {
        let path = self.admit(request)?;
        Ok(match (request.method.as_str(), path) {
            ("GET", "") => {
                self.entrance.close();
                Response::ok("text/html; charset=utf-8", PAGE)
            }
            ("GET", "review.js") => Response::ok("text/javascript; charset=utf-8", SCRIPT),
            ("GET", "review.css") => Response::ok("text/css; charset=utf-8", STYLE),
            ("GET", "list") => self.list(content),
            ("GET", "decisions.csv") => match self.store().decisions().and_then(|made| content.csv(&made)) {
                Ok(decisions) => Response::file("text/csv; charset=utf-8", "decisions.csv", decisions),
                Err(error) => Response::refuse(500, &error),
            },
            ("GET", path) if path.starts_with("card/") => card(&path["card/".len()..], content),
            ("POST", "decide") => self.decide(&request.body, reviewer(request)?, content),
            ("POST", "undo") => self.undo(reviewer(request)?),
            ("GET" | "POST", _) => Response::refuse(404, "not found"),
            _ => Response::refuse(405, "only GET and POST are supported"),
        })
    }

    /// The path behind the secret, if it has the secret.
    fn behind_secret<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (secret, path) = path.strip_prefix('/')?.split_once('/')?;
        is_same(secret, &self.secret).then_some(path)
    }

    /// The path behind the secret, if the request may be answered.
    ///
    /// The name of the host is checked so that a foreign name that resolves to this machine does not pass for it; the
    /// origin so that no other page can act through the user's browser.
    fn admit<'a>(&self, request: &'a Request) -> Result<&'a str, Response> {
        let refuse = |why| Err(Response::refuse(403, why));
        let Some(path) = self.behind_secret(&request.path) else {
            return refuse("the address lacks its secret; open the address that `cmrm review` printed");
        };
        if request.header("host") != Some(self.host.as_str()) {
            return refuse("wrong host; open the address that `cmrm review` printed");
        }
        let own = format!("http://{}", self.host);
        let origin = request.header("origin");
        let fetched_from = request.header("sec-fetch-site");
        // The file that leads to the page is a site of its own to the browser; so the page, shown in a window, may be asked
        // for from anywhere by those who know the secret.
        let opens_page = request.method == "GET"
            && path.is_empty()
            && request.header("sec-fetch-mode") == Some("navigate")
            && request.header("sec-fetch-dest") == Some("document");
        let posts = request.method != "GET";
        if origin.is_some_and(|origin| origin != own) || posts && origin.is_none() {
            return refuse("the request comes from another origin");
        }
        if fetched_from.is_some_and(|site| site != "same-origin" && site != "none") && !opens_page {
            return refuse("the request comes from another site");
        }
        if posts && request.header("content-type") != Some("application/json") {
            return Err(Response::refuse(415, "decisions must be sent as application/json"));
        }
        Ok(path)
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        // A panic elsewhere leaves the database as its last transaction did.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list(&self, content: &Content<'_>) -> Response {
        match self.store().decisions() {
            Ok(decisions) => {
                let Content { title, classes, items, .. } = content;
                let object = json!({ "title": title, "classes": classes, "items": items, "decisions": decisions });
                Response::ok(JSON, object.to_string())
            }
            Err(error) => Response::refuse(500, &error),
        }
    }

    fn decide(&self, body: &[u8], reviewer: &str, content: &Content<'_>) -> Response {
        let decision: Decision = match serde_json::from_slice(body) {
            Ok(decision) => decision,
            Err(error) => return Response::refuse(400, &format!("not a decision: {error}")),
        };
        if !content.places.contains_key(&decision.row) {
            return Response::refuse(422, &format!("row {} is not a suspect", decision.row));
        }
        let fits = match (&decision.action, &decision.label) {
            (Action::Relabel, Some(label)) => content.labels.contains(label),
            (Action::Relabel, None) => false,
            (_, label) => label.is_none(),
        };
        if !fits {
            return Response::refuse(422, "relabel needs one of the known labels; other actions take none");
        }
        match self.store().decide(&decision, reviewer) {
            Ok(()) => Response::ok(JSON, json!({ "kept": decision }).to_string()),
            Err(error) => Response::refuse(500, &error),
        }
    }

    fn undo(&self, reviewer: &str) -> Response {
        let mut store = self.store();
        let undone = store.undo(reviewer).and_then(|row| Ok((row, store.decisions()?)));
        match undone {
            Ok((row, decisions)) => {
                let now = decisions.into_iter().find(|decision| Some(decision.row) == row);
                Response::ok(JSON, json!({ "row": row, "decision": now }).to_string())
            }
            Err(error) => Response::refuse(500, &error),
        }
    }
}

/// Which page asks, by the name that it has given itself; empty for a client that gives none.
fn reviewer(request: &Request) -> Result<&str, Response> {
    let name = request.header(REVIEWER).unwrap_or_default();
    let fits = name.len() <= LONGEST_REVIEWER && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if fits {
        Ok(name)
    } else {
        Err(Response::refuse(400, "the header 'reviewer' takes at most 64 letters and digits"))
    }
}

fn card(row: &str, content: &Content<'_>) -> Response {
    let place = row.parse::<u64>().ok().and_then(|row| content.places.get(&row));
    let Some(&place) = place else { return Response::refuse(404, "no such suspect") };
    match content.source.card(place).map(|card| serde_json::to_string(&card)) {
        Ok(Ok(text)) => Response::ok(JSON, text),
        Ok(Err(error)) => Response::refuse(500, &error.to_string()),
        Err(error) => Response::refuse(500, &error),
    }
}
