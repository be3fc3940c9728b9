//! How the cells of a column are written, as far as no cell can tell by itself.

use serde::{Deserialize, Serialize};

use super::date::DateOrder;
use super::number::Decimal;

/// Found over a whole column, stored with a model, so that later data is read the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Style {
    /// What stands before the fraction of a number.
    pub decimal: Decimal,
    /// What comes first in a date.
    pub dates: DateOrder,
}

impl Style {
    /// What programs write: a decimal point, and dates that cannot be misread.
    pub const PLAIN: Style = Style { decimal: Decimal::Point, dates: DateOrder::Unknown };

    /// Whether this is [`Style::PLAIN`].
    pub fn is_plain(&self) -> bool {
        *self == Style::PLAIN
    }
}
