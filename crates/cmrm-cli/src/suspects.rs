//! The rows whose labels the model doubts, from the record of a single fit.

use cmrm_train::train::Trained;
use serde::Serialize;

use crate::verbs::fit::Prepared;

/// Suspects named in a summary.
const TOP: usize = 10;

/// One doubted label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suspect {
    pub row: u64,
    pub given_label: String,
    pub suggested_label: String,
    pub margin: f32,
}

/// All doubted labels of the training rows: those where another class is more likely than the given one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suspects {
    pub count: usize,
    pub share: f64,
    /// Truly wrong labels among them, where that is known.
    pub precision: Option<f64>,
    /// Share of the truly wrong labels that are among them, where that is known.
    pub recall: Option<f64>,
    pub top: Vec<Suspect>,
}

impl Suspects {
    pub fn find(prepared: &Prepared, arm: &Trained<f32>) -> Self {
        let rows = &prepared.split.train;
        let data = &prepared.data;
        let margins = &arm.record.last_margin;
        let mut doubted: Vec<usize> = (0..rows.len()).filter(|&at| margins[at] < 0.0).collect();
        doubted.sort_by(|&a, &b| margins[a].total_cmp(&margins[b]).then(a.cmp(&b)));
        let (mut precision, mut recall) = (None, None);
        if let Some(clean) = &prepared.clean {
            let is_wrong = |at: &&usize| clean[rows[**at]] != data.labels[rows[**at]];
            let found = doubted.iter().filter(is_wrong).count() as f64;
            let wrong = (0..rows.len()).collect::<Vec<_>>().iter().filter(is_wrong).count() as f64;
            precision = (!doubted.is_empty()).then(|| found / doubted.len() as f64);
            recall = (wrong > 0.0).then(|| found / wrong);
        }
        let top = doubted.iter().take(TOP).map(|&at| Suspect {
            row: data.rows[rows[at]],
            given_label: data.classes[data.labels[rows[at]] as usize].clone(),
            suggested_label: data.classes[arm.record.rival[at] as usize].clone(),
            margin: margins[at],
        });
        let top = top.collect();
        Suspects { count: doubted.len(), share: doubted.len() as f64 / rows.len() as f64, precision, recall, top }
    }
}
