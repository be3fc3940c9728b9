//! What becomes of one column: the part of a pipeline that is stored.

use serde::{Deserialize, Serialize};

use super::text::TextPlan;
use crate::error::{Error, Result};
use crate::table::date::{DAY, Parts};
use crate::table::{Kind, Style};

/// What becomes of one column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnPlan {
    /// Its name.
    pub name: String,
    /// What its cells have to be.
    pub kind: Kind,
    /// How its cells are written, where they are text.
    #[serde(default, skip_serializing_if = "Style::is_plain")]
    pub style: Style,
    /// What is filled in for a missing cell; nothing if missing cells are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    /// Whether a feature flags the filled cells.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flag: bool,
    /// How its cells become numbers.
    pub encoder: Encoder,
}

/// What is filled in for a missing cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// A number, before standardisation: of a date, days since 1970.
    Number(f64),
    /// A name, by its place among the levels.
    Level(usize),
    /// A category of its own.
    OwnCategory,
}

/// How cells become numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Encoder {
    /// Not at all: the column is constant on the training rows.
    Dropped,
    /// A number or a boolean as itself.
    Number(Scale),
    /// A date as days since 1970-01-01.
    Days(Scale),
    /// A date as those of its parts that vary.
    Parts(Vec<(DatePart, Scale)>),
    /// A feature for each name.
    OneHot {
        /// The names, in order.
        levels: Vec<String>,
    },
    /// The place of the name; −1 for one never seen.
    Ordinal {
        /// The names, in order.
        levels: Vec<String>,
        /// Applied to the place.
        scale: Scale,
    },
    /// A feature for each term; a missing text has none of them.
    Text(Box<TextPlan>),
}

/// A number minus `mean`, over `deviation`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// What becomes zero.
    pub mean: f64,
    /// What becomes one, counted from there.
    pub deviation: f64,
}

/// A part of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatePart {
    /// Year.
    Year,
    /// Month, from one.
    Month,
    /// Day of the month, from one.
    Day,
    /// Day of the week, Monday is zero.
    Weekday,
    /// Hours since midnight, with a fraction.
    Hour,
}

impl DatePart {
    /// All parts.
    pub const ALL: [DatePart; 5] = [DatePart::Year, DatePart::Month, DatePart::Day, DatePart::Weekday, DatePart::Hour];

    /// This part of a time in microseconds since 1970.
    pub fn of(self, microseconds: i64) -> f64 {
        let parts = Parts::of(microseconds);
        match self {
            DatePart::Year => parts.year as f64,
            DatePart::Month => parts.month as f64,
            DatePart::Day => parts.day as f64,
            DatePart::Weekday => parts.weekday as f64,
            DatePart::Hour => parts.hour,
        }
    }

    fn name(self) -> &'static str {
        match self {
            DatePart::Year => "year",
            DatePart::Month => "month",
            DatePart::Day => "day",
            DatePart::Weekday => "weekday",
            DatePart::Hour => "hour",
        }
    }
}

/// Days since 1970 of a time in microseconds.
pub(super) fn days(microseconds: i64) -> f64 {
    microseconds as f64 / DAY as f64
}

/// The time in microseconds of a number of days since 1970.
pub(super) fn from_days(days: f64) -> i64 {
    (days * DAY as f64).round() as i64
}

impl Scale {
    /// Leaves numbers as they are.
    pub const NONE: Scale = Scale { mean: 0.0, deviation: 1.0 };

    /// The scaled number, computed in double precision and rounded once.
    pub fn apply(&self, value: f64) -> f32 {
        ((value - self.mean) / self.deviation) as f32
    }

    fn check(&self) -> bool {
        self.mean.is_finite() && self.deviation.is_finite() && self.deviation > 0.0
    }
}

impl ColumnPlan {
    /// Number of features that come of the column.
    pub fn width(&self) -> usize {
        let own = usize::from(self.fill == Some(Fill::OwnCategory));
        usize::from(self.flag)
            + match &self.encoder {
                Encoder::Dropped => 0,
                Encoder::Number(_) | Encoder::Days(_) | Encoder::Ordinal { .. } => 1,
                Encoder::Parts(parts) => parts.len(),
                Encoder::OneHot { levels } => levels.len() + own,
                Encoder::Text(text) => text.width(),
            }
    }

