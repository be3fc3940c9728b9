//! Requests and their answers.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{HeaderMap, Request, Response, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::access::Access;
use crate::answer::{self, Answer};
use crate::aside::Aside;
use crate::asked::Form;
use crate::batch::Queue;
use crate::body::{collected, too_long};
use crate::metrics::Metrics;
use crate::query::Query;
use crate::refusal::Refusal;
use crate::served::{Rows, Served};
use crate::server::{Limits, Log};

const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";
const PLAIN: &str = "text/plain; version=0.0.4";
/// Bodies up to this length are read where connections are served; longer ones must not hold up others.
const SHORT: usize = 1 << 15;
/// So are answers of up to so many probabilities.
const FEW: usize = 1 << 12;

/// What requests share.
pub(crate) struct Service {
    pub served: Arc<Served>,
    pub access: Access,
    pub limits: Limits,
    pub queue: Queue,
    /// A place for each request whose rows may be in memory.
    pub places: Arc<Semaphore>,
    pub aside: Aside,
    pub metrics: Arc<Metrics>,
    pub log: Log,
}

/// An answer before it is one of HTTP.
struct Reply {
    kind: &'static str,
    body: Bytes,
    rows: usize,
}

impl Reply {
    fn new(kind: &'static str, body: impl Into<Bytes>) -> Self {
        Reply { kind, body: body.into(), rows: 0 }
    }
}

impl Service {
    /// Answers a request, counts it and writes a line about it, without what is in it.
    pub async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let began = Instant::now();
        let path = match request.uri().path() {
            "/predict" => "/predict",
            "/health" => "/health",
            "/model" => "/model",
            "/metrics" => "/metrics",
            _ => "other",
        };
        let predicts = path == "/predict";
        let reply = match timeout(self.limits.time, self.reply(path, request)).await {
            Ok(reply) => reply,
            Err(_) => {
                let words =
                    format!("the answer took longer than {} s; send fewer rows", self.limits.time.as_secs_f64());
                Err(Refusal::new(503, words))
            }
        };
        let took = began.elapsed();
        let status = reply.as_ref().map_or_else(|refusal| refusal.status, |_| 200);
        self.metrics.answered(path, status, predicts.then_some(took));
        let rows = reply.as_ref().map_or(0, |reply| reply.rows);
        (self.log)(&line(path, status, rows, took));
        if let Some(why) = reply.as_ref().err().and_then(|refusal| refusal.for_log()) {
            (self.log)(why);
        }
        Ok(response(reply))
    }

    async fn reply(self: &Arc<Self>, path: &str, request: Request<Incoming>) -> Result<Reply, Refusal> {
        if path == "/health" {
            only(&request, "GET, HEAD")?;
            return Ok(Reply::new(JSON, "{\"status\":\"ok\"}\n"));
        }
        self.access.admit(request.headers())?;
        match path {
            "/model" => {
                only(&request, "GET, HEAD")?;
                Ok(Reply::new(JSON, format!("{}\n", self.served.description())))
            }
            "/metrics" => {
                only(&request, "GET, HEAD")?;
                let under_way = self.limits.requests.saturating_sub(self.places.available_permits());
                Ok(Reply::new(PLAIN, self.metrics.text(self.served.classes(), under_way)))
            }
            "/predict" => {
                only(&request, "POST")?;
                self.predict(request).await
            }
            _ => Err(Refusal::new(404, "not found; there are POST /predict, GET /model, GET /metrics and GET /health")),
        }
    }

    async fn predict(self: &Arc<Self>, request: Request<Incoming>) -> Result<Reply, Refusal> {
        let busy = |_| Refusal::new(503, "too many requests at a time; try again later");
        let place = self.places.clone().try_acquire_owned().map_err(busy)?;
        let query = Query::read(request.uri().query(), self.served.usual())?;
        let lines = is_lines(request.headers())?;
        let body = self.body(request).await?;
        let short = body.len() <= SHORT;
        let (service, asked) = (self.clone(), query.clone());
        let read = move || service.served.read(body, lines, &asked, service.limits.rows);
        let (rows, place) = if short { (read(), place) } else { self.aside.run(place, read).await? };
        let Rows { features, labels, form, filled, unknown } = rows?;
        let said = self.queue.predict(features, labels.clone()).await?;
        let few = said.probabilities.len() <= FEW && query.coverage.is_none_or(|share| self.served.has_sets(share));
        let service = self.clone();
        let write = move || answer::write(&service.served, &query, said, &labels.unwrap_or_default(), form);
        let (written, _place) = if few { (write(), place) } else { self.aside.run(place, write).await? };
        let written = written?;
        self.count(&written, filled, unknown);
        let kind = if written.form == Form::Lines { LINES } else { JSON };
        Ok(Reply { kind, body: written.body, rows: written.predicted.len() })
    }

    async fn body(&self, request: Request<Incoming>) -> Result<Bytes, Refusal> {
        let most = self.limits.body;
        let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > most as u64) {
            return Err(too_long(most));
        }
        collected(request.into_body(), most, self.limits.patience()).await
    }

    fn count(&self, answer: &Answer, filled: u64, unknown: u64) {
        let mut counts = self.metrics.counts();
        counts.rows += answer.predicted.len() as u64;
        counts.predicted.resize(self.served.classes().len(), 0);
        for &class in &answer.predicted {
            counts.predicted[class as usize] += 1;
        }
        counts.labelled += answer.labelled;
        counts.doubted += answer.doubted;
        counts.filled += filled;
        counts.unknown += unknown;
    }
}

/// Refuses other methods than these.
fn only(request: &Request<Incoming>, methods: &'static str) -> Result<(), Refusal> {
    if methods.split(", ").any(|method| method == request.method()) {
        return Ok(());
    }
    Err(Refusal::wrong_method(methods))
}

/// Whether a body calls itself JSON Lines. One that calls itself nothing is looked at.
fn is_lines(headers: &HeaderMap) -> Result<bool, Refusal> {
    if headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        return Err(Refusal::new(415, "send the body as it is, without compression"));
    }
    let Some(kind) = headers.get(CONTENT_TYPE) else { return Ok(false) };
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind.as_str() {
        // What curl says of data unless told otherwise.
        JSON | "application/x-www-form-urlencoded" | "text/plain" => Ok(false),
        LINES | "application/jsonl" | "application/ndjson" | "application/jsonlines" => Ok(true),
        other => {
            let words = format!("a body of type {}; send {JSON} or {LINES}", other.escape_debug());
            Err(Refusal::new(415, words))
        }
    }
}

fn response(reply: Result<Reply, Refusal>) -> Response<Full<Bytes>> {
    let (status, kind, body, allowed) = match reply {
        Ok(reply) => (200, reply.kind, reply.body, ""),
        Err(refusal) => (refusal.status, JSON, refusal.body(), refusal.allowed()),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    let mut set = |name, value: &'static str| headers.insert(name, hyper::header::HeaderValue::from_static(value));
    set(CONTENT_TYPE, kind);
    set(hyper::header::CACHE_CONTROL, "no-store");
    match status {
        401 => set(WWW_AUTHENTICATE, "Bearer"),
        405 => set(ALLOW, allowed),
        503 => set(RETRY_AFTER, "1"),
        _ => None,
    };
    response
}

fn line(path: &str, status: u16, rows: usize, took: Duration) -> String {
    let rows = match rows {
        0 => String::new(),
        1 => ", 1 row".to_owned(),
        rows => format!(", {rows} rows"),
    };
    format!("{path} {status}{rows}, {:.1} ms", took.as_secs_f64() * 1e3)
}
