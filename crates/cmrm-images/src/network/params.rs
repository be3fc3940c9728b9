//! Parameters of a network in one flat tensor, so that a step of the optimiser is a few kernels whatever the depth.

use cmrm::rng::Rng;
use tch::{Device, Kind, Tensor};

/// Stream of the generator that draws initial weights.
const INIT_STREAM: u64 = 0x746f_7263_6800_0001;

/// How a parameter starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Init {
    /// Normal with variance 2 / fan-in (Kaiming).
    Kaiming { fan_in: i64 },
    /// Rows of random direction and length one.
    UnitRows { width: i64 },
    /// One number.
    Constant(f32),
}

/// A parameter's place.
#[derive(Debug, Clone)]
struct Entry {
    shape: Vec<i64>,
    init: Init,
    convolution: bool,
    offset: i64,
}

impl Entry {
    fn length(&self) -> i64 {
        self.shape.iter().product()
    }
}

/// Names a parameter of a [`Layout`].
#[derive(Debug, Clone, Copy)]
pub(super) struct ParameterId(usize);

/// Where the running statistics of a batch normalisation stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatisticsId {
    offset: i64,
    channels: i64,
}

/// Which parameters there are. Convolutions come first in the flat tensor: mixed precision copies that part.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    entries: Vec<Entry>,
    channels: i64,
}

impl Layout {
    /// A kernel, in memory `[out, height, width, in]`: channels last.
    pub fn convolution(&mut self, out: i64, inputs: i64, kernel: i64) -> ParameterId {
        let shape = vec![out, kernel, kernel, inputs];
        self.add(shape, Init::Kaiming { fan_in: inputs * kernel * kernel }, true)
    }

    pub fn dense(&mut self, shape: Vec<i64>, init: Init) -> ParameterId {
        self.add(shape, init, false)
    }

    pub fn statistics(&mut self, channels: i64) -> StatisticsId {
        let offset = self.channels;
        self.channels += channels;
        StatisticsId { offset, channels }
    }

    fn add(&mut self, shape: Vec<i64>, init: Init, convolution: bool) -> ParameterId {
        self.entries.push(Entry { shape, init, convolution, offset: 0 });
        ParameterId(self.entries.len() - 1)
    }

    fn place(&mut self) -> (i64, i64) {
        let mut end = 0;
        let mut convolutions = 0;
        for wanted in [true, false] {
            for entry in self.entries.iter_mut().filter(|entry| entry.convolution == wanted) {
                entry.offset = end;
                end += entry.length();
            }
            if wanted {
                convolutions = end;
            }
        }
        (convolutions, end)
    }
}

/// The parameters and running statistics of one copy of a network.
#[derive(Debug)]
pub struct Parameters {
    /// All parameters.
    pub flat: Tensor,
    /// Running means, then running variances, of all batch normalisations.
    pub running: Tensor,
    /// The convolutions in half precision, where those are what computes.
    half: Option<Tensor>,
    /// Views that gradients are asked for.
    leaves: Vec<Tensor>,
    layout: Layout,
    convolutions: i64,
}

impl Parameters {
    pub(super) fn new(mut layout: Layout, seed: u64, device: Device, mixed: bool) -> Self {
        let (convolutions, total) = layout.place();
        let mut rng = Rng::new(seed, INIT_STREAM);
        let mut values = vec![0f32; total as usize];
        for entry in &layout.entries {
            let place = &mut values[entry.offset as usize..(entry.offset + entry.length()) as usize];
            fill(place, entry.init, &mut rng);
        }
        let flat = Tensor::from_slice(&values).to_device(device);
        let options = (Kind::Float, device);
        let running =
            Tensor::cat(&[Tensor::zeros([layout.channels], options), Tensor::ones([layout.channels], options)], 0);
        let half = mixed.then(|| flat.narrow(0, 0, convolutions).to_kind(Kind::BFloat16));
        let leaves = layout.entries.iter().map(|entry| {
            let source = half.as_ref().filter(|_| entry.convolution).unwrap_or(&flat);
            let part = source.narrow(0, entry.offset, entry.length());
            let view = match entry.shape[..] {
                [out, height, width, inputs] => part.view([out, height, width, inputs]).permute([0, 3, 1, 2]),
                _ => part.view(entry.shape.as_slice()),
            };
            view.detach().set_requires_grad(true)
        });
        Parameters { leaves: leaves.collect(), flat, running, half, layout, convolutions }
    }

    /// Takes the parameters into the half-precision copy; to be called before a forward pass that follows an update.
    pub fn refresh(&self) {
        if let Some(half) = &self.half {
            tch::no_grad(|| half.shallow_clone().copy_(&self.flat.narrow(0, 0, self.convolutions)));
        }
    }

    /// Whether convolutions run in half precision.
    pub fn is_mixed(&self) -> bool {
        self.half.is_some()
    }

    /// The gradient of `loss` by all parameters, flat.
    pub fn gradient(&self, loss: &Tensor) -> Result<Tensor, tch::TchError> {
        let gradients = Tensor::f_run_backward(&[loss], &self.leaves, false, false)?;
        let mut parts: [Vec<Tensor>; 2] = [Vec::new(), Vec::new()];
        for (entry, gradient) in self.layout.entries.iter().zip(gradients) {
            let gradient = if entry.convolution { gradient.permute([0, 2, 3, 1]) } else { gradient };
            parts[usize::from(!entry.convolution)].push(gradient.reshape([-1]));
        }
        let [convolutions, rest] = parts;
        if self.half.is_none() {
            let all: Vec<Tensor> = convolutions.into_iter().chain(rest).collect();
            return Tensor::f_cat(&all, 0);
        }
        let convolutions = Tensor::f_cat(&convolutions, 0)?.to_kind(Kind::Float);
        Tensor::f_cat(&[convolutions, Tensor::f_cat(&rest, 0)?], 0)
    }

    pub(super) fn get(&self, id: ParameterId) -> &Tensor {
        &self.leaves[id.0]
    }

    /// Running mean and variance.
    pub(super) fn statistics(&self, id: StatisticsId) -> (Tensor, Tensor) {
        let at = |start: i64| self.running.narrow(0, start + id.offset, id.channels);
        (at(0), at(self.layout.channels))
    }
}

fn fill(place: &mut [f32], init: Init, rng: &mut Rng) {
    match init {
        Init::Constant(value) => place.fill(value),
        Init::Kaiming { fan_in } => {
            let deviation = (2.0 / fan_in as f64).sqrt();
            place.iter_mut().for_each(|value| *value = (rng.normal() * deviation) as f32);
        }
        Init::UnitRows { width } => {
            for row in place.chunks_mut(width as usize) {
                let drawn: Vec<f64> = row.iter().map(|_| 2.0 * rng.uniform() - 1.0).collect();
                let norm = drawn.iter().map(|value| value * value).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
                row.iter_mut().zip(drawn).for_each(|(value, drawn)| *value = (drawn / norm) as f32);
            }
        }
    }
}
