//! A transition matrix that can be undone.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, check_labels, check_length, check_parameter};
use crate::matrix::Matrix;

/// How far a row's sum may be from 1.
const SUM_TOLERANCE: f64 = 1e-5;
/// A pivot below this is taken for zero.
const LEAST_PIVOT: f64 = 1e-9;

/// A checked matrix that has an inverse: entry `(k, j)` is the probability that a row of class k is observed as j.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<f64>>", into = "Vec<Vec<f64>>")]
pub struct Transition {
    classes: usize,
    entries: Vec<f64>,
    inverse: Vec<f64>,
    /// `log |det T|`.
    log_volume: f64,
    /// The share of labels drawn at random from all classes, where that is all there is: what takes classes² steps then takes classes.
    alike: Option<f64>,
}

impl Transition {
    /// Checks that the matrix is square, made of probabilities, with rows that sum to 1 within 1e-5, and can be inverted.
    pub fn new(entries: Matrix<'_, f64>) -> Result<Self> {
        let classes = entries.columns();
        check_length("rows of a transition matrix with as many columns", classes, entries.rows())?;
        let refuse = |reason: String| Err(Error::Invalid { what: "transition matrix", reason });
        for (row, values) in entries.iter_rows().enumerate() {
            if let Some(column) = values.iter().position(|p| !(0.0..=1.0).contains(p)) {
                let value = values[column];
                return refuse(format!("the entry at row {row}, column {column} is {value}; expected one in [0, 1]"));
            }
            let sum: f64 = values.iter().sum();
            if (sum - 1.0).abs() > SUM_TOLERANCE {
                return refuse(format!("row {row} sums to {sum}; every row must sum to 1"));
            }
        }
        let entries = entries.values().to_vec();
        let alike = random_share(&entries, classes);
        let inverse = match alike {
            Some(share) => inverse_of_alike(share, classes),
            None => inverse(&entries, classes),
        };
        match inverse {
            Some((inverse, log_volume)) => Ok(Transition { classes, entries, inverse, log_volume, alike }),
            None => refuse("it has no inverse: some classes are observed alike, so their labels say nothing".into()),
        }
    }

