//! Suspects to look at, beside the trusted rows that are most like them.

use std::borrow::Cow;

use cmrm_data::{Column, Dataset, Features, ImageShape, Input};
use cmrm_report::{Card, Content, Neighbour, Pixels, data_uri};

use crate::error::{Error, Result};
use crate::rows::TrainingRows;

/// Rows that the report shows in full.
pub const SUSPECTS: usize = 50;
/// Room for their pictures: the page stays small enough for a mail. Where pictures are large, fewer rows are shown.
pub const PICTURE_BYTES: usize = 2_000_000;
/// Rows that the review page of a run on images shows.
pub const REVIEWED: usize = 500;
/// Room for their pictures.
pub const REVIEW_BYTES: usize = 16_000_000;
/// Columns of a row that the report shows.
pub const FEW_COLUMNS: usize = 16;
/// Columns of a row that the review page shows.
pub const MANY_COLUMNS: usize = 200;
/// Trusted neighbours of each of the two labels.
const NEIGHBOURS: usize = 3;
/// Rows looked at to learn the range of the pixels.
const RANGE_ROWS: usize = 1000;

/// What a row of the data holds, with so many columns at most.
type Show<'a> = Box<dyn Fn(u64, usize) -> Content + Send + Sync + 'a>;

/// Training rows as they were read and as they were learned from.
pub struct Cards<'a> {
    show: Show<'a>,
    /// The ids of the rows of the data, where it has them.
    ids: Option<Column>,
    train: Cow<'a, Dataset>,
    rows: Cow<'a, TrainingRows>,
    /// Positions of the rows whose labels are not in doubt, by label.
    trusted: Vec<Vec<usize>>,
}

impl<'a> Cards<'a> {
    /// Rows of `raw`, from which `train` was made.
    pub fn new(raw: Input, train: Cow<'a, Dataset>, rows: Cow<'a, TrainingRows>) -> Result<Self> {
        let count = raw.features.rows() as u64;
        if let Some(row) = train.rows.iter().find(|&&row| row >= count) {
            return Err(Error::refused(format!("{}: {count} rows, but the run has trained on row {row}", raw.source)));
        }
        let (range, ids) = (pixel_range(&raw.features), raw.ids.clone());
        Cards::showing(Box::new(move |row, columns| content(&raw, range, row as usize, columns)), ids, train, rows)
    }

    /// Rows that are images, each of them `picture` of its place in the data; neighbours are near in the features of
    /// `train`.
    pub fn of_pictures(
        train: Cow<'a, Dataset>,
        rows: Cow<'a, TrainingRows>,
        picture: &'a (dyn Fn(u64) -> Option<String> + Send + Sync),
    ) -> Result<Self> {
        let show = move |row, _| Content { picture: picture(row), cells: Vec::new(), more: 0 };
        Cards::showing(Box::new(show), None, train, rows)
    }

    fn showing(
        show: Show<'a>,
        ids: Option<Column>,
        train: Cow<'a, Dataset>,
        rows: Cow<'a, TrainingRows>,
    ) -> Result<Self> {
        let confidences = if rows.confidence.is_empty() { train.len() } else { rows.confidence.len() };
        let lengths = [rows.labels.len(), rows.margin.len(), rows.weight.len(), rows.rival.len(), confidences];
        if let Some(found) = lengths.into_iter().find(|&found| found != train.len()) {
            let what =
                format!("the margins are of {found} rows, but there are {} training rows; fit again", train.len());
            return Err(Error::refused(what));
        }
        let mut trusted = vec![Vec::new(); train.classes.len()];
        for (at, &label) in train.labels.iter().enumerate() {
            if rows.margin[at] > 0.0 && rows.weight[at] >= 0.5 {
                trusted[label as usize].push(at);
            }
        }
        Ok(Cards { show, ids, train, rows, trusted })
    }

    /// Positions of the suspects, most suspicious first.
    pub fn suspects(&self) -> Vec<usize> {
        self.rows.suspects()
    }

    /// The given and the suggested label of a row.
    pub fn labels(&self, at: usize) -> (&str, &str) {
        let name = |label: u32| self.train.classes[label as usize].as_str();
        (name(self.train.labels[at]), name(self.rows.rival[at]))
    }

    /// A row's place in the data.
    pub fn row(&self, at: usize) -> u64 {
        self.train.rows[at]
    }

    /// Its ID, where the data has a column of them.
    pub fn id(&self, at: usize) -> Option<String> {
        self.ids.as_ref()?.text(self.row(at) as usize).map(Cow::into_owned)
    }

