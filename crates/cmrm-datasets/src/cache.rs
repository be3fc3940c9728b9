//! Where downloaded data sets live.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Entry;
use super::error::{Error, Result};

/// Environment variable that names the cache folder.
pub const CACHE_VARIABLE: &str = "CMRM_CACHE";

/// The folder that holds downloaded data sets, one folder each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// A cache in this very folder.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Cache { root: root.into() }
    }

    /// The folder given, or `CMRM_CACHE`, or the platform's cache folder followed by `cmrm`.
    pub fn locate(explicit: Option<&Path>) -> Result<Self> {
        locate_with(explicit, |name| std::env::var_os(name)).map(Cache::at).ok_or(Error::NoCacheFolder)
    }

    /// The folder of the whole cache.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of one data set.
    pub fn folder(&self, entry: &Entry) -> PathBuf {
        self.root.join(entry.name)
    }
}

fn locate_with(explicit: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = explicit {
        return Some(path.to_path_buf());
    }
    if let Some(path) = set(CACHE_VARIABLE) {
        return Some(path);
    }
    // The XDG specification says that a relative path is to be ignored.
    if let Some(path) = set("XDG_CACHE_HOME").filter(|path| path.is_absolute()) {
        return Some(path.join("cmrm"));
    }
    if cfg!(windows) {
        return set("LOCALAPPDATA").map(|path| path.join("cmrm").join("cache"));
    }
    let home = set("HOME").filter(|path| path.is_absolute())?;
    Some(if cfg!(target_os = "macos") { home.join("Library/Caches/cmrm") } else { home.join(".cache/cmrm") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
        move |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
    }

    #[test]
    fn the_nearest_wish_wins() {
        let all = [("CMRM_CACHE", "mine"), ("XDG_CACHE_HOME", "/xdg"), ("HOME", "/home/me")];
        assert_eq!(locate_with(Some(Path::new("here")), with(&all)), Some("here".into()));
        assert_eq!(locate_with(None, with(&all)), Some("mine".into()));
        assert_eq!(locate_with(None, with(&all[1..])), Some("/xdg/cmrm".into()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn falls_back_to_the_home_folder() {
        assert_eq!(locate_with(None, with(&[("HOME", "/home/me")])), Some("/home/me/.cache/cmrm".into()));
        let relative = [("CMRM_CACHE", ""), ("XDG_CACHE_HOME", "relative"), ("HOME", "/home/me")];
        assert_eq!(locate_with(None, with(&relative)), Some("/home/me/.cache/cmrm".into()));
        assert_eq!(locate_with(None, with(&[])), None);
    }
}
