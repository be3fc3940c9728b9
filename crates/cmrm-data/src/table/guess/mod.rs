//! What a column of text is: each cell is looked at once, and the whole column decides.

mod dates;
mod distinct;
mod marks;
mod numbers;

use self::dates::DateVotes;
use self::distinct::Distinct;
use self::numbers::NumberVotes;
use super::date::DateOrder;
use super::number::Decimal;
use super::words::{self, BOOLEANS};
use super::{Kind, Style};

/// Fewest cells of a kind that make a column of it though other cells are not of that kind.
const ENOUGH: u64 = 20;
/// One cell in so many, or a single one, may be of another kind.
const BAD_CELLS: u64 = 100;
/// Words a cell, on average, that make text of names which seldom repeat.
const WORDS_OF_TEXT: f64 = 3.0;
/// Words a cell below which that was close, and from which on names that do repeat are text if they are many.
const WORDS_SURELY: f64 = 4.0;
const MANY_NAMES: u64 = 128;
/// Most names of a numeric column called an ID that are taken for categories, each with ten rows or more.
const FEW_CODES: u64 = 128;
/// Failures after which a kind is not tried any more, if most cells failed.
const GIVEN_UP: u64 = 1000;

/// What a column may be after the cells seen so far. Hand it every cell that is not missing, then ask it.
#[derive(Debug, Clone)]
pub struct Guess {
    name: String,
    cells: u64,
    /// Cells that are `None`, and NaN: missing unless the others are names, and for NaN numbers.
    none: u64,
    nan: u64,
    numbers: NumberVotes,
    dates: DateVotes,
    /// For each vocabulary, how often its words for true and for false were there.
    booleans: [(u64, u64); BOOLEANS.len()],
    /// Cells that are no numbers, and their words.
    texts: u64,
    words: u64,
    distinct: Distinct,
    /// By its name the column holds codes, or identifiers.
    codes: bool,
    identifiers: bool,
}

/// What was made of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// What its cells are.
    pub kind: Kind,
    /// How they are written.
    pub style: Style,
    /// Whether cells that are not of the kind are few enough to count as missing.
    pub tolerant: bool,
    /// Where the decision was close: why it fell as it did, and how to state another.
    pub doubt: Option<String>,
}

impl Guess {
    /// Nothing seen yet of the column with this name.
    pub fn new(name: &str) -> Self {
        Guess {
            name: name.to_string(),
            cells: 0,
            none: 0,
            nan: 0,
            numbers: NumberVotes::default(),
            dates: DateVotes::default(),
            booleans: [(0, 0); BOOLEANS.len()],
            texts: 0,
            words: 0,
            distinct: Distinct::default(),
            codes: words::names_codes(name),
            identifiers: words::names_identifiers(name),
        }
    }

    /// Whether no cell has been seen.
    pub fn is_empty(&self) -> bool {
        self.cells == 0
    }

    /// Looks at a cell that is not missing.
    pub fn add(&mut self, cell: &str) {
        self.cells += 1;
        self.nan += u64::from(words::is_nan(cell));
        let is_none = words::is_nothing(cell) && !words::is_nan(cell);
        self.none += u64::from(is_none);
        let given_up = |good: u64, nothing: u64| {
            let cells = self.cells - nothing;
            cells - good > GIVEN_UP && good < cells / 2
        };
        let no_numbers = is_none || given_up(self.numbers.good(), self.none);
        let no_dates = words::is_nothing(cell) || given_up(self.dates.good(), self.valueless());
        let is_number = !no_numbers && self.numbers.add(cell);
        if !no_dates {
            self.dates.add(cell);
        }
        if is_number {
            if self.identifiers {
                self.distinct.add(cell);
            }
            return;
        }
        self.texts += 1;
        self.words += words::count_words(cell) as u64;
        self.distinct.add(cell);
        if let Some(word) = words::small(cell) {
            for ((yes, no), votes) in BOOLEANS.iter().zip(&mut self.booleans) {
                votes.0 += u64::from(yes.contains(&word.as_str()));
                votes.1 += u64::from(no.contains(&word.as_str()));
            }
        }
    }

