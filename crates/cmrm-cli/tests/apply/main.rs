//! The verbs that apply a finished run, as a user runs them.

mod evaluate;
mod predict;
mod refusals;
mod run;
mod shell;
