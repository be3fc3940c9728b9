//! Images: read into memory as bytes, and kept on the device as bytes.

mod decisions;
mod decode;
mod folder;
mod order;
mod read;
mod resident;

pub use decisions::{Decided, apply_decisions};
pub use folder::is_image_folder;
pub use order::EpochOrder;
pub use read::read_images;
pub use resident::{Augmentation, Normalisation, Resident, Scaling};

use cmrm::noise::{NoiseConfig, NoiseContext, NoisyLabels, Superclasses};

use crate::error::{Error, Result};

/// Images of one size with their labels. Pixels are bytes, row by row, a pixel's channels side by side.
#[derive(Debug, Clone, Default)]
pub struct Images {
    /// `rows · height · width · channels` bytes.
    pub pixels: Vec<u8>,
    /// Class index of each image.
    pub labels: Vec<u32>,
    /// Pixel rows.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Numbers a pixel.
    pub channels: usize,
    /// The file of each image, where each has one.
    pub files: Vec<String>,
    /// Where each image stands in the data, ascending, where some are left out; else empty.
    pub rows: Vec<u64>,
}

impl Images {
    /// Number of images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Where an image stands in the data.
    pub fn row(&self, at: usize) -> u64 {
        self.rows.get(at).copied().unwrap_or(at as u64)
    }

    /// The image that stands there in the data.
    pub(crate) fn at_row(&self, row: u64) -> usize {
        self.rows.binary_search(&row).unwrap_or(row as usize)
    }
}

/// A data set: images to train on, and images with labels that can be trusted to judge by.
#[derive(Debug, Clone)]
pub struct ImageSet {
    /// To train on.
    pub train: Images,
    /// To judge by.
    pub test: Images,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// The coarse class of every class, where the data has one.
    pub coarse_of: Option<Vec<u32>>,
}

impl ImageSet {
    /// The training labels with noise, and which rows it changed. Without noise, all labels are taken as right.
    pub fn observed(&self, noise: Option<&NoiseConfig>, seed: u64) -> Result<NoisyLabels> {
        let clean = &self.train.labels;
        let Some(noise) = noise else { return Ok(NoisyLabels { labels: clean.clone(), flipped: Vec::new() }) };
        let superclasses = self.coarse_of.as_deref().map(Superclasses::new).transpose()?;
        let mut context = NoiseContext::new(self.classes.len());
        if let Some(superclasses) = &superclasses {
            context = context.with_superclasses(superclasses);
        }
        Ok(noise.apply(clean, &context, seed)?)
    }

    /// Refuses sets whose two parts do not fit together.
    pub(crate) fn check(self) -> Result<Self> {
        let (train, test) = (&self.train, &self.test);
        if train.is_empty() || test.is_empty() {
            return Err(Error::settings("the data has no training images or no test images"));
        }
        let shape = |images: &Images| (images.height, images.width, images.channels);
        if shape(train) != shape(test) {
            return Err(Error::settings(format!(
                "training images are {:?} (height, width, channels), but test images are {:?}",
                shape(train),
                shape(test)
            )));
        }
        Ok(self)
    }
}
