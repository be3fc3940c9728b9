//! New rows from files and from text.

use std::path::Path;

use cmrm_data::Features;
use cmrm_data::read::{Format, ReadOptions, Source, read, read_path};

use super::Model;
use crate::error::Result;

impl Model {
    /// The columns that the model knows, from a file, a folder or a pattern of files. Others, such as one of labels, are left out.
    pub fn read_path(&self, path: impl AsRef<Path>) -> Result<Features> {
        Ok(read_path(path.as_ref(), &self.reading())?.features)
    }

    /// The same from JSON in memory: an object, an array of objects, or an object a line.
    pub fn read_json(&self, text: &str) -> Result<Features> {
        let options = ReadOptions { format: Some(Format::Json), ..self.reading() };
        Ok(read(&Source::bytes("the rows", text.to_owned()), &options)?.features)
    }

    fn reading(&self) -> ReadOptions {
        ReadOptions { expected: Some(self.preprocess().expected()), ..ReadOptions::default() }
    }
}
