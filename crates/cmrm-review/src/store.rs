//! Decisions on the disk.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, params};

use crate::decision::{Action, Decision};

/// Version of the file's layout.
const FORMAT: &str = "1";

/// A file of decisions. Each is an entry of its own, the last one of a row counts, and to undo is to take the last entry
/// away; so the file also tells how the decisions came about.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
}

/// What goes wrong is told in words for the user.
type Result<T> = std::result::Result<T, String>;

impl Store {
    /// Opens the file, or makes it. It belongs to one set of training rows: `fingerprint` must be the one it was made with.
    pub fn open(path: &Path, fingerprint: &str) -> Result<Self> {
        let named = |error: rusqlite::Error| format!("{}: {error}", path.display());
        let connection = Connection::open(path).map_err(named)?;
        // An answer is given after the disk has the decision, not before.
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 2000;
                 CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
                 CREATE TABLE IF NOT EXISTS decision (
                     id INTEGER PRIMARY KEY AUTOINCREMENT, row INTEGER NOT NULL, action TEXT NOT NULL, label TEXT,
                     decided_at INTEGER NOT NULL) STRICT;
                 CREATE INDEX IF NOT EXISTS decision_row ON decision (row, id);",
            )
            .map_err(named)?;
        for (name, expected) in [("format", FORMAT), ("fingerprint", fingerprint)] {
            connection
                .execute("INSERT OR IGNORE INTO about (name, value) VALUES (?1, ?2)", params![name, expected])
                .map_err(named)?;
            let found: String = connection
                .query_row("SELECT value FROM about WHERE name = ?1", [name], |row| row.get(0))
                .map_err(named)?;
            if found != expected {
                return Err(format!(
                    "{}: the decisions were made with {name} {found}, this run has {expected}; move the file away to begin anew",
                    path.display()
                ));
            }
        }
        Ok(Store { connection })
    }

    /// Keeps a decision. When this returns, it is on the disk.
    pub fn decide(&mut self, decision: &Decision) -> Result<()> {
        let row = i64::try_from(decision.row).map_err(|_| "the row number is too large".to_owned())?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() as i64);
        self.connection
            .execute(
                "INSERT INTO decision (row, action, label, decided_at) VALUES (?1, ?2, ?3, ?4)",
                params![row, decision.action.name(), decision.label, now],
            )
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    /// Takes the last decision back and gives its row, if there was one.
    pub fn undo(&mut self) -> Result<Option<u64>> {
        let text = |error: rusqlite::Error| error.to_string();
        let transaction = self.connection.transaction().map_err(text)?;
        let last: Option<(i64, i64)> = transaction
            .query_row("SELECT id, row FROM decision ORDER BY id DESC LIMIT 1", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()
            .map_err(text)?;
        if let Some((id, _)) = last {
            transaction.execute("DELETE FROM decision WHERE id = ?1", [id]).map_err(text)?;
        }
        transaction.commit().map_err(text)?;
        Ok(last.map(|(_, row)| row as u64))
    }

    /// The decisions that count, by row.
    pub fn decisions(&self) -> Result<Vec<Decision>> {
        let text = |error: rusqlite::Error| error.to_string();
        let mut query = self
            .connection
            .prepare("SELECT row, action, label FROM decision WHERE id IN (SELECT MAX(id) FROM decision GROUP BY row) ORDER BY row")
            .map_err(text)?;
        let rows = query
            .query_map([], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
            })
            .map_err(text)?;
        let mut decisions = Vec::new();
        for row in rows {
            let (row, action, label) = row.map_err(text)?;
            let action = Action::of(&action).ok_or_else(|| format!("row {row}: '{action}' is no action"))?;
            decisions.push(Decision { row: row as u64, action, label });
        }
        Ok(decisions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(row: u64, action: Action) -> Decision {
        Decision { row, action, label: (action == Action::Relabel).then(|| "b".into()) }
    }

    #[test]
    fn decisions_are_kept_changed_and_undone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("review.sqlite");
        let mut store = Store::open(&path, "abc").unwrap();
        for made in [decision(7, Action::Keep), decision(2, Action::Relabel), decision(7, Action::Drop)] {
            store.decide(&made).unwrap();
        }
        // Not closed, as after a power cut: another connection sees what was answered for.
        let mut again = Store::open(&path, "abc").unwrap();
        assert_eq!(again.decisions().unwrap(), [decision(2, Action::Relabel), decision(7, Action::Drop)]);
        assert_eq!(again.undo().unwrap(), Some(7));
        assert_eq!(again.decisions().unwrap(), [decision(2, Action::Relabel), decision(7, Action::Keep)]);
        assert_eq!((again.undo().unwrap(), again.undo().unwrap(), again.undo().unwrap()), (Some(2), Some(7), None));
        assert!(Store::open(&path, "xyz").unwrap_err().contains("fingerprint abc, this run has xyz"));
    }
}
