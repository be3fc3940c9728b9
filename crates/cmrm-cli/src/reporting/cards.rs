//! Doubtful rows to look at, beside the trusted rows that are most like them.

use std::borrow::Cow;

use cmrm_data::{Dataset, Features, ImageShape, Input};
use cmrm_report::{Card, Content, Neighbour, Pixels, data_uri};

use crate::failure::{Failure, Result};

/// Columns of a row that the report shows, and that the review page shows.
pub const FEW_COLUMNS: usize = 16;
pub const MANY_COLUMNS: usize = 200;
/// Trusted neighbours of each of the two labels.
const NEIGHBOURS: usize = 3;
/// Rows looked at to learn the range of the pixels.
const RANGE_ROWS: usize = 1000;

/// What training recorded of every training row.
pub struct Record {
    pub margin: Vec<f32>,
    pub rival: Vec<u32>,
    pub weight: Vec<f32>,
}

/// Training rows as they were read and as they were learned from.
pub struct Cards<'a> {
    raw: Input,
    train: Cow<'a, Dataset>,
    record: Record,
    range: (f32, f32),
    /// Positions of the rows that are not doubted, by label.
    trusted: Vec<Vec<usize>>,
}

impl<'a> Cards<'a> {
    pub fn new(raw: Input, train: Cow<'a, Dataset>, record: Record) -> Result<Self> {
        let rows = raw.features.rows() as u64;
        if let Some(row) = train.rows.iter().find(|&&row| row >= rows) {
            return Err(Failure::input(format!("{}: {rows} rows, but the run has trained on row {row}", raw.source)));
        }
        if record.margin.len() != train.len() || record.weight.len() != train.len() || record.rival.len() != train.len()
        {
            let (found, expected) = (record.margin.len(), train.len());
            return Err(Failure::input(format!("margins of {found} rows for the {expected} training rows; fit again")));
        }
        let range = pixel_range(&raw.features);
        let mut trusted = vec![Vec::new(); train.classes.len()];
        for (at, &label) in train.labels.iter().enumerate() {
            if record.margin[at] > 0.0 && record.weight[at] >= 0.5 {
                trusted[label as usize].push(at);
            }
        }
        Ok(Cards { raw, train, record, range, trusted })
    }

    /// Positions of the doubted rows, most doubtful first.
    pub fn suspects(&self) -> Vec<usize> {
        let margins = &self.record.margin;
        let mut doubted: Vec<usize> = (0..margins.len()).filter(|&at| margins[at] < 0.0).collect();
        doubted.sort_by(|&a, &b| margins[a].total_cmp(&margins[b]).then(a.cmp(&b)));
        doubted
    }

    /// The given and the suggested label of a row.
    pub fn labels(&self, at: usize) -> (&str, &str) {
        let name = |label: u32| self.train.classes[label as usize].as_str();
        (name(self.train.labels[at]), name(self.record.rival[at]))
    }

    /// Where a row stands in the data.
    pub fn row(&self, at: usize) -> u64 {
        self.train.rows[at]
    }

    /// Its margin in the last epoch.
    pub fn margin(&self, at: usize) -> f64 {
        f64::from(self.record.margin[at])
    }

    /// One row with its neighbours.
    pub fn card(&self, at: usize, columns: usize) -> Card {
        let (given, suggested) = self.labels(at);
        let mut neighbours = Vec::new();
        for label in [self.train.labels[at], self.record.rival[at]] {
            for near in self.nearest(at, label) {
                neighbours.push(Neighbour {
                    row: self.row(near),
                    label: self.train.classes[label as usize].clone(),
                    content: self.content(near, columns),
                });
            }
        }
        Card {
            row: self.row(at),
            given: given.into(),
            suggested: suggested.into(),
            margin: self.margin(at),
            content: self.content(at, columns),
            neighbours,
        }
    }

    /// The trusted rows of a label that are nearest in the features that the model sees.
    fn nearest(&self, at: usize, label: u32) -> Vec<usize> {
        let width = self.train.width();
        let row = |at: usize| &self.train.features[at * width..(at + 1) * width];
        let here = row(at);
        let mut best: Vec<(f32, usize)> = Vec::with_capacity(NEIGHBOURS + 1);
        for &other in self.trusted[label as usize].iter().filter(|&&other| other != at) {
            let distance: f32 = here.iter().zip(row(other)).map(|(a, b)| (a - b) * (a - b)).sum();
            if best.len() < NEIGHBOURS || distance < best[best.len() - 1].0 {
                let place = best.partition_point(|&(near, _)| near <= distance);
                best.insert(place, (distance, other));
                best.truncate(NEIGHBOURS);
            }
        }
        best.into_iter().map(|(_, other)| other).collect()
    }

    fn content(&self, at: usize, columns: usize) -> Content {
        let row = self.train.rows[at] as usize;
        match &self.raw.features {
            Features::Table(table) => {
                // The row's own name first, where it has one.
                let cells = self.raw.ids.iter().chain(table.columns()).take(columns);
                let cells = cells.map(|c| (c.name.clone(), c.text(row).unwrap_or_default().into_owned())).collect();
                Content {
                    picture: None,
                    cells,
                    more: (usize::from(self.raw.ids.is_some()) + table.columns().len()).saturating_sub(columns),
                }
            }
            Features::Array(array) => {
                let values = &array.values()[row * array.width()..(row + 1) * array.width()];
                let picture = array.image().and_then(|shape| picture(values, shape, self.range));
                if picture.is_some() {
                    return Content { picture, cells: Vec::new(), more: 0 };
                }
                let cells = values.iter().take(columns).enumerate();
                let cells = cells.map(|(i, value)| (format!("x{i}"), value.to_string())).collect();
                Content { picture: None, cells, more: values.len().saturating_sub(columns) }
            }
        }
    }
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
