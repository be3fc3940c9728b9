//! A finished run as a service: rows in, labels, confidences, prediction sets and doubts about given labels out.
//!
//! One thread speaks HTTP; the thread that calls [`Server::run`] predicts, on as many cores as its pool has. Rows that wait
//! while it predicts are predicted together, so that the service is fast for one and for many.

mod access;
mod answer;
mod aside;
mod asked;
mod batch;
mod body;
mod http;
mod metrics;
mod numbers;
mod patient;
mod query;
mod refusal;
mod served;
mod server;

pub use access::{Access, Token};
pub use served::{Served, ServedOptions};
pub use server::{Limits, Server, asked_to_stop};
