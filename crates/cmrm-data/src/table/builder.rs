//! A column that grows cell by cell.

use std::collections::HashMap;

use super::{Column, Kind, Missing, Style, Values, date, number, parse_boolean};

/// Collects cells of one kind.
#[derive(Debug)]
pub struct ColumnBuilder {
    values: Values,
    missing: Missing,
    codes: HashMap<String, u32>,
    length: usize,
    style: Style,
    doubt: Option<String>,
}

impl ColumnBuilder {
    /// An empty column of that kind.
    pub fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Numeric => Values::Numeric(Vec::new()),
            Kind::Boolean => Values::Boolean(Vec::new()),
            Kind::Categorical => Values::Categorical { codes: Vec::new(), levels: Vec::new() },
            Kind::Date => Values::Date(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        };
        let (style, doubt) = (Style::PLAIN, None);
        ColumnBuilder { values, missing: Missing::default(), codes: HashMap::new(), length: 0, style, doubt }
    }

    /// Says how the cells are written, and in what sentence that was close.
    pub fn written(mut self, style: Style, doubt: Option<String>) -> Self {
        (self.style, self.doubt) = (style, doubt);
        self
    }

    /// The kind of the cells.
    pub fn kind(&self) -> Kind {
        self.values.kind()
    }

    /// Adds a cell given as text; false, and nothing added, if the text is not of the column's kind.
    #[must_use]
    pub fn push_text(&mut self, text: &str) -> bool {
        match &mut self.values {
            Values::Numeric(values) => match number::parse(text, self.style.decimal) {
                Some(value) => values.push(value),
                None => return false,
            },
            Values::Boolean(values) => match parse_boolean(text) {
                Some(value) => values.push(value),
                None => return false,
            },
            Values::Date(values) => match date::parse_in(text, self.style.dates) {
                Some(value) => values.push(value),
                None => return false,
            },
            Values::Text(values) => values.push(text.to_string()),
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

    /// Adds a cell that counts as missing since its text is not of the column's kind.
    pub fn push_unreadable(&mut self, text: &str) {
        self.missing.mark_unreadable(self.length, text);
        self.push_filler();
    }

    /// Adds a missing cell.
    pub fn push_missing(&mut self) {
        self.missing.mark(self.length);
        self.push_filler();
    }

    /// Adds a value that means nothing.
    fn push_filler(&mut self) {
        match &mut self.values {
            Values::Numeric(values) => values.push(f64::NAN),
            Values::Boolean(values) => values.push(false),
            Values::Date(values) => values.push(0),
            Values::Categorical { codes, .. } => codes.push(0),
            Values::Text(values) => values.push(String::new()),
        }
        self.length += 1;
    }

    /// The column.
    pub fn finish(self, name: impl Into<String>) -> Column {
        let ColumnBuilder { values, missing, style, doubt, .. } = self;
        Column { name: name.into(), values, missing, style, doubt }
    }
}