    /// What the column is, or how it is written if someone has stated what it is. A column without cells counts as numbers,
    /// and is dropped as constant.
    pub fn settle(&self, stated: Option<Kind>) -> Settled {
        let plain = |kind| Settled { kind, style: Style::PLAIN, tolerant: false, doubt: None };
        match stated {
            _ if self.cells == 0 => plain(stated.unwrap_or(Kind::Numeric)),
            Some(Kind::Numeric) => {
                Settled { tolerant: self.half_good(self.numbers.good(), self.none), ..self.numbers() }
            }
            Some(Kind::Date) => {
                Settled { tolerant: self.half_good(self.dates.good(), self.valueless()), ..self.dates() }
            }
            Some(Kind::Boolean) => {
                Settled { tolerant: self.half_good(self.boolean_cells(), self.valueless()), ..plain(Kind::Boolean) }
            }
            Some(kind) => plain(kind),
            None if self.are_numbers() => self.numbers_or_codes(),
            None if self.few_bad(self.boolean_cells(), self.valueless()) => {
                Settled { tolerant: true, ..plain(Kind::Boolean) }
            }
            None if self.few_bad(self.dates.good(), self.valueless()) => self.dates(),
            None => self.text_or_names(),
        }
    }

    /// Whether the cells are numbers, and not just one NaN after the other among cells of another kind.
    fn are_numbers(&self) -> bool {
        let good = self.numbers.good();
        self.few_bad(good, self.none) && (good > self.nan || good + self.none == self.cells)
    }

    /// The decimal mark, if cells that have no other reading tell it.
    fn decimal(&self) -> Option<Decimal> {
        self.numbers.certain().filter(|_| self.are_numbers())
    }

    /// Cells without a value in a column of dates or booleans: for those NaN is no number.
    fn valueless(&self) -> u64 {
        self.none + self.nan
    }

    /// Whether the cells that are neither `good` nor stand for nothing are few enough to be slips.
    fn few_bad(&self, good: u64, nothing: u64) -> bool {
        let cells = self.cells - nothing;
        let bad = cells - good;
        good > 0 && bad == 0 || good >= ENOUGH && bad <= (cells / BAD_CELLS).max(1)
    }

    /// Whether the cells that are not `good` may count as missing where someone has stated the kind: fewer would be a slip of
    /// theirs.
    fn half_good(&self, good: u64, nothing: u64) -> bool {
        let cells = self.cells - nothing;
        good == cells || cells >= ENOUGH && good * 2 >= cells
    }

    /// Cells that are words of one vocabulary. But for the first, both answers have to be there: a column of `n` alone is
    /// not one of booleans.
    fn boolean_cells(&self) -> u64 {
        let sure = self.booleans.iter().enumerate().filter(|(at, (yes, no))| *at == 0 || *yes > 0 && *no > 0);
        sure.map(|(_, (yes, no))| yes + no).max().unwrap_or(0)
    }

    fn numbers(&self) -> Settled {
        let (decimal, doubt) = self.numbers.decide(&self.name);
        let style = Style { decimal, ..Style::PLAIN };
        Settled { kind: Kind::Numeric, style, tolerant: self.few_bad(self.numbers.good(), self.none), doubt }
    }

    /// Numbers, unless they are names written in digits, or dates without separators.
    fn numbers_or_codes(&self) -> Settled {
        let numbers = self.numbers();
        let name = &self.name;
        let instead = |kind, why: &str, done: &str| Settled {
            kind,
            style: Style::PLAIN,
            tolerant: true,
            doubt: Some(format!("{why}: {done}; if they are numbers, state it with --type '{name}=numeric'")),
        };
        let as_names = "treated as names";
        let few = |distinct: u64| distinct <= FEW_CODES && distinct * 10 <= self.cells;
        if self.numbers.are_padded() {
            instead(Kind::Categorical, "its numbers start with zeros, as codes do", as_names)
        } else if self.numbers.are_unheld() {
            let doubt = Some(unheld_numbers(name));
            Settled { kind: Kind::Categorical, style: Style::PLAIN, tolerant: true, doubt }
        } else if !self.numbers.are_counts() || self.cells == 0 {
            numbers
        } else if self.codes {
            instead(Kind::Categorical, "by its name the column holds codes", as_names)
        } else if self.identifiers && self.distinct.exactly().is_some_and(few) {
            instead(Kind::Categorical, "by its name the column holds IDs, and they repeat", as_names)
        } else if self.numbers.are_compact_dates() && self.cells >= ENOUGH {
            instead(Kind::Date, "every number is the eight digits of a day", "read as dates")
        } else {
            numbers
        }
    }

