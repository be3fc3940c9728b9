//! Finding a column by name or position, with suggestions when it is not there.

use std::fmt;

use serde::{Deserialize, Serialize};
use strsim::osa_distance;

use crate::error::{Error, Problem, Result, quoted};

/// A column by name, or by position: `0` is the first, `-1` the last. A column named like a number is found by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ColumnRef(pub String);

impl ColumnRef {
    /// The position among `names`.
    pub fn resolve<S: AsRef<str>>(&self, names: &[S]) -> Result<usize> {
        if let Some(position) = names.iter().position(|name| name.as_ref() == self.0) {
            return Ok(position);
        }
        let count = names.len();
        if let Ok(index) = self.0.trim().parse::<i64>() {
            let position = if index < 0 { index.checked_add(count as i64) } else { Some(index) };
            return match position {
                Some(position) if position >= 0 && (position as usize) < count => Ok(position as usize),
                _ => Err(self.not_found(names).way_out(format!(
                    "there are {count} columns: use 0 to {last}, or -{count} to -1 from the end",
                    last = count.saturating_sub(1)
                ))),
            };
        }
        Err(self.not_found(names).way_out(format!("the columns are {}", quoted(names))))
    }

    fn not_found<S: AsRef<str>>(&self, names: &[S]) -> Error {
        Error::new(Problem::NoSuchColumn { wanted: self.0.clone(), near: closest(&self.0, names) })
    }
}

impl From<&str> for ColumnRef {
    fn from(text: &str) -> Self {
        ColumnRef(text.to_string())
    }
}

impl From<i64> for ColumnRef {
    fn from(index: i64) -> Self {
        ColumnRef(index.to_string())
    }
}

impl fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// At most two of `names` that `wanted` may have meant, closest first: the same but for case and spaces, or within
/// an edit distance (insertions, deletions, replacements, swaps of neighbours) of a third of the length.
pub fn closest<S: AsRef<str>>(wanted: &str, names: &[S]) -> Vec<String> {
    let plain = |text: &str| text.trim().to_lowercase();
    let wanted = plain(wanted);
    let length = wanted.chars().count();
    let allowed = (length / 3).max(1);
    let mut near: Vec<(usize, usize)> = names
        .iter()
        .enumerate()
        .filter_map(|(position, name)| {
            let name = plain(name.as_ref());
            // Lengths alone already rule most names out, and bound the work for very long ones.
            (name.chars().count().abs_diff(length) <= allowed && length <= 200)
                .then(|| (osa_distance(&wanted, &name), position))
        })
        .filter(|&(distance, _)| distance <= allowed && distance < length.max(1))
        .collect();
    near.sort_unstable();
    near.into_iter().take(2).map(|(_, position)| names[position].as_ref().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name_then_by_position() {
        let names = ["a", "2", "label"];
        for (wanted, position) in [("label", 2), ("0", 0), ("-1", 2), ("-3", 0), ("2", 1)] {
            assert_eq!(ColumnRef::from(wanted).resolve(&names).unwrap(), position, "{wanted}");
        }
        let message = |wanted: &str| ColumnRef::from(wanted).resolve(&names).unwrap_err().to_string();
        assert_eq!(message("lable"), "no column 'lable', did you mean 'label'?; the columns are 'a', '2', 'label'");
        assert_eq!(message("3"), "no column '3'; there are 3 columns: use 0 to 2, or -3 to -1 from the end");
        assert!(ColumnRef::from("-9223372036854775808").resolve(&names).is_err());
        assert!(message("Label ").contains("did you mean 'label'?"));
    }
}
