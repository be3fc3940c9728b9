//! What a caller can say about preprocessing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::text::TextEncoding;
use crate::table::Override;

/// How columns become features. The default refuses missing cells, so that nobody trains on guesses unawares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PreprocessOptions {
    /// What columns are, over what the reader found.
    pub overrides: BTreeMap<String, Override>,
    /// How names become numbers.
    pub categories: CategoryEncoding,
    /// Most names of a column that count; rarer ones are treated like names never seen.
    pub max_levels: usize,
    /// What to do with missing cells.
    pub missing: MissingCells,
    /// How a missing name is filled in.
    pub missing_category: MissingCategory,
    /// Whether NaN counts as a missing cell; in an array there is no other way to say so.
    pub nan_is_missing: bool,
    /// How dates become numbers.
    pub dates: DateEncoding,
    /// How text becomes numbers.
    pub text: TextEncoding,
    /// Whether numbers are brought to mean zero and variance one over the training rows.
    pub standardise: bool,
}

impl Default for PreprocessOptions {
    fn default() -> Self {
        PreprocessOptions {
            overrides: BTreeMap::new(),
            categories: CategoryEncoding::default(),
            max_levels: 128,
            missing: MissingCells::default(),
            missing_category: MissingCategory::default(),
            nan_is_missing: false,
            dates: DateEncoding::default(),
            text: TextEncoding::default(),
            standardise: true,
        }
    }
}

/// How names become numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CategoryEncoding {
    /// A feature for each name, one or zero. A name never seen has all zeros.
    #[default]
    OneHot,
    /// The name's place in their order. A name never seen has place −1.
    Ordinal,
}

/// What to do with missing cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingCells {
    /// Refuse the data.
    #[default]
    Refuse,
    /// Fill in the training rows' median (numbers, dates) or most frequent value (booleans), and add a feature that
    /// flags the filled cells if the training rows have any.
    Impute,
}

/// How a missing name is filled in, where missing cells are not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingCategory {
    /// Missing is a category of its own.
    #[default]
    OwnCategory,
    /// The training rows' most frequent name, with a flag.
    MostFrequent,
}

/// How dates become numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DateEncoding {
    /// Days since 1970-01-01, with a fraction for the time of day.
    #[default]
    Days,
    /// Year, month, day, weekday and hour.
    Parts,
}