    /// The terms, for a column of text.
    pub(super) fn text(&self) -> Option<&TextPlan> {
        if let Encoder::Text(text) = &self.encoder { Some(text) } else { None }
    }

    /// Names of the features that come of the column, in order.
    pub fn feature_names(&self, names: &mut Vec<String>) {
        let column = &self.name;
        match &self.encoder {
            Encoder::Dropped => {}
            Encoder::Number(_) | Encoder::Days(_) | Encoder::Ordinal { .. } => names.push(column.clone()),
            Encoder::Parts(parts) => {
                names.extend(parts.iter().map(|(part, _)| format!("{column}.{}", part.name())));
            }
            Encoder::OneHot { levels } => {
                names.extend(levels.iter().map(|level| format!("{column}={level}")));
                if self.fill == Some(Fill::OwnCategory) {
                    names.push(format!("{column} is missing"));
                }
            }
            Encoder::Text(text) => names.extend(text.terms().map(|term| format!("{column}: {term}"))),
        }
        if self.flag {
            names.push(format!("{column} is missing"));
        }
    }

    /// What one unit of each feature that comes of the column is in the column's own units.
    pub fn feature_units(&self, units: &mut Vec<f64>) {
        let end = units.len() + self.width();
        match &self.encoder {
            Encoder::Dropped | Encoder::OneHot { .. } | Encoder::Text(_) => {}
            Encoder::Number(scale) | Encoder::Days(scale) | Encoder::Ordinal { scale, .. } => {
                units.push(scale.deviation)
            }
            Encoder::Parts(parts) => units.extend(parts.iter().map(|(_, scale)| scale.deviation)),
        }
        // Flags and names are zeros and ones; terms have a weight without a unit.
        units.resize(end, 1.0);
    }

    /// Refuses what no fit produces, since the plan may come from a file that someone edited.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::malformed("preprocessing", what).in_column(&*self.name));
        let (kind_fits, levels, scales_fit) = match &self.encoder {
            Encoder::Dropped => (true, None, true),
            Encoder::Number(scale) => (matches!(self.kind, Kind::Numeric | Kind::Boolean), None, scale.check()),
            Encoder::Days(scale) => (self.kind == Kind::Date, None, scale.check()),
            Encoder::Parts(parts) => (self.kind == Kind::Date, None, parts.iter().all(|(_, scale)| scale.check())),
            Encoder::OneHot { levels } => (self.kind == Kind::Categorical, Some(levels), true),
            Encoder::Ordinal { levels, scale } => (self.kind == Kind::Categorical, Some(levels), scale.check()),
            // What can be wrong with its terms was refused as they were read.
            Encoder::Text(_) => (self.kind == Kind::Text && self.fill.is_none(), None, true),
        };
        if !kind_fits {
            return wrong("the encoder does not fit the column's kind");
        }
        if !scales_fit {
            return wrong("a mean is not finite or a deviation not a positive number");
        }
        let fill_fits = match (&self.fill, levels) {
            (None, _) => !self.flag,
            (Some(Fill::Number(value)), None) => value.is_finite(),
            (Some(Fill::Level(level)), Some(levels)) => *level < levels.len(),
            (Some(Fill::OwnCategory), Some(_)) => !self.flag,
            // A dropped column is only asked whether a cell is missing.
            (Some(_), None) => matches!(self.encoder, Encoder::Dropped),
            (Some(Fill::Number(_)), Some(_)) => false,
        };
        if !fill_fits {
            return wrong("what fills missing cells does not fit the encoder");
        }
        if let Some(levels) = levels {
            let mut sorted: Vec<&String> = levels.iter().collect();
            sorted.sort_unstable();
            if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                return wrong("a level occurs twice");
            }
        }
        Ok(())
    }
}
