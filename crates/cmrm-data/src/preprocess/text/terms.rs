//! Terms by number: words, n-grams of words, and pieces of words.

use std::ops::Range;

use foldhash::HashMap;

use super::token::{TokenKind, Tokens};

/// What n-grams a text is read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Words in the longest term.
    pub words: usize,
    /// Characters in the shortest and in the longest piece of a word.
    pub characters: Option<(usize, usize)>,
}

/// Finds the numbers of terms. An n-gram is found by the n-gram before its last word: no text has to be put together.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    pub words: HashMap<Box<str>, u32>,
    /// From a term and the word behind it to the longer term.
    pub longer: HashMap<(u32, u32), u32>,
    pub pieces: HashMap<Box<str>, u32>,
}

impl Index {
    /// How many numbers are taken.
    pub fn len(&self) -> usize {
        self.words.len() + self.longer.len() + self.pieces.len()
    }

    pub fn add_word(&mut self, word: &str) -> u32 {
        let number = self.len() as u32;
        // Most words are there, and then need no copy.
        match self.words.get(word) {
            Some(&known) => known,
            None => *self.words.entry(word.into()).or_insert(number),
        }
    }

    pub fn add_longer(&mut self, before: u32, word: u32) -> u32 {
        let number = self.len() as u32;
        *self.longer.entry((before, word)).or_insert(number)
    }

    pub fn add_piece(&mut self, piece: &str) -> u32 {
        let number = self.len() as u32;
        match self.pieces.get(piece) {
            Some(&known) => known,
            None => *self.pieces.entry(piece.into()).or_insert(number),
        }
    }
}

/// Where the numbers of terms come from: known ones alone, or new ones too.
pub(super) trait Find {
    fn word(&mut self, word: &str) -> Option<u32>;
    fn longer(&mut self, before: u32, word: u32) -> Option<u32>;
    fn piece(&mut self, piece: &str) -> Option<u32>;
}

impl Find for &Index {
    fn word(&mut self, word: &str) -> Option<u32> {
        self.words.get(word).copied()
    }

    fn longer(&mut self, before: u32, word: u32) -> Option<u32> {
        self.longer.get(&(before, word)).copied()
    }

    fn piece(&mut self, piece: &str) -> Option<u32> {
        self.pieces.get(piece).copied()
    }
}

/// Memory that reading one text needs, kept for the next.
#[derive(Debug, Default)]
pub(super) struct Reader {
    tokens: Tokens,
    /// The terms that end with the word before, by their length; nothing where there is no such term.
    ending: Vec<Option<u32>>,
    padded: String,
    /// Where the characters of `padded` start, and its end.
    starts: Vec<usize>,
    /// For words by number, where their pieces stand in `pieces`, once they were looked up.
    known: Vec<Option<Range<usize>>>,
    pieces: Vec<u32>,
}

impl Reader {
    /// Forgets what it knows by number, for an index whose numbers have changed.
    pub fn renumbered(&mut self) {
        self.known.clear();
        self.pieces.clear();
    }
}

impl Shape {
    /// Puts the number of every term of a text into `found`, as often as it occurs.
    pub fn read(&self, text: &str, find: &mut impl Find, reader: &mut Reader, found: &mut Vec<u32>) {
        found.clear();
        let Reader { tokens, ending, padded, starts, known, pieces } = reader;
        tokens.read(text);
        ending.clear();
        let mut after_single = false;
        for token in tokens.iter() {
            let word = find.word(token.text);
            if let (Some(sizes), TokenKind::Word) = (self.characters, token.kind) {
                let place = word.map(|word| word as usize);
                match place.and_then(|at| known.get(at).cloned().flatten()) {
                    Some(range) => found.extend_from_slice(&pieces[range]),
                    None => {
                        let start = found.len();
                        cut(token.text, sizes, padded, starts, |piece| found.extend(find.piece(piece)));
                        if let Some(at) = place {
                            known.resize(known.len().max(at + 1), None);
                            known[at] = Some(pieces.len()..pieces.len() + found.len() - start);
                            pieces.extend_from_slice(&found[start..]);
                        }
                    }
                }
            }
            // Pairs of characters seldom are words where there are no spaces: terms of those alone are longer by one.
            let single = token.kind == TokenKind::Single;
            let longest = self.words + usize::from(single && after_single);
            after_single = single;
            let Some(word) = word else {
                ending.clear();
                continue;
            };
            ending.truncate(longest - 1);
            for term in ending.iter_mut() {
                *term = term.and_then(|before| find.longer(before, word));
            }
            ending.insert(0, Some(word));
            found.extend(ending.iter().flatten());
        }
    }
}

/// The n-grams of a word with a space on either side; a word that is too short for any is one piece.
fn cut(
    word: &str,
    (shortest, longest): (usize, usize),
    padded: &mut String,
    starts: &mut Vec<usize>,
    mut give: impl FnMut(&str),
) {
    padded.clear();
    padded.push(' ');
    padded.push_str(word);
    padded.push(' ');
    starts.clear();
    starts.extend(padded.char_indices().map(|(start, _)| start));
    starts.push(padded.len());
    let length = starts.len() - 1;
    if length < shortest {
        return give(padded);
    }
    for size in shortest..=longest.min(length) {
        for start in 0..=length - size {
            give(&padded[starts[start]..starts[start + size]]);
        }
    }
}
