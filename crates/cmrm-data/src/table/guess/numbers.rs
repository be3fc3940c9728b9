//! Whether cells are numbers, and with which decimal mark.

use std::collections::BTreeSet;

use super::marks::Marks;
use crate::files::text::shorten;
use crate::table::date::is_compact;
use crate::table::number::{Decimal, Unit, is_held, parse, unit};

/// Most currencies of a column that are told apart.
const CURRENCIES: usize = 4;
/// Fewest digits of codes that are padded with zeros: `01` to `12` may well be months.
const CODE_DIGITS: usize = 3;

/// How many cells can be read as numbers, and what they look like.
#[derive(Debug, Clone, Default)]
pub(super) struct NumberVotes {
    marks: Marks,
    /// Cells of digits alone; of those with a zero before other digits; of those that are days.
    digits: u64,
    padded: u64,
    compact: u64,
    /// Whole numbers with a sign before them.
    signed: u64,
    /// Whole numbers that no double holds.
    unheld: u64,
    /// The least and the greatest number of digits.
    widths: Option<(usize, usize)>,
    percent: u64,
    currencies: BTreeSet<String>,
    /// The first cell that is no number.
    other: Option<String>,
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl NumberVotes {
    /// Counts a cell; whether it is a number.
    pub fn add(&mut self, cell: &str) -> bool {
        if is_digits(cell) {
            self.add_digits(cell);
            return true;
        }
        if cell.strip_prefix(['-', '+']).is_some_and(is_digits) {
            self.signed += 1;
            self.add_whole(cell);
        }
        let (point, comma) = match cell.parse::<f64>() {
            // What programs write is seldom a thousand and something: only three digits behind a point can be.
            Ok(value) => match cell.rsplit_once('.') {
                Some((_, behind)) if behind.len() != 3 => (Some(value), None),
                _ => (Some(value), parse(cell, Decimal::Comma)),
            },
            Err(_) => (parse(cell, Decimal::Point), parse(cell, Decimal::Comma)),
        };
        if point.is_none() && comma.is_none() {
            self.marks.add_other();
            self.other.get_or_insert_with(|| shorten(cell));
            return false;
        }
        let unit = unit(cell);
        self.marks.add(cell, point, comma, matches!(unit, Unit::Currency(_)));
        match unit {
            Unit::None => {}
            Unit::Percent => self.percent += 1,
            Unit::Currency(name) => {
                if self.currencies.len() < CURRENCIES && !self.currencies.contains(name) {
                    self.currencies.insert(name.to_string());
                }
            }
        }
        true
    }

    fn add_digits(&mut self, cell: &str) {
        self.marks.add_digits(cell.len());
        self.digits += 1;
        self.padded += u64::from(cell.len() > 1 && cell.starts_with('0'));
        self.compact += u64::from(is_compact(cell));
        self.add_whole(cell);
        let (least, most) = self.widths.unwrap_or((cell.len(), cell.len()));
        self.widths = Some((least.min(cell.len()), most.max(cell.len())));
    }

    fn add_whole(&mut self, cell: &str) {
        self.unheld += u64::from(!cell.parse().is_ok_and(is_held));
    }

    /// Cells that are numbers with the mark that is taken.
    pub fn good(&self) -> u64 {
        self.marks.good()
    }

    /// The first cell that is no number.
    pub fn other(&self) -> Option<&str> {
        self.other.as_deref()
    }

    /// Whether every number is written in digits alone.
    pub fn are_counts(&self) -> bool {
        self.digits > 0 && self.digits == self.good()
    }

    /// Whether they are digits with zeros before them: all of one width, or most of them so.
    pub fn are_padded(&self) -> bool {
        let (least, most) = self.widths.unwrap_or_default();
        let long = most >= CODE_DIGITS && self.padded > 0;
        self.are_counts() && long && (least == most || self.padded * 2 >= self.digits)
    }

    /// Whether they are whole and no double holds some of them: they tell things apart, and do not count.
    pub fn are_unheld(&self) -> bool {
        self.unheld > 0 && self.digits + self.signed == self.good()
    }

    /// Whether each is the eight digits of a day.
    pub fn are_compact_dates(&self) -> bool {
        self.are_counts() && self.compact == self.digits
    }

    /// The decimal mark, if some cells have only one reading and no others contradict them.
    pub fn certain(&self) -> Option<Decimal> {
        self.marks.certain()
    }

    /// Takes the decimal mark of the other columns where every cell allows both.
    pub fn lean(&mut self, mark: Decimal) {
        self.marks.lean = Some(mark);
    }

    /// The decimal mark. The sentence says what was close.
    pub fn decide(&self, name: &str) -> (Decimal, Option<String>) {
        let units = || {
            if self.percent > 0 && self.percent < self.good() {
                let (with, all) = (self.percent, self.good());
                return Some(format!(
                    "{with} of {all} numbers have a percent sign: it is taken off, and 12 % counts as 12"
                ));
            }
            let all: Vec<&str> = self.currencies.iter().map(String::as_str).collect();
            (all.len() > 1).then(|| {
                format!("its numbers are in several currencies ({}): they are taken as they stand", all.join(", "))
            })
        };
        (self.marks.decimal(), self.marks.doubt(name).or_else(units))
    }
}
