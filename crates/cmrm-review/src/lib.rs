//! Suspects, one at a time: a page that this machine alone can open, and decisions that are on the disk before the page is
//! told that they are saved.
//!
//! `cmrm review` is this with a [`Source`] of a run's suspects and a [`Store`] of decisions in its folder.
//!
//! [`Server`] speaks just enough HTTP/1.1 for one browser on the loopback interface. Every address begins with a secret
//! that is new each time; requests without it, from another origin or by another name of this machine are refused.

mod entrance;
mod http;
mod places;
mod server;
mod store;

pub use entrance::Entrance;
pub use server::{Item, Server, Source};
pub use store::Store;
