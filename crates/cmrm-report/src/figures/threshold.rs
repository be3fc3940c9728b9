//! τ, or τ⁺ and τ⁻, over training.

use super::{Figure, titled};
use crate::axes::{Axis, Panel, Unit, minus};
use crate::data::{Epoch, Report};
use crate::scene::{Dash, Ink};

pub(super) fn figure(report: &Report) -> Option<Figure> {
    let all: Vec<_> = report.epochs(report.envelope_arm()).collect();
    type Kind = (&'static str, fn(&Epoch) -> Option<f64>, Ink, Dash);
    let kinds: [Kind; 3] = [
        ("τ", |e| e.tau, Ink::Envelope, Dash::Solid),
        ("τ⁺", |e| e.tau_plus, Ink::Envelope, Dash::Solid),
        ("τ⁻", |e| e.tau_minus, Ink::Accent, Dash::Long),
    ];
    let mut curves = Vec::new();
    for (name, of, ink, dash) in kinds {
        let points: Vec<(f64, f64)> = all
            .iter()
            .filter_map(|e| Some((e.epoch as f64 + 1.0, of(e)?)))
            .filter(|point| point.1.is_finite())
            .collect();
        if let Some(&end) = points.last() {
            curves.push((name, points, ink, dash, end));
        }
    }
    let values = || curves.iter().flat_map(|curve| &curve.1).copied();
    let (low, high) = (values().map(|p| p.1).reduce(f64::min)?, values().map(|p| p.1).reduce(f64::max)?);
    let (first, last) = (values().map(|p| p.0).reduce(f64::min)?, values().map(|p| p.0).reduce(f64::max)?);
    let pair = curves.len() > 1;
    let title = if pair { "Thresholds τ⁺ and τ⁻ over training" } else { "Threshold τ over training" };
    let mut scene = titled(320.0, title);
    let x = Axis::numbers(first.min(last - 1.0), last, false, Unit::Plain, "epoch");
    let what = if pair { "probability of the second class" } else { "margin, on the envelope's own scale" };
    let mut panel =
        Panel::new(&mut scene, [64.0, 66.0, 540.0, 202.0], x, Axis::numbers(low, high, true, Unit::Plain, what));
    for (_, points, ink, dash, _) in &curves {
        panel.curve(points, *ink, *dash);
    }
    let labels: Vec<_> = curves.iter().map(|(name, _, ink, _, end)| (end.1, (*name).to_owned(), *ink)).collect();
    panel.end_labels(&labels);
    let said: Vec<String> =
        curves.iter().map(|(name, .., end)| minus(format!("{name} ends at {:.3}", end.1))).collect();
    Some(Figure {
        id: "threshold",
        title: title.into(),
        alt: format!("From epoch {first} to {last}: {}.", said.join(", ")),
        note: "Of the last batch of each epoch, by observed labels.".into(),
        scene,
    })
}
