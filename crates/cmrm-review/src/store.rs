//! Decisions on the disk.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use cmrm_run::decision::{Action, Decision};
use rusqlite::{Connection, OptionalExtension, params};

/// Version of the file's layout.
const FORMAT: &str = "1";

/// A file of decisions. Each is an entry of its own, the last one of a row counts, and to undo is to take a reviewer's last
/// entry away; so the file also tells how the decisions came about, and what others have decided is never touched.
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
        // Files of earlier versions lack it: nobody knows any more whose decisions they have.
        add_column(&connection, "reviewer", "TEXT NOT NULL DEFAULT ''").map_err(named)?;
        for (name, expected) in [("format", FORMAT), ("fingerprint", fingerprint)] {
            connection
                .execute("INSERT OR IGNORE INTO about (name, value) VALUES (?1, ?2)", params![name, expected])
                .map_err(named)?;
            let found: String = connection
                .query_row("SELECT value FROM about WHERE name = ?1", [name], |row| row.get(0))
                .map_err(named)?;
            if found != expected {
                return Err(format!(
                    "{}: the decisions were made with {name} {found}, but this run has {expected}; move the file away to start over",
                    path.display()
                ));
            }
        }
        Ok(Store { connection })
    }

    /// Keeps a reviewer's decision. When this returns, it is on the disk.
    pub fn decide(&mut self, decision: &Decision, reviewer: &str) -> Result<()> {
        let row = i64::try_from(decision.row).map_err(|_| "the row number is too large".to_owned())?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() as i64);
        self.connection
            .execute(
                "INSERT INTO decision (row, action, label, decided_at, reviewer) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![row, decision.action.name(), decision.label, now, reviewer],
            )
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    /// Takes the reviewer's last decision back and gives its row, if there was one. What counts for the row is then the last
    /// decision that is left, whoever made it.
    pub fn undo(&mut self, reviewer: &str) -> Result<Option<u64>> {
        self.connection
            .query_row(
                "DELETE FROM decision WHERE id = (SELECT MAX(id) FROM decision WHERE reviewer = ?1) RETURNING row",
                [reviewer],
                |row| row.get::<_, i64>(0),
            )
            .optional()
            .map(|row| row.map(|row| row as u64))
            .map_err(|error| error.to_string())
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
            let action = Action::of(&action).ok_or_else(|| format!("row {row}: unknown action '{action}'"))?;
            decisions.push(Decision { row: row as u64, action, label });
        }
        Ok(decisions)
    }
}

/// Adds a column to the decisions, unless they have it.
fn add_column(connection: &Connection, name: &str, kind: &str) -> rusqlite::Result<()> {
    // One program at a time: two that open an old file at once do not both add it.
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let there = "SELECT EXISTS (SELECT 1 FROM pragma_table_info('decision') WHERE name = ?1)";
    let done = connection.query_row(there, [name], |row| row.get::<_, bool>(0)).and_then(|there| match there {
        true => Ok(()),
        false => connection.execute_batch(&format!("ALTER TABLE decision ADD COLUMN {name} {kind}")),
    });
    connection.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).and(done)
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
            store.decide(&made, "me").unwrap();
        }
        // Not closed, as after a power cut: another connection sees what was answered for.
        let mut again = Store::open(&path, "abc").unwrap();
        assert_eq!(again.decisions().unwrap(), [decision(2, Action::Relabel), decision(7, Action::Drop)]);
        assert_eq!(again.undo("me").unwrap(), Some(7));
        assert_eq!(again.decisions().unwrap(), [decision(2, Action::Relabel), decision(7, Action::Keep)]);
        assert_eq!([(); 3].map(|()| again.undo("me").unwrap()), [Some(2), Some(7), None]);
        assert!(Store::open(&path, "xyz").unwrap_err().contains("fingerprint abc, but this run has xyz"));
    }

    #[test]
    fn undo_takes_back_the_last_decision_of_this_reviewer_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("review.sqlite"), "abc").unwrap();
        for (made, reviewer) in [
            (decision(1, Action::Keep), "ann"),
            (decision(7, Action::Keep), "ann"),
            (decision(7, Action::Drop), "bob"),
            (decision(7, Action::Relabel), "ann"),
            (decision(2, Action::Drop), "bob"),
        ] {
            store.decide(&made, reviewer).unwrap();
        }
        // Bob has decided last; it stays.
        assert_eq!(store.undo("ann").unwrap(), Some(7));
        let after = [decision(1, Action::Keep), decision(2, Action::Drop), decision(7, Action::Drop)];
        assert_eq!(store.decisions().unwrap(), after);
        // Ann's first word on row 7 is not what counts: taking it back changes nothing for the row.
        assert_eq!(store.undo("ann").unwrap(), Some(7));
        assert_eq!(store.decisions().unwrap(), after);
        assert_eq!([(); 3].map(|()| store.undo("bob").unwrap()), [Some(2), Some(7), None]);
        assert_eq!(store.decisions().unwrap(), [decision(1, Action::Keep)]);
        assert_eq!((store.undo("eve").unwrap(), store.undo("").unwrap()), (None, None));
    }

    #[test]
    fn a_file_of_an_earlier_version_keeps_its_decisions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("review.sqlite");
        Connection::open(&path)
            .unwrap()
            .execute_batch(
                "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
                 INSERT INTO about VALUES ('format', '1'), ('fingerprint', 'abc');
                 CREATE TABLE decision (
                     id INTEGER PRIMARY KEY AUTOINCREMENT, row INTEGER NOT NULL, action TEXT NOT NULL, label TEXT,
                     decided_at INTEGER NOT NULL) STRICT;
                 INSERT INTO decision (row, action, label, decided_at) VALUES (3, 'relabel', 'b', 0);",
            )
            .unwrap();
        for _ in 0..2 {
            let mut store = Store::open(&path, "abc").unwrap();
            store.decide(&decision(5, Action::Drop), "me").unwrap();
            assert_eq!((store.undo("me").unwrap(), store.undo("me").unwrap()), (Some(5), None));
            assert_eq!(store.decisions().unwrap(), [decision(3, Action::Relabel)]);
        }
    }
}
