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
}

impl Refusal {
    pub fn new(status: u16, words: impl std::fmt::Display) -> Self {
        Refusal { status, words: words.to_string(), row: None, column: None }
    }

    /// What no request can cause.
    pub fn internal(what: impl std::fmt::Display) -> Self {
        Refusal::new(500, format!("a bug in cmrm, please report it: {what}"))
    }

    pub fn body(&self) -> Bytes {
        let Refusal { status, words, row, column } = self;
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
