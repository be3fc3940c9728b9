//! What is learned from the training rows of one column.

use std::collections::HashMap;

use super::Note;
use super::fit::Used;
use super::identifier;
use super::moments::Moments;
use super::options::{CategoryEncoding, DateEncoding, MissingCategory, MissingCells, PreprocessOptions};
use super::plan::{ColumnPlan, DatePart, Encoder, Fill, Scale, days};
use super::text::TermCounter;
use crate::error::{Error, Problem, Result};
use crate::table::{Column, Kind, Style, Values, date};

/// Running statistics of one column.
pub(super) struct ColumnFit {
    name: String,
    kind: Kind,
    style: Style,
    /// Whether the user has said what the column is: it is used then, whatever it looks like.
    stated: bool,
    missing: u64,
    /// The first row whose cell is missing where that is refused.
    refused: Option<u64>,
    /// Whether some cell, of these rows or others, counts as missing though something is written there.
    unreadable: bool,
    /// Of numbers, booleans as zero and one, dates as days.
    moments: Moments,
    parts: [Moments; 5],
    /// Kept only where a median may be needed.
    values: Option<Vec<f32>>,
    levels: HashMap<String, u64>,
    terms: TermCounter,
    numbers: identifier::Numbers,
}

impl ColumnFit {
    pub fn new(column: &Used, options: &PreprocessOptions) -> Self {
        let kind = column.kind;
        let median = options.missing == MissingCells::Impute && matches!(kind, Kind::Numeric | Kind::Date);
        ColumnFit {
            name: column.name.clone(),
            kind,
            style: column.style,
            stated: column.stated,
            missing: 0,
            refused: None,
            unreadable: false,
            moments: Moments::EMPTY,
            parts: [Moments::EMPTY; 5],
            values: median.then(Vec::new),
            levels: HashMap::new(),
            terms: TermCounter::new(&options.text),
            numbers: identifier::Numbers::new(&column.name),
        }
    }

    /// Learns from the training rows of a chunk. The column has the fit's kind.
    pub fn update(
        &mut self,
        column: &Column,
        rows: impl Iterator<Item = usize>,
        first_row: u64,
        options: &PreprocessOptions,
    ) -> Result<()> {
        // What fills such cells in has to be there though none of these rows has one.
        self.unreadable |= !column.missing.unreadable().is_empty();
        // Names are counted by code and looked up once a chunk.
        let mut counts = match &column.values {
            Values::Categorical { levels, .. } => vec![0u64; levels.len()],
            _ => Vec::new(),
        };
        for row in rows {
            if let Values::Text(texts) = &column.values {
                // A note that was not written is an empty one.
                self.terms.add(if column.missing.at(row) { "" } else { &texts[row] });
                continue;
            }
            if column.missing.at(row) {
                if options.missing == MissingCells::Refuse && column.missing.is_unreadable(row) {
                    continue;
                }
                self.add_missing(first_row + row as u64, options);
                continue;
            }
            match &column.values {
                Values::Numeric(values) => self.add_number(values[row], first_row + row as u64, options)?,
                Values::Boolean(values) => self.moments.add(f64::from(u8::from(values[row]))),
                Values::Categorical { codes, .. } => counts[codes[row] as usize] += 1,
                Values::Date(values) => self.add_date(values[row]),
                Values::Text(_) => {}
            }
        }
        if let Values::Categorical { levels, .. } = &column.values {
            for (level, count) in levels.iter().zip(counts).filter(|&(_, count)| count > 0) {
                *self.levels.entry(level.clone()).or_default() += count;
            }
        }
        Ok(())
    }

    fn add_missing(&mut self, row: u64, options: &PreprocessOptions) {
        if options.missing == MissingCells::Refuse {
            self.refused.get_or_insert(row);
        }
        self.missing += 1;
    }

    /// The error for the first missing cell, if nothing is to fill it in.
    pub fn refused(&self) -> Option<Error> {
        self.refused.map(|row| missing_cell(row, &self.name))
    }

    /// Whether there is no cell at all: such a column is left out.
    pub fn is_empty(&self) -> bool {
        self.moments.count == 0 && self.levels.is_empty()
    }

    /// Takes statistics that were gathered elsewhere, from cells none of which is missing.
    pub fn set_moments(&mut self, moments: Moments) {
        self.moments = moments;
    }

    /// Takes the column for no ID: those of an array seldom are.
    pub fn is_no_id(&mut self) {
        self.numbers = identifier::Numbers::unknown();
    }

