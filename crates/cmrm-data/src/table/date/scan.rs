//! The parts of a date, one after the other.

/// What is left of a text.
pub(super) struct Scan<'a>(pub &'a str);

impl<'a> Scan<'a> {
    pub fn is_done(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.0.split_at(bytes);
        self.0 = rest;
        taken
    }

    /// The digits that come next, if any do.
    pub fn digits(&mut self) -> Option<&'a str> {
        let end = self.0.bytes().take_while(u8::is_ascii_digit).count();
        (end > 0).then(|| self.take(end))
    }

    /// The letters that come next, perhaps none.
    pub fn letters(&mut self) -> &'a str {
        let end = self.0.find(|c: char| !c.is_alphabetic()).unwrap_or(self.0.len());
        self.take(end)
    }

    pub fn next_if(&mut self, wanted: impl Fn(char) -> bool) -> Option<char> {
        let next = self.0.chars().next().filter(|&c| wanted(c))?;
        self.take(next.len_utf8());
        Some(next)
    }

    /// Passes over any of these, and says how many.
    pub fn skip(&mut self, characters: &[char]) -> usize {
        let rest = self.0.trim_start_matches(characters);
        let skipped = self.0.len() - rest.len();
        self.0 = rest;
        skipped
    }

    /// A day of the month, perhaps with the ending of an ordinal.
    pub fn ordinal(&mut self) -> Option<i64> {
        let day = small(self.digits()?)?;
        let rest = self.0;
        for ending in ["st", "nd", "rd", "th"] {
            self.0 = rest.strip_prefix(ending).unwrap_or(self.0);
        }
        Some(day)
    }

    /// The next word in small letters, without an `of` or `de` before it.
    pub fn word_after_of(&mut self) -> String {
        let word = self.letters();
        let word = if matches!(word, "of" | "de") && self.skip(&[' ']) > 0 { self.letters() } else { word };
        word.to_lowercase()
    }

    /// `:MM`: nothing if there is no colon, and no time at all if two digits do not follow it.
    pub fn clock_part(&mut self) -> Option<Option<i64>> {
        if self.next_if(|c| c == ':').is_none() {
            return Some(None);
        }
        let digits = self.digits().filter(|digits| digits.len() == 2)?;
        Some(small(digits))
    }

    /// Whether `pm` comes next, or `am`.
    pub fn noon(&mut self) -> Option<bool> {
        for (word, after) in [("am", false), ("pm", true), ("a.m.", false), ("p.m.", true)] {
            if self.0.get(..word.len()).is_some_and(|next| next.eq_ignore_ascii_case(word)) {
                self.take(word.len());
                return Some(after);
            }
        }
        None
    }
}

/// A number of one or two digits.
pub(super) fn small(digits: &str) -> Option<i64> {
    if digits.len() <= 2 { digits.parse().ok() } else { None }
}
