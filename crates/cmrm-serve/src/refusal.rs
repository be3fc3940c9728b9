//! Why a request is not answered, as its answer.

use bytes::Bytes;
use serde_json::json;

/// A status and the words for it: the same as those of the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub status: u16,
    words: String,
    row: Option<u64>,
    column: Option<String>,
    /// The methods that the path takes, where another one was used.
    allowed: &'static str,
    for_log: Option<String>,
}

impl Refusal {
    pub fn new(status: u16, words: impl std::fmt::Display) -> Self {
        Refusal { status, words: words.to_string(), row: None, column: None, allowed: "", for_log: None }
    }

    /// Of a method that the path does not take; `allowed` are those that it takes.
    pub fn wrong_method(allowed: &'static str) -> Self {
        Refusal { allowed, ..Refusal::new(405, format!("use {allowed}")) }
    }

    /// What went wrong on this machine. How, the log says alone: it names files.
    pub fn failed(words: &str, why: impl std::fmt::Display) -> Self {
        Refusal { for_log: Some(why.to_string()), ..Refusal::new(500, format!("{words}; the server's log says why")) }
    }

    pub fn allowed(&self) -> &'static str {
        self.allowed
    }

    pub fn for_log(&self) -> Option<&str> {
        self.for_log.as_deref()
    }

    /// What no request can cause.
    pub fn internal(what: impl std::fmt::Display) -> Self {
        Refusal::new(500, format!("a bug in cmrm, please report it: {what}"))
    }

    pub fn body(&self) -> Bytes {
        let Refusal { status, words, row, column, .. } = self;
        let mut object = json!({ "schema": "cmrm/served-error/1", "error": words, "status": status });
        if let Some(row) = row {
            object["row"] = json!(row);
        }
        if let Some(column) = column {
            object["column"] = json!(column);
        }
        format!("{object}\n").into()
    }
}

impl From<cmrm_data::Error> for Refusal {
    fn from(error: cmrm_data::Error) -> Self {
        let status = if error.is_internal() { 500 } else { 400 };
        let place = error.place();
        Refusal { row: place.row, column: place.column.clone(), ..Refusal::new(status, &error) }
    }
}

impl From<cmrm::Error> for Refusal {
    fn from(error: cmrm::Error) -> Self {
        Refusal::new(400, error)
    }
}
