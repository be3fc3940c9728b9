//! Counting in how many training rows each term occurs.

use foldhash::HashMap;

use super::options::TextEncoding;
use super::plan::{Term, TextPlan};
use super::terms::{Find, Index, Reader, Shape};
use super::token::join;

/// Most terms that are counted at once, which takes about 400 MB. Past it, rare ones are forgotten.
const MOST_COUNTED: usize = 1 << 22;

/// Counts terms row by row. Which terms are forgotten depends on the rows and their order, not on how they are cut into
/// chunks.
pub(in super::super) struct TermCounter {
    shape: Shape,
    rows: u32,
    index: Index,
    /// By the numbers of the index.
    counts: Vec<Count>,
    limit: usize,
    reader: Reader,
    found: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    /// Training rows with the term.
    rows: u32,
    /// The last of them, counted from one.
    last: u32,
}

impl TermCounter {
    pub fn new(options: &TextEncoding) -> Self {
        TermCounter {
            shape: Shape { words: options.words, characters: options.characters },
            rows: 0,
            index: Index::default(),
            counts: Vec::new(),
            limit: MOST_COUNTED,
            reader: Reader::default(),
            found: Vec::new(),
        }
    }

    /// Counts the terms of one row.
    pub fn add(&mut self, text: &str) {
        self.rows = self.rows.saturating_add(1);
        // A text that brings more new terms than are counted at all is read on for known ones only.
        let mut find = Growing { index: &mut self.index, room: 2 * self.limit };
        self.shape.read(text, &mut find, &mut self.reader, &mut self.found);
        self.counts.resize(self.index.len(), Count::default());
        for &term in &self.found {
            let count = &mut self.counts[term as usize];
            if count.last != self.rows {
                *count = Count { rows: count.rows + 1, last: self.rows };
            }
        }
        let mut rare = 1;
        while self.counts.len() > self.limit {
            self.forget(rare);
            rare += 1;
        }
    }

    /// Forgets the terms of at most so many rows. A term is in no more rows than its parts, so that none outlives them.
    fn forget(&mut self, rare: u32) {
        let mut numbers = Vec::with_capacity(self.counts.len());
        let mut kept = Vec::new();
        for count in &self.counts {
            numbers.push((count.rows > rare).then_some(kept.len() as u32));
            if count.rows > rare {
                kept.push(*count);
            }
        }
        let number = |term: u32| numbers[term as usize];
        let renumber = |terms: &mut HashMap<Box<str>, u32>| {
            let old = std::mem::take(terms);
            *terms = old.into_iter().filter_map(|(text, term)| Some((text, number(term)?))).collect();
        };
        renumber(&mut self.index.words);
        renumber(&mut self.index.pieces);
        let longer = std::mem::take(&mut self.index.longer);
        self.index.longer = longer
            .into_iter()
            .filter_map(|((before, word), term)| Some(((number(before)?, number(word)?), number(term)?)))
            .collect();
        self.counts = kept;
        self.reader.renumbered();
    }

    /// The terms that count; nothing if there are none.
    pub fn finish(self, options: &TextEncoding) -> Option<TextPlan> {
        let rows_of = |term: u32| self.counts[term as usize].rows;
        let enough = |term: &u32| rows_of(*term) >= options.min_rows;
        let texts = texts_of_words(&self.index, self.counts.len(), enough);
        let words = self.index.words.values().chain(self.index.longer.values()).filter(|term| enough(term));
        let words: Vec<Term> =
            words.map(|&term| Term { text: texts[term as usize].clone(), rows: rows_of(term) }).collect();
        let pieces = self.index.pieces.iter().filter(|(_, term)| enough(term));
        let pieces: Vec<Term> =
            pieces.map(|(text, &term)| Term { text: text.to_string(), rows: rows_of(term) }).collect();
        // Maps have no order; this one is the same everywhere.
        let [words, pieces] = [words, pieces].map(|mut terms| {
            terms.sort_unstable_by(Term::order);
            terms.truncate(options.max_terms);
            terms
        });
        (!words.is_empty() || !pieces.is_empty()).then(|| TextPlan::new(self.shape, self.rows, words, pieces))
    }
}

/// The text of each term that is made of words and is kept, by its number.
fn texts_of_words(index: &Index, terms: usize, keep: impl Fn(&u32) -> bool) -> Vec<String> {
    let mut texts = vec![String::new(); terms];
    for (word, &term) in index.words.iter().filter(|(_, term)| keep(term)) {
        texts[term as usize] = word.to_string();
    }
    let mut longer: Vec<(u32, (u32, u32))> =
        index.longer.iter().filter(|(_, term)| keep(term)).map(|(&parts, &term)| (term, parts)).collect();
    // A term's number is greater than those of its parts: in this order they have their text.
    longer.sort_unstable();
    for (term, (before, word)) in longer {
        texts[term as usize] = join(&texts[before as usize], &texts[word as usize]);
    }
    texts
}

/// An index that takes up new terms while there is room.
struct Growing<'a> {
    index: &'a mut Index,
    room: usize,
}

impl Growing<'_> {
    fn full(&self) -> bool {
        self.index.len() >= self.room
    }
}

impl Find for Growing<'_> {
    fn word(&mut self, word: &str) -> Option<u32> {
        if self.full() { (&*self.index).word(word) } else { Some(self.index.add_word(word)) }
    }

    fn longer(&mut self, before: u32, word: u32) -> Option<u32> {
        if self.full() { (&*self.index).longer(before, word) } else { Some(self.index.add_longer(before, word)) }
    }

    fn piece(&mut self, piece: &str) -> Option<u32> {
        if self.full() { (&*self.index).piece(piece) } else { Some(self.index.add_piece(piece)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: TextEncoding = TextEncoding { words: 2, characters: None, min_rows: 2, max_terms: 1000 };

    fn count(texts: &[String], options: &TextEncoding, limit: usize) -> TermCounter {
        let mut counter = TermCounter::new(options);
        counter.limit = limit;
        for text in texts {
            counter.add(text);
            assert!(counter.counts.len() <= limit && counter.counts.len() == counter.index.len());
        }
        counter
    }

    #[test]
    fn rare_terms_are_forgotten_where_there_are_too_many() {
        let texts: Vec<String> = (0..500).map(|row| format!("new york w{row} {}", row % 3)).collect();
        let plan = |options: &TextEncoding, limit| count(&texts, options, limit).finish(options).unwrap();
        let whole = plan(&WORDS, usize::MAX / 2);
        // What is frequent keeps its count, and nothing is counted that is not there.
        assert_eq!(whole.terms().len(), 6);
        assert_eq!(plan(&WORDS, 100), whole);
        // Pieces too, which are remembered by the number of their word; what comes up late may lose a row or two.
        let pieces = TextEncoding { characters: Some((2, 3)), min_rows: 150, ..WORDS };
        assert_eq!(plan(&pieces, 200), plan(&pieces, usize::MAX / 2));
    }

    #[test]
    fn one_text_cannot_take_all_memory() {
        let long: String = (0..10_000).map(|word| format!("a{word} ")).collect();
        let texts = ["a1 a2".to_string(), "a1 a2".to_string(), long];
        let counter = count(&texts, &WORDS, 50);
        let plan = counter.finish(&WORDS).unwrap();
        assert_eq!(plan.terms().collect::<Vec<_>>(), ["a1", "a1 a2", "a2"]);
    }
}
