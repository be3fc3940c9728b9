//! Text from data, made safe for HTML and SVG.

/// Text for HTML and SVG, in content and in quoted attributes. Characters that no document may hold are replaced.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\t' | '\n' | '\r' => out.push(letter),
            '\0'..='\u{1f}' | '\u{7f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_is_left_that_could_end_a_text_or_an_attribute() {
        assert_eq!(escape("<script>alert('1')</script>"), "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;");
        assert_eq!(escape("a\"b&amp;\u{0}c"), "a&quot;b&amp;amp;\u{fffd}c");
        assert_eq!(escape("τ ≥ 0,\n日本"), "τ ≥ 0,\n日本");
    }
}
