//! What of the rows is compared with those of before.

use std::collections::{BTreeMap, HashSet};

use cmrm::drift::RateEstimate;
use cmrm_data::Column;

use super::drift::Drift;
use super::previous::Previous;
use super::{Read, Since, columns, drift};
use crate::audit::Audited;
use crate::failure::Result;

impl Since<'_> {
    /// The tests of everything that can be compared: `before` are the rows of before as they are in their data, `own` those of the run.
    pub(super) fn drift(
        &self,
        audited: &Audited,
        previous: &Previous,
        before: Option<&Read>,
        own: Option<&Read>,
        is_used: &dyn Fn(&str) -> bool,
    ) -> Result<Drift> {
        let (mut tests, mut not_compared) = (Vec::new(), Vec::new());
        let now = audited.estimated().map(|noise| RateEstimate { rate: noise.rate, interval: noise.interval });
        match (previous.noise, now) {
            (Some(then), Some(now)) => {
                let (rows, of_rows) = (previous.rows.len(), audited.rows.len());
                let then = if previous.run.is_some() { then } else { drift::widened(then, rows, now, of_rows) };
                tests.push(drift::wrong_labels(then, now)?);
            }
            (None, _) => not_compared.push(format!("share of wrong labels: {} has no estimate", self.previous.display())),
            (_, None) => not_compared.push(format!(
                "share of wrong labels: {} has no estimate (50 rows or more are needed, and models that tell their labels)",
                audited.source.display()
            )),
        }
        let count = |labels: &mut dyn Iterator<Item = &str>| {
            let mut counts = BTreeMap::new();
            labels.for_each(|label| *counts.entry(label.to_owned()).or_insert(0u64) += 1);
            counts
        };
        let then = count(&mut previous.given.iter().map(String::as_str));
        let mut here = count(&mut audited.labels.iter().map(|&label| audited.name(label)));
        for (label, &rows) in audited.new_rows.iter().flat_map(|about| &about.unknown) {
            *here.entry(label.clone()).or_default() += rows as u64;
        }
        if !then.is_empty() {
            tests.push(drift::classes(&then, &here)?);
        }
        let now: Option<Vec<Column>> = match (&audited.new_rows, own) {
            (Some(about), _) => Some(about.sample.columns()),
            (None, Some(Ok(rows))) => Some(rows.sample.columns()),
            _ => None,
        };
        let mut compared = 0;
        match (before, now) {
            (Some(Ok(before)), Some(now)) if !now.is_empty() => {
                let (found, left_out) = columns::compare(&before.sample.columns(), &now, is_used)?;
                let names: HashSet<_> = found.iter().filter_map(|test| test.column.as_deref()).collect();
                compared = names.len();
                tests.extend(found);
                if !left_out.is_empty() {
                    not_compared.push(format!("columns that are gone or of another kind: {}", left_out.join(", ")));
                }
            }
            (Some(Err(why)), _) => not_compared.push(format!("columns: {why}")),
            (_, None) if audited.new_rows.is_some() || previous.run.is_some() => {
                let why = own.and_then(|own| own.as_ref().err()).map_or("it is the same data", String::as_str);
                not_compared.push(format!("columns: {why}"));
            }
            (Some(Ok(_)), Some(_)) => not_compared.push("columns: those of a sparse array have no names".into()),
            _ => not_compared
                .push("columns: the file of an earlier audit has none; name the earlier run's folder".into()),
        }
        Ok(Drift::of(tests, compared, not_compared))
    }
}