    /// Its margin: in the last epoch, or by models that have not seen it.
    pub fn margin(&self, at: usize) -> f64 {
        f64::from(self.rows.margin[at])
    }

    /// One row with its neighbours.
    pub fn card(&self, at: usize, columns: usize) -> Card {
        let (given, suggested) = self.labels(at);
        let mut neighbours = Vec::new();
        for label in [self.train.labels[at], self.rows.rival[at]] {
            for near in self.nearest(at, label) {
                neighbours.push(Neighbour {
                    row: self.row(near),
                    label: self.train.classes[label as usize].clone(),
                    content: (self.show)(self.row(near), columns),
                });
            }
        }
        Card {
            row: self.row(at),
            id: self.id(at),
            given: given.into(),
            suggested: suggested.into(),
            margin: self.margin(at),
            content: (self.show)(self.row(at), columns),
            neighbours,
        }
    }

    /// The trusted rows of a label that are nearest in the features that the model sees.
    fn nearest(&self, at: usize, label: u32) -> Vec<usize> {
        let Ok(rows) = self.train.x() else { return Vec::new() };
        let mut best: Vec<(f32, usize)> = Vec::with_capacity(NEIGHBOURS + 1);
        for &other in self.trusted[label as usize].iter().filter(|&&other| other != at) {
            let distance = rows.squared_distance(at, other);
            if best.len() < NEIGHBOURS || distance < best[best.len() - 1].0 {
                let place = best.partition_point(|&(near, _)| near <= distance);
                best.insert(place, (distance, other));
                best.truncate(NEIGHBOURS);
            }
        }
        best.into_iter().map(|(_, other)| other).collect()
    }
}

fn content(raw: &Input, range: (f32, f32), row: usize, columns: usize) -> Content {
    match &raw.features {
        Features::Table(table) => {
            // The row's own name first, where it has one.
            let cells = raw.ids.iter().chain(table.columns()).take(columns);
            let cells = cells.map(|c| (c.name.clone(), c.text(row).unwrap_or_default().into_owned())).collect();
            let all = usize::from(raw.ids.is_some()) + table.columns().len();
            Content { picture: None, cells, more: all.saturating_sub(columns) }
        }
        Features::Array(array) => {
            let values = &array.values()[row * array.width()..(row + 1) * array.width()];
            let picture = array.image().and_then(|shape| picture(values, shape, range));
            if picture.is_some() {
                return Content { picture, cells: Vec::new(), more: 0 };
            }
            let cells = values.iter().take(columns).enumerate();
            let cells = cells.map(|(i, value)| (format!("x{i}"), value.to_string())).collect();
            Content { picture: None, cells, more: values.len().saturating_sub(columns) }
        }
        Features::Sparse(array) => {
            let row = array.rows.view().row(row);
            let cells = row.iter().take(columns).map(|(at, value)| (format!("x{at}"), value.to_string())).collect();
            Content { picture: None, cells, more: row.values.len().saturating_sub(columns) }
        }
    }
}

/// The first of the cards, as many as have room for their pictures.
pub fn fitting(mut cards: Vec<Card>, mut left: usize) -> Vec<Card> {
    let fits = |card: &&Card| {
        let contents = card.neighbours.iter().map(|neighbour| &neighbour.content).chain([&card.content]);
        let bytes = contents.filter_map(|content| content.picture.as_ref()).map(String::len).sum();
        let fits = bytes <= left;
        left = left.saturating_sub(bytes);
        fits
    };
    let count = cards.iter().take_while(fits).count();
    cards.truncate(count);
    cards
}

/// Smallest and largest pixel of the first rows.
fn pixel_range(features: &Features) -> (f32, f32) {
    let Features::Array(array) = features else { return (0.0, 1.0) };
    let few = array.values().iter().take(RANGE_ROWS * array.width());
    few.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)))
}

/// An image of one or three colours; others have no picture.
fn picture(values: &[f32], shape: ImageShape, (low, high): (f32, f32)) -> Option<String> {
    let ImageShape { channels, height, width, channels_last } = shape;
    let scale = if high > low { 255.0 / (high - low) } else { 1.0 };
    let byte = |value: f32| ((value - low) * scale).round().clamp(0.0, 255.0) as u8;
    let plane = height * width;
    let bytes = (0..plane * channels).map(|at| {
        let place = if channels_last { at } else { (at % channels) * plane + at / channels };
        byte(values[place])
    });
    data_uri(&Pixels { width, height, channels, bytes: bytes.collect() })
}
