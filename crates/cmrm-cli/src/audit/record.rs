//! The audit of a training record: no model is asked again.

use std::path::Path;

use cmrm_run::names::MARGINS;
use cmrm_run::{RunDir, TrainingRows};

use super::{Audited, Doubts};
use crate::data_file::tidy;
use crate::failure::{Failure, Result};

/// From what a single training run recorded of its rows.
pub fn from_run(path: &Path) -> Result<Audited> {
    let (run, info) = RunDir::open(path)?;
    let record = run.read_rows(&info)?;
    let audit = record.audit().map_err(|error| Failure::input(format!("{}: {error}", run.file(MARGINS).display())))?;
    let evidence = record.evidence();
    let TrainingRows { rows, ids, files, classes, labels, mean_margin, weight, wrong, wrong_probability, .. } = record;
    let column = |name, values: Vec<f32>| (name, values.into_iter().map(tidy).collect());
    let more = vec![column("mean_margin", mean_margin), column("weight", weight)];
    let estimated = !wrong_probability.is_empty();
    // Where no row is doubted by it, the summary is not missed.
    let noise =
        if estimated { run.read_summary()?.noise } else { run.read_summary().ok().and_then(|found| found.noise) };
    let doubts = noise.filter(|_| estimated).map(|noise| Doubts { noise: Some(noise), wrong_probability });
    let source = path.to_owned();
    let (data, new_rows) = (None, None);
    Ok(Audited {
        audit,
        rows,
        ids,
        files,
        labels,
        classes,
        more,
        doubts,
        noise,
        data,
        wrong,
        source,
        evidence,
        new_rows,
    })
}
