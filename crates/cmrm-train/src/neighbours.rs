//! Nearest neighbours: the shares of the classes among the rows nearest to one.

use std::sync::Arc;

use cmrm::error::{check_labels, check_length, check_parameter, check_row_weights};
use cmrm::{OwnedRows, Rows};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::products::{Compared, put_rows, squares, take_rows};
use crate::stop::Stop;
use crate::stored::TensorFile;
use crate::train::Examples;

/// Rows whose distances are computed at a time.
const CHUNK_ROWS: usize = 128;

/// Probabilities `(Σ w + 1/classes) / (Σ w + 1)`, by class over the nearest rows: one row's worth of doubt is added.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    inputs: usize,
    classes: usize,
    count: usize,
    /// Shared by those that differ in `count` alone.
    rows: Arc<OwnedRows<f32>>,
    /// Their squared lengths: a row that is asked for alone need not wait for them.
    squares: Arc<Vec<f32>>,
    labels: Vec<u32>,
    weights: Vec<f32>,
}

/// Neighbours that were learned, and what the others say of each row.
#[derive(Debug, Clone)]
pub struct NeighboursFitted {
    /// The learner.
    pub neighbours: Neighbours,
    /// Probabilities of every row by the rows nearest to it, itself left out, `[rows, classes]`.
    pub left_out: Vec<f32>,
}

/// What a file says of neighbours beside its tensors.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NeighboursHeader {
    inputs: usize,
    classes: usize,
    count: usize,
}

impl Neighbours {
    /// Learns for several numbers of neighbours, whose distances are computed once.
    pub fn fit(
        examples: Examples<'_, f32>,
        classes: usize,
        counts: &[usize],
        stop: &Stop,
    ) -> Result<Vec<NeighboursFitted>> {
        examples.check(classes)?;
        let most = counts.iter().copied().max().unwrap_or(1);
        for &count in counts {
            check_parameter("neighbours", count as f64, count > 0, "at least 1")?;
        }
        let rows = examples.rows();
        let mut one = Neighbours {
            inputs: examples.x.columns(),
            classes,
            count: most,
            rows: Arc::new(examples.x.to_owned_rows()),
            squares: Arc::new(squares(examples.x)),
            labels: examples.labels.to_vec(),
            weights: examples.row_weights.map_or_else(|| vec![1.0; rows], <[f32]>::to_vec),
        };
        // One more than asked for, since a row is its own neighbour.
        let nearest = one.nearest(examples.x, most + 1, false, stop)?;
        let mut found = Vec::with_capacity(counts.len());
        for &count in counts {
            one.count = count;
            let mut left_out = vec![0.0; rows * classes];
            for (row, (near, out)) in nearest.iter().zip(left_out.chunks_exact_mut(classes)).enumerate() {
                one.shares(near.iter().copied().filter(|&other| other as usize != row), out);
            }
            found.push(NeighboursFitted { neighbours: one.clone(), left_out });
        }
        Ok(found)
    }

