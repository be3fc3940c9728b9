//! A report as headings, paragraphs, tables and figures, before it becomes Markdown, HTML or LaTeX.

use cmrm_report::Figure;

/// A table of text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
}

/// A piece of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading of a level from 1.
    Heading(usize, String),
    /// A paragraph. `code` in back-ticks and **bold** are the only marks.
    Text(String),
    /// A table.
    Table(Table),
    /// A figure, and the name of its file without an ending.
    Figure(String, Box<Figure>),
}

/// A report before it becomes Markdown, HTML or LaTeX.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    /// Its pieces, in order.
    pub blocks: Vec<Block>,
}

impl Document {
    /// Adds a heading.
    pub fn heading(&mut self, level: usize, text: impl Into<String>) {
        self.blocks.push(Block::Heading(level, text.into()));
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }

    /// Adds a table, unless it has no rows.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }
}
