//! From results to a report: tables beside the paper's printed numbers, and sentences that follow from them by rule.

mod beside;
mod binary;
mod compare;
mod document;
mod figures;
mod images;
mod printed;
mod probe;
mod render;
mod sentences;

pub use compare::{Comparison, Verdict};
pub use document::{Block, Document, Table};
pub use images::{ImageRow, Images};
pub use printed::{Printed, printed};
pub use render::{csv, html, latex, markdown};

use std::path::Path;

use crate::cell::Results;
use crate::error::Result;
use crate::experiment::Experiment;
use crate::plan::Options;

/// A report: what to read, and every number of it by itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Headings, sentences, tables and figures in order.
    pub document: Document,
    /// Every comparison, for the CSV file.
    pub comparisons: Vec<Comparison>,
}

/// The report of `experiments` from what is there of their results; `root` is that of the repository, where results of
/// image runs are looked for.
pub fn report(experiments: &[Experiment], results: &Results, options: &Options, root: &Path) -> Result<Report> {
    let mut report = Report::default();
    report.document.heading(1, "Reproducing the paper");
    for text in sentences::INTRODUCTION {
        report.document.text(*text);
    }
    for note in &options.notes {
        report.document.text(note.clone());
    }
    headline(&mut report)?;
    for experiment in experiments {
        report.document.heading(2, format!("{} (`{}`)", experiment.title, experiment.name));
        report.document.text(format!("In the paper: {}.", experiment.paper));
        for note in &experiment.notes {
            report.document.text(note.clone());
        }
        if let Some(binary) = &experiment.binary {
            binary::write(&mut report, &experiment.name, binary, results, options)?;
        }
        if let Some(probe) = &experiment.probe {
            probe::write(&mut report, &experiment.name, probe, results, options)?;
        }
        if let Some(images) = &experiment.images {
            images::write(&mut report, &experiment.name, images, root)?;
        }
        if let Some(figures) = &experiment.figures {
            figures::write(&mut report, &experiment.name, figures, results)?;
        }
    }
    Ok(report)
}

/// What the paper says of itself as a whole.
fn headline(report: &mut Report) -> Result<()> {
    let printed = printed()?;
    let claims: Vec<String> = printed
        .iter()
        .filter(|number| number.experiment == "headline")
        .map(|number| format!("{}: {} ({})", number.row, number.text(), number.place))
        .collect();
    if !claims.is_empty() {
        report.document.text(format!("The paper's own summary: {}.", claims.join("; ")));
    }
    Ok(())
}
