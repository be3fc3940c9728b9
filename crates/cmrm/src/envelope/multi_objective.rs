//! Several objectives on the same rows, their logits side by side in one matrix.
//!
//! Rows are taken in blocks that fit into the processor's cache, and every objective sees a block before the next one
//! is touched: thirty models of ten classes would otherwise walk thirty times through the whole matrix, a few numbers
//! from every row. Blocks are independent, so they also are what threads share.

use super::group::{Group, ROWS};
use super::kernel::{Backward, Forward, sizes};
use super::memory::RowMemory;
use super::objective::{Batch, Objective, Outcome, Scratch};
use crate::error::{Error, Result, check_parameter};
use crate::loss::Loss;
use crate::scalar::Scalar;

/// Numbers in a block of rows; a batch with fewer is not worth a second thread.
const BLOCK_NUMBERS: usize = 1 << 15;

/// One objective and where its model's logits stand.
#[derive(Debug)]
pub struct PlacedObjective<'a, T, L> {
    /// The objective.
    pub objective: Objective<&'a L>,
    /// Its first column.
    pub offset: usize,
    /// Its buffers.
    pub scratch: &'a mut Scratch<T>,
    /// What it remembers of the rows.
    pub memory: Option<&'a mut RowMemory<T>>,
}

/// Evaluates every member on its columns of the batch, as [`Objective::evaluate`] does for one.
///
/// The batch's stride is the width of the shared matrix, its classes are those of one member. `grad` has the layout of the
/// logits; columns that belong to no member are left as they are. Members must not overlap. An error comes with the
/// index of the first member that met one.
pub fn evaluate_many<T: Scalar, L: Loss<T>>(
    members: &mut [PlacedObjective<'_, T, L>],
    batch: &Batch<'_, T>,
    grad: &mut [T],
) -> std::result::Result<Vec<Outcome<T>>, (usize, Error)> {
    let weight_sum = batch.check(grad).map_err(|error| (0, error))?;
    for (m, member) in members.iter_mut().enumerate() {
        member.check(batch).map_err(|error| (m, error))?;
        member.scratch.resize(batch.rows());
        let momentum = member.objective.loss.target_momentum();
        member.scratch.lay_out_targets(momentum, batch, member.memory.as_deref());
    }
    forward_blocks(members, batch, grad)?;
    let mut outcomes = Vec::with_capacity(members.len());
    for (m, PlacedObjective { objective, offset, scratch, memory }) in members.iter_mut().enumerate() {
        let sizes = |scratch: &Scratch<T>| sizes(objective, batch, *offset, scratch, grad);
        let outcome = objective.couple(batch, weight_sum, memory.as_deref_mut(), scratch, sizes);
        outcomes.push(outcome.map_err(|error| (m, error))?);
    }
    backward_blocks(members, batch, grad)?;
    Ok(outcomes)
}

impl<T: Scalar, L: Loss<T>> PlacedObjective<'_, T, L> {
    fn check(&self, batch: &Batch<'_, T>) -> Result<()> {
        self.objective.loss.check_classes(batch.classes)?;
        let scale = self.objective.loss.scale();
        check_parameter("scale", scale.to_f64(), scale.is_finite() && scale > T::ZERO, "a positive, finite number")?;
        let end = self.offset.saturating_add(batch.classes);
        if end > batch.stride {
            return Err(Error::Shape { what: "columns of the shared logits", expected: end, found: batch.stride });
        }
        match (batch.identities, &self.memory) {
            (Some(identities), Some(memory)) => memory.check(identities, batch.classes),
            _ => Ok(()),
        }
    }
}

/// Whether blocks are spread over threads.
#[cfg(feature = "rayon")]
fn on_threads(numbers: usize) -> bool {
    numbers > BLOCK_NUMBERS && rayon::current_num_threads() > 1
}

#[cfg(not(feature = "rayon"))]
fn on_threads(_numbers: usize) -> bool {
    false
}

/// Rows of a block, whole groups. A single model on a single thread has nothing to gain from blocks.
fn block_rows(members: usize, batch: &Batch<'_, impl Scalar>) -> usize {
    let in_blocks = members > 1 || on_threads(batch.logits.len());
    let rows = if in_blocks { (BLOCK_NUMBERS / batch.stride).max(64) } else { batch.rows() };
    rows.next_multiple_of(ROWS)
}

