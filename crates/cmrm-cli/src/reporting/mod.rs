//! The report of a fit, in its folder.

pub mod sensitivity;

use cmrm_fit::{Material, report, suspects};

use crate::failure::Result;
use crate::load::load;
use crate::run_dir::RunDir;
use crate::terminal::Terminal;

/// Writes `report.json`, which holds every number of the report, and `report.html`, the page made of it.
pub fn write(run: &RunDir, material: Material<'_>, cache: Option<&std::path::Path>, terminal: &Terminal) -> Result<()> {
    // The data is read again: to hold it beside the features all through training would cost as much memory as they do.
    let raw = load(material.config, cache);
    let suspects = match raw.and_then(|raw| Ok(suspects(raw.train, material.train, material.robust)?)) {
        Ok(suspects) => suspects,
        // The run is worth more than the pictures in its report.
        Err(failure) => {
            terminal.say(format!("note: the report does not show rows, since they could not be read again: {failure}"));
            Vec::new()
        }
    };
    let report = report(material, suspects)?;
    run.write_json("report.json", &report)?;
    run.write("report.html", &cmrm_report::page(&report))
}
