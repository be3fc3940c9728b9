//! From a text to tokens.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use cmrm_data::read::Source;
use cmrm_data::{Error, Result};
use tokenizers::{PostProcessor, Tokenizer, TruncationParams};

/// What paddings are called, should a tokenizer not say which is its own.
const PADDINGS: [&str; 2] = ["[PAD]", "<pad>"];

/// A text as a model reads it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tokens {
    pub(crate) ids: Vec<i64>,
    /// Which of two joined texts each belongs to.
    pub(crate) types: Vec<i64>,
    /// Whether the text was longer than it may be.
    pub(crate) cut: bool,
}

impl Tokens {
    /// Number of tokens. One that is padding stands for a text that has none.
    pub(crate) fn length(&self) -> usize {
        self.ids.len().max(1)
    }
}

/// A tokenizer that cuts texts to a length.
pub(crate) struct TextTokenizer {
    path: PathBuf,
    tokenizer: Tokenizer,
    /// What fills up short texts.
    pub(crate) padding: i64,
}

impl TextTokenizer {
    /// Reads a `tokenizer.json`. Its own truncation is left aside: it is what the encoder was trained with.
    pub(crate) fn open(path: &Path, max_length: usize) -> Result<Self> {
        let bytes = Source::file(path).read_all()?;
        let refuse = |why: String| Error::option(why).in_file(path.display());
        let mut tokenizer = guarded(|| Tokenizer::from_bytes(bytes)).map_err(|why| {
            refuse(format!("not a tokenizer: {why}")).way_out("give the tokenizer.json that comes with the model")
        })?;
        let special = tokenizer.get_post_processor().map_or(0, |processor| processor.added_tokens(false));
        if max_length <= special {
            return Err(refuse(format!(
                "--max-length {max_length} leaves no room for text beside {special} tokens of the tokenizer's own"
            ))
            .way_out(format!("give at least {}", special + 1)));
        }
        let known = PADDINGS.iter().find_map(|padding| tokenizer.token_to_id(padding));
        let padding = tokenizer.get_padding().map(|padding| padding.pad_id).or(known).unwrap_or(0);
        tokenizer.with_padding(None);
        let truncation = TruncationParams { max_length, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| refuse(error.to_string()))?;
        Ok(TextTokenizer { path: path.to_owned(), tokenizer, padding: i64::from(padding) })
    }

    pub(crate) fn encode(&self, text: &str) -> Result<Tokens> {
        let encoding = guarded(|| self.tokenizer.encode_fast(text, true)).map_err(|why| {
            Error::option(format!("the tokenizer cannot read a text: {why}")).in_file(self.path.display())
        })?;
        let numbers = |numbers: &[u32]| numbers.iter().map(|&number| i64::from(number)).collect();
        Ok(Tokens {
            ids: numbers(encoding.get_ids()),
            types: numbers(encoding.get_type_ids()),
            cut: !encoding.get_overflowing().is_empty(),
        })
    }
}

/// A tokenizer may be anything that is JSON: should it make the library panic, that is an error too.
fn guarded<T, E: Display>(work: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("it panicked".into()),
    }
}
