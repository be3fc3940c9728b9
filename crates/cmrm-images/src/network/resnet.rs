//! Residual networks: CIFAR's (20, 32, 56 layers) and the 18-layer one for larger images.

use tch::Tensor;

use super::layer::{NormalisedConvolution, pool};
use super::params::{Layout, Parameters};

/// How a block's input reaches its end when the shape changes.
#[derive(Debug)]
enum Shortcut {
    Same,
    /// Every second pixel, and channels of zeros on both sides (option A): nothing to learn.
    Padded {
        channels: i64,
    },
    /// A convolution of one pixel (option B).
    Projected(NormalisedConvolution),
}

impl Shortcut {
    fn forward(&self, parameters: &Parameters, x: &Tensor, train: bool) -> Tensor {
        match self {
            Shortcut::Same => x.shallow_clone(),
            Shortcut::Padded { channels } => {
                let half = x.slice(2, None, None, 2).slice(3, None, None, 2);
                half.constant_pad_nd([0, 0, 0, 0, channels / 2, channels / 2])
            }
            Shortcut::Projected(projection) => projection.forward(parameters, x, train),
        }
    }
}

#[derive(Debug)]
struct Block {
    first: NormalisedConvolution,
    second: NormalisedConvolution,
    shortcut: Shortcut,
}

impl Block {
    fn forward(&self, parameters: &Parameters, x: &Tensor, train: bool) -> Tensor {
        let inner = self.first.forward(parameters, x, train).relu_();
        let inner = self.second.forward(parameters, &inner, train);
        (inner + self.shortcut.forward(parameters, x, train)).relu_()
    }
}

/// A residual network up to its features.
#[derive(Debug)]
pub(super) struct ResNet {
    stem: NormalisedConvolution,
    pools_after_stem: bool,
    blocks: Vec<Block>,
    features: i64,
}

impl ResNet {
    /// CIFAR's form: `6·depth + 2` layers, 16, 32 and 64 channels.
    pub fn cifar(layout: &mut Layout, channels: i64, depth: usize) -> Self {
        let stem = NormalisedConvolution::new(layout, 16, channels, 3, 1);
        ResNet { stem, pools_after_stem: false, blocks: blocks(layout, &[16, 32, 64], depth, false), features: 64 }
    }

    /// The 18-layer form: 64 to 512 channels, an eighth of the image's side after stem and pooling.
    pub fn eighteen(layout: &mut Layout, channels: i64) -> Self {
        let stem = NormalisedConvolution::new(layout, 64, channels, 7, 2);
        ResNet { stem, pools_after_stem: true, blocks: blocks(layout, &[64, 128, 256, 512], 2, true), features: 512 }
    }

    pub fn features(&self) -> i64 {
        self.features
    }

    pub fn forward(&self, parameters: &Parameters, x: &Tensor, train: bool) -> Tensor {
        let mut x = self.stem.forward(parameters, x, train).relu_();
        if self.pools_after_stem {
            x = x.max_pool2d([3, 3], [2, 2], [1, 1], [1, 1], false);
        }
        for block in &self.blocks {
            x = block.forward(parameters, &x, train);
        }
        pool(&x)
    }
}

/// `depth` blocks for each width; all but the first width halve the image.
fn blocks(layout: &mut Layout, widths: &[i64], depth: usize, projected: bool) -> Vec<Block> {
    let mut inputs = widths[0];
    let mut blocks = Vec::new();
    for (stage, &width) in widths.iter().enumerate() {
        for position in 0..depth {
            let stride = if stage > 0 && position == 0 { 2 } else { 1 };
            let first = NormalisedConvolution::new(layout, width, inputs, 3, stride);
            let second = NormalisedConvolution::new(layout, width, width, 3, 1);
            let shortcut = match (stride == 1, projected) {
                (true, _) => Shortcut::Same,
                (false, false) => Shortcut::Padded { channels: width - inputs },
                (false, true) => Shortcut::Projected(NormalisedConvolution::new(layout, width, inputs, 1, stride)),
            };
            blocks.push(Block { first, second, shortcut });
            inputs = width;
        }
    }
    blocks
}
