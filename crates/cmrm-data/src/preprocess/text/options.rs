//! What a caller can say about columns of text.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Longest n-gram of words, and of characters, that can be asked for.
const LONGEST: usize = 8;

/// How text becomes features: terms counted row by row and weighted by how rare they are (TF-IDF).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TextEncoding {
    /// Words in the longest term: 2 reads words and pairs of neighbours. Characters of scripts without spaces count as
    /// words, and their terms have one more.
    pub words: usize,
    /// Characters in the shortest and in the longest piece of a word that is a term too, so that forms of one word have
    /// something in common; without it there are none.
    pub characters: Option<(usize, usize)>,
    /// Fewest training rows that a term must occur in.
    pub min_rows: u32,
    /// Most terms of a column, the most frequent; of words and of pieces each.
    pub max_terms: usize,
}

impl Default for TextEncoding {
    fn default() -> Self {
        TextEncoding { words: 2, characters: Some((4, 4)), min_rows: 2, max_terms: 200_000 }
    }
}

impl TextEncoding {
    pub(in super::super) fn check(&self) -> Result<()> {
        if self.words == 0 || self.words > LONGEST {
            return Err(Error::option(format!("words = {} in the settings of text; use 1 to {LONGEST}", self.words)));
        }
        if let Some((shortest, longest)) = self.characters
            && (shortest == 0 || shortest > longest || longest > LONGEST)
        {
            let found = format!("characters = [{shortest}, {longest}] in the settings of text");
            return Err(Error::option(format!("{found}; use two numbers from 1 to {LONGEST}, the smaller first")));
        }
        if self.max_terms == 0 {
            return Err(Error::option("max-terms is 0 in the settings of text; keep at least one term"));
        }
        Ok(())
    }
}
