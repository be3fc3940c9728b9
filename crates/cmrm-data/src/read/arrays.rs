//! Which of several named arrays are the features and which the labels.

use super::ArrayNames;
use crate::error::{Error, Problem, Result, quoted};
use crate::table::closest;

/// Usual names of features, in order of preference; case does not matter.
const FEATURES: [&str; 9] =
    ["features", "x", "data", "embeddings", "images", "x_train", "train_features", "train_images", "train"];
/// Usual names of labels, in order of preference; case does not matter.
const LABELS: [&str; 8] = ["labels", "y", "label", "target", "targets", "y_train", "train_labels", "train-labels"];

/// Places of the arrays that make up the features, to be joined in order, and of those that make up the labels.
#[derive(Debug, PartialEq)]
pub(super) struct Chosen {
    pub features: Vec<usize>,
    pub labels: Vec<usize>,
}

/// Chooses by the stated names, else by the usual ones. A name stands for the array of that name or for the pieces
/// that have it with a number behind.
pub(super) fn choose(names: &[String], wanted: &ArrayNames) -> Result<Chosen> {
    let features = match &wanted.features {
        Some(name) => pieces(names, name, false),
        None => match FEATURES.iter().map(|name| pieces(names, name, true)).find(|found| !found.is_empty()) {
            Some(found) => found,
            // A lone array can only be the features.
            None if names.len() == 1 && wanted.labels.is_none() => vec![0],
            None => Vec::new(),
        },
    };
    let labels = match &wanted.labels {
        Some(name) => pieces(names, name, false),
        None => LABELS.iter().map(|name| pieces(names, name, true)).find(|found| !found.is_empty()).unwrap_or_default(),
    };
    if features.is_empty() {
        return Err(not_found(names, wanted.features.as_deref(), "features", "features or X"));
    }
    if labels.is_empty() && wanted.labels.is_some() {
        return Err(not_found(names, wanted.labels.as_deref(), "labels", "labels or y"));
    }
    Ok(Chosen { features, labels })
}

fn not_found(names: &[String], wanted: Option<&str>, what: &str, usual: &str) -> Error {
    let wanted = wanted.unwrap_or(what);
    let near = closest(wanted, names);
    Error::new(Problem::NoSuchColumn { wanted: wanted.to_string(), near })
        .way_out(format!("the arrays are {}; rename the one that holds the {what} to {usual}", quoted(names)))
}

/// The array of that name, or its numbered pieces in the order of their numbers.
fn pieces(names: &[String], wanted: &str, any_case: bool) -> Vec<usize> {
    let start = |name: &str| match name.get(..wanted.len()) {
        Some(start) if start == wanted || any_case && start.eq_ignore_ascii_case(wanted) => {
            Some(name[wanted.len()..].to_string())
        }
        _ => None,
    };
    let mut found = Vec::new();
    for (place, name) in names.iter().enumerate() {
        match start(name).as_deref() {
            Some("") => return vec![place],
            Some(rest) => {
                if let Ok(number) = rest.trim_start_matches(['_', '-', '.']).parse::<u32>() {
                    found.push((number, place));
                }
            }
            None => {}
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, place)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[&str], features: Option<&str>, labels: Option<&str>) -> Result<(Vec<usize>, Vec<usize>)> {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        let wanted = ArrayNames { features: features.map(String::from), labels: labels.map(String::from) };
        choose(&names, &wanted).map(|chosen| (chosen.features, chosen.labels))
    }

    #[test]
    fn usual_names_and_numbered_pieces() {
        assert_eq!(chosen(&["y", "X"], None, None).unwrap(), (vec![1], vec![0]));
        assert_eq!(chosen(&["x_test", "x_train", "y_test", "y_train"], None, None).unwrap(), (vec![1], vec![3]));
        assert_eq!(
            chosen(&["train10", "train2", "labels", "test", "train_1"], None, None).unwrap(),
            (vec![4, 1, 0], vec![2])
        );
        assert_eq!(chosen(&["only"], None, None).unwrap(), (vec![0], vec![]));
        let names = ["a.train0", "a.train1", "a.test", "a-labels"];
        assert_eq!(chosen(&names, Some("a.train"), Some("a-labels")).unwrap(), (vec![0, 1], vec![3]));
        assert_eq!(chosen(&names, Some("a.test"), None).unwrap(), (vec![2], vec![]));
    }

    #[test]
    fn names_that_are_not_there() {
        let error = chosen(&["feetures", "y"], None, None).unwrap_err().to_string();
        assert!(error.contains("did you mean 'feetures'?") && error.contains("to features or X"), "{error}");
        assert!(chosen(&["X", "y"], None, Some("z")).is_err());
        assert!(chosen(&[], None, None).is_err());
    }
}
