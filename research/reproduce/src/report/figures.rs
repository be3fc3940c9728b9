//! The figures of an experiment, drawn by `cmrm-report`.

use super::Report;
use super::document::Block;
use crate::cell::{CellConfig, Results};
use crate::error::Result;
use crate::figure::Figures;

/// Figures that a set has something to say in, in the paper's order.
const SHOWN: [&str; 7] = ["margins", "losses", "filtered", "sensitivity", "density", "threshold", "confidence"];

pub(super) fn write(report: &mut Report, name: &str, figures: &Figures, results: &Results) -> Result<()> {
    let (_, cell) = figures.resolve()?;
    let result = results.get(&CellConfig::Figures(cell));
    let Some(data) = result.and_then(|result| result.figures.as_ref()) else {
        report.document.text("No results yet; train them with `cmrm-reproduce run`.");
        return Ok(());
    };
    let drawn = cmrm_report::figures(data);
    for id in SHOWN {
        if let Some(figure) = drawn.iter().find(|figure| figure.id == id) {
            let file = format!("{name}-{id}");
            report.document.blocks.push(Block::Figure(file, Box::new(figure.clone())));
        }
    }
    Ok(())
}
