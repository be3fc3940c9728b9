//! Text from data, made safe where people read it: on a terminal, in Markdown, in a spreadsheet.
//!
//! Class names, column names, cells and file names are whatever someone wrote into a file. On a terminal an escape
//! sequence among them would be obeyed, in Markdown a tag or a link, in a spreadsheet a formula.

use std::borrow::Cow;

/// Letters of a cell that are shown.
const SHOWN: usize = 24;

/// Lines on their way to a terminal: characters that a terminal obeys instead of showing them are written as `\u{1b}`.
/// Ends of lines and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_obeyed(c) && !matches!(c, '\n' | '\t'))
}

/// A name or a cell within a line: as [`printable`], and an end of line or a tab is written as `\u{a}` or `\u{9}`.
pub fn printable_value(text: &str) -> Cow<'_, str> {
    escaped(text, is_obeyed)
}

/// A name or a cell within Markdown, such that it renders as the text that it is.
pub fn markdown_value(text: &str) -> String {
    let text = printable_value(text);
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let after = characters.peek().copied();
        match c {
            '<' => out += "&lt;",
            '&' => out += "&amp;",
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' | '$' | '#' => out.extend(['\\', c]),
            // Between letters it is never emphasis, and names have many.
            '_' if !in_word(before) || !in_word(after) => out += "\\_",
            _ => out.push(c),
        }
        before = Some(c);
    }
    out
}

/// A text cell of a CSV file that people open in a spreadsheet. One that a spreadsheet would take for a formula gets a `'`
/// in front, and so does one that has such a `'` already, so that [`spreadsheet_value`] gives the text back. Numbers such
/// as -1 are harmless and stay.
pub fn spreadsheet_cell(text: &str) -> Cow<'_, str> {
    if is_formula(text.trim_start_matches('\'')) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

/// The text of a cell that [`spreadsheet_cell`] wrote.
pub fn spreadsheet_value(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if is_formula(text.trim_start_matches('\'')) => text,
        _ => cell,
    }
}

/// A cell as a message or a table shows it: whole, or its first letters.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_escaped(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Control characters (ESC and the one-character CSI among them), line and paragraph separators, and what turns the
/// direction of the text around.
fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn in_word(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}

/// Whether a spreadsheet would compute the cell. The wide forms count in East Asian versions.
fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) && !is_number(text)
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        assert_eq!(printable("\u{1b}[2J\u{9b}31m\u{7f}\r\n\ta\u{202e}b\u{2066}"), {
            "\\u{1b}[2J\\u{9b}31m\\u{7f}\\u{d}\n\ta\\u{202e}b\\u{2066}"
        });
        assert_eq!(printable_value("two\nlines\tand"), "two\\u{a}lines\\u{9}and");
        for plain in ["", "naïve τ₊ 猫 ▁█", "שלום", "C:\\path", "👩\u{200d}🔬"] {
            assert!(matches!(printable_value(plain), Cow::Borrowed(text) if text == plain));
        }
    }

    #[test]
    fn markdown_shows_the_text() {
        for (text, markdown) in [
            ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
            ("[x](javascript:alert(1))", "\\[x\\](javascript:alert(1))"),
            ("a|b`c`*d*", "a\\|b\\`c\\`\\*d\\*"),
            ("R&D &lt; #1", "R&amp;D &amp;lt; \\#1"),
            ("very_good _x_", "very_good \\_x\\_"),
            ("two\nlines\u{1b}", "two\\\\u{a}lines\\\\u{1b}"),
            ("Iris-setosa, 1.5 (new)!", "Iris-setosa, 1.5 (new)!"),
        ] {
            assert_eq!(markdown_value(text), markdown);
        }
    }

    #[test]
    fn formulas_become_text_and_every_text_comes_back() {
        for formula in
            ["=1+1", "+", "-x", "@SUM(A1)", "\tx", "\rx", "\n=1", "-1+1", "'=1", "''=1", "-inf", "＝1", "--1"]
        {
            let cell = spreadsheet_cell(formula);
            assert_eq!(cell, format!("'{formula}"));
            assert_eq!(spreadsheet_value(&cell), formula);
        }
        for harmless in ["", "a", "-1", "+0.5", "-1e-3", "'", "'x", "''", "'-1", "5", "a=b", "it's", " =1"] {
            assert_eq!(spreadsheet_cell(harmless), harmless);
            assert_eq!(spreadsheet_value(harmless), harmless);
        }
        // Written by hand, without the mark.
        assert_eq!(spreadsheet_value("-x"), "-x");
    }
}
