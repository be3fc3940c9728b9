//! The verbs that apply a finished run, or decisions, as a user runs them.

// Tests write files that they read.
#![allow(clippy::disallowed_methods)]

#[path = "../common/mod.rs"]
mod common;
mod evaluate;
mod predict;
mod refusals;
mod rewrite;
mod run;
mod shell;
