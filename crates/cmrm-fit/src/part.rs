//! Some of the rows of a fit, with everything that belongs to them.

use cmrm_data::Dataset;
use cmrm_train::train::Examples;

use crate::error::Result;

/// Rows with their weights and, where they are known, their clean labels.
#[derive(Debug, Clone)]
pub struct Part {
    /// Features and observed labels.
    pub data: Dataset,
    /// The weight of each row; all one if absent.
    pub weights: Option<Vec<f32>>,
    /// Labels before any noise, or known to be right.
    pub clean: Option<Vec<u32>>,
}

impl Part {
    /// The rows at `rows`, in that order.
    pub fn gather(&self, rows: &[usize]) -> Result<Part> {
        Ok(Part {
            data: self.data.gather(rows)?,
            weights: self.weights.as_ref().map(|weights| rows.iter().map(|&row| weights[row]).collect()),
            clean: self.clean.as_ref().map(|clean| rows.iter().map(|&row| clean[row]).collect()),
        })
    }

    /// The rows as a training takes them.
    pub fn examples(&self) -> Result<Examples<'_, f32>> {
        let examples = Examples::new(self.data.x()?, &self.data.labels);
        Ok(Examples { row_weights: self.weights.as_deref(), ..examples })
    }

    /// Which labels are wrong, where that is known.
    pub fn wrong(&self) -> Option<Vec<bool>> {
        let clean = self.clean.as_ref()?;
        Some(clean.iter().zip(&self.data.labels).map(|(clean, observed)| clean != observed).collect())
    }

    /// The rows of both parts, in the order of their places: `places` are those of this part, `others` those of the other.
    pub(crate) fn merge(&self, places: &[usize], other: &Part, others: &[usize]) -> Result<Part> {
        let mut both = self.clone();
        both.data.features.append(other.data.x()?)?;
        both.data.labels.extend(&other.data.labels);
        both.data.rows.extend(&other.data.rows);
        both.weights = joined(both.weights, other.weights.as_deref());
        both.clean = joined(both.clean, other.clean.as_deref());
        let mut order: Vec<(usize, usize)> = places.iter().chain(others).copied().zip(0..).collect();
        order.sort_unstable();
        both.gather(&order.into_iter().map(|(_, at)| at).collect::<Vec<_>>())
    }
}

/// The numbers of both parts, if both have them.
fn joined<T: Copy>(ours: Option<Vec<T>>, theirs: Option<&[T]>) -> Option<Vec<T>> {
    Some([ours?.as_slice(), theirs?].concat())
}
