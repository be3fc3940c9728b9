//! Which row of before is which row of now.

use std::collections::HashMap;
use std::hash::Hash;

/// How rows were found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchedBy {
    /// By their ids.
    Id,
    /// By their cells in the columns of the model.
    Content,
    /// By their numbers: it is the same data.
    Row,
    /// Not at all: every row counts as new.
    Nothing,
}

impl MatchedBy {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            MatchedBy::Id => "rows matched by id",
            MatchedBy::Content => "rows matched by content",
            MatchedBy::Row => "rows matched by number",
            MatchedBy::Nothing => "rows not matched",
        }
    }
}

/// For each row of now its place in `then`. Of rows with the same key the first is the first, the second the second and so on; a row
/// without a key is nobody's.
pub fn places<K: Hash + Eq>(
    then: impl Iterator<Item = Option<K>>,
    now: impl Iterator<Item = Option<K>>,
) -> Vec<Option<usize>> {
    let mut known: HashMap<K, Vec<usize>> = HashMap::new();
    for (place, key) in then.enumerate() {
        if let Some(key) = key {
            known.entry(key).or_default().push(place);
        }
    }
    let mut taken: HashMap<K, usize> = HashMap::new();
    now.map(|key| {
        let key = key?;
        let places = known.get(&key)?;
        let count = taken.entry(key).or_default();
        *count += 1;
        places.get(*count - 1).copied()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_there_twice_are_found_one_by_one() {
        let then = ["a", "b", "a", "c"];
        let now = ["c", "a", "a", "a", "d"];
        assert_eq!(
            places(then.map(Some).into_iter(), now.map(Some).into_iter()),
            [Some(3), Some(0), Some(2), None, None]
        );
    }

    #[test]
    fn rows_without_a_key_are_not_each_other() {
        let (then, now) = ([None, Some("a"), None], [None, None, Some("a")]);
        assert_eq!(places(then.into_iter(), now.into_iter()), [None, None, Some(1)]);
    }
}
