//! Accuracy on the observed labels of the validation rows.

use super::{Figure, percent, titled};
use crate::axes::{Axis, Panel, Unit};
use crate::data::Report;
use crate::scene::{Dash, Ink};

pub(super) fn figure(report: &Report) -> Option<Figure> {
    let mut curves = Vec::new();
    for arm in &report.arms {
        let points: Vec<(f64, f64)> = report
            .epochs(Some(arm))
            .filter_map(|epoch| Some((epoch.epoch as f64 + 1.0, epoch.validation_accuracy?)))
            .collect();
        if let Some(&end) = points.last() {
            curves.push((arm, points, end));
        }
    }
    let epochs = curves.iter().map(|curve| curve.2.0).fold(2.0, f64::max);
    let values = || curves.iter().flat_map(|curve| &curve.1).map(|point| point.1);
    let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    let mut scene = titled(320.0, "Accuracy on observed validation labels");
    let x = Axis::numbers(1.0, epochs, false, Unit::Plain, "epoch");
    let y = Axis::numbers(low, high, true, Unit::Percent, "share of rows predicted as labelled");
    let mut panel = Panel::new(&mut scene, [64.0, 66.0, 500.0, 202.0], x, y);
    let mut labels = Vec::new();
    for (arm, points, end) in &curves {
        let (ink, dash) = if arm.is_base { (Ink::Base, Dash::Long) } else { (Ink::Envelope, Dash::Solid) };
        panel.curve(points, ink, dash);
        labels.push((end.1, arm.name.clone(), ink));
    }
    panel.end_labels(&labels);
    let said: Vec<String> =
        curves.iter().map(|(arm, _, end)| format!("{} ends at {}", arm.name, percent(end.1))).collect();
    Some(Figure {
        id: "validation",
        title: "Accuracy on the observed labels of the validation rows, by epoch".into(),
        alt: format!("Curves over {epochs} epochs: {}.", said.join(", ")),
        note: format!(
            "{} validation rows, by observed labels; if some of those are wrong, even a perfect model stays below 100 %.",
            report.sizes.validation
        ),
        scene,
    })
}
