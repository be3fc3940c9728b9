//! The entries of the catalogue.
//!
//! Where the checksums come from: those of `adult`, `spambase` and the unpacked files of `cifar-100` and `fashion-mnist`
//! were computed from the files as published; the published sums of the packed files of `fashion-mnist` were reproduced
//! from them. Those of `credit-default`, `cifar-10n` and `cifar-100n` were computed from CSV copies, so they hold for the
//! content and not for the spreadsheet or pickle around it. The sums of the two CIFAR archives are the ones that several
//! other projects state independently.

mod cifar;
mod cifar_names;
mod embedded;
mod fashion;
mod uci;
mod uci_columns;

use super::Entry;
use super::error::{Error, Result};
use cmrm_data::table::closest;

/// Every data set that has a name, embedded ones first.
pub static ENTRIES: &[Entry] = &[
    embedded::DIGITS,
    embedded::BREAST_CANCER,
    uci::ADULT,
    uci::SPAMBASE,
    uci::CREDIT_DEFAULT,
    cifar::CIFAR_10,
    cifar::CIFAR_100,
    cifar::CIFAR_10N,
    cifar::CIFAR_100N,
    fashion::FASHION_MNIST,
];

/// Looks a data set up by its name.
pub fn find(name: &str) -> Result<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<String> = ENTRIES.iter().map(|entry| entry.name.to_owned()).collect();
        Error::UnknownName { name: name.to_owned(), suggestion: closest(name, &names).into_iter().next() }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{Layout, Packing};

    fn is_sha256(text: &str) -> bool {
        text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    }

    #[test]
    fn every_entry_is_complete() {
        let mut names = HashSet::new();
        for entry in ENTRIES {
            assert!(names.insert(entry.name), "{} twice", entry.name);
            assert!(
                !entry.licence.is_empty() && !entry.citation.is_empty() && !entry.title.is_empty(),
                "{}",
                entry.name
            );
            assert!(entry.homepage.starts_with("https://"), "{}", entry.name);
            assert!(entry.classes >= 2 && entry.train_rows > 0 && entry.columns > 0, "{}", entry.name);
            entry.needs.iter().for_each(|name| assert!(find(name).is_ok_and(|base| base.needs.is_empty())));
            assert_eq!(entry.is_embedded(), matches!(entry.layout, Layout::Embedded { .. }), "{}", entry.name);
        }
    }

    #[test]
    fn every_file_is_checked_by_something() {
        for entry in ENTRIES {
            let mut names = HashSet::new();
            for download in entry.downloads {
                assert!(!download.urls.is_empty() && !download.files.is_empty());
                assert!(download.sha256.is_none_or(is_sha256));
                assert!(download.bytes.is_none_or(|bytes| bytes <= download.max_bytes));
                if download.packing == Packing::Plain {
                    assert_eq!((download.files.len(), download.files[0].member), (1, download.name));
                }
                for file in download.files {
                    assert!(names.insert(file.name), "{} twice in {}", file.name, entry.name);
                    assert!(!file.name.contains(['/', '\\']), "{} leaves its folder", file.name);
                    assert!(file.sha256.is_none_or(is_sha256));
                    assert!(file.sha256.or(download.sha256).is_some(), "{} of {} is unchecked", file.name, entry.name);
                    assert!(file.bytes.is_none_or(|bytes| bytes <= file.max_bytes));
                }
            }
        }
    }

    #[test]
    fn layouts_name_files_and_classes_that_exist() {
        for entry in ENTRIES {
            let has = |name: &str| assert!(entry.files().any(|file| file.name == name), "{name} of {}", entry.name);
            let classes = match entry.layout {
                Layout::Embedded { classes, .. } => classes.len(),
                Layout::Text(text) => {
                    has(text.train);
                    text.test.into_iter().for_each(has);
                    text.classes.len()
                }
                Layout::Idx { train, test, classes } => {
                    train.into_iter().chain(test).for_each(has);
                    classes.len()
                }
                Layout::Cifar { train, test, labels } => {
                    train.iter().copied().chain([test]).for_each(has);
                    labels.iter().map(|set| set.classes.len()).max().unwrap_or(0)
                }
                Layout::Relabelled { base, file, .. } => {
                    has(file);
                    assert_eq!(entry.needs, [base]);
                    find(base).unwrap().classes
                }
            };
            assert_eq!(classes, entry.classes, "{}", entry.name);
        }
    }

    #[test]
    fn an_unknown_name_gets_a_suggestion() {
        assert_eq!(find("cifar-10").unwrap().name, "cifar-10");
        let message = find("digts").unwrap_err().to_string();
        assert!(message.contains("'digts' (did you mean 'digits'?);"), "{message}");
        assert!(!find("imagenet-21k").unwrap_err().to_string().contains("did you mean"));
    }
}
