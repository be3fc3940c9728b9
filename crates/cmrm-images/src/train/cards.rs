//! Suspects among the images, beside trusted ones that look alike to the network.

use std::borrow::Cow;

use cmrm::OwnedRows;
use cmrm_data::Dataset;
use cmrm_report::{Card, Pixels, data_uri};
use cmrm_run::{Cards, REVIEW_BYTES, REVIEWED, TrainingRows, fitting};
use image::imageops::FilterType;
use image::{DynamicImage, GrayImage, RgbImage};

use super::judge::{Seen, numbers};
use crate::data::Images;
use crate::error::Result;

/// Pixels of a picture's longer side: enough to see what it shows, and small enough for a page of hundreds.
const SIDE: usize = 96;

/// The most suspicious images, as many as the review page shows.
pub(super) fn suspects(images: &Images, rows: &TrainingRows, seen: &Seen) -> Result<Vec<Card>> {
    let width = seen.features.size()[1] as usize;
    let near = Dataset {
        features: OwnedRows::Dense { values: numbers(&seen.features)?, width },
        feature_names: (0..width).map(|at| format!("f{at}")).collect(),
        labels: rows.labels.clone(),
        classes: rows.classes.clone(),
        rows: rows.rows.clone(),
        image: None,
    };
    let picture = |row: u64| data_uri(&picture(images, images.at_row(row)));
    let cards = Cards::of_pictures(Cow::Owned(near), Cow::Borrowed(rows), &picture)?;
    Ok(fitting(cards.suspects().into_iter().take(REVIEWED).map(|at| cards.card(at, 0)).collect(), REVIEW_BYTES))
}

/// An image, made smaller if it is large.
fn picture(images: &Images, at: usize) -> Pixels {
    let Images { height, width, channels, .. } = *images;
    let size = height * width * channels;
    let bytes = images.pixels[at * size..(at + 1) * size].to_vec();
    if width.max(height) <= SIDE {
        return Pixels { width, height, channels, bytes };
    }
    let (full, side) = ((width as u32, height as u32), SIDE as u32);
    let image = match channels {
        1 => GrayImage::from_raw(full.0, full.1, bytes).map(DynamicImage::from),
        _ => RgbImage::from_raw(full.0, full.1, bytes).map(DynamicImage::from),
    };
    // As many bytes as pixels and channels: there is always an image.
    let small = image.unwrap_or_default().resize(side, side, FilterType::Triangle);
    let (width, height) = (small.width() as usize, small.height() as usize);
    Pixels { width, height, channels, bytes: small.into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_images_become_small_and_small_ones_stay() {
        for (channels, width, height, expected) in [(3, 200, 100, (96, 48)), (1, 8, 8, (8, 8)), (1, 97, 194, (48, 96))]
        {
            let pixels: Vec<u8> = [7u8; 2].iter().flat_map(|&tone| vec![tone; width * height * channels]).collect();
            let images = Images { pixels, labels: vec![0, 0], height, width, channels, ..Images::default() };
            let small = picture(&images, 1);
            assert_eq!((small.width, small.height), expected);
            assert_eq!(small.bytes, vec![7; expected.0 * expected.1 * channels]);
        }
    }
}
