//! Columns as they are in the data, beside columns of equal spread.

use cmrm::OwnedRows;
use cmrm_data::Dataset;
use cmrm_data::preprocess::Preprocess;
use cmrm_train::vote::scale_features;

/// Most of the rows' variance that one column may have: where it has more, others hardly count in a distance.
const MOST_OF_ONE: f64 = 0.5;
/// How many times another's variance a column must have for the distances to differ.
const FEWEST_TIMES: f64 = 2.0;

/// How learners that compare rows see the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scaling {
    /// Each with the same spread: right where columns are measured in different units.
    Standard,
    /// In the units of the data: right where these are the same for all, as with pixels, embeddings and flags of names, and
    /// a column that hardly varies is one that hardly matters.
    AsGiven,
}

/// The rows in the units of the data.
pub(super) struct AsGiven {
    /// What the features of the rows were multiplied by.
    pub scales: Vec<f32>,
    /// Those of all rows.
    pub features: Vec<f32>,
}

impl AsGiven {
    /// Nothing where that is no other distance, or hardly more than that of one column. Sparse rows are as given anyway.
    pub fn new(preprocess: &Preprocess, data: &Dataset) -> Option<Self> {
        let OwnedRows::Dense { values, width } = &data.features else { return None };
        let units = preprocess.feature_units();
        let spread: Vec<f64> =
            variances(values, *width).iter().zip(&units).map(|(variance, unit)| variance * unit * unit).collect();
        let varying = || spread.iter().copied().filter(|&v| v > 0.0);
        let (sum, count) = (varying().sum::<f64>(), varying().count());
        let (least, most) = varying().fold((f64::INFINITY, 0.0), |(least, most), v| (v.min(least), v.max(most)));
        let told_apart = most >= FEWEST_TIMES * least && most <= MOST_OF_ONE * sum && sum.is_finite();
        if !told_apart {
            return None;
        }
        // To numbers of the usual size.
        let usual = (sum / count as f64).sqrt();
        let scales: Vec<f32> = units.iter().map(|unit| (unit / usual) as f32).collect();
        let mut features = values.clone();
        scale_features(&mut features, &scales);
        let sound = scales.iter().chain(&features).all(|v| v.is_finite());
        sound.then_some(AsGiven { scales, features })
    }
}

fn variances(values: &[f32], width: usize) -> Vec<f64> {
    let rows = (values.len() / width.max(1)).max(1) as f64;
    let mut sums = vec![[0.0f64; 2]; width];
    for row in values.chunks_exact(width.max(1)) {
        for ([sum, squares], &value) in sums.iter_mut().zip(row) {
            *sum += f64::from(value);
            *squares += f64::from(value) * f64::from(value);
        }
    }
    // Features are of usual size and centred, so that nothing cancels.
    sums.iter().map(|[sum, squares]| (squares / rows - (sum / rows).powi(2)).max(0.0)).collect()
}
