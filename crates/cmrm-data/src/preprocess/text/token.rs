//! Cutting a text into words, whatever its script.
//!
//! Letters and digits between anything else are a word, and so are signs: punctuation, symbols, emoji. In scripts that put
//! no spaces between words each character is a word of its own, and n-grams of words are n-grams of characters.
//! Segmentation by Unicode's rules (UAX #29) would need dictionaries for those scripts all the same, and elsewhere differs
//! in little more than apostrophes, at several times the cost.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longest word in characters; what follows is dropped, so that a line of base64 is one term of bounded length.
const LONGEST_WORD: usize = 64;
/// Signs in a row that are counted: `!!!` is more than `!`, and a line of dashes is one sign.
const LONGEST_RUN: usize = 3;

/// The words of one text. Kept between texts for its memory.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    text: String,
    words: Vec<Word>,
}

#[derive(Debug, Clone, Copy)]
struct Word {
    start: usize,
    end: usize,
    kind: TokenKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Letters and digits.
    Word,
    /// One character of a script without spaces.
    Single,
    /// The same sign once or more.
    Signs,
}

/// A word in the form in which it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub text: &'a str,
    pub kind: TokenKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Part of a word.
    Letter,
    /// A word of its own.
    Single,
    /// A word, with others of its like.
    Sign,
    /// Belongs to the character before it.
    Mark,
    /// As if it were not there.
    Ignored,
    /// Between words.
    Gap,
}

impl Tokens {
    /// Reads a text as people write it: capitals and the several ways to write one letter make no difference.
    pub fn read(&mut self, text: &str) {
        if text.is_ascii() {
            self.read_ascii(text);
        } else {
            let lower = text.chars().flat_map(char::to_lowercase).nfkc().flat_map(char::to_lowercase);
            // The form at the end of a Greek word is the same letter.
            self.cut(lower.map(|c| if c == 'ς' { 'σ' } else { c }));
        }
    }

    /// The same as [`Tokens::cut`] for most texts there are, at many times its speed.
    fn read_ascii(&mut self, text: &str) {
        self.text.clear();
        self.words.clear();
        self.text.push_str(text);
        self.text.make_ascii_lowercase();
        let bytes = self.text.as_bytes();
        let mut start = 0;
        while let Some(&byte) = bytes.get(start) {
            let (kind, length, most) = if byte.is_ascii_alphanumeric() {
                (TokenKind::Word, run(&bytes[start..], |byte| byte.is_ascii_alphanumeric()), LONGEST_WORD)
            } else if byte.is_ascii_punctuation() {
                (TokenKind::Signs, run(&bytes[start..], |other| other == byte), LONGEST_RUN)
            } else {
                start += 1;
                continue;
            };
            self.words.push(Word { start, end: start + length.min(most), kind });
            start += length;
        }
    }

    /// Reads a term that was made of tokens, as it stands.
    pub fn read_term(&mut self, term: &str) {
        self.cut(term.chars());
    }

    fn cut(&mut self, characters: impl Iterator<Item = char>) {
        self.text.clear();
        self.words.clear();
        // What the word before can go on with, and how many characters it has.
        let (mut open, mut length) = (None, 0);
        for character in characters {
            let (kind, goes_on) = match class(character) {
                Class::Ignored => continue,
                Class::Gap => {
                    open = None;
                    continue;
                }
                // A mark that belongs to nothing is nothing.
                Class::Mark if open.is_none() => continue,
                Class::Mark => (TokenKind::Word, true),
                Class::Letter => (TokenKind::Word, open == Some(TokenKind::Word)),
                Class::Single => (TokenKind::Single, false),
                Class::Sign => (TokenKind::Signs, open == Some(TokenKind::Signs) && self.text.ends_with(character)),
            };
            if !goes_on {
                let start = self.text.len();
                self.words.push(Word { start, end: start, kind });
                (open, length) = (Some(kind), 0);
            }
            length += 1;
            let most = if kind == TokenKind::Signs { LONGEST_RUN } else { LONGEST_WORD };
            if let Some(word) = self.words.last_mut().filter(|_| length <= most) {
                self.text.push(character);
                word.end = self.text.len();
            }
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Token<'_>> + Clone {
        self.words.iter().map(|word| Token { text: &self.text[word.start..word.end], kind: word.kind })
    }
}

/// How many bytes from the start are alike.
fn run(bytes: &[u8], goes_on: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !goes_on(byte)).unwrap_or(bytes.len())
}

/// A term and the word behind it as one: with a space between, unless both are characters of scripts that have none.
pub(super) fn join(term: &str, word: &str) -> String {
    let single = |c: Option<char>| c.is_some_and(|c| class(c) == Class::Single);
    let before = term.chars().rev().find(|&c| class(c) != Class::Mark);
    let space = if single(before) && single(word.chars().next()) { "" } else { " " };
    format!("{term}{space}{word}")
}

