//! Which classes are taken for which, apart from how often: candidates for the form of a transition matrix.

use super::transition::Transition;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::scores::most_likely;

/// Most of a class's rows that may be observed as another class.
const MOST_WRONG: f64 = 0.95;

/// Off-diagonal entries at a rate of one; the mean over the rows of their sums is one.
pub(super) struct Shape {
    classes: usize,
    entries: Vec<f64>,
}

impl Shape {
    /// All pairs of classes alike.
    pub fn uniform(classes: usize) -> Self {
        let other = 1.0 / (classes - 1) as f64;
        let entry = |at: usize| if at.is_multiple_of(classes + 1) { 0.0 } else { other };
        Shape { classes, entries: (0..classes * classes).map(entry).collect() }
    }

    /// That of noise whose rate is above zero.
    pub fn of(transition: &Transition, rate: f64) -> Self {
        let classes = transition.classes();
        let entry = |at: usize| match at.is_multiple_of(classes + 1) {
            true => 0.0,
            false => transition.probability(at / classes, at % classes) / rate,
        };
        Shape { classes, entries: (0..classes * classes).map(entry).collect() }
    }

    /// By the observed labels of the surer half of the rows that are predicted as each class, with as many rows' worth of
    /// uniform noise as there are classes.
    pub fn counted(p: Matrix<'_, f32>, labels: &[u32], rows: &[usize]) -> Self {
        let classes = p.columns();
        let sure = Sure::among(p, rows);
        let mut counts = vec![0.0; classes * classes];
        let mut seen = vec![0.0; classes];
        for (class, rows) in sure.rows.iter().enumerate() {
            seen[class] = rows.len() as f64;
            for &row in rows {
                counts[class * classes + labels[row] as usize] += 1.0;
            }
        }
        let wrong: f64 = (0..classes).map(|class| seen[class] - counts[class * (classes + 1)]).sum();
        let usual = wrong / seen.iter().sum::<f64>().max(1.0) / (classes - 1) as f64;
        let prior = classes as f64;
        let entry = |at: usize| (counts[at] + prior * usual) / (seen[at / classes] + prior);
        Shape::scaled((0..classes * classes).map(entry).collect(), &sure.shares)
    }

    /// By the mean probabilities of the same rows: steadier than their labels where a class has few rows.
    pub fn told(p: Matrix<'_, f32>, rows: &[usize]) -> Self {
        let classes = p.columns();
        let sure = Sure::among(p, rows);
        let mean = |rows: &[usize]| {
            let mut mean = vec![0.0; classes];
            for &row in rows {
                mean.iter_mut().zip(p.row(row)).for_each(|(mean, &p)| *mean += f64::from(p));
            }
            mean.iter().map(|sum| sum / rows.len().max(1) as f64).collect::<Vec<f64>>()
        };
        let of_all = mean(rows);
        let of_class = |rows: &Vec<usize>| if rows.is_empty() { of_all.clone() } else { mean(rows) };
        Shape::scaled(sure.rows.iter().flat_map(of_class).collect(), &sure.shares)
    }

    fn scaled(mut entries: Vec<f64>, shares: &[f64]) -> Self {
        let classes = shares.len();
        (0..classes).for_each(|class| entries[class * (classes + 1)] = 0.0);
        let rate: f64 =
            entries.chunks_exact(classes).zip(shares).map(|(row, share)| share * row.iter().sum::<f64>()).sum();
        if rate <= 0.0 {
            return Shape::uniform(classes);
        }
        entries.iter_mut().for_each(|entry| *entry /= rate);
        Shape { classes, entries }
    }

    /// The matrix at this rate of wrong labels.
    pub fn at(&self, rate: f64) -> Result<Transition> {
        let mut entries: Vec<f64> = self.entries.iter().map(|entry| rate * entry).collect();
        for (class, row) in entries.chunks_exact_mut(self.classes).enumerate() {
            let wrong: f64 = row.iter().sum();
            if wrong > MOST_WRONG {
                row.iter_mut().for_each(|entry| *entry *= MOST_WRONG / wrong);
            }
            row[class] = 1.0 - row.iter().sum::<f64>();
        }
        Transition::new(Matrix::new(&entries, self.classes)?)
    }
}

/// The surer half of the rows predicted as each class, and the share of the rows that are predicted as it.
struct Sure {
    rows: Vec<Vec<usize>>,
    shares: Vec<f64>,
}

impl Sure {
    fn among(p: Matrix<'_, f32>, rows: &[usize]) -> Self {
        let mut predicted = vec![Vec::new(); p.columns()];
        for &row in rows {
            predicted[most_likely(p.row(row)) as usize].push(row);
        }
        let shares = predicted.iter().map(|of_class| of_class.len() as f64 / rows.len().max(1) as f64).collect();
        for (class, rows) in predicted.iter_mut().enumerate() {
            rows.sort_by(|&a, &b| p.row(b)[class].total_cmp(&p.row(a)[class]).then(a.cmp(&b)));
            rows.truncate(rows.len().div_ceil(2));
        }
        Sure { rows: predicted, shares }
    }
}
