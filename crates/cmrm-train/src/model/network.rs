//! A network of several copies: its parameters, and the passes over a batch, cut into blocks that threads share.

use std::ops::Range;

use cmrm::error::check_length;
use cmrm::{Rows, Scalar, SparseRows};
use rayon::prelude::*;

use super::backward::{Gradient, backward_block};
use super::config::{Head, ModelConfig};
use super::forward::{Input, forward_block};
use super::init::initialise;
use super::layout::Layout;
use super::sparse_layer::{self, Weights};
use crate::aligned::Aligned;
use crate::checked::Checked;
use crate::error::{Result, dense_only};
use crate::stop::Stop;

/// Fewest rows in a block; smaller batches are one block and stay on one thread. Up to sixteen times as many rows are cut
/// into blocks of exactly this size.
pub const BLOCK_ROWS: usize = 2048;
/// Most blocks a batch is cut into; each has a gradient of its own until they are added up.
const MAX_BLOCKS: usize = 16;

/// Rows of each block of a batch. It depends on the number of rows only, so that sums have one order for any number of
/// threads.
pub(super) fn block_rows(rows: usize) -> usize {
    rows.div_ceil(MAX_BLOCKS).next_multiple_of(64).max(BLOCK_ROWS)
}

/// Which hidden units a training step drops. Drawn from a hash of seed, step, row and unit, so that it depends neither
/// on threads nor on what ran before.
#[derive(Debug, Clone, Copy)]
pub struct Dropout {
    /// Share of units that are dropped.
    pub rate: f64,
    /// Seed of the run.
    pub seed: u64,
    /// The step.
    pub step: u64,
}

/// Several copies of one architecture.
#[derive(Debug, Clone)]
pub struct Network<T> {
    layout: Layout,
    parameters: Aligned<T>,
}

/// Activations and gradients of a batch, reused from step to step.
#[derive(Debug, Clone, Default)]
pub struct Workspace<T> {
    /// Outputs of each layer, `[rows, width]`; ReLU (and dropout) applied but in the head.
    pub(super) activations: Vec<Aligned<T>>,
    /// Gradients by the outputs of each layer.
    pub(super) deltas: Vec<Aligned<T>>,
    /// Gradients by the parameters, one a block; without the weights of a first layer on sparse rows.
    pub(super) partials: Vec<Aligned<T>>,
    /// The weights of a first layer on sparse rows, or their gradient, input by input.
    turned: Aligned<T>,
    /// The columns of sparse rows, as rows, if all passes are over the same.
    columns: Option<SparseRows<T>>,
    rows: usize,
    /// Whether a row comes out the same whatever rows are beside it.
    by_row: bool,
    /// Ends a pass early.
    stop: Stop,
}

impl<T: Scalar> Workspace<T> {
    /// From now on passes end early, with [`crate::Error::Stopped`], once somebody asks to stop.
    pub fn stop_on(&mut self, stop: Stop) {
        self.stop = stop;
    }

    /// From now on a row comes out of forward passes the same to the last bit, alone or among others; training takes faster products.
    pub fn row_by_row(&mut self) {
        self.by_row = true;
    }

    /// From now on all backward passes are over these rows: what they need of sparse ones is found once.
    pub fn keep_columns_of(&mut self, x: Rows<'_, T>) {
        self.columns = match x {
            Rows::Dense(_) => None,
            Rows::Sparse(x) => Some(x.transposed()),
        };
    }

    fn resize(&mut self, layout: &Layout, x: Rows<'_, T>, backward: bool) {
        let rows = x.rows();
        self.rows = rows;
        self.activations.resize_with(layout.layers.len(), Aligned::default);
        self.deltas.resize_with(layout.layers.len(), Aligned::default);
        for (l, layer) in layout.layers.iter().enumerate() {
            self.activations[l].resize(rows * layer.width());
            if backward {
                self.deltas[l].resize(rows * layer.width());
            }
        }
        let blocks = rows.div_ceil(block_rows(rows));
        if backward && blocks > 1 {
            self.partials.resize_with(blocks, Aligned::default);
            for partial in &mut self.partials {
                partial.resize(layout.parameters() - summed_by_columns(layout, x));
            }
        }
    }

    /// Outputs of the head, `[rows, copies · outputs]`.
    pub fn outputs(&self) -> &[T] {
        self.activations.last().map_or(&[], |outputs| outputs)
    }

    /// Outputs, and the place where the caller writes the gradient by them.
    pub fn outputs_and_delta(&mut self) -> (&[T], &mut [T]) {
        let outputs = self.activations.last().map_or(&[][..], |outputs| outputs);
        (outputs, self.deltas.last_mut().map_or(&mut [][..], |delta| delta))
    }
}

