//! What some files of a run hold, as text.

use cmrm_report::Report;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::names::{METRICS, PAGE, REPORT};

/// JSON for people to read.
pub(crate) fn json(name: &str, value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::Internal(format!("{name}: {e}")))?;
    Ok(text + "\n")
}

/// The text of the figures of the epochs.
pub fn metrics(epochs: &[impl Serialize]) -> Result<String> {
    let mut lines = String::new();
    for epoch in epochs {
        lines += &serde_json::to_string(epoch).map_err(|e| Error::Internal(format!("{METRICS}: {e}")))?;
        lines.push('\n');
    }
    Ok(lines)
}

/// The report's data, and the page made of it.
pub(crate) fn report_files(report: &Report) -> Result<[(&'static str, String); 2]> {
    Ok([(REPORT, json(REPORT, report)?), (PAGE, cmrm_report::page(report))])
}
