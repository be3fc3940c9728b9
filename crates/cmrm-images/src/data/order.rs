//! Which images an epoch shows, in which order, and where each is cut and whether it is turned.

use cmrm::rng::Rng;

use super::Augmentation;

/// Stream of epoch 0; epoch e uses the e-th stream after it.
const ORDER_STREAM: u64 = 0x746f_7263_6801_0000;

/// One epoch's draws. They come from seed and epoch alone: the same on every device, and for a resumed training.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochOrder {
    /// Rows of the data, in the order they are shown.
    pub rows: Vec<i64>,
    /// First pixel row of the cut, in the padded image.
    pub top: Vec<i64>,
    /// First pixel column of the cut.
    pub left: Vec<i64>,
    /// Whether the image is turned left to right.
    pub flipped: Vec<bool>,
}

impl EpochOrder {
    /// Draws an epoch of `rows` images.
    pub fn draw(rows: usize, augmentation: Augmentation, seed: u64, epoch: usize) -> Self {
        let mut rng = Rng::new(seed, ORDER_STREAM + epoch as u64);
        let order = rng.permutation(rows).into_iter().map(|row| row as i64).collect();
        let places = 2 * augmentation.padding + 1;
        let mut offsets = || (0..rows).map(|_| rng.below(places) as i64).collect::<Vec<_>>();
        let (top, left) = (offsets(), offsets());
        let flipped = (0..rows).map(|_| augmentation.flip && rng.bits() & 1 == 1).collect();
        EpochOrder { rows: order, top, left, flipped }
    }
}