impl<T: Scalar> Network<T> {
    /// One copy for each seed.
    pub fn new(config: &Checked<ModelConfig>, inputs: usize, classes: usize, seeds: &[u64]) -> Result<Self> {
        let layout = Layout::new(config, inputs, classes, seeds.len())?;
        let mut parameters = vec![T::ZERO; layout.parameters()];
        for (copy, &seed) in seeds.iter().enumerate() {
            initialise(config, &layout, copy, seed, &mut parameters);
        }
        Ok(Network { layout, parameters: Aligned::from(&parameters[..]) })
    }

    /// A network with given parameters.
    pub fn from_parameters(layout: Layout, parameters: Vec<T>) -> Result<Self> {
        check_length("parameters of the network", layout.parameters(), parameters.len())?;
        Ok(Network { layout, parameters: Aligned::from(&parameters[..]) })
    }

    /// Where every parameter stands.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// All parameters.
    pub fn parameters(&self) -> &[T] {
        &self.parameters
    }

    /// All parameters, to be changed.
    pub fn parameters_mut(&mut self) -> &mut [T] {
        &mut self.parameters
    }

    /// One copy's parameters, in the layout of a network of its own.
    pub fn parameters_of(&self, copy: usize) -> Vec<T> {
        self.layout.parts_of(copy).into_iter().flat_map(|(part, _)| self.parameters[part].iter().copied()).collect()
    }

    /// Sets one copy's parameters, given in the layout of a network of its own.
    pub fn set_parameters_of(&mut self, copy: usize, parameters: &[T]) -> Result<()> {
        check_length("parameters of one copy", self.layout.single().parameters(), parameters.len())?;
        let mut from = 0;
        for (part, _) in self.layout.parts_of(copy) {
            let length = part.len();
            self.parameters[part].copy_from_slice(&parameters[from..from + length]);
            from += length;
        }
        Ok(())
    }

    /// One copy as a network of its own.
    pub fn copy(&self, copy: usize) -> Network<T> {
        Network { layout: self.layout.single(), parameters: Aligned::from(&self.parameters_of(copy)[..]) }
    }

