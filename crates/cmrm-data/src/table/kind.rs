//! The kinds of column, and what a user may say about one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Numbers.
    Numeric,
    /// True or false.
    Boolean,
    /// Names.
    Categorical,
    /// Dates, with or without a time of day.
    Date,
}

/// What a user says about a column, over what was detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Override {
    /// Treat it as numbers.
    Numeric,
    /// Treat it as true or false.
    Boolean,
    /// Treat it as names, and keep the text as it stands in the file.
    Categorical,
    /// Treat it as dates.
    Date,
    /// Leave it out.
    Ignore,
}

impl Override {
    /// The kind, unless the column is to be ignored.
    pub fn kind(self) -> Option<Kind> {
        match self {
            Override::Numeric => Some(Kind::Numeric),
            Override::Boolean => Some(Kind::Boolean),
            Override::Categorical => Some(Kind::Categorical),
            Override::Date => Some(Kind::Date),
            Override::Ignore => None,
        }
    }
}

impl From<Kind> for Override {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Numeric => Override::Numeric,
            Kind::Boolean => Override::Boolean,
            Kind::Categorical => Override::Categorical,
            Kind::Date => Override::Date,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Numeric => "numeric",
            Kind::Boolean => "boolean",
            Kind::Categorical => "categorical",
            Kind::Date => "date",
        })
    }
}

impl FromStr for Override {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "numeric" | "number" => Ok(Override::Numeric),
            "boolean" | "bool" => Ok(Override::Boolean),
            "categorical" | "category" => Ok(Override::Categorical),
            "date" => Ok(Override::Date),
            "ignore" => Ok(Override::Ignore),
            _ => Err(Error::option(format!(
                "'{text}' is not a kind of column; use numeric, boolean, categorical, date or ignore"
            ))),
        }
    }
}
