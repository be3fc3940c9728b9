//! Whether the comma or the point of a column's numbers is the decimal mark.
//!
//! `1,234` and `1.234` are numbers with either mark, and not the same: here they are called groups. Any other cell fits one
//! mark, or means the same with both.

use super::{BAD_CELLS, ENOUGH};
use crate::files::text::shorten;
use crate::table::number::Decimal;

/// Groups for each cell that decides against what they suggest, from which on that is worth a sentence.
const FEW_DECIDE: u64 = 20;

/// How many cells fit each mark.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    /// Cells that are numbers with one of the marks, with a point, and with a comma.
    numbers: u64,
    point: u64,
    comma: u64,
    /// Cells that are none.
    others: u64,
    /// Cells such as `1,234`, and such as `1.234`.
    commas: Groups,
    points: Groups,
    /// Cells of one to three digits alone, and of more.
    short: u64,
    long: u64,
    /// The mark of the table's other columns.
    pub lean: Option<Decimal>,
}

/// Cells that are two numbers.
#[derive(Debug, Clone, Default)]
struct Groups {
    cells: u64,
    /// Those with a currency.
    money: u64,
    /// The first, and what it is with a point and with a comma.
    such_as: Option<(String, f64, f64)>,
}

impl Marks {
    /// Counts a cell of so many digits and nothing else.
    pub fn add_digits(&mut self, digits: usize) {
        self.numbers += 1;
        self.point += 1;
        self.comma += 1;
        let counter = if digits <= 3 { &mut self.short } else { &mut self.long };
        *counter += 1;
    }

    /// Counts a cell that is no number.
    pub fn add_other(&mut self) {
        self.others += 1;
    }

    /// Counts a cell that is a number with one mark or both.
    pub fn add(&mut self, cell: &str, point: Option<f64>, comma: Option<f64>, is_money: bool) {
        self.numbers += 1;
        self.point += u64::from(point.is_some());
        self.comma += u64::from(comma.is_some());
        let (Some(point), Some(comma)) = (point, comma) else { return };
        // Every NaN is the same.
        if point == comma || point.is_nan() {
            return;
        }
        let groups = if cell.contains(',') { &mut self.commas } else { &mut self.points };
        groups.cells += 1;
        groups.money += u64::from(is_money);
        groups.such_as.get_or_insert_with(|| (shorten(cell), point, comma));
    }

    /// Cells that are numbers with the mark that is taken.
    pub fn good(&self) -> u64 {
        self.fitting(self.decimal())
    }

    /// The mark that the groups suggest, unless more than a few slips speak against it; else the one that fits more cells,
    /// a point if both fit the same.
    fn own_decimal(&self) -> Decimal {
        let most = if self.comma > self.point { Decimal::Comma } else { Decimal::Point };
        self.suggested().filter(|&mark| self.are_slips(self.numbers - self.fitting(mark))).unwrap_or(most)
    }

    /// The mark that is taken: that of the other columns where there are groups and every cell fits both marks.
    pub fn decimal(&self) -> Decimal {
        let is_open = self.groups().cells > 0 && self.point == self.numbers && self.comma == self.numbers;
        self.lean.filter(|_| is_open).unwrap_or_else(|| self.own_decimal())
    }

    /// The mark that is taken, if some cells are numbers with it alone and none with the other alone.
    pub fn certain(&self) -> Option<Decimal> {
        let mark = match (self.numbers - self.comma, self.numbers - self.point) {
            (0, 1..) => Decimal::Comma,
            (1.., 0) => Decimal::Point,
            _ => return None,
        };
        (mark == self.decimal()).then_some(mark)
    }

    fn fitting(&self, mark: Decimal) -> u64 {
        if mark == Decimal::Comma { self.comma } else { self.point }
    }

    /// The groups that there are more of.
    fn groups(&self) -> &Groups {
        if self.points.cells > self.commas.cells { &self.points } else { &self.commas }
    }

    /// The mark with which the groups are thousands. Behind a point programs write three digits too, but seldom of money.
    fn suggested(&self) -> Option<Decimal> {
        let Groups { cells, money, .. } = *self.groups();
        if self.points.cells > self.commas.cells {
            (money * 2 >= cells).then_some(Decimal::Comma)
        } else {
            (cells > 0).then_some(Decimal::Point)
        }
    }

    /// Whether so many cells against the mark that the groups suggest are none, or few enough to be slips: measured by the
    /// groups, since whole numbers say nothing of marks, and such that the column stays one of numbers.
    fn are_slips(&self, against: u64) -> bool {
        let groups = self.groups().cells;
        let of_all = (self.numbers + self.others) / BAD_CELLS;
        let few = against <= (groups / BAD_CELLS).max(1) && against + self.others <= of_all.max(1);
        against == 0 || groups >= ENOUGH && few
    }

    /// A sentence where the mark was close.
    pub fn doubt(&self, name: &str) -> Option<String> {
        let (decimal, groups) = (self.decimal(), self.groups());
        let (cell, point, comma) = groups.such_as.as_ref()?;
        let other = if decimal == Decimal::Point { Decimal::Comma } else { Decimal::Point };
        let (pro, against) = (self.numbers - self.fitting(other), self.numbers - self.fitting(decimal));
        let is_close = match self.suggested() {
            // Decided by the other columns.
            _ if decimal != self.own_decimal() => true,
            Some(suggested) if suggested == decimal => pro <= against,
            // Where every cell has the point it only scales the column; beside `950` it makes `1.234` the lesser number.
            None if decimal == Decimal::Point => pro <= against && self.short > 0 && self.long == 0,
            _ => pro * FEW_DECIDE <= groups.cells,
        };
        let mark = if cell.contains(',') { "comma" } else { "point" };
        let (value, instead, said) = match (decimal, mark) {
            (Decimal::Point, "comma") => (point, "is a decimal comma", "comma"),
            (Decimal::Comma, "point") => (comma, "is a decimal point", "point"),
            (Decimal::Point, _) => (point, "separates thousands", "comma"),
            (Decimal::Comma, _) => (comma, "separates thousands", "point"),
        };
        let cells = if groups.cells == 1 { "cell" } else { "cells" };
        is_close.then(|| {
            format!(
                "{} {cells} can be read in two ways: '{cell}' is taken as {value}; if the {mark} {instead}, state it with \
                 --type '{name}=numeric:{said}'",
                groups.cells
            )
        })
    }
}
