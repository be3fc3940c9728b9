//! Whether cells are dates, and whether the day or the month comes first.

use super::state_order;
use crate::files::text::shorten;
use crate::table::date::{DateOrder, parse, parse_in};

/// How many cells can be read as dates in each order.
#[derive(Debug, Clone, Default)]
pub(super) struct DateVotes {
    day_first: u64,
    month_first: u64,
    /// Cells that are dates in one order or the other.
    dates: u64,
    /// Cells that only one of the orders can read, the first of each.
    only_day_first: Option<String>,
    only_month_first: Option<String>,
    /// Cells that mean two days, but for those with points: how many, and the first.
    either: u64,
    either_such_as: Option<String>,
    /// Cells with points that mean two days, or have a year of two digits.
    pointed: u64,
    /// The first cell that is no date.
    other: Option<String>,
}

impl DateVotes {
    /// Counts a cell.
    pub fn add(&mut self, cell: &str) {
        let (day_first, month_first) = (parse_in(cell, DateOrder::DayFirst), parse_in(cell, DateOrder::MonthFirst));
        self.day_first += u64::from(day_first.is_some());
        self.month_first += u64::from(month_first.is_some());
        self.dates += u64::from(day_first.or(month_first).is_some());
        match (day_first, month_first) {
            (None, None) => _ = self.other.get_or_insert_with(|| shorten(cell)),
            (Some(_), None) => _ = self.only_day_first.get_or_insert_with(|| shorten(cell)),
            (None, Some(_)) => _ = self.only_month_first.get_or_insert_with(|| shorten(cell)),
            (Some(one), Some(other)) if one != other && cell.contains('.') => self.pointed += 1,
            (Some(one), Some(other)) if one != other => {
                self.either += 1;
                self.either_such_as.get_or_insert_with(|| shorten(cell));
            }
            // `05/05/24` is the same day in both orders, but is read in neither as long as none is known.
            (Some(_), Some(_)) if parse(cell).is_none() => self.pointed += 1,
            _ => {}
        }
    }

    /// Cells that are dates in the better order.
    pub fn good(&self) -> u64 {
        self.day_first.max(self.month_first)
    }

    /// Cells that are dates in one order or the other.
    pub fn either_order(&self) -> u64 {
        self.dates
    }

    /// The first cell that is no date.
    pub fn other(&self) -> Option<&str> {
        self.other.as_deref()
    }

    /// The order that fits more cells; the day first if both fit the same. The sentence says what was close.
    pub fn decide(&self, name: &str) -> (DateOrder, Option<String>) {
        let order = match self.day_first.cmp(&self.month_first) {
            std::cmp::Ordering::Greater => return (DateOrder::DayFirst, None),
            std::cmp::Ordering::Less => return (DateOrder::MonthFirst, None),
            std::cmp::Ordering::Equal if self.either + self.pointed > 0 => DateOrder::DayFirst,
            std::cmp::Ordering::Equal => DateOrder::Unknown,
        };
        let doubt = self.either_such_as.as_ref().map(|cell| {
            format!(
                "no cell tells whether the day or the month comes first, as in '{cell}': the day is taken; if it is the \
                 month, state it with {}",
                state_order(name, DateOrder::MonthFirst)
            )
        });
        (order, doubt)
    }

    /// Why cells that look like dates are none together.
    pub fn contradiction(&self, name: &str) -> Option<String> {
        let (day, month) = (self.only_day_first.as_ref()?, self.only_month_first.as_ref()?);
        Some(format!(
            "some dates have the day first ('{day}'), others the month ('{month}'): treated as names; write them all in one \
             way, or leave the column out with --ignore '{name}'"
        ))
    }
}
