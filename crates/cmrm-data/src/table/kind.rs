//! The kinds of column, and what a user may say about one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::date::DateOrder;
use super::number::Decimal;
use super::{Style, closest};
use crate::error::{Error, suggest};

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
    /// Sentences and notes, read by their words.
    Text,
}

/// What a user says about a column, over what was detected. Its text is that of [`Override::name`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Override {
    /// Treat it as numbers.
    Numeric,
    /// Treat it as numbers with a decimal point.
    NumericPoint,
    /// Treat it as numbers with a decimal comma.
    NumericComma,
    /// Treat it as true or false.
    Boolean,
    /// Treat it as names, and keep the text as it stands in the file.
    Categorical,
    /// Treat it as dates.
    Date,
    /// Treat it as dates with the day before the month.
    DateDayFirst,
    /// Treat it as dates with the month before the day.
    DateMonthFirst,
    /// Treat it as text, and read its words.
    Text,
    /// Leave it out.
    Ignore,
}

impl Override {
    /// All that can be said.
    pub const ALL: [Override; 10] = [
        Override::Numeric,
        Override::NumericPoint,
        Override::NumericComma,
        Override::Boolean,
        Override::Categorical,
        Override::Date,
        Override::DateDayFirst,
        Override::DateMonthFirst,
        Override::Text,
        Override::Ignore,
    ];

    /// The kind, unless the column is to be ignored.
    pub fn kind(self) -> Option<Kind> {
        match self {
            Override::Numeric | Override::NumericPoint | Override::NumericComma => Some(Kind::Numeric),
            Override::Boolean => Some(Kind::Boolean),
            Override::Categorical => Some(Kind::Categorical),
            Override::Date | Override::DateDayFirst | Override::DateMonthFirst => Some(Kind::Date),
            Override::Text => Some(Kind::Text),
            Override::Ignore => None,
        }
    }

    /// How the cells are written, if that is said too.
    pub fn style(self) -> Option<Style> {
        match self {
            Override::NumericPoint => Some(Style::PLAIN),
            Override::NumericComma => Some(Style { decimal: Decimal::Comma, ..Style::PLAIN }),
            Override::DateDayFirst => Some(Style { dates: DateOrder::DayFirst, ..Style::PLAIN }),
            Override::DateMonthFirst => Some(Style { dates: DateOrder::MonthFirst, ..Style::PLAIN }),
            _ => None,
        }
    }

    /// Its text.
    pub fn name(self) -> &'static str {
        match self {
            Override::Numeric => "numeric",
            Override::NumericPoint => "numeric:point",
            Override::NumericComma => "numeric:comma",
            Override::Boolean => "boolean",
            Override::Categorical => "categorical",
            Override::Date => "date",
            Override::DateDayFirst => "date:dmy",
            Override::DateMonthFirst => "date:mdy",
            Override::Text => "text",
            Override::Ignore => "ignore",
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
            Kind::Text => Override::Text,
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
            Kind::Text => "text",
        })
    }
}

impl FromStr for Override {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let name = match text {
            "number" => "numeric",
            "bool" => "boolean",
            "category" => "categorical",
            "id" => "ignore",
            name => name,
        };
        Override::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names = Override::ALL.map(Override::name);
            let suggestion = suggest(&closest(text, &names));
            Error::option(format!("'{text}' is not a kind of column{suggestion}; use {}", names.join(", ")))
        })
    }
}

impl TryFrom<String> for Override {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Override> for String {
    fn from(said: Override) -> Self {
        said.name().to_string()
    }
}
