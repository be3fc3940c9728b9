//! The report of a fit, in its folder.

pub mod sensitivity;

use std::path::Path;

use cmrm_data::Fingerprint;
use cmrm_fit::{Material, report, suspects};

use crate::failure::Result;
use crate::load::load;
use crate::run_dir::RunDir;
use crate::terminal::Terminal;

/// Writes `report.json`, which holds every number of the report, and `report.html`, the page made of it. Gives the
/// fingerprint of the data's rows.
pub fn write(
    run: &RunDir,
    material: Material<'_>,
    cache: Option<&Path>,
    terminal: &Terminal,
) -> Result<Option<String>> {
    // The data is read again: to hold it beside the features all through training would cost as much memory as they do.
    let shown = load(material.config, cache).and_then(|raw| {
        let fingerprint = Fingerprint::of_rows(&raw.train).map(|fingerprint| fingerprint.0);
        Ok((suspects(raw.train, material.train, material.robust)?, fingerprint))
    });
    let (suspects, rows_fingerprint) = match shown {
        Ok(shown) => shown,
        // The run is worth more than the pictures in its report.
        Err(failure) => {
            terminal.say(format!("note: the report does not show rows, since they could not be read again: {failure}"));
            (Vec::new(), None)
        }
    };
    let mut report = report(material, suspects)?;
    report.origin.rows_fingerprint.clone_from(&rows_fingerprint);
    run.write_json("report.json", &report)?;
    run.write("report.html", &cmrm_report::page(&report))?;
    Ok(rows_fingerprint)
}
