//! What becomes of a column of text: the terms that count and what they weigh.

use std::cmp::Ordering;

use cmrm::SparseRows;
use serde::{Deserialize, Serialize};

use super::options::TextEncoding;
use super::terms::{Index, Reader, Shape};
use super::token::{TokenKind, Tokens, join};
use crate::error::Result;
use crate::table::Missing;

/// A column of text as terms weighted by TF-IDF.
///
/// A term that occurs `t` times in a row and in `d` of the `n` training rows weighs `(1 + ln t)·(1 + ln((1 + n)/(1 + d)))`
/// there. The weights of a row are brought to length one: those of words and those of pieces of words each, then all.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Stored")]
pub struct TextPlan {
    shape: Shape,
    /// Training rows.
    rows: u32,
    /// Terms made of words, then pieces of words: the features, in order.
    terms: Vec<Term>,
    /// How many terms are made of words.
    of_words: usize,
    index: Index,
    /// For each number of the index the feature, if it is one; a part of a term need not be.
    features: Vec<Option<u32>>,
    /// What one occurrence weighs, for each feature.
    weights: Vec<f64>,
}

/// A term and the number of training rows that it occurs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term {
    pub text: String,
    pub rows: u32,
}

/// The stored form. A term is one text, so that a pretty file has one line for each.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    longest: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    characters: Option<(usize, usize)>,
    rows: u32,
    /// `rows term`, most frequent first.
    words: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pieces: Vec<String>,
}

impl Term {
    /// The most frequent first, and those of one frequency by their text.
    pub fn order(&self, other: &Term) -> Ordering {
        other.rows.cmp(&self.rows).then_with(|| self.text.cmp(&other.text))
    }
}

impl TextPlan {
    /// The terms are in order.
    pub(super) fn new(shape: Shape, rows: u32, words: Vec<Term>, pieces: Vec<Term>) -> Self {
        let mut plan = TextPlan {
            shape,
            rows,
            of_words: words.len(),
            terms: words.into_iter().chain(pieces).collect(),
            index: Index::default(),
            features: Vec::new(),
            weights: Vec::new(),
        };
        let mut tokens = Tokens::default();
        for feature in 0..plan.terms.len() {
            let Term { text, rows } = &plan.terms[feature];
            let number = match feature < plan.of_words {
                true => {
                    tokens.read_term(text);
                    let mut words = tokens.iter().map(|token| plan.index.add_word(token.text));
                    let first = words.next().unwrap_or_default();
                    let words: Vec<u32> = words.collect();
                    words.into_iter().fold(first, |before, word| plan.index.add_longer(before, word))
                }
                false => plan.index.add_piece(text),
            };
            let weight = 1.0 + ((1.0 + f64::from(plan.rows)) / (1.0 + f64::from(*rows))).ln();
            plan.weights.push(weight);
            plan.features.resize(plan.index.len(), None);
            plan.features[number as usize] = Some(feature as u32);
        }
        plan
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        self.terms.len()
    }

    /// The terms, in the order of the features; a piece of a word stands between quotation marks.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = String> + '_ {
        self.terms.iter().enumerate().map(|(at, term)| match at < self.of_words {
            true => term.text.clone(),
            false => format!("'{}'", term.text),
        })
    }

    /// A row of features for each text; where it is missing, one without words.
    pub(in super::super) fn transform(&self, texts: &[String], missing: &Missing) -> Result<SparseRows<f32>> {
        let mut rows = SparseRows::empty(self.width())?;
        let mut reader = Reader::default();
        let (mut found, mut terms, mut weights, mut row) =
            (Vec::new(), Vec::new(), Vec::<(u32, f64)>::new(), Vec::new());
        for (at, text) in texts.iter().enumerate() {
            let text = if missing.at(at) { "" } else { text };
            self.shape.read(text, &mut &self.index, &mut reader, &mut found);
            terms.clear();
            terms.extend(found.iter().filter_map(|&number| self.features[number as usize]));
            terms.sort_unstable();
            weights.clear();
            for same in terms.chunk_by(|a, b| a == b) {
                let often = 1.0 + (same.len() as f64).ln();
                weights.push((same[0], often * self.weights[same[0] as usize]));
            }
            let (words, pieces) =
                weights.split_at(weights.partition_point(|&(term, _)| (term as usize) < self.of_words));
            let parts = [words, pieces].into_iter().filter(|part| !part.is_empty());
            let both = if parts.clone().count() == 2 { 2f64.sqrt() } else { 1.0 };
            row.clear();
            for part in parts {
                let length = both * part.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
                row.extend(part.iter().map(|&(term, weight)| (term, (weight / length) as f32)));
            }
            rows.push(&row)?;
        }
        Ok(rows)
    }
}

