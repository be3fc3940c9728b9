//! The place of every weight and bias in one flat vector of parameters.

use std::ops::Range;

use cmrm::error::check_parameter;

use super::config::{Head, ModelConfig};
use crate::checked::Checked;
use crate::error::Result;

/// One layer of all copies: weights `[copies · outputs, inputs]`, then biases `[copies · outputs]`, in one flat vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Numbers a copy reads.
    pub inputs: usize,
    /// Numbers a copy gives.
    pub outputs: usize,
    /// Whether it has biases.
    pub bias: bool,
    /// Where its parameters start.
    start: usize,
    copies: usize,
}

impl Layer {
    /// Weights of all copies.
    pub fn weights(&self) -> Range<usize> {
        self.start..self.start + self.copies * self.outputs * self.inputs
    }

    /// Biases of all copies; empty without any.
    pub fn biases(&self) -> Range<usize> {
        let end = self.weights().end;
        end..end + if self.bias { self.copies * self.outputs } else { 0 }
    }

    /// Weights of one copy, `[outputs, inputs]`.
    pub fn weights_of(&self, copy: usize) -> Range<usize> {
        let size = self.outputs * self.inputs;
        let start = self.start + copy * size;
        start..start + size
    }

    /// Biases of one copy.
    pub fn biases_of(&self, copy: usize) -> Range<usize> {
        let all = self.biases();
        if all.is_empty() { all } else { all.start + copy * self.outputs..all.start + (copy + 1) * self.outputs }
    }

    /// Numbers in a row of this layer's outputs, all copies side by side.
    pub fn width(&self) -> usize {
        self.copies * self.outputs
    }
}

/// Where every parameter of a network stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// From the inputs to the head.
    pub layers: Vec<Layer>,
    /// What stands on top.
    pub head: Head,
    /// Number of copies.
    pub copies: usize,
    /// Number of classes.
    pub classes: usize,
}

impl Layout {
    /// Most parameters a network may have: 8 GB of weights in single precision.
    pub const MAX_PARAMETERS: usize = 1 << 31;

    /// The layout of `copies` copies of `config` for rows of `inputs` numbers.
    pub fn new(config: &Checked<ModelConfig>, inputs: usize, classes: usize, copies: usize) -> Result<Self> {
        check_parameter("inputs", inputs as f64, inputs >= 1, "at least one feature")?;
        check_parameter("classes", classes as f64, classes >= 2, "at least two classes")?;
        check_parameter("copies", copies as f64, copies >= 1, "at least one copy")?;
        let two = config.head != Head::Score || classes == 2;
        check_parameter("classes of a score head", classes as f64, two, "two classes; choose a linear head for more")?;
        let outputs = if config.head == Head::Score { 1 } else { classes };
        let mut layers = Vec::with_capacity(config.hidden.len() + 1);
        let mut start = 0usize;
        let mut inputs = inputs;
        for (l, &width) in config.hidden.iter().chain(std::iter::once(&outputs)).enumerate() {
            let is_head = l == config.hidden.len();
            let bias = !(is_head && config.head == Head::Cosine);
            let layer = Layer { inputs, outputs: width, bias, start, copies };
            let size = (width as f64) * (inputs as f64 + 1.0) * copies as f64;
            let total = start as f64 + size;
            check_parameter("parameters", total, total <= Self::MAX_PARAMETERS as f64, "at most 2^31 in all")?;
            start = layer.biases().end;
            inputs = width;
            layers.push(layer);
        }
        Ok(Layout { layers, head: config.head, copies, classes })
    }

    /// Number of parameters of all copies.
    pub fn parameters(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.biases().end)
    }

    /// Numbers in an input row.
    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.inputs)
    }

    /// Numbers in an output row, all copies side by side.
    pub fn output_width(&self) -> usize {
        self.layers.last().map_or(0, Layer::width)
    }

    /// Outputs of one copy.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.outputs)
    }

    /// The parts of the parameter vector that belong to one copy, in order, and whether each holds weights.
    pub fn parts_of(&self, copy: usize) -> Vec<(Range<usize>, bool)> {
        let mut parts = Vec::with_capacity(2 * self.layers.len());
        for layer in &self.layers {
            parts.push((layer.weights_of(copy), true));
            if layer.bias {
                parts.push((layer.biases_of(copy), false));
            }
        }
        parts
    }

    /// The layout of one copy alone.
    pub fn single(&self) -> Layout {
        let mut start = 0;
        let layers = self
            .layers
            .iter()
            .map(|layer| {
                let alone = Layer { copies: 1, start, ..layer.clone() };
                start = alone.biases().end;
                alone
            })
            .collect();
        Layout { layers, copies: 1, ..self.clone() }
    }
}