    /// Adds a number, rounded to single precision: every format then yields the same statistics.
    pub fn add_number(&mut self, value: f64, row: u64, options: &PreprocessOptions) -> Result<()> {
        let rounded = value as f32;
        if value.is_nan() && options.nan_is_missing {
            self.add_missing(row, options);
            return Ok(());
        }
        if !rounded.is_finite() {
            return Err(non_finite(value, row, &self.name));
        }
        self.moments.add(f64::from(rounded));
        if let Some(values) = &mut self.values {
            values.push(rounded);
        }
        self.numbers.add(value, row);
        Ok(())
    }

    fn add_date(&mut self, microseconds: i64) {
        self.moments.add(days(microseconds));
        for (moments, part) in self.parts.iter_mut().zip(DatePart::ALL) {
            moments.add(part.of(microseconds));
        }
        if let Some(values) = &mut self.values {
            values.push(days(microseconds) as f32);
        }
    }

    /// Settles what becomes of the column.
    pub fn finish(mut self, options: &PreprocessOptions, notes: &mut Vec<Note>) -> ColumnPlan {
        if self.kind == Kind::Categorical {
            return self.finish_names(options, notes);
        }
        if self.kind == Kind::Text {
            return self.finish_text(options, notes);
        }
        let impute = options.missing == MissingCells::Impute;
        let fill = (impute || self.unreadable).then(|| Fill::Number(self.typical()));
        let flag = self.missing > 0 && self.moments.count > 0;
        let scale = |moments: &Moments| scale_of(moments, options);
        let counter = self.numbers.why().filter(|_| self.kind == Kind::Numeric && self.missing == 0 && !self.stated);
        let encoder = if self.moments.constant() {
            notes.push(Note::Constant { column: self.name.clone(), value: self.constant_text() });
            Encoder::Dropped
        } else if let Some(why) = counter {
            notes.push(Note::Identifier { column: self.name.clone(), why });
            Encoder::Dropped
        } else if self.kind != Kind::Date {
            let plain = self.kind == Kind::Boolean;
            Encoder::Number(if plain { Scale::NONE } else { scale(&self.moments) })
        } else if options.dates == DateEncoding::Days {
            Encoder::Days(scale(&self.moments))
        } else {
            let varying = self.parts.iter().zip(DatePart::ALL).filter(|(moments, _)| !moments.constant());
            Encoder::Parts(varying.map(|(moments, part)| (part, scale(moments))).collect())
        };
        if let (Some(Fill::Number(value)), true) = (&fill, self.missing > 0 && flag) {
            let with = match self.kind {
                Kind::Boolean => format!("the most frequent value, {}", *value != 0.0),
                Kind::Date => format!("the median, {}", date::format(super::plan::from_days(*value))),
                _ => format!("the median, {value}"),
            };
            notes.push(Note::Imputed { column: self.name.clone(), cells: self.missing, with });
        }
        ColumnPlan { name: self.name, kind: self.kind, style: self.style, fill, flag, encoder }
    }

    /// The median, or the mean where only unreadable cells are filled in; for booleans the most frequent value.
    fn typical(&mut self) -> f64 {
        if self.kind == Kind::Boolean {
            return f64::from(u8::from(self.moments.mean > 0.5));
        }
        let mean = if self.moments.count > 0 { self.moments.mean } else { 0.0 };
        self.values.as_mut().and_then(|values| median(values)).unwrap_or(mean)
    }

    fn constant_text(&self) -> Option<String> {
        (self.moments.count > 0).then(|| match self.kind {
            Kind::Boolean => (self.moments.min != 0.0).to_string(),
            Kind::Date => date::format(super::plan::from_days(self.moments.min)),
            _ => self.moments.min.to_string(),
        })
    }

    fn finish_text(self, options: &PreprocessOptions, notes: &mut Vec<Note>) -> ColumnPlan {
        let encoder = match self.terms.finish(&options.text) {
            Some(plan) => Encoder::Text(Box::new(plan)),
            None => {
                notes.push(Note::NoTerms { column: self.name.clone() });
                Encoder::Dropped
            }
        };
        ColumnPlan { name: self.name, kind: self.kind, style: self.style, fill: None, flag: false, encoder }
    }

