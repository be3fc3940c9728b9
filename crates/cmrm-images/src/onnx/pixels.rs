//! From bytes to what a model wants to see.

use image::imageops::FilterType;
use image::{DynamicImage, GrayImage, RgbImage};

use super::input::Layout;
use crate::data::Images;
use crate::error::{Error, Result};

/// Mean and deviation of ImageNet's pixels, by which nearly all published networks were trained.
const IMAGENET: [[f32; 3]; 2] = [[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]];

/// What happens to a pixel: `(byte / 255 − mean) / deviation`, after the image was scaled.
#[derive(Debug, Clone, Default)]
pub struct Preparation {
    /// Pixels of a side: the shorter one is scaled to so many, and the middle square cut out. `None`: images as they are.
    pub size: Option<usize>,
    /// Subtracted; a number for each channel, or one for all. Empty: ImageNet's for three channels, 0 for one.
    pub mean: Vec<f32>,
    /// Divided by, likewise. Empty: ImageNet's for three channels, 1 for one.
    pub deviation: Vec<f32>,
}

/// [`Preparation`], checked: `byte · factor + offset`, channel by channel.
#[derive(Debug, Clone)]
pub(super) struct Pixels {
    size: Option<usize>,
    layout: Layout,
    factor: Vec<f32>,
    offset: Vec<f32>,
}

impl Pixels {
    /// For a model that wants so many channels.
    pub(super) fn new(wanted: &Preparation, layout: Layout, channels: usize) -> Result<Self> {
        let spread = |flag: &str, given: &[f32], imagenet: [f32; 3], plain: f32| match given.len() {
            0 if channels == 3 => Ok(imagenet.to_vec()),
            0 => Ok(vec![plain; channels]),
            1 => Ok(vec![given[0]; channels]),
            count if count == channels => Ok(given.to_vec()),
            count => {
                Err(Error::settings(format!("--{flag} has {count} numbers, but the model has {channels} channels")))
            }
        };
        let mean = spread("mean", &wanted.mean, IMAGENET[0], 0.0)?;
        let deviation = spread("std", &wanted.deviation, IMAGENET[1], 1.0)?;
        if mean.iter().chain(&deviation).any(|number| !number.is_finite()) || deviation.contains(&0.0) {
            return Err(Error::settings("--mean and --std must be finite, and --std must not be 0"));
        }
        Ok(Pixels {
            size: wanted.size,
            layout,
            factor: deviation.iter().map(|deviation| 1.0 / (255.0 * deviation)).collect(),
            offset: mean.iter().zip(&deviation).map(|(mean, deviation)| -mean / deviation).collect(),
        })
    }

    /// The bytes of image `row`, scaled, with as many channels as the model sees, in its layout.
    pub(super) fn bytes(&self, images: &Images, row: usize) -> Vec<u8> {
        let (height, width) = self.target(images);
        let length = images.height * images.width * images.channels;
        let plain = &images.pixels[row * length..(row + 1) * length];
        let scaled = self.size.filter(|_| (height, width) != (images.height, images.width));
        let scaled = scaled.and_then(|side| scale(plain, images, side as u32));
        let source = scaled.as_deref().unwrap_or(plain);
        let (channels, pixels) = (self.factor.len(), height * width);
        // A grey pixel is the same in all colours.
        let byte = |pixel: usize, channel: usize| source[pixel * images.channels + channel.min(images.channels - 1)];
        match self.layout {
            Layout::Nchw => (0..channels).flat_map(|c| (0..pixels).map(move |pixel| byte(pixel, c))).collect(),
            Layout::Nhwc => (0..pixels).flat_map(|pixel| (0..channels).map(move |c| byte(pixel, c))).collect(),
        }
    }

    /// Bytes of one image as numbers.
    pub(super) fn numbers(&self, bytes: &[u8]) -> impl Iterator<Item = f32> {
        let (channels, plane) = (self.factor.len(), bytes.len() / self.factor.len());
        let channel = move |at: usize| if self.layout == Layout::Nchw { at / plane } else { at % channels };
        bytes.iter().enumerate().map(move |(at, &byte)| {
            let channel = channel(at);
            f32::from(byte) * self.factor[channel] + self.offset[channel]
        })
    }

    /// Height and width after scaling.
    pub(super) fn target(&self, images: &Images) -> (usize, usize) {
        self.size.map_or((images.height, images.width), |side| (side, side))
    }
}

/// Scaled and cut as image files are when they are read. `None` cannot come of images whose bytes fit their shape.
fn scale(bytes: &[u8], images: &Images, side: u32) -> Option<Vec<u8>> {
    let (width, height, bytes) = (images.width as u32, images.height as u32, bytes.to_vec());
    let image = match images.channels {
        1 => DynamicImage::from(GrayImage::from_raw(width, height, bytes)?),
        _ => DynamicImage::from(RgbImage::from_raw(width, height, bytes)?),
    };
    Some(image.resize_to_fill(side, side, FilterType::Triangle).into_bytes())
}
