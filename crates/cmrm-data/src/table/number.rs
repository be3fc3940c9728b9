//! Numbers as people write them: with separators between thousands, a currency or a percent sign, a decimal comma, in
//! parentheses for a loss.
//!
//! Only one thing about such a cell cannot be told from the cell alone: whether `1,234` is a thousand and something or one
//! and something. That is decided over the whole column, and is all that a [`Decimal`] says.

use serde::{Deserialize, Serialize};

/// What stands before the fraction of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decimal {
    /// `1,234.5`, `1 234.5` or `1'234.5`.
    #[default]
    Point,
    /// `1.234,5`, `1 234,5` or `1'234,5`.
    Comma,
}

/// What a number counts, where that is written beside it. It says nothing about the number itself: `12 %` is 12.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unit<'a> {
    /// Nothing is written.
    None,
    /// A percent or per-mille sign.
    Percent,
    /// The symbol or code of a currency.
    Currency(&'a str),
}

/// Currencies that are written with letters: codes of ISO 4217 in wide use, and abbreviations.
const CURRENCIES: [&str; 51] = [
    "USD", "EUR", "GBP", "JPY", "CHF", "CAD", "AUD", "NZD", "CNY", "RMB", "HKD", "SGD", "TWD", "KRW", "INR", "RUB",
    "UAH", "TRY", "BRL", "MXN", "ARS", "CLP", "COP", "PEN", "ZAR", "NGN", "KES", "EGP", "ILS", "AED", "SAR", "SEK",
    "NOK", "DKK", "ISK", "PLN", "CZK", "HUF", "RON", "BGN", "THB", "IDR", "MYR", "PHP", "VND", "kr", "zł", "Kč", "Ft",
    "Fr", "Rs",
];

/// The number in a cell, without the spaces around it. NaN and infinities are numbers too: they are refused later, with
/// their place.
pub fn parse(text: &str, decimal: Decimal) -> Option<f64> {
    // What programs write, exponents included; NaN and infinities have no mark.
    if let Ok(value) = text.parse::<f64>()
        && (decimal == Decimal::Point || !value.is_finite())
    {
        return Some(value);
    }
    let (body, negative, _) = bare(text)?;
    let value = parse_bare(body, decimal)?;
    Some(if negative { -value } else { value })
}

/// What is written beside the number of a cell that [`parse`] can read.
pub fn unit(text: &str) -> Unit<'_> {
    bare(text).map_or(Unit::None, |(_, _, unit)| unit)
}

/// The number without sign, parentheses and unit, and whether it is negative.
fn bare(text: &str) -> Option<(&str, bool, Unit<'_>)> {
    let mut rest = text.trim();
    let (mut negative, mut signed, mut unit) = (false, false, Unit::None);
    if let Some(inside) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        (rest, negative, signed) = (inside.trim(), true, true);
    }
    loop {
        let before = rest.len();
        if !signed && let Some((minus, after)) = sign_before(rest).or_else(|| minus_behind(rest)) {
            (rest, negative, signed) = (after.trim(), minus, true);
        }
        if unit == Unit::None
            && let Some((found, after)) = unit_beside(rest)
        {
            (rest, unit) = (after.trim(), found);
        }
        // `-$12` and `$-12`, `(12 €)` and `12 €-`: each part once, in any order.
        if rest.len() == before {
            return rest
                .starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == ',')
                .then_some((rest, negative, unit));
        }
        if let Some(inside) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).filter(|_| !signed) {
            (rest, negative, signed) = (inside.trim(), true, true);
        }
    }
}

fn sign_before(text: &str) -> Option<(bool, &str)> {
    let after = text.strip_prefix(['-', '−', '+'])?;
    Some((!text.starts_with('+'), after))
}

/// `12.50-`, as accounting programs print it.
fn minus_behind(text: &str) -> Option<(bool, &str)> {
    text.strip_suffix(['-', '−']).map(|before| (true, before))
}

fn unit_beside(text: &str) -> Option<(Unit<'_>, &str)> {
    if let Some(before) = text.strip_suffix(['%', '‰', '％', '٪']) {
        return Some((Unit::Percent, before));
    }
    let is_symbol =
        |c: char| matches!(c, '$' | '¢' | '£' | '¤' | '¥' | '֏' | '؋' | '৳' | '฿' | '៛' | '₠'..='⃀' | '﷼' | '￥');
    let is_part = |c: char| c.is_alphabetic() || is_symbol(c);
    let known = |unit: &str| {
        let letters = unit.trim_end_matches(is_symbol);
        match unit[letters.len()..].chars().count() {
            0 => CURRENCIES.contains(&letters),
            // `US$`, `A$` and `R$` are symbols with a country before them.
            symbols => symbols == 1 && letters.chars().count() <= 2,
        }
    };
    let start = text.len() - text.trim_start_matches(is_part).len();
    if start > 0 && known(&text[..start]) {
        let (unit, mut after) = text.split_at(start);
        if unit.chars().all(char::is_alphabetic) {
            // `Fr. 12` and `kr. 12`; but the point of `$.50` belongs to the number.
            after = after.strip_prefix('.').unwrap_or(after);
            // `Rs4` and `Ft2` may be anything.
            if start < 3 && after.starts_with(|c: char| c.is_ascii_digit()) {
                return None;
            }
        }
        return Some((Unit::Currency(unit), after));
    }
    let whole = text.strip_suffix('.').filter(|whole| whole.ends_with(char::is_alphabetic)).unwrap_or(text);
    let end = whole.trim_end_matches(is_part).len();
    (end < whole.len() && end > 0 && known(&whole[end..])).then(|| (Unit::Currency(&whole[end..]), &text[..end]))
}

