//! What has changed, for people and for programs.

use serde_json::{Value, json};

use super::{Changes, Status};

impl Changes {
    /// A sentence, and what has drifted.
    pub fn text(&self) -> String {
        let count = |status| self.count(status);
        let mut text = format!(
            "since {} ({}): suspects: {} new, {} known, {} decided on, {} gone\n",
            self.previous,
            self.matched_by.words(),
            count(Status::New),
            count(Status::Known),
            count(Status::Decided),
            count(Status::Gone)
        );
        if self.rows_gone > 0 {
            text += &format!("not among these rows: {} suspects of before\n", self.rows_gone);
        }
        text + &self.drift.text()
    }

    /// The object `since` of `--json`.
    pub fn json(&self) -> Value {
        let count = |status| self.count(status);
        json!({
            "previous": self.previous, "matched_by": self.matched_by, "new": count(Status::New), "known": count(Status::Known),
            "decided": count(Status::Decided), "gone": count(Status::Gone), "rows_gone": self.rows_gone, "drift": self.drift,
        })
    }
}
