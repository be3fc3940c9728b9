//! The memory of L-BFGS: the last steps and the changes of the gradient along them.

use super::preconditioner::Preconditioner;
use crate::optim::vector::{add_scaled, dot, scale};
use cmrm::Scalar;

/// A ring of the newest pairs s = xₖ₊₁ − xₖ and y = gₖ₊₁ − gₖ.
#[derive(Debug, Clone)]
pub(super) struct History<T> {
    steps: Vec<T>,
    changes: Vec<T>,
    /// 1 / (s·y) by slot.
    rho: Vec<f64>,
    /// Scratch of the two loops, by age.
    alpha: Vec<f64>,
    /// s·y / y·y of the newest pair: the size of the initial inverse Hessian without a preconditioner.
    gamma: f64,
    /// The newest change of the gradient by the preconditioner, and its buffers; empty without one.
    shaped: Vec<T>,
    work: Vec<T>,
    length: usize,
    /// Slot of the oldest pair.
    first: usize,
    count: usize,
}

impl<T: Scalar> History<T> {
    pub(super) fn new(capacity: usize, length: usize) -> Self {
        History {
            steps: vec![T::default(); capacity * length],
            changes: vec![T::default(); capacity * length],
            rho: vec![0.0; capacity],
            alpha: vec![0.0; capacity],
            gamma: 1.0,
            shaped: Vec::new(),
            work: Vec::new(),
            length,
            first: 0,
            count: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn clear(&mut self) {
        (self.first, self.count, self.gamma) = (0, 0, 1.0);
    }

    fn slot(&self, age_from_oldest: usize) -> usize {
        (self.first + age_from_oldest) % self.rho.len()
    }

    fn range(&self, slot: usize) -> std::ops::Range<usize> {
        slot * self.length..(slot + 1) * self.length
    }

    /// Adds the pair of the step from `x` to `x_new`, unless the curvature along it is not clearly positive, which the
    /// update needs. Both differences are written straight into the ring.
    pub(super) fn push(&mut self, x: &[T], x_new: &[T], g: &[T], g_new: &[T]) {
        // With a full ring the oldest pair is overwritten even if the new one is then refused: nothing is allocated, and a
        // refused pair means that the surroundings have changed anyway.
        if self.count == self.rho.len() {
            self.first = self.slot(1);
            self.count -= 1;
        }
        let slot = self.slot(self.count);
        let range = self.range(slot);
        subtract(&mut self.steps[range.clone()], x_new, x);
        subtract(&mut self.changes[range], g_new, g);
        self.admit(slot);
    }

    /// Counts the pair in `slot` in if its curvature is positive.
    fn admit(&mut self, slot: usize) {
        let (s, y) = (&self.steps[self.range(slot)], &self.changes[self.range(slot)]);
        let (sy, ss, yy) = (dot(s, y), dot(s, s), dot(y, y));
        if sy > T::EPSILON * ss.sqrt() * yy.sqrt() && sy.is_finite() && yy > 0.0 {
            self.rho[slot] = 1.0 / sy;
            self.gamma = sy / yy;
            self.count += 1;
        }
    }

    /// `out` = −H·gradient by the two loops (Nocedal and Wright, algorithm 7.4), from the preconditioner or from a sphere.
    pub(super) fn direction(&mut self, gradient: &[T], preconditioner: Option<&Preconditioner<T>>, out: &mut [T]) {
        out.copy_from_slice(gradient);
        for age in (0..self.count).rev() {
            let slot = self.slot(age);
            let range = self.range(slot);
            let alpha = self.rho[slot] * dot(&self.steps[range.clone()], out);
            self.alpha[age] = alpha;
            add_scaled(out, -alpha, &self.changes[range]);
        }
        match preconditioner {
            Some(preconditioner) => {
                preconditioner.apply(out, &mut self.work);
                let size = self.size_of(preconditioner);
                scale(out, -size);
            }
            None => scale(out, -self.gamma),
        }
        // The sign is already turned, so the second loop runs on −q.
        for age in 0..self.count {
            let slot = self.slot(age);
            let range = self.range(slot);
            let beta = self.rho[slot] * dot(&self.changes[range.clone()], out);
            add_scaled(out, -(self.alpha[age] + beta), &self.steps[range]);
        }
    }

    /// s·y / y·P·y of the newest pair: how large the inverse Hessian is, measured by the preconditioner.
    fn size_of(&mut self, preconditioner: &Preconditioner<T>) -> f64 {
        let Some(newest) = self.count.checked_sub(1) else { return 1.0 };
        let slot = self.slot(newest);
        let range = self.range(slot);
        self.shaped.clear();
        self.shaped.extend_from_slice(&self.changes[range.clone()]);
        preconditioner.apply(&mut self.shaped, &mut self.work);
        1.0 / (self.rho[slot] * dot(&self.changes[range], &self.shaped))
    }

    /// The pairs, oldest first, as two buffers.
    pub(super) fn export(&self) -> (Vec<T>, Vec<T>) {
        let gather = |from: &[T]| (0..self.count).flat_map(|age| from[self.range(self.slot(age))].to_vec()).collect();
        (gather(&self.steps), gather(&self.changes))
    }

    /// Fills the ring with exported pairs; of more than fit, the newest. Lengths are the caller's to check.
    pub(super) fn import(&mut self, steps: &[T], changes: &[T]) {
        self.clear();
        if self.length == 0 {
            return;
        }
        let pairs = steps.len() / self.length;
        for pair in pairs.saturating_sub(self.rho.len())..pairs {
            let (slot, from) = (self.slot(self.count), pair * self.length..(pair + 1) * self.length);
            let to = self.range(slot);
            self.steps[to.clone()].copy_from_slice(&steps[from.clone()]);
            self.changes[to].copy_from_slice(&changes[from]);
            self.admit(slot);
        }
    }
}

fn subtract<T: Scalar>(out: &mut [T], a: &[T], b: &[T]) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = a - b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: [([f64; 3], [f64; 3]); 3] =
        [([1.0, 0.5, 0.0], [2.0, 0.3, 0.1]), ([0.2, -1.0, 0.4], [0.1, -3.0, 0.2]), ([0.3, 0.1, 1.0], [0.2, 0.4, 5.0])];

    fn preconditioner() -> Preconditioner<f64> {
        let rows: Vec<f64> = (0..60).map(|i| (i as f64 * 0.7).sin()).collect();
        Preconditioner::of_rows(cmrm::Matrix::new(&rows, 3).unwrap(), None, 1, false, 0.01).unwrap()
    }

    fn filled() -> History<f64> {
        let mut history = History::<f64>::new(2, 3);
        for (s, y) in PAIRS {
            history.push(&[0.0; 3], &s, &[0.0; 3], &y);
        }
        history
    }

    #[test]
    fn the_newest_pair_satisfies_the_secant_equation() {
        let (mut history, preconditioner) = (filled(), preconditioner());
        // H·y = s for the newest pair, whatever came before and wherever the memory starts from.
        let (s, y) = PAIRS[2];
        for preconditioner in [None, Some(&preconditioner)] {
            let mut out = [0.0; 3];
            history.direction(&y, preconditioner, &mut out);
            for i in 0..3 {
                assert!((out[i] + s[i]).abs() < 1e-13, "{out:?}");
            }
        }
    }

    #[test]
    fn the_two_loops_are_the_update_of_whole_matrices() {
        let dot = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let times = |m: &[[f64; 3]; 3], v: &[f64; 3]| m.map(|row| dot(&row, v));
        let (mut history, preconditioner) = (filled(), preconditioner());
        let unit = |i: usize| std::array::from_fn::<f64, 3, _>(|j| f64::from(u8::from(i == j)));
        let shape: [[f64; 3]; 3] = std::array::from_fn(|i| {
            let mut column = unit(i);
            preconditioner.apply(&mut column, &mut Vec::new());
            column
        });
        let sphere: [[f64; 3]; 3] = std::array::from_fn(unit);
        for (preconditioner, start) in [(None, sphere), (Some(&preconditioner), shape)] {
            let (s, y) = PAIRS[2];
            let size = dot(&s, &y) / dot(&y, &times(&start, &y));
            let mut h = start.map(|row| row.map(|value| size * value));
            // The memory holds two pairs.
            for (s, y) in &PAIRS[1..] {
                let rho = 1.0 / dot(s, y);
                let hy = times(&h, y);
                let yhy = dot(y, &hy);
                h = std::array::from_fn(|i| {
                    std::array::from_fn(|j| {
                        h[i][j] - rho * (s[i] * hy[j] + hy[i] * s[j]) + (rho * rho * yhy + rho) * s[i] * s[j]
                    })
                });
            }
            let gradient = [0.7, -0.2, 0.4];
            let mut out = [0.0; 3];
            history.direction(&gradient, preconditioner, &mut out);
            for (found, expected) in out.iter().zip(times(&h, &gradient)) {
                assert!((found + expected).abs() < 1e-13, "{found} {expected}");
            }
        }
    }

    #[test]
    fn negative_curvature_is_left_out() {
        let mut history = History::<f32>::new(2, 2);
        history.push(&[0.0; 2], &[1.0, 0.0], &[0.0; 2], &[-1.0, 0.0]);
        history.push(&[0.0; 2], &[0.0; 2], &[0.0; 2], &[0.0; 2]);
        assert!(history.is_empty());
    }
}