/// Digits, separators and perhaps an exponent.
fn parse_bare(text: &str, decimal: Decimal) -> Option<f64> {
    let (mark, other) = match decimal {
        Decimal::Point => ('.', ','),
        Decimal::Comma => (',', '.'),
    };
    let (number, exponent) = match text.find(['e', 'E']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let (whole, fraction) = number.split_once(mark).unwrap_or((number, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(fraction) || whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut digits = String::with_capacity(text.len() + 1);
    if is_digits(whole) {
        digits.push_str(whole);
    } else {
        push_groups(whole, other, &mut digits).filter(|()| exponent.is_empty())?;
    }
    digits.push('.');
    digits.push_str(fraction);
    digits.push_str(exponent);
    digits.parse().ok()
}

/// Groups of three digits, or of two and a last one of three as in India, with one separator throughout.
fn push_groups(whole: &str, other: char, digits: &mut String) -> Option<()> {
    let separator = whole.chars().find(|c| !c.is_ascii_digit())?;
    // `char::is_whitespace` has the non-breaking and the narrow space too.
    if separator != other && !matches!(separator, '\'' | '’' | '_') && !separator.is_whitespace() {
        return None;
    }
    let groups: Vec<&str> = whole.split(separator).collect();
    let (first, rest) = groups.split_first()?;
    let (last, middle) = rest.split_last()?;
    let all = |length: usize| middle.iter().all(|group| group.len() == length);
    let whole_groups = last.len() == 3 && (all(3) && first.len() <= 3 || all(2) && first.len() <= 2);
    // `0,123` is no thousand and something: nobody writes a zero before the first group.
    if !whole_groups || first.is_empty() || first.starts_with('0') {
        return None;
    }
    for group in groups {
        if !group.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        digits.push_str(group);
    }
    Some(())
}

/// Doubles hold all whole numbers up to this one, 2⁵³, and beyond it only some.
pub(crate) const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Whether a double holds a whole number.
pub(crate) fn is_held(value: i128) -> bool {
    (value as f64) as i128 == value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_a_point() {
        for (text, value) in [
            ("1148.52", 1148.52),
            ("1,148.52", 1148.52),
            ("1,234,567", 1234567.0),
            ("12,34,567.5", 1234567.5),
            ("1 148.52", 1148.52),
            ("1\u{a0}148.52", 1148.52),
            ("1\u{202f}148\u{202f}000", 1_148_000.0),
            ("1'148.52", 1148.52),
            ("1’148", 1148.0),
            ("$ 12", 12.0),
            ("$1,148.52", 1148.52),
            ("12 €", 12.0),
            ("USD 12", 12.0),
            ("12USD", 12.0),
            ("US$ 12", 12.0),
            ("-$12", -12.0),
            ("$-12", -12.0),
            ("$.50", 0.5),
            ("kr. 12", 12.0),
            ("12 kr.", 12.0),
            ("(12.50)", -12.5),
            ("($12.50)", -12.5),
            ("$(12.50)", -12.5),
            ("12.50-", -12.5),
            ("−12", -12.0),
            ("+12", 12.0),
            ("12 %", 12.0),
            ("-3.5%", -3.5),
            ("1e-3", 0.001),
            (".5", 0.5),
            ("5.", 5.0),
        ] {
            assert_eq!(parse(text, Decimal::Point), Some(value), "{text}");
        }
    }

    #[test]
    fn numbers_with_a_comma() {
        for (text, value) in [
            ("1,5", 1.5),
            ("1.148,52", 1148.52),
            ("1 148,52 €", 1148.52),
            ("1'148,52", 1148.52),
            ("1.234", 1234.0),
            ("1,234", 1.234),
            ("0,5 %", 0.5),
            ("-1,5e3", -1500.0),
            ("12", 12.0),
        ] {
            assert_eq!(parse(text, Decimal::Comma), Some(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_number() {
        for text in [
            "",
            "-",
            "$",
            "%",
            "()",
            "1,5,5",
            "1,23.4",
            "1,2345",
            "12,34",
            "0,123",
            "1.2.3",
            "15.12.2024",
            "12 34",
            "1 2345",
            "12 kg",
            "A12",
            "12A",
            "1--",
            "--1",
            "- -1",
            "$$1",
            "1%%",
            "€1€",
            "1e",
            "e5",
            "1,234e5",
            "1,234'567",
            "１２",
            "R2D2",
            "R2",
            "Rs4",
            "USD",
            "(1",
            "1)",
        ] {
            assert_eq!(parse(text, Decimal::Point), None, "{text}");
        }
        for text in ["1.5", "1,148.52", "0.123", "1.5.5"] {
            assert_eq!(parse(text, Decimal::Comma), None, "{text}");
        }
        for decimal in [Decimal::Point, Decimal::Comma] {
            assert!(parse("NaN", decimal).is_some_and(f64::is_nan));
        }
    }

    #[test]
    fn units() {
        assert_eq!(unit("12 %"), Unit::Percent);
        assert_eq!(unit("-€ 12"), Unit::Currency("€"));
        assert_eq!(unit("12 CHF"), Unit::Currency("CHF"));
        assert_eq!(unit("12"), Unit::None);
    }
}