    /// A share `rate` of the labels of every class is wrong, and wrong ones are of all other classes alike. The rate lies below the share at
    /// which labels say nothing, `1 − 1/classes`.
    pub fn uniform(classes: usize, rate: f64) -> Result<Self> {
        check_parameter("classes", classes as f64, classes >= 2, "at least 2")?;
        let below = (classes - 1) as f64 / classes as f64;
        let fits = (0.0..below).contains(&rate);
        check_parameter("noise rate", rate, fits, "0 or more, and below 1 - 1/classes, where labels say nothing")?;
        let wrong = rate / (classes - 1) as f64;
        let entry = |at: usize| if at.is_multiple_of(classes + 1) { 1.0 - rate } else { wrong };
        let entries: Vec<f64> = (0..classes * classes).map(entry).collect();
        Transition::new(Matrix::new(&entries, classes)?)
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The probability that a row of class `of` is observed as `observed`.
    pub fn probability(&self, of: usize, observed: usize) -> f64 {
        self.entries[of * self.classes + observed]
    }

    /// The probability that a row with these probabilities of the true classes is observed as `observed`.
    pub(super) fn observed(&self, clean: &[f64], observed: usize) -> f64 {
        match self.alike {
            Some(share) => {
                let sum: f64 = clean.iter().sum();
                (1.0 - share) * clean[observed] + share * sum / self.classes as f64
            }
            None => clean.iter().enumerate().map(|(k, s)| s * self.probability(k, observed)).sum(),
        }
    }

    /// `Tᵀs` of every row, `[rows, classes]`: what probabilities of true classes say of observed ones.
    pub fn observed_probabilities(&self, clean: Matrix<'_, f32>) -> Result<Vec<f32>> {
        check_length("classes of the transition matrix", self.classes, clean.columns())?;
        let mut row = vec![0.0; self.classes];
        let mut out = Vec::with_capacity(clean.values().len());
        for probabilities in clean.iter_rows() {
            row.iter_mut().zip(probabilities).for_each(|(wide, &p)| *wide = f64::from(p));
            out.extend((0..self.classes).map(|label| self.observed(&row, label) as f32));
        }
        Ok(out)
    }

    /// The probabilities that a row of class `of` is observed as each class.
    pub fn row(&self, of: usize) -> &[f64] {
        &self.entries[of * self.classes..][..self.classes]
    }

    /// `log |det T|`: zero without noise, the lower the more the classes are mixed.
    pub fn log_volume(&self) -> f64 {
        self.log_volume
    }

    /// For a row observed as `observed`, numbers whose mean over the noise is 1 for the true class and 0 for the others: a row of the
    /// inverse. They may be negative. Sums of them over rows are unbiased sums over clean labels.
    pub fn unbiased(&self, observed: usize) -> &[f64] {
        &self.inverse[observed * self.classes..][..self.classes]
    }

    /// [`Transition::unbiased`] of every label, `[labels, classes]`: weights that correct prediction sets without any model of the rows.
    pub fn unbiased_weights(&self, labels: &[u32]) -> Result<Vec<f32>> {
        check_labels(labels, self.classes)?;
        Ok(labels.iter().flat_map(|&label| self.unbiased(label as usize)).map(|&w| w as f32).collect())
    }

    /// A bound on the mean, over samples of n rows, of `sup_t (F̂(t) − F(t))`, where F is the distribution function of scores of true classes and
    /// F̂ its unbiased estimate ([`Transition::unbiased_weights`]).
    ///
    /// For one distribution function, or one restricted to some of the rows, it is `√(π/8n)`: the one-sided inequality of Dvoretzky, Kiefer,
    /// Wolfowitz and Massart, integrated. For every class k, F̂ adds the rows with weights `T⁻¹[label][k]`. Weights from 0 to b are a
    /// mixture of restrictions times b, so that class k adds at most its largest weight plus the largest by which one is negative.
    /// Where noise is alike for all classes, with rate ε and e = εK/(K−1), F̂ is `(F_obs − e F_all)/(1 − e)`, and the bound
    /// `(1 + e)/(1 − e) √(π/8n)`.
    pub fn deviation(&self, labels: &[u32]) -> Result<f64> {
        check_labels(labels, self.classes)?;
        if labels.is_empty() {
            return Err(Error::Empty { what: "the calibration set" });
        }
        let rows = labels.len() as f64;
        let of_one = (std::f64::consts::PI / 8.0).sqrt();
        if let Some(share) = self.alike {
            return Ok((1.0 + share) / (1.0 - share).abs() * of_one / rows.sqrt());
        }
        let of_class = |class: usize| {
            let weights = || (0..self.classes).map(|label| self.unbiased(label)[class]);
            weights().fold(0.0, f64::max) - weights().fold(0.0, f64::min)
        };
        Ok(of_one / rows.sqrt() * (0..self.classes).map(of_class).sum::<f64>())
    }

    /// `q T⁻¹`: what probabilities of observed labels say of true ones. Entries may be negative where the two do not fit together.
    pub(super) fn undo<T: Copy + Into<f64>>(&self, observed: &[T], out: &mut [f64]) {
        if let Some(share) = self.alike {
            let sum: f64 = observed.iter().map(|&q| q.into()).sum();
            let spread = share * sum / self.classes as f64;
            out.iter_mut().zip(observed).for_each(|(out, &q)| *out = (q.into() - spread) / (1.0 - share));
            return;
        }
        out.fill(0.0);
        for (&q, row) in observed.iter().zip(self.inverse.chunks_exact(self.classes)) {
            let q = q.into();
            out.iter_mut().zip(row).for_each(|(out, inverse)| *out += q * inverse);
        }
    }
}

impl TryFrom<Vec<Vec<f64>>> for Transition {
    type Error = Error;