impl PartialEq for TextPlan {
    /// The rest follows from these.
    fn eq(&self, other: &Self) -> bool {
        (self.shape, self.rows, self.of_words, &self.terms) == (other.shape, other.rows, other.of_words, &other.terms)
    }
}

impl Serialize for TextPlan {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (words, pieces) = self.terms.split_at(self.of_words);
        let lines = |terms: &[Term]| terms.iter().map(|term| format!("{} {}", term.rows, term.text)).collect();
        let stored = Stored {
            longest: self.shape.words,
            characters: self.shape.characters,
            rows: self.rows,
            words: lines(words),
            pieces: lines(pieces),
        };
        stored.serialize(serializer)
    }
}

impl TryFrom<Stored> for TextPlan {
    type Error = String;

    /// Refuses what no fit produces, since the plan may come from a file that someone edited.
    fn try_from(stored: Stored) -> std::result::Result<Self, String> {
        let options = TextEncoding { words: stored.longest, characters: stored.characters, ..TextEncoding::default() };
        options.check().map_err(|error| error.to_string())?;
        let shape = Shape { words: stored.longest, characters: stored.characters };
        let read = |lines: Vec<String>| -> std::result::Result<Vec<Term>, String> {
            let terms =
                lines.iter().map(|line| read_line(line, stored.rows)).collect::<std::result::Result<Vec<_>, _>>()?;
            match terms.windows(2).find(|pair| pair[0].order(&pair[1]) != Ordering::Less) {
                Some(pair) => Err(format!("the terms '{}' and '{}' are not in order", pair[0].text, pair[1].text)),
                None => Ok(terms),
            }
        };
        let (words, pieces) = (read(stored.words)?, read(stored.pieces)?);
        if let Some(term) = words.iter().find(|term| !shape.could_have(&term.text)) {
            return Err(format!("'{}' is no term of at most {} words", term.text, shape.words));
        }
        if let Some(piece) = pieces.iter().find(|piece| !shape.could_have_piece(&piece.text)) {
            return Err(format!("'{}' is no piece of a word as asked for", piece.text));
        }
        let features = words.len() + pieces.len();
        let plan = TextPlan::new(shape, stored.rows, words, pieces);
        if plan.features.iter().flatten().count() != features || features == 0 {
            return Err("a term of a text occurs twice, or there is none".into());
        }
        Ok(plan)
    }
}

fn read_line(line: &str, rows: u32) -> std::result::Result<Term, String> {
    let term =
        line.split_once(' ').and_then(|(count, text)| Some(Term { rows: count.parse().ok()?, text: text.into() }));
    term.filter(|term| (1..=rows).contains(&term.rows))
        .ok_or_else(|| format!("'{line}' is no term with its number of rows"))
}

impl Shape {
    /// Whether a text can be a term of words.
    fn could_have(&self, term: &str) -> bool {
        let mut tokens = Tokens::default();
        tokens.read_term(term);
        let words: Vec<&str> = tokens.iter().map(|token| token.text).collect();
        let singles = tokens.iter().filter(|token| token.kind == TokenKind::Single).count();
        let Some((first, others)) = words.split_first() else { return false };
        let joined = others.iter().fold(first.to_string(), |term, word| join(&term, word));
        joined == term && words.len() <= self.words + usize::from(singles > 1)
    }

    /// Whether a text can be a piece of a word.
    fn could_have_piece(&self, piece: &str) -> bool {
        let length = piece.chars().count();
        self.characters.is_some_and(|(_, longest)| (1..=longest).contains(&length))
    }
}
