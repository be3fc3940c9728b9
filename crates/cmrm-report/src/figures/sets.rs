//! Coverage and size of the prediction sets of each arm, with intervals, side by side.

use super::{Figure, WIDTH, percent, titled};
use crate::arms::{Arm, Sets};
use crate::axes::{Axis, Unit, WORDS};
use crate::data::{Estimate, Report};
use crate::scene::{Anchor, Dash, Ink, Scene};

pub(super) fn figure(report: &Report) -> Option<Figure> {
    let of_arm = |arm: &Arm| {
        let kinds = [(arm.name.clone(), &arm.sets), (format!("{}*", arm.name), &arm.corrected_sets)];
        kinds.map(|(name, sets)| Some((name, arm.is_base, sets.clone()?)))
    };
    let arms: Vec<(String, bool, Sets)> = report.arms.iter().flat_map(of_arm).flatten().collect();
    let arms: Vec<(&str, bool, &Sets)> = arms.iter().map(|(name, base, sets)| (name.as_str(), *base, sets)).collect();
    let wanted = arms.first()?.2.wanted;
    let corrected = report.arms.iter().any(|arm| arm.corrected_sets.is_some());
    let mut scene = titled(92.0 + 34.0 * arms.len() as f64, "Prediction sets: coverage and size");
    let rows: Vec<(&str, bool, Estimate)> =
        arms.iter().map(|&(name, base, sets)| (name, base, sets.coverage)).collect();
    draw(&mut scene, 100.0, &rows, "share of rows covered", Unit::Percent, Some(wanted));
    let rows: Vec<(&str, bool, Estimate)> = arms.iter().map(|&(name, base, sets)| (name, base, sets.size)).collect();
    draw(&mut scene, 100.0 + WIDTH / 2.0, &rows, "mean number of classes in a set", Unit::Plain, None);
    let said: Vec<String> = arms
        .iter()
        .map(|(name, _, sets)| {
            format!(
                "{name} covers {} ({} to {}) with {:.2} classes per set ({:.2} to {:.2})",
                percent(sets.coverage.value),
                percent(sets.coverage.low),
                percent(sets.coverage.high),
                sets.size.value,
                sets.size.low,
                sets.size.high
            )
        })
        .collect();
    let calibrated = match report.sizes.validation {
        0 => format!("{} training rows, judged by models that had not seen them", report.sizes.train),
        rows => format!("{rows} validation rows"),
    };
    Some(Figure {
        id: "sets",
        title: format!("Prediction sets for {} coverage: coverage and size", percent(wanted)),
        alt: format!("With 95 % intervals: {}.", said.join("; ")),
        note: format!(
            "Calibrated on the observed labels of {calibrated}, judged on {} rows by {}.{}",
            report.sizes.judged,
            report.judged_by,
            if corrected {
                " With a star: corrected for the estimated noise in these labels; trust those."
            } else {
                ""
            }
        ),
        scene,
    })
}

fn draw(scene: &mut Scene, left: f64, rows: &[(&str, bool, Estimate)], title: &str, unit: Unit, line: Option<f64>) {
    let width = WIDTH / 2.0 - 124.0;
    let ends = rows.iter().flat_map(|row| [row.2.low, row.2.high]).chain(line);
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let axis = Axis::numbers(low, high, true, unit, title);
    let at = |value: f64| left + width * (value - axis.low) / (axis.high - axis.low);
    let bottom = 46.0 + 34.0 * rows.len() as f64;
    // Every other tick where they would touch.
    let every = if axis.ticks.len() > 4 { 2 } else { 1 };
    for (value, name) in axis.ticks.iter().step_by(every) {
        scene.line(&[(at(*value), 40.0), (at(*value), bottom)], Ink::Grid, 1.0, Dash::Solid);
        scene.text((at(*value), bottom + 16.0), name.clone(), WORDS, Ink::Muted, Anchor::Middle);
    }
    scene.text((left + width / 2.0, bottom + 36.0), title, WORDS, Ink::Text, Anchor::Middle);
    if let Some(line) = line {
        scene.line(&[(at(line), 40.0), (at(line), bottom)], Ink::Accent, 1.5, Dash::Long);
    }
    for (i, (name, base, estimate)) in rows.iter().enumerate() {
        let y = 63.0 + 34.0 * i as f64;
        let ink = if *base { Ink::Base } else { Ink::Envelope };
        scene.text((left - 12.0, y + 4.0), *name, WORDS, ink, Anchor::End);
        scene.bold();
        scene.line(&[(at(estimate.low), y), (at(estimate.high), y)], ink, 2.5, Dash::Solid);
        scene.dot((at(estimate.value), y), 5.0, ink, *base);
    }
}
