//! Days of the Gregorian calendar, and dates as text.

mod scan;
mod text;
mod time;

pub(crate) use text::is_compact;
pub use text::{DateOrder, parse, parse_in};

/// Microseconds in a day.
pub const DAY: i64 = 86_400_000_000;

/// `2024-05-31`, with ` 10:15:00` and a fraction only if the time of day is not midnight.
pub fn format(microseconds: i64) -> String {
    let parts = Parts::of(microseconds);
    let mut text = format!("{:04}-{:02}-{:02}", parts.year, parts.month, parts.day);
    let within = microseconds.rem_euclid(DAY);
    if within != 0 {
        let (seconds, fraction) = (within / 1_000_000, within % 1_000_000);
        text += &format!(" {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        if fraction != 0 {
            text += format!(".{fraction:06}").trim_end_matches('0');
        }
    }
    text
}

/// A date taken apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// Year.
    pub year: i64,
    /// Month, from one.
    pub month: i64,
    /// Day of the month, from one.
    pub day: i64,
    /// Day of the week: Monday is zero.
    pub weekday: i64,
    /// Hours since midnight, with a fraction.
    pub hour: f64,
}

impl Parts {
    /// Takes a time in microseconds since 1970 apart.
    pub fn of(microseconds: i64) -> Parts {
        let days = microseconds.div_euclid(DAY);
        let (year, month, day) = civil_from_days(days);
        // 1970-01-01 was a Thursday.
        let weekday = (days + 3).rem_euclid(7);
        Parts { year, month, day, weekday, hour: microseconds.rem_euclid(DAY) as f64 / 3.6e9 }
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the Gregorian calendar: years start in March, so that the leap day comes last, and are
/// counted in eras of 400, which all have 146,097 days.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_instants() {
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29", 951_782_400),
            ("2024/05/31", 1_717_113_600),
            ("31.05.2024", 1_717_113_600),
            ("2024-05-31T10:15:00Z", 1_717_150_500),
            ("2024-05-31 12:15:00+02:00", 1_717_150_500),
            ("1969-12-31 23:59:59", -1),
        ] {
            assert_eq!(parse(text), Some(seconds * 1_000_000), "{text}");
        }
        assert_eq!(parse("2024-05-31 10:15:00.25"), Some(1_717_150_500_250_000));
    }

    #[test]
    fn every_day_of_a_thousand_years_comes_back() {
        for days in -200_000..200_000 {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
            if (0..=9999).contains(&year) {
                assert_eq!(parse(&format(days * DAY)), Some(days * DAY));
            }
        }
        assert_eq!(Parts::of(0).weekday, 3);
        let _ = (format(i64::MIN), format(i64::MAX));
    }
}