    /// Number of features.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Probabilities, `[rows, classes]`.
    pub fn probabilities<'x>(&self, x: impl Into<Rows<'x, f32>>, stop: &Stop) -> Result<Vec<f32>> {
        self.probabilities_of(x.into(), stop)
    }

    fn probabilities_of(&self, x: Rows<'_, f32>, stop: &Stop) -> Result<Vec<f32>> {
        check_length("features of a row against the model's inputs", self.inputs, x.columns())?;
        let mut out = vec![0.0; x.rows() * self.classes];
        let nearest = self.nearest(x, self.count, true, stop)?;
        for (near, out) in nearest.iter().zip(out.chunks_exact_mut(self.classes)) {
            self.shares(near.iter().copied(), out);
        }
        Ok(out)
    }

    fn shares(&self, near: impl Iterator<Item = u32>, out: &mut [f32]) {
        let mut all = 1.0;
        out.fill(1.0 / self.classes as f32);
        for row in near.take(self.count) {
            let weight = self.weights[row as usize];
            out[self.labels[row as usize] as usize] += weight;
            all += weight;
        }
        out.iter_mut().for_each(|share| *share /= all);
    }

    /// The places of the `count` rows nearest to each row of `x`, the nearest first; of equals the earlier one. Rows without
    /// weight are nobody's neighbours. `by_row` as in [`Compared::products`].
    fn nearest(&self, x: Rows<'_, f32>, count: usize, by_row: bool, stop: &Stop) -> Result<Vec<Vec<u32>>> {
        let own = self.labels.len();
        let rows = self.rows.view()?;
        let (squares, compared) = (&self.squares, Compared::new(rows));
        let chunk = |chunk: usize| -> Result<Vec<Vec<u32>>> {
            stop.check()?;
            let first = chunk * CHUNK_ROWS;
            let mut products = Vec::new();
            compared.products(x.slice(first..(first + CHUNK_ROWS).min(x.rows())), by_row, &mut products);
            let mut keys: Vec<u64> = Vec::with_capacity(own);
            let near = |products: &[f32]| {
                keys.clear();
                let counted = (0..own).filter(|&row| self.weights[row] > 0.0);
                keys.extend(counted.map(|row| key(squares[row] - 2.0 * products[row], row)));
                if count < keys.len() {
                    keys.select_nth_unstable(count - 1);
                    keys.truncate(count);
                }
                keys.sort_unstable();
                keys.iter().map(|&key| key as u32).collect()
            };
            Ok(products.chunks_exact(own).map(near).collect())
        };
        let chunks = 0..x.rows().div_ceil(CHUNK_ROWS);
        let found: Vec<Vec<Vec<u32>>> = chunks.into_par_iter().map(chunk).collect::<Result<_>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Puts the tensors into a file, their names after `prefix`.
    pub(crate) fn put_into(&self, prefix: &str, file: &mut TensorFile) -> NeighboursHeader {
        let rows = self.labels.len();
        put_rows(file, &format!("{prefix}rows"), &self.rows);
        file.put_integers(format!("{prefix}labels"), &self.labels);
        file.put(format!("{prefix}weights"), &[rows], &self.weights);
        NeighboursHeader { inputs: self.inputs, classes: self.classes, count: self.count }
    }

    /// Takes neighbours out of a file, and checks them.
    pub(crate) fn take_from(prefix: &str, header: &NeighboursHeader, file: &TensorFile) -> Result<Self> {
        let NeighboursHeader { inputs, classes, count } = *header;
        for (name, value) in [("inputs", inputs), ("classes", classes), ("neighbours", count)] {
            check_parameter(name, value as f64, value > 0, "at least 1")?;
        }
        let labels = file.take_integers(&format!("{prefix}labels"))?;
        check_labels(&labels, classes)?;
        let rows = take_rows(file, &format!("{prefix}rows"), labels.len(), inputs)?;
        let weights: Vec<f32> = file.take_shaped(&format!("{prefix}weights"), &[labels.len()])?;
        check_row_weights(Some(&weights), labels.len())?;
        let squares = Arc::new(squares(rows.view()?));
        Ok(Neighbours { inputs, classes, count, rows: Arc::new(rows), squares, labels, weights })
    }
}

/// A number that is the smaller, the nearer the row; of equal distances, the earlier the row.
fn key(distance: f32, row: usize) -> u64 {
    let bits = distance.to_bits();
    // The bits of floats order like whole numbers once those of negative ones are turned round.
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    u64::from(ordered) << 32 | row as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmrm::Matrix;

    #[test]
    fn the_nearest_rows_vote_by_their_weights_and_a_row_not_for_itself() {
        let x = [0.0, 1.0, 2.0, 10.0, 11.0];
        let (labels, weights) = ([0, 0, 1, 1, 1], [1.0, 1.0, 0.0, 1.0, 0.5]);
        let rows = Matrix::new(&x, 1).unwrap();
        let examples = Examples { row_weights: Some(&weights), ..Examples::new(rows, &labels) };
        let found = Neighbours::fit(examples, 2, &[2, 1], &Stop::default()).unwrap();
        let near = |a: f32, b: f32| (a - b).abs() < 1e-6;
        // Two nearest to 0.4: 0 and 1. Of the row at 1, left out: 0 and, since the row at 2 has no weight, 10.
        let new = found[0].neighbours.probabilities(Matrix::new(&[0.4], 1).unwrap(), &Stop::default()).unwrap();
        assert!(near(new[0], 2.5 / 3.0) && near(new[0] + new[1], 1.0));
        assert!(near(found[0].left_out[2], 1.5 / 3.0));
        assert!(near(found[1].left_out[2], 1.5 / 2.0));
        assert!(near(found[1].left_out[7], 1.0 / 1.5));
    }

    #[test]
    fn keys_order_like_distances() {
        let distances = [-3.0f32, -0.5, -0.0, 0.0, 0.5, 7.0];
        assert!(distances.windows(2).all(|pair| key(pair[0], 9) <= key(pair[1], 9) || pair[0] == pair[1]));
        assert!(key(1.0, 2) < key(1.0, 3));
    }
}
