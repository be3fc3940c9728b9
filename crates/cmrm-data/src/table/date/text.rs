//! Dates as people and programs write them.
//!
//! What cannot be misread is read in any column: ISO 8601 (`2024-05-31`, `2024/05/31`, `20240531T101500Z`), `31.05.2024`, a
//! month by its name (`31 May 2024`, `May 31, 2024`), and `31/05/2024`, since there is no month 31. What `05/06/2024` means
//! depends on the country: it is read only where the [`DateOrder`] is known, from the other cells of its column or from the
//! user. A time of day may follow, with `am` or `pm`, and an offset or the name of a zone.

use serde::{Deserialize, Serialize};

use super::scan::{Scan, small};
use super::time::time;
use super::{DAY, days_from_civil, days_in_month};

/// What comes first in dates such as `05/06/2024`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DateOrder {
    /// Nobody said: such dates are not read.
    #[default]
    Unknown,
    /// The day, then the month.
    DayFirst,
    /// The month, then the day.
    MonthFirst,
}

/// Months by the start of their name in English, German, French, Spanish, Italian, Portuguese and Dutch.
const MONTHS: [&[&str]; 12] = [
    &["jan", "jän", "ene", "gen"],
    &["feb", "fév", "fev"],
    &["mar", "mär", "mrz", "maa", "mrt"],
    &["apr", "avr", "abr"],
    &["may", "mai", "mag", "mei"],
    &["jun", "juin", "giu"],
    &["jul", "juil", "lug"],
    &["aug", "aoû", "aou", "ago"],
    &["sep", "set"],
    &["oct", "okt", "ott", "out"],
    &["nov"],
    &["dec", "dez", "déc", "dic"],
];

/// Longest name of a month, in letters: `septiembre`.
const LONGEST_MONTH: usize = 10;

/// Days of the week by the first three letters of their English names, which mail and logs put before a date.
const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Fewest and most bytes of a date: `1/2/24` and `Wednesday, September 25th, 2024 at …` with room to spare.
const LENGTHS: std::ops::RangeInclusive<usize> = 6..=64;

/// Microseconds since 1970-01-01 00:00 UTC of what cannot be misread; a time without an offset is taken as UTC.
pub fn parse(text: &str) -> Option<i64> {
    parse_in(text, DateOrder::Unknown)
}

/// Microseconds since 1970-01-01 00:00 UTC; a time without an offset is taken as UTC.
pub fn parse_in(text: &str, order: DateOrder) -> Option<i64> {
    let text = text.trim();
    // Most cells that are no date end here.
    if !LENGTHS.contains(&text.len()) || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut scan = Scan(text);
    let days = match text.as_bytes()[0].is_ascii_digit() {
        true => numeric_date(&mut scan, order).or_else(|| {
            scan = Scan(text);
            named_date(&mut scan)
        }),
        false => named_date(&mut scan),
    }?;
    if scan.is_done() {
        return Some(days * DAY);
    }
    let between = scan.skip(&['T', 't', ' ', ',']);
    (between > 0).then_some(())?;
    Some(days * DAY + time(&mut scan)?)
}

/// Whether a cell is the eight digits of a day from 1900 to 2099, such as `20240531`.
pub(crate) fn is_compact(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) && compact(text).is_some()
}

/// Days since 1970 of eight digits.
fn compact(digits: &str) -> Option<i64> {
    let (year, month, day) = (digits[..4].parse().ok()?, digits[4..6].parse().ok()?, digits[6..].parse().ok()?);
    if (1900..2100).contains(&year) { civil(year, month, day) } else { None }
}

/// Three numbers with one separator, or eight digits.
fn numeric_date(scan: &mut Scan<'_>, order: DateOrder) -> Option<i64> {
    let first = scan.digits()?;
    if first.len() == 8 {
        return compact(first);
    }
    let separator = scan.next_if(|c| matches!(c, '-' | '/' | '.'))?;
    let second = scan.digits()?;
    scan.next_if(|c| c == separator)?;
    let third = scan.digits()?;
    let (a, b) = (small(first), small(second)?);
    if first.len() == 4 {
        return civil(first.parse().ok()?, b, small(third)?);
    }
    let (a, year) = (a?, year_of(third)?);
    let (day_first, month_first) = (civil(year, b, a), civil(year, a, b));
    match order {
        DateOrder::DayFirst => day_first,
        DateOrder::MonthFirst => month_first,
        // `24-12-15` may well have the year first.
        DateOrder::Unknown if third.len() < 4 => None,
        // Who writes points writes the day first.
        DateOrder::Unknown if separator == '.' => day_first,
        DateOrder::Unknown => match (day_first, month_first) {
            (Some(one), Some(other)) => (one == other).then_some(one),
            (one, other) => one.or(other),
        },
    }
}

/// A date with the month by its name, perhaps after a day of the week.
fn named_date(scan: &mut Scan<'_>) -> Option<i64> {
    let mut word = scan.letters().to_lowercase();
    if word.get(..3).is_some_and(|start| WEEKDAYS.contains(&start)) && word.ends_with("day") | (word.len() <= 4) {
        scan.skip(&['.', ',', ' ']);
        word = scan.letters().to_lowercase();
    }
    let between = [' ', '-', '.', ',', '/'];
    let (day, month) = if word.is_empty() {
        let day = scan.ordinal()?;
        scan.skip(&between);
        (day, month_of(&scan.word_after_of())?)
    } else {
        let month = month_of(&word)?;
        scan.skip(&between);
        (scan.ordinal()?, month)
    };
    scan.skip(&between);
    let year = match scan.digits() {
        Some(year) => year,
        // `31 de mayo de 2024`.
        None => {
            (scan.letters() == "de" && scan.skip(&[' ']) > 0).then_some(())?;
            scan.digits()?
        }
    };
    civil(year_of(year)?, month, day)
}

