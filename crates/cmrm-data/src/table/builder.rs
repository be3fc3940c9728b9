//! A column that grows cell by cell.

use std::collections::HashMap;

use super::{Column, Kind, Missing, Values, date};

/// Collects cells of one kind.
#[derive(Debug)]
pub struct ColumnBuilder {
    values: Values,
    missing: Missing,
    codes: HashMap<String, u32>,
    length: usize,
}

impl ColumnBuilder {
    /// An empty column of that kind.
    pub fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Numeric => Values::Numeric(Vec::new()),
            Kind::Boolean => Values::Boolean(Vec::new()),
            Kind::Categorical => Values::Categorical { codes: Vec::new(), levels: Vec::new() },
            Kind::Date => Values::Date(Vec::new()),
        };
        ColumnBuilder { values, missing: Missing::default(), codes: HashMap::new(), length: 0 }
    }

    /// The kind of the cells.
    pub fn kind(&self) -> Kind {
        self.values.kind()
    }

    /// Adds a cell given as text; false, and nothing added, if the text is not of the column's kind.
    #[must_use]
    pub fn push_text(&mut self, text: &str) -> bool {
        match &mut self.values {
            Values::Numeric(values) => match parse_number(text) {
                Some(value) => values.push(value),
                None => return false,
            },
            Values::Boolean(values) => match parse_boolean(text) {
                Some(value) => values.push(value),
                None => return false,
            },
            Values::Date(values) => match date::parse(text) {
                Some(value) => values.push(value),
                None => return false,
            },
            Values::Categorical { .. } => {
                self.push_name(text);
                return true;
            }
        }
        self.length += 1;
        true
    }

    /// Adds a number; in a column of another kind, a missing cell.
    pub fn push_number(&mut self, value: f64) {
        match &mut self.values {
            Values::Numeric(values) => values.push(value),
            _ => return self.push_missing(),
        }
        self.length += 1;
    }

    /// Adds true or false; in a column of another kind, a missing cell.
    pub fn push_boolean(&mut self, value: bool) {
        match &mut self.values {
            Values::Boolean(values) => values.push(value),
            _ => return self.push_missing(),
        }
        self.length += 1;
    }

    /// Adds a date in microseconds since 1970; in a column of another kind, a missing cell.
    pub fn push_date(&mut self, microseconds: i64) {
        match &mut self.values {
            Values::Date(values) => values.push(microseconds),
            _ => return self.push_missing(),
        }
        self.length += 1;
    }

    /// Adds a name; in a column of another kind, a missing cell.
    pub fn push_name(&mut self, name: &str) {
        let Values::Categorical { codes, levels } = &mut self.values else { return self.push_missing() };
        let code = match self.codes.get(name) {
            Some(&code) => code,
            None => {
                let code = levels.len() as u32;
                levels.push(name.to_string());
                self.codes.insert(name.to_string(), code);
                code
            }
        };
        codes.push(code);
        self.length += 1;
    }

    /// The code of the name added last, for [`ColumnBuilder::push_again`].
    pub fn last_code(&self) -> Option<u32> {
        if let Values::Categorical { codes, .. } = &self.values { codes.last().copied() } else { None }
    }

    /// Adds a name again that has this code.
    pub fn push_again(&mut self, code: u32) {
        if let Values::Categorical { codes, .. } = &mut self.values {
            codes.push(code);
            self.length += 1;
        }
    }

    /// Adds a missing cell.
    pub fn push_missing(&mut self) {
        self.missing.mark(self.length);
        match &mut self.values {
            Values::Numeric(values) => values.push(f64::NAN),
            Values::Boolean(values) => values.push(false),
            Values::Date(values) => values.push(0),
            Values::Categorical { codes, .. } => codes.push(0),
        }
        self.length += 1;
    }

    /// The column.
    pub fn finish(self, name: impl Into<String>) -> Column {
        Column { name: name.into(), values: self.values, missing: self.missing }
    }
}

/// A number as people and programs write it, NaN and infinities included: those are refused later, with their place.
pub fn parse_number(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// `true`, `false`, `yes` or `no` in any case. Zero and one are numbers.
pub fn parse_boolean(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("yes") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") || text.eq_ignore_ascii_case("no") {
        Some(false)
    } else {
        None
    }
}