    /// Outputs of all copies for rows of features, into the workspace. With `backward`, space for gradients is made.
    pub fn forward<'x>(
        &self,
        x: impl Into<Rows<'x, T>>,
        dropout: Option<Dropout>,
        backward: bool,
        work: &mut Workspace<T>,
    ) -> Result<()>
    where
        T: 'x,
    {
        self.forward_rows(x.into(), dropout, backward, work)
    }

    /// Refuses rows of another width, and cosines of sparse rows.
    pub(crate) fn check_rows(&self, x: Rows<'_, T>) -> Result<()> {
        check_length("features of a row against the model's inputs", self.layout.inputs(), x.columns())?;
        if self.layout.head == Head::Cosine && self.layout.layers.len() == 1 {
            dense_only("a cosine classifier without hidden layers", x)?;
        }
        Ok(())
    }

    fn forward_rows(
        &self,
        x: Rows<'_, T>,
        dropout: Option<Dropout>,
        backward: bool,
        work: &mut Workspace<T>,
    ) -> Result<()> {
        self.check_rows(x)?;
        work.resize(&self.layout, x, backward);
        let Workspace { activations, turned, by_row, stop, .. } = work;
        let block = block_rows(x.rows());
        let blocks = blocks_of(x.rows(), block);
        let task = |first_row, x| ForwardTask { first_row, x, activations: Vec::new() };
        let mut tasks: Vec<ForwardTask<'_, T>> = match x {
            Rows::Dense(x) => blocks.map(|rows| task(rows.start, Input::Dense(x.slice(rows)))).collect(),
            Rows::Sparse(x) => {
                let first = &self.layout.layers[0];
                let weights = Weights::of(&self.parameters[first.weights()], first.width(), x, turned);
                blocks.map(|rows| task(rows.start, Input::Sparse(x.slice(rows), weights))).collect()
            }
        };
        for (layer, activations) in self.layout.layers.iter().zip(activations) {
            for (task, chunk) in tasks.iter_mut().zip(activations.chunks_mut(block * layer.width())) {
                task.activations.push(chunk);
            }
        }
        spread(tasks, |mut task| {
            let ForwardTask { first_row, x, activations } = &mut task;
            forward_block(&self.layout, &self.parameters, *x, *first_row, dropout, activations, *by_row, stop);
        });
        stop.check()
    }

    /// Gradient of the parameters into `gradient`, from the gradient by the outputs that
    /// [`Workspace::outputs_and_delta`] was filled with after [`Network::forward`] with the same `x` and `dropout`.
    pub fn backward<'x>(
        &self,
        x: impl Into<Rows<'x, T>>,
        dropout: Option<Dropout>,
        work: &mut Workspace<T>,
        gradient: &mut [T],
    ) -> Result<()>
    where
        T: 'x,
    {
        self.backward_rows(x.into(), dropout, work, gradient)
    }

    fn backward_rows(
        &self,
        x: Rows<'_, T>,
        dropout: Option<Dropout>,
        work: &mut Workspace<T>,
        gradient: &mut [T],
    ) -> Result<()> {
        self.check_rows(x)?;
        check_length("rows of the backward pass", work.rows, x.rows())?;
        check_length("gradient against parameters", self.parameters.len(), gradient.len())?;
        let block = block_rows(work.rows);
        let keep = dropout.map_or(1.0, |d| 1.0 - d.rate);
        let Workspace { activations, deltas, partials, turned, columns, stop, .. } = work;
        let first = summed_by_columns(&self.layout, x);
        let (by_columns, gradient) = gradient.split_at_mut(first);
        // A single block writes where the sum would be.
        let single = x.rows() <= block;
        let targets: Vec<&mut [T]> =
            if single { vec![&mut *gradient] } else { partials.iter_mut().map(|partial| &mut **partial).collect() };
        let task = |(rows, values)| {
            let gradient = Gradient { values, first };
            BackwardTask { x: x.slice(rows), gradient, activations: Vec::new(), deltas: Vec::new() }
        };
        let mut tasks: Vec<BackwardTask<'_, T>> = blocks_of(x.rows(), block).zip(targets).map(task).collect();
        for ((layer, activations), deltas) in self.layout.layers.iter().zip(activations.iter()).zip(deltas.iter_mut()) {
            let size = block * layer.width();
            for ((task, a), d) in tasks.iter_mut().zip(activations.chunks(size)).zip(deltas.chunks_mut(size)) {
                task.activations.push(a);
                task.deltas.push(d);
            }
        }
        // Backwards: the rows that the forward pass read last are still in the cache.
        tasks.reverse();
        spread(tasks, |task| {
            let BackwardTask { x, gradient, activations, mut deltas } = task;
            backward_block(&self.layout, &self.parameters, x, keep, &activations, &mut deltas, gradient, stop);
        });
        stop.check()?;
        if !single {
            add_up(partials, gradient);
        }
        if let Rows::Sparse(x) = x {
            let found;
            let columns = match columns {
                Some(columns) if (columns.width(), columns.kept()) == (x.rows(), x.kept()) => columns,
                _ => {
                    found = x.transposed();
                    &found
                }
            };
            let shared = if single { None } else { Some(turned) };
            sparse_layer::gradient(by_columns, self.layout.layers[0].width(), columns.view(), &deltas[0], shared);
        }
        Ok(())
    }
}

/// How many of the first parameters have their gradient summed over the columns of sparse rows rather than in blocks of
/// rows: the weights of the first layer. A block's share of them would be as large as all of them.
fn summed_by_columns<T: Copy>(layout: &Layout, x: Rows<'_, T>) -> usize {
    match x {
        Rows::Dense(_) => 0,
        Rows::Sparse(_) => layout.layers[0].weights().end,
    }
}

/// So many rows in blocks.
fn blocks_of(rows: usize, block: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(block).map(move |first| first..(first + block).min(rows))
}

/// One block of a forward pass.
struct ForwardTask<'a, T> {
    first_row: usize,
    x: Input<'a, T>,
    activations: Vec<&'a mut [T]>,
}

/// One block of a backward pass.
struct BackwardTask<'a, T> {
    x: Rows<'a, T>,
    gradient: Gradient<'a, T>,
    activations: Vec<&'a [T]>,
    deltas: Vec<&'a mut [T]>,
}

/// Runs the tasks, on threads if there is more than one task and more than one thread.
fn spread<A: Send>(tasks: Vec<A>, run: impl Fn(A) + Sync + Send) {
    if tasks.len() > 1 && rayon::current_num_threads() > 1 {
        tasks.into_par_iter().for_each(run);
    } else {
        tasks.into_iter().for_each(run);
    }
}

/// Adds the blocks' gradients in the order of the blocks.
fn add_up<T: Scalar>(partials: &[Aligned<T>], total: &mut [T]) {
    let Some((first, rest)) = partials.split_first() else {
        total.fill(T::ZERO);
        return;
    };
    total.copy_from_slice(first);
    for partial in rest {
        for (sum, &value) in total.iter_mut().zip(&**partial) {
            *sum += value;
        }
    }
}