    fn dates(&self) -> Settled {
        let (dates, doubt) = self.dates.decide(&self.name);
        let style = Style { dates, ..Style::PLAIN };
        Settled { kind: Kind::Date, style, tolerant: self.few_bad(self.dates.good(), self.valueless()), doubt }
    }

    fn text_or_names(&self) -> Settled {
        let name = &self.name;
        let names = |doubt| Settled { kind: Kind::Categorical, style: Style::PLAIN, tolerant: false, doubt };
        if let Some(doubt) = self.almost_another_kind() {
            return names(Some(doubt));
        }
        let words = self.words as f64 / self.texts.max(1) as f64;
        let wordy = self.texts >= ENOUGH && words >= WORDS_OF_TEXT;
        let many = words >= WORDS_SURELY && self.distinct.exactly().is_none_or(|distinct| distinct > MANY_NAMES);
        if wordy && (self.distinct.share(self.texts) >= 0.5 || many) {
            let doubt = (words < WORDS_SURELY).then(|| {
                format!(
                    "its cells seldom repeat and have {words:.1} words on average: read as text; if they are names, state \
                     it with --type '{name}=categorical'"
                )
            });
            return Settled { kind: Kind::Text, ..names(doubt) };
        }
        let repeats = wordy && self.distinct.exactly().is_none_or(|distinct| distinct > ENOUGH);
        names(repeats.then(|| {
            format!(
                "its cells have {words:.1} words on average and repeat: treated as names; if they are text, state it with \
                 --type '{name}=text'"
            )
        }))
    }

    /// Why a column is not one of numbers or dates although most of its cells are.
    fn almost_another_kind(&self) -> Option<String> {
        let numbers = self.cells - self.texts;
        if self.are_most(numbers, self.none) && self.texts == self.none && self.numbers.good() < numbers {
            Some(
                "its numbers are written with a decimal point and with a decimal comma: treated as names; if they count, write them \
                 all in one way"
                    .into(),
            )
        } else if self.are_most(self.numbers.good(), self.none) {
            self.numbers.other().map(|other| self.odd_ones("number", self.numbers.good(), self.none, other))
        } else if self.are_most(self.dates.either_order(), self.valueless()) {
            let odd = |other| self.odd_ones("date", self.dates.either_order(), self.valueless(), other);
            self.dates.contradiction(&self.name).or_else(|| self.dates.other().map(odd))
        } else {
            None
        }
    }

    /// Whether four of five cells are `good`, of those that do not stand for nothing.
    fn are_most(&self, good: u64, nothing: u64) -> bool {
        let cells = self.cells - nothing;
        good * 5 >= cells * 4 && cells >= ENOUGH
    }

    /// Why such a column is one of names all the same.
    fn odd_ones(&self, kind: &str, good: u64, nothing: u64, such_as: &str) -> String {
        let cells = self.cells - nothing;
        let (are, those) = match cells - good {
            1 => (format!("1 of {cells} cells is no {kind},"), "that cell"),
            bad => (format!("{bad} of {cells} cells are no {kind}s, such as"), "those cells"),
        };
        let word = if kind == "date" { "date" } else { "numeric" };
        format!(
            "{are} '{such_as}': treated as names; have {those} count as missing with --type '{}={word}', or correct {those}",
            self.name
        )
    }
}

/// Where some columns of a table have decimal commas and none has points, cells of the others that can be read in two ways have
/// commas too; and the other way round.
pub(crate) fn agree_on_marks<'a>(guesses: impl Iterator<Item = &'a mut Guess>) {
    let guesses: Vec<&mut Guess> = guesses.collect();
    let votes: Vec<Decimal> = guesses.iter().filter_map(|guess| guess.decimal()).collect();
    if let Some(&mark) = votes.first().filter(|&first| votes.iter().all(|vote| vote == first)) {
        guesses.into_iter().for_each(|guess| guess.numbers.lean(mark));
    }
}

/// Why a column of whole numbers is one of names.
pub(crate) fn unheld_numbers(name: &str) -> String {
    format!(
        "it holds whole numbers beyond 2^53, which would be rounded: treated as names; if they are quantities, state it with \
         --type '{name}=numeric'"
    )
}

/// How a user states the order of a column's dates.
fn state_order(name: &str, order: DateOrder) -> String {
    let word = if order == DateOrder::MonthFirst { "mdy" } else { "dmy" };
    format!("--type '{name}=date:{word}'")
}

#[cfg(test)]
mod tests;
