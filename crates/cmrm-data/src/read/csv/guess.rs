//! The first pass: what each column's cells have in common.

use std::collections::HashMap;

use super::{CsvFile, Records};
use crate::error::Result;
use crate::table::Guess;

/// Passes over the whole file and goes on with what is known of its columns. Ragged rows and bytes that are not UTF-8 are
/// found here.
pub(super) fn look(file: &CsvFile, known: &mut HashMap<String, Guess>) -> Result<()> {
    let names = &file.plan.names;
    let guess = |(at, name): (usize, &String)| {
        file.plan.is_open(at).then(|| known.remove(name).unwrap_or_else(|| Guess::new(name)))
    };
    let mut guesses: Vec<Option<Guess>> = names.iter().enumerate().map(guess).collect();
    if guesses.iter().all(Option::is_none) {
        return Ok(());
    }
    let mut records = Records::open(file)?;
    while records.advance(file)? {
        records.check_width(file)?;
        for (guess, cell) in guesses.iter_mut().zip(records.cells()) {
            if let Some(guess) = guess.as_mut().filter(|_| !file.options.text.is_missing(cell)) {
                guess.add(cell);
            }
        }
    }
    let found = names.iter().cloned().zip(guesses);
    known.extend(found.filter_map(|(name, guess)| Some((name, guess?))));
    Ok(())
}
