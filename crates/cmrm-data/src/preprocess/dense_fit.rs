//! Statistics of an array's columns, all at once.
//!
//! The arithmetic is that of [`Moments::add`], step by step, with the columns side by side so that the compiler can
//! work on several at a time: an array and a table of the same numbers give the same bits.

use super::column_fit::non_finite;
use super::moments::Moments;
use crate::dataset::Array;
use crate::error::Result;
use crate::table::made_up_name;

pub(super) struct DenseFit {
    count: u64,
    mean: Vec<f64>,
    squares: Vec<f64>,
    min: Vec<f32>,
    max: Vec<f32>,
}

impl DenseFit {
    pub fn new(width: usize) -> Self {
        DenseFit {
            count: 0,
            mean: vec![0.0; width],
            squares: vec![0.0; width],
            min: vec![f32::INFINITY; width],
            max: vec![f32::NEG_INFINITY; width],
        }
    }

    /// Learns from the rows for which `training` is true; of the columns only those `used` have to be finite.
    pub fn update(&mut self, array: &Array, training: &[bool], used: impl Fn(usize) -> bool) -> Result<()> {
        let rows = array.values().chunks_exact(array.width());
        for (row, (values, _)) in rows.zip(training).enumerate().filter(|(_, (_, used))| **used) {
            if !values.iter().all(|value| value.is_finite()) {
                let wrong = values.iter().enumerate().find(|(at, value)| !value.is_finite() && used(*at));
                if let Some((at, &value)) = wrong {
                    return Err(non_finite(value.into(), array.first_row() + row as u64, &made_up_name(at)));
                }
            }
            self.count += 1;
            let count = self.count as f64;
            for (((mean, squares), (min, max)), &value) in
                self.mean.iter_mut().zip(&mut self.squares).zip(self.min.iter_mut().zip(&mut self.max)).zip(values)
            {
                let wide = f64::from(value);
                let before = wide - *mean;
                *mean += before / count;
                *squares += before * (wide - *mean);
                *min = min.min(value);
                *max = max.max(value);
            }
        }
        Ok(())
    }

    /// The statistics of one column.
    pub fn moments(&self, column: usize) -> Moments {
        Moments {
            count: self.count,
            mean: self.mean[column],
            squares: self.squares[column],
            min: self.min[column].into(),
            max: self.max[column].into(),
        }
    }
}
