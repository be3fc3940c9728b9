//! Cells of new data that are written otherwise than those of the training data.

use super::plan::ColumnPlan;
use crate::error::{Error, Result};
use crate::table::date::DateOrder;
use crate::table::number::Decimal;
use crate::table::{Column, Kind, Style};

/// Fewest unreadable cells of a column that are no slips any more, if they are also more than one in so many.
const HANDFUL: usize = 5;
const ONE_IN: usize = 10;

/// Refuses a column many of whose cells cannot be read as in training. Filled in, they would leave the model without the column;
/// and those that can be read may mean something else, as dates do that have day and month exchanged.
pub(super) fn refuse_misread(plan: &ColumnPlan, column: &Column, first_row: u64) -> Result<()> {
    let bad = column.missing.unreadable();
    let written = column.len() - column.missing.count() + bad.len();
    let Some(first) = bad.first().filter(|_| bad.len() >= HANDFUL && bad.len() * ONE_IN > written) else {
        return Ok(());
    };
    let (count, text, takes) = (bad.len(), &first.text, way_of_writing(plan.kind, plan.style));
    let what =
        format!("{count} of {written} cells cannot be read as in training, here '{text}': the model takes {takes}");
    Err(Error::option(what)
        .at_row(first_row + first.row as u64)
        .in_column(&*plan.name)
        .way_out("write the cells as in the training data, or fit again on data that is written like this"))
}

/// How the cells of a column are read, with an example.
fn way_of_writing(kind: Kind, style: Style) -> &'static str {
    match (kind, style.decimal, style.dates) {
        (Kind::Numeric, Decimal::Point, _) => "numbers with a decimal point, such as 1234.5",
        (Kind::Numeric, Decimal::Comma, _) => "numbers with a decimal comma, such as 1234,5",
        (Kind::Date, _, DateOrder::DayFirst) => "dates with the day first, such as 31/12/2024",
        (Kind::Date, _, DateOrder::MonthFirst) => "dates with the month first, such as 12/31/2024",
        (Kind::Date, _, DateOrder::Unknown) => "dates such as 2024-12-31",
        (Kind::Boolean, ..) => "booleans such as yes and no",
        // Any text is one of these.
        (Kind::Categorical | Kind::Text, ..) => "any text",
    }
}