/// Runs one task a block and returns the error of the first member that met one, in its first bad row.
fn run_blocks<A: Send>(
    tasks: Vec<A>,
    #[cfg_attr(not(feature = "rayon"), expect(unused_variables))] threads: bool,
    run: impl Fn(A) -> std::result::Result<(), (usize, Error)> + Sync + Send,
) -> std::result::Result<(), (usize, Error)> {
    #[cfg(feature = "rayon")]
    let results: Vec<_> = if threads {
        use rayon::prelude::*;
        tasks.into_par_iter().map(run).collect()
    } else {
        tasks.into_iter().map(run).collect()
    };
    #[cfg(not(feature = "rayon"))]
    let results: Vec<_> = tasks.into_iter().map(run).collect();
    // `min_by_key` keeps the first of equals, which is the block with the lowest rows.
    results.into_iter().filter_map(std::result::Result::err).min_by_key(|(m, _)| *m).map_or(Ok(()), Err)
}

/// [`Forward`] of every member over every block.
fn forward_blocks<T: Scalar, L: Loss<T>>(
    members: &mut [PlacedObjective<'_, T, L>],
    batch: &Batch<'_, T>,
    grad: &mut [T],
) -> std::result::Result<(), (usize, Error)> {
    let Batch { logits, classes, stride, labels, .. } = *batch;
    let rows = block_rows(members.len(), batch);
    struct Task<'t, T, L> {
        grad: &'t mut [T],
        members: Vec<Part<'t, T, L>>,
    }
    struct Part<'t, T, L> {
        objective: &'t Objective<&'t L>,
        offset: usize,
        groups: &'t mut [Group<T>],
        losses: &'t mut [T],
        margins: &'t mut [T],
        targets: &'t mut [T],
        target_momentum: f64,
    }
    let count = members.len();
    let mut tasks: Vec<Task<'_, T, L>> = grad
        .chunks_mut(rows.saturating_mul(stride))
        .take(batch.rows().div_ceil(rows))
        .map(|grad| Task { grad, members: Vec::with_capacity(count) })
        .collect();
    for PlacedObjective { objective, offset, scratch, .. } in members {
        let chunks = scratch.losses.chunks_mut(rows).zip(scratch.margins.chunks_mut(rows));
        let chunks = scratch.groups.chunks_mut(rows / ROWS).zip(chunks);
        let (mut rest, target_momentum) = (&mut scratch.targets[..], scratch.target_momentum);
        for (task, (groups, (losses, margins))) in tasks.iter_mut().zip(chunks) {
            let targets;
            (targets, rest) = rest.split_at_mut(rest.len().min(losses.len() * classes));
            let offset = *offset;
            task.members.push(Part { objective, offset, groups, losses, margins, targets, target_momentum });
        }
    }
    let tasks: Vec<_> = tasks.into_iter().enumerate().collect();
    run_blocks(tasks, on_threads(logits.len()), |(block, Task { grad, members })| {
        let first = block * rows;
        for (m, part) in members.into_iter().enumerate() {
            let Part { objective, offset, groups, losses, margins, targets, target_momentum } = part;
            let forward = Forward {
                loss: objective.loss,
                margin: objective.margin_kind(),
                classes,
                stride,
                first_row: first,
                logits: &logits[first * stride + offset..],
                labels: &labels[first..first + losses.len()],
                grad: &mut grad[offset..],
                groups,
                losses,
                margins,
                targets,
                target_momentum,
            };
            forward.run().map_err(|error| (m, error))?;
        }
        Ok(())
    })
}

/// [`Backward`] of every member over every block.
fn backward_blocks<T: Scalar, L: Loss<T>>(
    members: &[PlacedObjective<'_, T, L>],
    batch: &Batch<'_, T>,
    grad: &mut [T],
) -> std::result::Result<(), (usize, Error)> {
    let Batch { logits, classes, stride, .. } = *batch;
    let rows = block_rows(members.len(), batch);
    let blocks = batch.rows().div_ceil(rows);
    let tasks: Vec<_> = grad.chunks_mut(rows.saturating_mul(stride)).take(blocks).enumerate().collect();
    run_blocks(tasks, on_threads(logits.len()), |(block, grad)| {
        let first = block * rows;
        let end = batch.rows().min(first + rows);
        for (m, PlacedObjective { objective, offset, scratch, .. }) in members.iter().enumerate() {
            let backward = Backward {
                loss: objective.loss,
                margin: objective.margin_kind(),
                classes,
                stride,
                first_row: first,
                logits: &logits[first * stride + offset..],
                rows: end - first,
                row_factors: &scratch.factors[first..end],
                slopes: objective.slopes(scratch).map(|(slopes, lambda)| (&slopes[first..end], lambda)),
                groups: &scratch.groups[first / ROWS..end.div_ceil(ROWS)],
                target: &|i| scratch.target(first + i, classes),
                grad: &mut grad[*offset..],
            };
            backward.run().map_err(|error| (m, error))?;
        }
        Ok(())
    })
}
