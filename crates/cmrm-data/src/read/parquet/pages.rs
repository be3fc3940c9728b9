//! Pages as they come unpacked, checked for what would make the decoder panic or allocate at will.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

use super::thrift::Walk;

/// Passes pages on to the decoder once they are checked.
pub(super) struct CheckedPages {
    pub pages: Box<dyn PageReader>,
    pub has_dictionary: bool,
    /// Whether cells may be missing: then each page starts with their levels.
    pub nullable: bool,
}

impl CheckedPages {
    fn check(&mut self, page: &Page) -> Result<()> {
        let wrong = |what: String| Err(ParquetError::General(what));
        if page.is_dictionary_page() {
            self.has_dictionary = true;
            return Ok(());
        }
        #[allow(deprecated)]
        if let Page::DataPage { def_level_encoding, .. } = page
            && self.nullable
            && !matches!(def_level_encoding, Encoding::RLE | Encoding::BIT_PACKED)
        {
            return wrong(format!("levels in encoding {def_level_encoding}"));
        }
        match page.encoding() {
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY if !self.has_dictionary => {
                wrong("a page refers to a dictionary that is not there".into())
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY => self.check_lengths(page),
            // A short page can repeat a long prefix any number of times.
            Encoding::DELTA_BYTE_ARRAY => wrong("the encoding DELTA_BYTE_ARRAY is not supported".into()),
            _ => Ok(()),
        }
    }

    /// The decoder makes room for as many lengths as the page says there are.
    fn check_lengths(&self, page: &Page) -> Result<()> {
        let buffer = page.buffer();
        let start = match page {
            Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
                *def_levels_byte_len as usize + *rep_levels_byte_len as usize
            }
            _ if !self.nullable => 0,
            // Levels are preceded by their length in four bytes.
            _ => match buffer.first_chunk::<4>() {
                Some(&length) => 4 + u32::from_le_bytes(length) as usize,
                None => usize::MAX,
            },
        };
        let mut numbers = Walk { rest: buffer.get(start..).unwrap_or_default() };
        let (_block, _blocks) = (numbers.varint(), numbers.varint());
        match numbers.varint() {
            Some(count) if count <= u64::from(page.num_values()) => Ok(()),
            count => Err(ParquetError::General(format!(
                "a page of {} values declares {} lengths",
                page.num_values(),
                count.map_or("unreadable".into(), |count| count.to_string())
            ))),
        }
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            self.check(page)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}
