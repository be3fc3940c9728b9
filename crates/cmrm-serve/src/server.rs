//! Connections, and how they end.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::access::Access;
use crate::aside::Aside;
use crate::batch::{queue, say, work};
use crate::http::Service;
use crate::metrics::Metrics;
use crate::patient::Patient;
use crate::served::Served;

/// Most time for the head of a request, and without a byte of its body or of its answer moving.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest head of a request.
const LONGEST_HEAD: usize = 1 << 15;
/// Connections for each request that may be answered at a time: most of them are idle.
const CONNECTIONS_A_REQUEST: usize = 4;

/// Where lines about requests go.
pub(crate) type Log = Box<dyn Fn(&str) + Send + Sync>;

/// What a request may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a body.
    pub body: usize,
    /// Rows of a request.
    pub rows: usize,
    /// Requests that are answered at a time.
    pub requests: usize,
    /// Time for an answer.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { body: 16 << 20, rows: 10_000, requests: 512, time: Duration::from_secs(30) }
    }
}

impl Limits {
    pub(crate) fn patience(&self) -> Duration {
        PATIENCE.min(self.time)
    }
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    served: Served,
    access: Access,
    limits: Limits,
    log: Log,
}

impl Server {
    /// Listens; port 0 takes a free one.
    pub fn bind(address: SocketAddr, served: Served, access: Access, limits: Limits) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Server { listener, served, access, limits, log: Box::new(|_| ()) })
    }

    /// Hands a line about each request to `log`: its path, status, number of rows and time, and nothing that it holds.
    pub fn logging(self, log: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Server { log: Box::new(log), ..self }
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is ready and the requests under way are answered; false if some were not, within the time for an
    /// answer. Predictions run on the thread that calls.
    pub fn run(self, stop: impl Future<Output = ()> + Send) -> io::Result<bool> {
        let Server { listener, served, access, limits, log } = self;
        let (queue, jobs) = queue(limits.requests);
        let (served, metrics) = (Arc::new(served), Arc::new(Metrics::default()));
        let (places, aside) = (Arc::new(Semaphore::new(limits.requests)), Aside::new());
        let (model, counted) = (served.clone(), metrics.clone());
        let service = Arc::new(Service { served, access, limits, queue, places, aside, metrics, log });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::scope(|scope| {
            let connections = scope.spawn(move || runtime.block_on(listen(listener, service, stop)));
            // Ends when the last one who could ask is gone.
            work(&jobs, |rows, labels| say(&model, rows, labels), || counted.counts().batches += 1);
            connections.join().unwrap_or_else(|_| Err(io::Error::other("a bug in cmrm: the server's thread panicked")))
        })
    }
}

/// Until the process is asked to stop: by Ctrl-C, or by whoever supervises it.
pub async fn asked_to_stop() {
    let interrupted = async {
        // Where the system gives no signals, the process ends as the system likes.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        () = interrupted => {}
        () = terminated => {}
    }
}

async fn listen(listener: TcpListener, service: Arc<Service>, stop: impl Future<Output = ()>) -> io::Result<bool> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let most = service.limits.requests.saturating_mul(CONNECTIONS_A_REQUEST);
    let connections = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
    let (stopping, stopped) = watch::channel(false);
    let all_answered = Arc::new(AtomicBool::new(true));
    let mut stop = pin!(stop);
    loop {
        // Those who come when there is no place wait in the system's queue.
        let next = async {
            let place = connections.clone().acquire_owned().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            () = &mut stop => break,
            next = next => next,
        };
        match accepted {
            Ok((stream, _)) => {
                let (service, stopped, all_answered) = (service.clone(), stopped.clone(), all_answered.clone());
                tokio::spawn(async move {
                    if !connection(stream, service, stopped).await {
                        all_answered.store(false, Relaxed);
                    }
                    drop(place);
                });
            }
            // A connection that broke before it began concerns nobody else; too many open files pass.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    drop(listener);
    drop(stopped);
    // Whoever still has a receiver is told, and `closed` waits until all are gone.
    let _ = stopping.send(true);
    let patience = service.limits.time;
    let in_time = timeout(patience, stopping.closed()).await.is_ok();
    Ok(in_time && all_answered.load(Relaxed))
}

/// Serves a connection; false if what it asked for when the server stopped was not answered.
async fn connection(stream: TcpStream, service: Arc<Service>, mut stopped: watch::Receiver<bool>) -> bool {
    // Answers are written whole; waiting for more of them would only delay.
    let _ = stream.set_nodelay(true);
    let patience = service.limits.patience();
    let answer = service_fn(move |request| service.clone().answer(request));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(LONGEST_HEAD);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(Patient::new(stream, patience)), answer));
    // What a client did wrong on its own connection is told to nobody else.
    tokio::select! {
        _ = connection.as_mut() => true,
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await.is_ok()
        }
    }
}
