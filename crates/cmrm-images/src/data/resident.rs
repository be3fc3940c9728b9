//! Images that live on the device as bytes, cut, turned and normalised there.

use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};

use super::{EpochOrder, Images};
use crate::error::{Error, Result};

/// Images cut at a time: the indices of that many fit well into a cache of a card and into memory.
const CHUNK: usize = 4096;

/// What happens to a training image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Augmentation {
    /// Black pixels added on each side before an image of the old size is cut out at random.
    pub padding: usize,
    /// Whether every second image, at random, is turned left to right.
    pub flip: bool,
}

impl Augmentation {
    /// Images as they are.
    pub const NONE: Augmentation = Augmentation { padding: 0, flip: false };
}

/// Which numbers images are centred and scaled by.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normalisation {
    /// Mean and deviation of each channel over the training images.
    #[default]
    Data,
    /// The numbers the paper's code uses for all its sets: those of CIFAR-10.
    Authors,
}

impl Normalisation {
    /// The numbers, for images like those to train on.
    pub fn scaling(&self, train: &Images) -> Result<Scaling> {
        let (mean, deviation) = match self {
            Normalisation::Data => statistics(train),
            Normalisation::Authors if train.channels == 3 => {
                (vec![0.4914, 0.4822, 0.4465], vec![0.2023, 0.1994, 0.2010])
            }
            Normalisation::Authors => {
                return Err(Error::settings("the authors' normalisation needs three channels; use 'data'"));
            }
        };
        Ok(Scaling {
            mean: mean.into_iter().map(|mean| (255.0 * mean) as f32).collect(),
            scale: deviation.into_iter().map(|deviation| (1.0 / (255.0 * deviation)) as f32).collect(),
        })
    }
}

/// What a pixel's bytes become: `(byte − mean) · scale`, channel by channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Subtracted.
    pub mean: Vec<f32>,
    /// Multiplied by.
    pub scale: Vec<f32>,
}

/// Images on a device.
#[derive(Debug)]
pub struct Resident {
    /// All bytes of the padded images.
    bytes: Tensor,
    rows: usize,
    height: i64,
    width: i64,
    channels: i64,
    padding: i64,
    mean: Tensor,
    scale: Tensor,
}

impl Resident {
    /// Pads the images and moves them to the device.
    pub fn new(images: &Images, scaling: &Scaling, padding: usize, device: Device) -> Result<Self> {
        if scaling.mean.len() != images.channels {
            let (found, expected) = (images.channels, scaling.mean.len());
            return Err(Error::settings(format!("the images have {found} channels, the training images {expected}")));
        }
        let [height, width, channels] = [images.height, images.width, images.channels].map(|side| side as i64);
        let (rows, pad) = (images.len(), padding as i64);
        let bytes = Tensor::from_slice(&images.pixels)
            .view([rows as i64, height, width, channels])
            .to_device(device)
            .constant_pad_nd([0, 0, pad, pad, pad, pad])
            .view([-1]);
        let [mean, scale] = [&scaling.mean, &scaling.scale].map(|values| Tensor::from_slice(values).to_device(device));
        Ok(Resident { bytes, rows, height, width, channels, padding: pad, mean, scale })
    }

    /// The same bytes, for another thread.
    pub fn share(&self) -> Self {
        let Resident { bytes, mean, scale, .. } = self;
        let (bytes, mean, scale) = (bytes.shallow_clone(), mean.shallow_clone(), scale.shallow_clone());
        Resident { bytes, mean, scale, ..*self }
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Height, width and channels of an image.
    pub fn shape(&self) -> [i64; 3] {
        [self.height, self.width, self.channels]
    }

    /// What bytes are centred and scaled by.
    pub fn scaling(&self) -> [(&'static str, &Tensor); 2] {
        [("mean", &self.mean), ("scale", &self.scale)]
    }

    /// Device of the images.
    pub fn device(&self) -> Device {
        self.bytes.device()
    }

    /// Writes the images at `range` of an epoch into the first rows of `into`: `[rows, height, width, channels]`.
    pub fn fill(&self, order: &EpochOrder, range: std::ops::Range<usize>, into: &Tensor) {
        let mut at = range.start;
        while at < range.end {
            let end = (at + CHUNK).min(range.end);
            let images =
                self.cut(&order.rows[at..end], &order.top[at..end], &order.left[at..end], &order.flipped[at..end]);
            into.narrow(0, (at - range.start) as i64, (end - at) as i64).copy_(&images);
            at = end;
        }
    }

    /// Images `range` as they are, normalised: `[rows, channels, height, width]`, channels last in memory.
    pub fn plain(&self, range: std::ops::Range<usize>) -> Tensor {
        let rows: Vec<i64> = range.map(|row| row as i64).collect();
        let middle = vec![self.padding; rows.len()];
        self.cut(&rows, &middle, &middle, &vec![false; rows.len()]).permute([0, 3, 1, 2])
    }

    fn cut(&self, rows: &[i64], top: &[i64], left: &[i64], flipped: &[bool]) -> Tensor {
        let device = self.device();
        let (line, image) = ((self.width + 2 * self.padding) * self.channels, self.height + 2 * self.padding);
        let count = rows.len() as i64;
        // A turned image is read from its last column backwards.
        let first: Vec<i64> =
            left.iter().zip(flipped).map(|(left, &f)| left + if f { self.width - 1 } else { 0 }).collect();
        let steps: Vec<i64> = flipped.iter().map(|&flipped| if flipped { -1 } else { 1 }).collect();
        let start: Vec<i64> = rows
            .iter()
            .zip(top)
            .zip(first)
            .map(|((row, top), first)| (row * image + top) * line + first * self.channels)
            .collect();
        let column = |values: &[i64]| Tensor::from_slice(values).to_device(device).view([count, 1, 1, 1]);
        let along = |length: i64, step: i64| Tensor::arange(length, (Kind::Int64, device)) * step;
        let lines = column(&start) + along(self.height, line).view([1, -1, 1, 1]);
        let pixels = column(&steps) * along(self.width, self.channels).view([1, 1, -1, 1]);
        let index = lines + pixels + along(self.channels, 1).view([1, 1, 1, -1]);
        (self.bytes.take(&index).to_kind(Kind::Float) - &self.mean) * &self.scale
    }
}

/// Mean and deviation of each channel, as shares of 255.
fn statistics(images: &Images) -> (Vec<f64>, Vec<f64>) {
    let mut counts = vec![[0u64; 256]; images.channels];
    for pixel in images.pixels.chunks_exact(images.channels) {
        for (count, &value) in counts.iter_mut().zip(pixel) {
            count[usize::from(value)] += 1;
        }
    }
    let moments = counts.iter().map(|count| {
        let total: u64 = count.iter().sum();
        let moment = |power: i32| {
            let sum: f64 =
                count.iter().enumerate().map(|(value, &n)| (value as f64 / 255.0).powi(power) * n as f64).sum();
            sum / total.max(1) as f64
        };
        let mean = moment(1);
        // One grey tone everywhere has no deviation to divide by.
        (mean, (moment(2) - mean * mean).max(0.0).sqrt().max(1e-6))
    });
    moments.unzip()
}
