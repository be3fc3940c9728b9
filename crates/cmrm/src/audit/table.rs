//! The result of an audit.

use super::groups::Groups;
use super::joint::NoiseEstimate;
use super::lowest::{ascending, positions};
use super::pairs::PairCounts;
use crate::error::{Result, check_labels, check_length};

/// One entry a row in every list; rows in the order of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// How well the label fits, in `[0, 1]`; low is suspicious.
    pub label_score: Vec<f32>,
    /// Probability of the label minus that of the strongest other class.
    pub margin: Vec<f32>,
    /// The model's most likely class; the lowest index on ties.
    pub predicted_label: Vec<u32>,
    /// For an issue the most likely class other than the given one (the lowest index on ties), else the given label.
    pub suggested_label: Vec<u32>,
    /// Whether the label is thought to be wrong.
    pub is_label_issue: Vec<bool>,
    /// Place in [`Audit::order`]; 0 is the most suspicious row.
    pub rank: Vec<u32>,
    /// Row indices, most suspicious first; equal scores by row.
    pub order: Vec<u32>,
    /// Rows by given and suggested label: the diagonal holds the rows that are no issue. Sums to the number of rows.
    pub suggestions: PairCounts,
    /// Estimates from the confident joint; `None` where there were no probabilities.
    pub noise: Option<NoiseEstimate>,
}

impl Audit {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.label_score.len()
    }

    /// Number of issues.
    pub fn issue_count(&self) -> usize {
        self.is_label_issue.iter().filter(|&&issue| issue).count()
    }

    /// Takes all flags back, of an audit of these labels; scores and ranks stay.
    pub fn flag_none(&mut self, labels: &[u32]) -> Result<()> {
        self.flag(labels, vec![false; self.rows()])
    }

    /// Flags these rows of an audit of these labels and no others; scores and ranks stay. What is suggested for a flagged row is what the
    /// model predicts; a row whose label it predicts is never flagged.
    pub fn flag(&mut self, labels: &[u32], rows: Vec<bool>) -> Result<()> {
        check_length("labels against rows of the audit", self.rows(), labels.len())?;
        check_length("flags against rows of the audit", self.rows(), rows.len())?;
        check_labels(labels, self.suggestions.classes())?;
        self.is_label_issue = rows;
        for (row, &label) in labels.iter().enumerate() {
            let predicted = self.predicted_label[row];
            self.is_label_issue[row] &= predicted != label;
            self.suggested_label[row] = if self.is_label_issue[row] { predicted } else { label };
        }
        let groups = Groups::new(labels, self.suggestions.classes());
        self.suggestions = PairCounts::count(&groups, &self.suggested_label, None);
        Ok(())
    }

    /// The issues, most suspicious first.
    pub fn issues(&self) -> impl Iterator<Item = u32> + '_ {
        self.order.iter().copied().filter(|&row| self.is_label_issue[row as usize])
    }
}

/// What a row has before it is known which rows are issues.
#[derive(Debug)]
pub(super) struct Columns {
    pub score: Vec<f32>,
    pub margin: Vec<f32>,
    pub predicted: Vec<u32>,
    /// The most likely class other than the label.
    pub rival: Vec<u32>,
}

impl Columns {
    /// Row indices by score. Where the score is the margin stretched to `[0, 1]`, the margin itself orders the rows,
    /// since numbers near zero are told apart better.
    pub fn order(&self, by_margin: bool) -> Vec<u32> {
        ascending(if by_margin { &self.margin } else { &self.score })
    }

    /// The finished table.
    pub fn finish(
        self,
        labels: &[u32],
        groups: &Groups,
        is_label_issue: Vec<bool>,
        order: Vec<u32>,
        noise: Option<NoiseEstimate>,
    ) -> Audit {
        let mut suggested_label = self.rival;
        for (row, suggested) in suggested_label.iter_mut().enumerate() {
            if !is_label_issue[row] {
                *suggested = labels[row];
            }
        }
        let suggestions = PairCounts::count(groups, &suggested_label, None);
        Audit {
            label_score: self.score,
            margin: self.margin,
            predicted_label: self.predicted,
            suggested_label,
            is_label_issue,
            rank: positions(&order),
            order,
            suggestions,
            noise,
        }
    }
}

/// Marks the first `count` rows of `order`.
pub(super) fn first_of(order: &[u32], count: usize) -> Vec<bool> {
    let mut issues = vec![false; order.len()];
    for &row in order.iter().take(count) {
        issues[row as usize] = true;
    }
    issues
}
