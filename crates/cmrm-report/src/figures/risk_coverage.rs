//! Error rate among the rows that a model is surest of, from few of them to all.

use super::{Figure, percent, titled};
use crate::axes::{Axis, Panel, Unit};
use crate::data::Report;
use crate::scene::{Dash, Ink};

pub(super) fn figure(report: &Report) -> Option<Figure> {
    let curves: Vec<_> = report.arms.iter().filter_map(|arm| Some((arm, arm.risk_coverage.as_ref()?))).collect();
    let risks = || curves.iter().flat_map(|(_, curve)| &curve.points).map(|point| point.1);
    let highest = risks().reduce(f64::max)?;
    let mut scene = titled(320.0, "Error rate among the surest rows");
    let x = Axis::numbers(
        0.0,
        1.0,
        false,
        Unit::Percent,
        "share of rows predicted, the surest first; the others are left open",
    );
    let y = Axis::numbers(
        risks().fold(0.0, f64::min),
        highest.max(0.01),
        true,
        Unit::Percent,
        "share of these rows predicted wrongly",
    );
    let mut panel = Panel::new(&mut scene, [64.0, 66.0, 500.0, 202.0], x, y);
    let (mut labels, mut said, mut areas) = (Vec::new(), Vec::new(), Vec::new());
    for (arm, curve) in &curves {
        let (ink, dash) = if arm.is_base { (Ink::Base, Dash::Long) } else { (Ink::Envelope, Dash::Solid) };
        panel.curve(&curve.points, ink, dash);
        let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) else { continue };
        labels.push((last.1, arm.name.clone(), ink));
        said.push(format!(
            "{} errs on {} of all rows and on {} of the surest {}",
            arm.name,
            percent(last.1),
            percent(first.1),
            percent(first.0)
        ));
        let area = curve.area;
        areas.push(format!("{} {:.4} [{:.4}, {:.4}]", arm.name, area.value, area.low, area.high));
    }
    panel.end_labels(&labels);
    let corrected = match curves.iter().any(|(_, curve)| curve.corrected) {
        true => ", corrected for the estimated noise; below 0 is chance",
        false => "",
    };
    Some(Figure {
        id: "risk-coverage",
        title: "Error rate among the rows that a model is surest of, by their share".into(),
        alt: format!("Curves up to all rows: {}.", said.join("; ")),
        note: format!(
            "To abstain is to leave the label of the less sure rows open, for someone to look at; predict --abstain-above does so by \
             prediction sets. Area under the curve (AURC, lower is better): {}. {} rows by {}{corrected}.",
            areas.join(", "),
            report.sizes.judged,
            report.judged_by
        ),
        scene,
    })
}