    fn try_from(rows: Vec<Vec<f64>>) -> Result<Self> {
        let classes = rows.len();
        for row in &rows {
            check_length("entries in a row of a transition matrix", classes, row.len())?;
        }
        Transition::new(Matrix::new(&rows.concat(), classes.max(1))?)
    }
}

impl From<Transition> for Vec<Vec<f64>> {
    fn from(transition: Transition) -> Self {
        transition.entries.chunks_exact(transition.classes).map(<[f64]>::to_vec).collect()
    }
}

/// The share of labels drawn at random from all classes, if all classes have the same and no other noise.
fn random_share(matrix: &[f64], n: usize) -> Option<f64> {
    let &wrong = matrix.get(1)?;
    let alike = matrix.iter().enumerate().all(|(at, &p)| p == if at % (n + 1) == 0 { matrix[0] } else { wrong });
    alike.then_some(wrong * n as f64)
}

/// The inverse and the logarithm of the determinant: the eigenvalues are one and, for the others, `1 - share`.
fn inverse_of_alike(share: f64, n: usize) -> Option<(Vec<f64>, f64)> {
    let rest = 1.0 - share;
    let entry = |at: usize| (f64::from(u8::from(at.is_multiple_of(n + 1))) - share / n as f64) / rest;
    (rest.abs() > LEAST_PIVOT).then(|| ((0..n * n).map(entry).collect(), (n - 1) as f64 * rest.abs().ln()))
}

/// By Gauss and Jordan, with the largest pivot of each column, whose product is the determinant but for its sign.
fn inverse(matrix: &[f64], n: usize) -> Option<(Vec<f64>, f64)> {
    let mut left = matrix.to_vec();
    let mut right: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at / n == at % n))).collect();
    let mut log_volume = 0.0;
    for column in 0..n {
        let size = |row: &usize| left[row * n + column].abs();
        let pivot = (column..n).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        if size(&pivot) < LEAST_PIVOT {
            return None;
        }
        for values in [&mut left, &mut right] {
            for at in 0..n {
                values.swap(column * n + at, pivot * n + at);
            }
        }
        log_volume += left[column * n + column].abs().ln();
        let scale = 1.0 / left[column * n + column];
        for values in [&mut left, &mut right] {
            values[column * n..][..n].iter_mut().for_each(|value| *value *= scale);
        }
        for row in (0..n).filter(|&row| row != column) {
            let factor = left[row * n + column];
            for values in [&mut left, &mut right] {
                for at in 0..n {
                    values[row * n + at] -= factor * values[column * n + at];
                }
            }
        }
    }
    Some((right, log_volume))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_noise_does_is_undone() {
        let entries = [0.7, 0.2, 0.1, 0.05, 0.9, 0.05, 0.3, 0.0, 0.7];
        let transition = Transition::new(Matrix::new(&entries, 3).unwrap()).unwrap();
        let clean = [0.2, 0.5, 0.3];
        let observed: Vec<f64> =
            (0..3).map(|j| (0..3).map(|k| clean[k] * transition.probability(k, j)).sum()).collect();
        let mut again = [0.0; 3];
        let said = transition.observed_probabilities(Matrix::new(&clean.map(|p| p as f32), 3).unwrap()).unwrap();
        observed.iter().zip(said).for_each(|(a, b)| assert!((a - f64::from(b)).abs() < 1e-7));
        transition.undo(&observed, &mut again);
        clean.iter().zip(again).for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{again:?}"));
        // The mean over the noise of the row of the inverse is the true class.
        for class in 0..3 {
            let mean = |of: usize| (0..3).map(|j| transition.row(class)[j] * transition.unbiased(j)[of]).sum::<f64>();
            (0..3).for_each(|of| assert!((mean(of) - f64::from(u8::from(of == class))).abs() < 1e-12));
        }
    }

    #[test]
    fn uniform_noise_has_the_inverse_in_closed_form() {
        let (classes, rate) = (4, 0.3);
        let transition = Transition::uniform(classes, rate).unwrap();
        let e = rate * 4.0 / 3.0;
        for j in 0..classes {
            for k in 0..classes {
                let expected = (f64::from(u8::from(j == k)) - e / 4.0) / (1.0 - e);
                assert!((transition.unbiased(j)[k] - expected).abs() < 1e-12);
                // As for any other matrix.
                assert!((inverse(&transition.entries, classes).unwrap().0[j * classes + k] - expected).abs() < 1e-12);
            }
        }
        let volume = inverse(&transition.entries, classes).unwrap().1;
        assert!((volume - 3.0 * (1.0 - e).ln()).abs() < 1e-12 && (transition.log_volume() - volume).abs() < 1e-12);
        let stored = serde_json::to_string(&transition).unwrap();
        assert_eq!(serde_json::from_str::<Transition>(&stored).unwrap(), transition);
    }

    #[test]
    fn what_cannot_be_undone_is_refused() {
        let refused = |entries: &[f64], classes| Transition::new(Matrix::new(entries, classes).unwrap()).is_err();
        assert!(refused(&[0.5, 0.5, 0.5, 0.5], 2));
        assert!(refused(&[0.9, 0.2, 0.5, 0.5], 2));
        assert!(refused(&[1.1, -0.1, 0.0, 1.0], 2));
        assert!(refused(&[1.0, 0.0], 2));
        for rate in [-0.1, 0.5, f64::NAN] {
            assert!(Transition::uniform(2, rate).is_err());
        }
        assert!(serde_json::from_str::<Transition>("[[1.0],[0.0,1.0]]").is_err());
    }
}