    fn finish_names(self, options: &PreprocessOptions, notes: &mut Vec<Note>) -> ColumnPlan {
        if let Some(why) = identifier::names(&self.name, &self.levels).filter(|_| !self.stated) {
            notes.push(Note::Identifier { column: self.name.clone(), why });
            return self.dropped();
        }
        let found = self.levels.len();
        let mut counted: Vec<(String, u64)> = self.levels.into_iter().collect();
        counted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        if found > options.max_levels {
            counted.truncate(options.max_levels);
            notes.push(Note::RareCategories { column: self.name.clone(), found, kept: counted.len() });
        }
        let most_frequent = counted.first().map(|(level, _)| level.clone());
        sort_levels(&mut counted);
        let own = options.missing_category == MissingCategory::OwnCategory || counted.is_empty();
        let fill = (options.missing == MissingCells::Impute).then(|| match &most_frequent {
            Some(name) if !own => Fill::Level(counted.iter().position(|(level, _)| level == name).unwrap_or(0)),
            _ => Fill::OwnCategory,
        });
        // Without a missing cell to learn from, a category or flag for missing would be a constant.
        let (fill, flag) = match fill {
            Some(Fill::OwnCategory) if self.missing == 0 => match counted.is_empty() {
                true => (None, false),
                false => (most_frequent_level(&counted), false),
            },
            Some(Fill::Level(level)) => (Some(Fill::Level(level)), self.missing > 0),
            other => (other, false),
        };
        let categories = counted.len() + usize::from(fill == Some(Fill::OwnCategory));
        if categories < 2 && !flag {
            let value = counted.first().map(|(level, _)| format!("'{level}'"));
            notes.push(Note::Constant { column: self.name.clone(), value });
            return ColumnPlan {
                name: self.name,
                kind: self.kind,
                style: self.style,
                fill: None,
                flag: false,
                encoder: Encoder::Dropped,
            };
        }
        if self.missing > 0 {
            let with = match &fill {
                Some(Fill::Level(level)) => format!("the most frequent category, '{}'", counted[*level].0),
                _ => "a separate category".to_string(),
            };
            notes.push(Note::Imputed { column: self.name.clone(), cells: self.missing, with });
        }
        let encoder = match options.categories {
            CategoryEncoding::OneHot => {
                Encoder::OneHot { levels: counted.into_iter().map(|(level, _)| level).collect() }
            }
            CategoryEncoding::Ordinal => {
                let mut moments = Moments::EMPTY;
                for (place, (_, count)) in counted.iter().enumerate() {
                    for _ in 0..*count {
                        moments.add(place as f64);
                    }
                }
                let scale = if moments.constant() { Scale::NONE } else { scale_of(&moments, options) };
                Encoder::Ordinal { levels: counted.into_iter().map(|(level, _)| level).collect(), scale }
            }
        };
        ColumnPlan { name: self.name, kind: self.kind, style: self.style, fill, flag, encoder }
    }

    fn dropped(self) -> ColumnPlan {
        let ColumnFit { name, kind, style, .. } = self;
        ColumnPlan { name, kind, style, fill: None, flag: false, encoder: Encoder::Dropped }
    }
}

/// Fills cells that are missing later though none was missing in training, without a category of their own.
fn most_frequent_level(counted: &[(String, u64)]) -> Option<Fill> {
    let most = counted.iter().map(|(_, count)| *count).max()?;
    counted.iter().position(|(_, count)| *count == most).map(Fill::Level)
}

/// Numbers in their own order, anything else in that of its code points.
fn sort_levels(counted: &mut [(String, u64)]) {
    let number = |level: &str| level.parse::<f64>().ok().filter(|value| !value.is_nan());
    if counted.iter().all(|(level, _)| number(level).is_some()) {
        counted.sort_by(|a, b| number(&a.0).partial_cmp(&number(&b.0)).unwrap_or(a.0.cmp(&b.0)).then(a.0.cmp(&b.0)));
    } else {
        counted.sort();
    }
}

fn scale_of(moments: &Moments, options: &PreprocessOptions) -> Scale {
    let deviation = moments.deviation();
    if options.standardise && deviation > 0.0 && deviation.is_finite() {
        Scale { mean: moments.mean, deviation }
    } else {
        Scale::NONE
    }
}

/// The middle value, or the mean of the two middle ones. Values are finite.
fn median(values: &mut [f32]) -> Option<f64> {
    let half = values.len().checked_sub(1)? / 2;
    let even = values.len().is_multiple_of(2);
    let (_, &mut lower, above) = values.select_nth_unstable_by(half, f32::total_cmp);
    let upper = if even { above.iter().copied().min_by(f32::total_cmp)? } else { lower };
    Some((f64::from(lower) + f64::from(upper)) / 2.0)
}

pub(super) fn missing_cell(row: u64, column: &str) -> Error {
    Error::new(Problem::MissingCell)
        .at_row(row)
        .in_column(column)
        .way_out("fill it in, ignore the column, or have missing cells imputed (--impute, or missing = \"impute\" in the settings)")
}

pub(super) fn non_finite(value: f64, row: u64, column: &str) -> Error {
    Error::new(Problem::NonFinite { value: value.to_string() }).at_row(row).in_column(column).way_out(
        if value.is_nan() {
            "correct it, ignore the column, or have it imputed (--impute, or nan-is-missing in the settings)"
        } else {
            "correct it or ignore the column"
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0]), Some(3.0));
        assert_eq!(median(&mut [3.0, 1.0]), Some(2.0));
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&mut [f32::MAX, f32::MAX]), Some(f64::from(f32::MAX)));
    }
}