/// Four digits, or two: those up to 68 are of this century, as in POSIX.
fn year_of(digits: &str) -> Option<i64> {
    let year: i64 = digits.parse().ok()?;
    match digits.len() {
        4 => Some(year),
        2 => Some(year + if year <= 68 { 2000 } else { 1900 }),
        _ => None,
    }
}

/// The month, from one, that a word in small letters names.
fn month_of(word: &str) -> Option<i64> {
    let letters = word.chars().count();
    if !(3..=LONGEST_MONTH).contains(&letters) {
        return None;
    }
    let month = MONTHS.iter().position(|starts| starts.iter().any(|start| word.starts_with(start)))?;
    Some(month as i64 + 1)
}

/// Days since 1970 of a day that exists.
fn civil(year: i64, month: i64, day: i64) -> Option<i64> {
    let exists = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
    exists.then(|| days_from_civil(year, month, day))
}

#[cfg(test)]
mod tests {
    use super::super::format;
    use super::*;

    fn read(text: &str, order: DateOrder) -> Option<String> {
        parse_in(text, order).map(format)
    }

    #[test]
    fn dates_that_cannot_be_misread() {
        for text in [
            "2024-05-31",
            "2024/5/31",
            "20240531",
            "31.05.2024",
            "31.5.2024",
            "31/05/2024",
            "05/31/2024",
            "31-5-2024",
            "31 May 2024",
            "31-May-2024",
            "31. Mai 2024",
            "31 mai 2024",
            "May 31, 2024",
            "May 31 2024",
            "31 may 24",
            "Fri, 31 May 2024",
            "Friday 31 May 2024",
            "Friday, May 31st, 2024",
            "31st of May 2024",
            "31 de mayo de 2024",
        ] {
            assert_eq!(read(text, DateOrder::Unknown).as_deref(), Some("2024-05-31"), "{text}");
        }
        for (text, month) in [
            ("1. Dezember 2024", 12),
            ("1 févr. 2024", 2),
            ("1 juin 2024", 6),
            ("1 juillet 2024", 7),
            ("1 okt 2024", 10),
        ] {
            assert_eq!(read(text, DateOrder::Unknown), Some(format!("2024-{month:02}-01")), "{text}");
        }
    }

    #[test]
    fn the_order_decides_what_can_be_misread() {
        for text in ["05/06/2024", "5-6-24", "05.06.24"] {
            assert_eq!(read(text, DateOrder::Unknown), None, "{text}");
            assert_eq!(read(text, DateOrder::DayFirst).as_deref(), Some("2024-06-05"), "{text}");
            assert_eq!(read(text, DateOrder::MonthFirst).as_deref(), Some("2024-05-06"), "{text}");
        }
        assert_eq!(read("31/05/2024", DateOrder::MonthFirst), None);
        assert_eq!(read("05/05/2024", DateOrder::Unknown).as_deref(), Some("2024-05-05"));
        assert_eq!(read("01/01/69", DateOrder::DayFirst).as_deref(), Some("1969-01-01"));
    }

    #[test]
    fn times_of_day() {
        for text in [
            "2024-05-31 15:04",
            "2024-05-31T15:04:00Z",
            "20240531T150400Z",
            "31/05/2024 3:04 pm",
            "31/05/2024, 03:04:00 PM",
            "May 31, 2024 3:04 p.m.",
            "2024-05-31 17:04:00+02:00",
            "2024-05-31 17:04 CEST",
            "2024-05-31 10:04:00 EST",
            "Fri, 31 May 2024 15:04:00 GMT",
            "Fri, 31 May 2024 17:04:00 +0200",
            "2024-05-31 17:04 GMT+2",
        ] {
            assert_eq!(read(text, DateOrder::Unknown).as_deref(), Some("2024-05-31 15:04:00"), "{text}");
        }
        assert_eq!(read("2024-05-31 12:00 am", DateOrder::Unknown).as_deref(), Some("2024-05-31"));
        assert_eq!(read("2024-05-31 3 pm", DateOrder::Unknown).as_deref(), Some("2024-05-31 15:00:00"));
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "2024-05",
            "1234567890",
            "99999999",
            "18991231",
            "2024-13-01",
            "2023-02-29",
            "31/13/2024",
            "1.2.3",
            "1/2/2024/3",
            "10.0.0.1",
            "2024-05-31x",
            "2024-05-31 25:00",
            "2024-05-31 13:00 pm",
            "2024-05-31 10",
            "2024-05-31 10:15 XYZ",
            "2024-05-31 10:15:00+é",
            "31 Foo 2024",
            "May",
            "Maybe 2024",
            "Monty 31 May 2024",
            "31 May",
            "section 31",
            "31/05.2024",
            "Mai 2024 geschrieben",
            "é1/05/2024",
        ] {
            for order in [DateOrder::Unknown, DateOrder::DayFirst, DateOrder::MonthFirst] {
                assert_eq!(read(text, order), None, "{text}");
            }
        }
    }
}
