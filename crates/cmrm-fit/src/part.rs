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
        let examples = Examples::new(self.data.matrix()?, &self.data.labels);
        Ok(Examples { row_weights: self.weights.as_deref(), ..examples })
    }

    /// Which labels are wrong, where that is known.
    pub fn wrong(&self) -> Option<Vec<bool>> {
        let clean = self.clean.as_ref()?;
        Some(clean.iter().zip(&self.data.labels).map(|(clean, observed)| clean != observed).collect())
    }

    /// The rows of both parts, in the order of their places: `places` are those of this part, `others` those of the other.
    pub(crate) fn merge(&self, places: &[usize], other: &Part, others: &[usize]) -> Result<Part> {
        let of =
            |part, places: &[usize]| places.iter().enumerate().map(move |(at, &place)| (place, part, at)).collect();
        let mut order: Vec<(usize, &Part, usize)> = of(self, places);
        order.append(&mut of(other, others));
        order.sort_by_key(|&(place, ..)| place);
        let (mut data, width) = (self.data.gather(&[])?, self.data.width());
        for &(_, part, at) in &order {
            data.features.extend_from_slice(&part.data.features[at * width..(at + 1) * width]);
            data.labels.push(part.data.labels[at]);
            data.rows.push(part.data.rows[at]);
        }
        let weight = |&(_, part, at): &(usize, &Part, usize)| part.weights.as_ref().map(|weights| weights[at]);
        let clean = |&(_, part, at): &(usize, &Part, usize)| part.clean.as_ref().map(|clean| clean[at]);
        Ok(Part { data, weights: order.iter().map(weight).collect(), clean: order.iter().map(clean).collect() })
    }
}
