//! Where the data of a run is found again, from wherever somebody asks.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::names::RUN;

/// The folder in which a run was made: relative paths of its settings start there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataRoot {
    /// From the root of the file system.
    pub absolute: PathBuf,
    /// From the folder of the run, so that both may move together; nothing where no relative path leads there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_run: Option<PathBuf>,
}

impl DataRoot {
    /// The current folder, as seen from the folder of a run. Nothing where the system does not say.
    pub fn here(run: &Path) -> Option<Self> {
        let absolute = std::env::current_dir().ok()?.canonicalize().ok()?;
        let from_run = relative(&run.canonicalize().ok()?, &absolute);
        Some(DataRoot { absolute, from_run })
    }

    /// What a finished run says; nothing for one that does not.
    pub fn of_run(run: &Path) -> Option<Self> {
        #[derive(Deserialize)]
        struct Known {
            data_root: Option<DataRoot>,
        }
        let text = std::fs::read_to_string(run.join(RUN)).ok()?;
        serde_json::from_str::<Known>(&text).ok()?.data_root
    }

    /// The places where a path of the settings of the run in `run` may lead, the likeliest first: what has moved together with the run,
    /// where it was when the run was made, and the path as it is written, from the current folder.
    pub fn places(&self, run: &Path, path: &Path) -> Vec<PathBuf> {
        let from_root = path.strip_prefix(&self.absolute).unwrap_or(path);
        let mut places = Vec::new();
        if from_root.is_relative()
            && let Some(from_run) = &self.from_run
        {
            places.push(cleaned(&run.join(from_run).join(from_root)));
        }
        places.extend([cleaned(&self.absolute.join(path)), path.to_owned()]);
        let mut seen: Vec<PathBuf> = Vec::new();
        places.retain(|place| {
            !seen.contains(place) && {
                seen.push(place.clone());
                true
            }
        });
        places
    }
}

/// The way from one absolute folder to another; nothing if they share no root.
fn relative(from: &Path, to: &Path) -> Option<PathBuf> {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) = (from.components().collect(), to.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if shared == 0 {
        return None;
    }
    let up = from[shared..].iter().map(|_| Component::ParentDir);
    Some(up.chain(to[shared..].iter().copied()).collect())
}

/// The path without steps that go up again, as far as its words tell. Where a folder is a link the words may tell it wrong: the path is
/// then left as it is.
fn cleaned(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match (part, out.components().next_back()) {
            (Component::ParentDir, Some(Component::Normal(_))) if !out.is_symlink() => {
                out.pop();
            }
            (Component::CurDir, _) => {}
            _ => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_looked_for_beside_the_run_then_where_it_was_then_as_it_is_written() {
        let path = Path::new;
        let root = DataRoot {
            absolute: "/a/project".into(),
            from_run: relative(path("/a/project/runs/x"), path("/a/project")),
        };
        assert_eq!(root.from_run.as_deref(), Some(path("../..")));
        let places = root.places(path("/b/copy/runs/x"), path("data/t.csv"));
        assert_eq!(places, ["/b/copy/data/t.csv", "/a/project/data/t.csv", "data/t.csv"].map(PathBuf::from));
        // An absolute path below the folder moves with it; one elsewhere stays where it is.
        let places = root.places(path("/b/copy/runs/x"), path("/a/project/t.csv"));
        assert_eq!(places, ["/b/copy/t.csv", "/a/project/t.csv"].map(PathBuf::from));
        assert_eq!(root.places(path("runs/x"), path("/data/t.csv")), [PathBuf::from("/data/t.csv")]);
        let places = root.places(path("runs/x"), path("../t.csv"));
        assert_eq!(places, ["../t.csv", "/a/t.csv"].map(PathBuf::from));
    }

    #[test]
    fn ways_go_up_and_down_again() {
        let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
        assert_eq!(way("/a/b", "/a/c/d"), Some("../c/d".into()));
        assert_eq!(way("/a", "/a"), Some(PathBuf::new()));
        assert_eq!(way("/out/run", "/home/me"), Some("../../home/me".into()));
    }
}