fn class(c: char) -> Class {
    if c.is_ascii() {
        return match c {
            _ if c.is_ascii_alphanumeric() => Class::Letter,
            _ if c.is_ascii_punctuation() => Class::Sign,
            _ => Class::Gap,
        };
    }
    match c {
        // Soft hyphen, joiners, marks of direction, variation selectors, skin tones: about the look of their neighbours.
        '\u{ad}'
        | '\u{200c}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{1f3fb}'..='\u{1f3ff}' => Class::Ignored,
        '\u{200b}' => Class::Gap,
        _ if c.is_whitespace() || c.is_control() => Class::Gap,
        _ if is_combining_mark(c) => Class::Mark,
        _ if !c.is_alphanumeric() => Class::Sign,
        _ if without_spaces(c) => Class::Single,
        _ => Class::Letter,
    }
}

/// Whether the character's script puts no spaces between words.
fn without_spaces(c: char) -> bool {
    matches!(c,
        // Thai, Lao; Myanmar and its extensions; Khmer.
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}' | '\u{1780}'..='\u{17ff}'
        // Tai Le, New Tai Lue, Tai Tham; Balinese; Javanese.
        | '\u{1950}'..='\u{19df}' | '\u{1a20}'..='\u{1aaf}' | '\u{1b00}'..='\u{1b7f}' | '\u{a980}'..='\u{a9df}'
        // Hiragana, Katakana, Han with its iteration marks.
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{1b000}'..='\u{1b16f}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut tokens = Tokens::default();
        tokens.read(text);
        tokens.iter().map(|token| token.text.to_string()).collect()
    }

    #[test]
    fn words_by_script() {
        for (text, expected) in [
            ("What's the U.S. price in 2024?", "what ' s the u . s . price in 2024 ?"),
            ("https://example.com/a_b", "https : // example . com / a _ b"),
            ("Wait....... no?!?!!\t----------", "wait ... no ? ! ? !! ---"),
            ("Straße, CAFÉ, cafe\u{301}, ﬁne, ＡＢＣ", "straße , café , café , fine , abc"),
            ("ΟΔΟΣ οδός ода", "οδοσ οδόσ ода"),
            ("हिन्दी में लिखा", "हिन्दी में लिखा"),
            ("می\u{200c}خواهم שָׁלוֹם", "میخواهم שָׁלוֹם"),
            ("한국어 문장", "한국어 문장"),
            ("我爱北京 GPT4模型", "我 爱 北 京 gpt4 模 型"),
            ("東京タワーへ", "東 京 タ ワ ー へ"),
            ("ｶﾞ", "ガ"),
            ("ที่นี่", "ที่ นี่"),
            ("good 👍🏽👍\u{fe0f}❤", "good 👍👍 ❤"),
            ("\u{301}a \u{200b}\u{301} b\n", "a b"),
            ("«Да», — сказал", "« да » , — сказал"),
            ("中\u{301}a\u{301}!\u{301}", "中\u{301} a\u{301} !\u{301}"),
            ("J\u{30c}", "ǰ"),
            ("", ""),
        ] {
            let expected: Vec<String> = expected.split_whitespace().map(|word| word.nfc().collect()).collect();
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn the_short_way_for_ascii_finds_the_same() {
        let every = |first: u8| (0..128u8).map(move |second| [first, second, second, b'a', second] as [u8; 5]);
        let text: Vec<u8> = (0..128u8).flat_map(every).flatten().collect();
        let text = String::from_utf8(text).unwrap() + &"a9".repeat(80) + &"=".repeat(9);
        let (mut short, mut long) = (Tokens::default(), Tokens::default());
        short.read(&text);
        long.cut(text.chars().map(|c| c.to_ascii_lowercase()));
        assert!(short.iter().eq(long.iter()));
        assert!(short.iter().len() > 128 * 128);
    }

    #[test]
    fn words_have_a_greatest_length() {
        let text = format!("{} b", "x".repeat(100_000));
        assert_eq!(words(&text), ["x".repeat(LONGEST_WORD), "b".to_string()]);
        assert_eq!(words(&"-".repeat(100_000)), ["---"]);
        let marks = format!("a{} 中{}", "\u{301}".repeat(9_999), "\u{301}".repeat(9_999));
        assert!(words(&marks).iter().all(|word| word.chars().count() <= LONGEST_WORD));
    }

    #[test]
    fn terms_fall_apart_into_their_words() {
        let mut tokens = Tokens::default();
        tokens.read("New York! ! ?!! 北京 2024年 ❤❤ :-) ...... ab");
        let all: Vec<Token<'_>> = tokens.iter().collect();
        for pair in all.windows(3) {
            let term = join(&join(pair[0].text, pair[1].text), pair[2].text);
            let mut again = Tokens::default();
            again.read_term(&term);
            assert!(again.iter().eq(pair.iter().copied()), "{term}");
        }
    }
}
