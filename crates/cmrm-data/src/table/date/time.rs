//! Times of day, and how far a zone is from UTC.

use super::scan::{Scan, small};

/// Hours from UTC of zones that mail and logs name.
const ZONES: [(&str, i64); 14] = [
    ("UTC", 0),
    ("GMT", 0),
    ("WET", 0),
    ("BST", 1),
    ("CET", 1),
    ("CEST", 2),
    ("EST", -5),
    ("EDT", -4),
    ("CST", -6),
    ("CDT", -5),
    ("MST", -7),
    ("MDT", -6),
    ("PST", -8),
    ("PDT", -7),
];

/// Microseconds in an hour.
const HOUR: i64 = 3_600_000_000;

/// A time of day in microseconds after midnight UTC, up to the end of the text.
pub(super) fn time(scan: &mut Scan<'_>) -> Option<i64> {
    let first = scan.digits()?;
    let (hours, minutes, seconds) = match first.len() {
        1 | 2 => {
            let hours = small(first)?;
            let minutes = scan.clock_part()?;
            (hours, minutes, if minutes.is_some() { scan.clock_part()? } else { None })
        }
        // `101500`, as in compact ISO 8601.
        4 => (small(&first[..2])?, small(&first[2..]), None),
        6 => (small(&first[..2])?, small(&first[2..4]), small(&first[4..])),
        _ => return None,
    };
    let mut fraction = 0;
    if seconds.is_some() && scan.next_if(|c| matches!(c, '.' | ',')).is_some() {
        let digits = scan.digits().filter(|digits| digits.len() <= 9)?;
        // Six digits are microseconds; anything finer is cut off.
        fraction = format!("{digits:0<6}")[..6].parse().ok()?;
    }
    scan.skip(&[' ']);
    let hours = match (scan.noon(), minutes) {
        (Some(after), _) => (1..=12).contains(&hours).then_some(hours % 12 + if after { 12 } else { 0 })?,
        (None, Some(_)) => hours,
        // A lone number is no time of day.
        (None, None) => return None,
    };
    scan.skip(&[' ']);
    let offset = offset(scan)?;
    let (minutes, seconds) = (minutes.unwrap_or(0), seconds.unwrap_or(0));
    // A leap second is accepted and lands on the next minute.
    let exists = hours <= 23 && minutes <= 59 && seconds <= 60 && scan.is_done();
    exists.then_some(hours * HOUR + (minutes * 60 + seconds) * 1_000_000 + fraction - offset)
}

/// `Z`, the name of a zone, `±HH[[:]MM]`, or nothing: microseconds from UTC.
fn offset(scan: &mut Scan<'_>) -> Option<i64> {
    let name = scan.letters();
    let zone = match name {
        "" | "Z" | "z" => 0,
        name => ZONES.iter().find(|(zone, _)| zone.eq_ignore_ascii_case(name))?.1 * HOUR,
    };
    // `GMT+2` counts from a zone that is UTC.
    let Some(sign) = scan.next_if(|c| matches!(c, '+' | '-' | '−')) else { return Some(zone) };
    let digits = scan.digits().filter(|_| zone == 0 && !name.eq_ignore_ascii_case("z"))?;
    let (hours, minutes) = match digits.len() {
        1 | 2 => (small(digits)?, scan.clock_part()?.unwrap_or(0)),
        4 => (small(&digits[..2])?, small(&digits[2..])?),
        _ => return None,
    };
    let east = if sign == '+' { 1 } else { -1 };
    (hours <= 18 && minutes <= 59).then_some(east * (hours * HOUR + minutes * 60_000_000))
}
