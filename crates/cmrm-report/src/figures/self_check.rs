//! Recall and precision of the suspects by planted flips, beside what the run expects.

use super::{Figure, WIDTH, percent, titled};
use crate::axes::{Axis, Unit, WORDS};
use crate::data::{Estimate, Report};
use crate::scene::{Anchor, Dash, Ink, Scene};

const LEFT: f64 = 100.0;

pub(super) fn figure(report: &Report) -> Option<Figure> {
    let check = report.self_check.as_ref()?;
    let mut rows =
        vec![("recall", check.recall, Some(check.expected_recall)), ("hard rows", check.recall_of_hard, None)];
    rows.extend(check.precision.map(|precision| ("precision", precision, check.expected_precision)));
    let mut scene = titled(92.0 + 34.0 * rows.len() as f64, "Suspects: recall and precision by planted flips");
    draw(&mut scene, &rows);
    let said: Vec<String> = rows
        .iter()
        .map(|(name, found, expected)| {
            let expects = expected.map(|share| format!(", where the run expects {}", percent(share)));
            let [value, low, high] = [found.value, found.low, found.high].map(percent);
            format!("{name} {value} ({low} to {high}){}", expects.unwrap_or_default())
        })
        .collect();
    Some(Figure {
        id: "self-check",
        title: "Recall and precision of the suspects, by planted flips".into(),
        alt: format!("With 90 % intervals: {}.", said.join("; ")),
        note: format!(
            "By {} labels flipped on purpose in a second fit, with 90 % intervals; hard rows: recall of the third of them that the \
             run was least sure of; rings: what the run expects.",
            check.planted
        ),
        scene,
    })
}

fn draw(scene: &mut Scene, rows: &[(&str, Estimate, Option<f64>)]) {
    let width = WIDTH - LEFT - 40.0;
    let low = rows.iter().map(|(_, found, expected)| expected.unwrap_or(1.0).min(found.low)).fold(1.0, f64::min);
    let axis = Axis::numbers(low, 1.0, true, Unit::Percent, "share");
    let at = |value: f64| LEFT + width * (value - axis.low) / (axis.high - axis.low);
    let bottom = 46.0 + 34.0 * rows.len() as f64;
    for (value, name) in &axis.ticks {
        scene.line(&[(at(*value), 40.0), (at(*value), bottom)], Ink::Grid, 1.0, Dash::Solid);
        scene.text((at(*value), bottom + 16.0), name.clone(), WORDS, Ink::Muted, Anchor::Middle);
    }
    scene.text((LEFT + width / 2.0, bottom + 36.0), "share", WORDS, Ink::Text, Anchor::Middle);
    for (i, (name, found, expected)) in rows.iter().enumerate() {
        let y = 63.0 + 34.0 * i as f64;
        scene.text((LEFT - 12.0, y + 4.0), *name, WORDS, Ink::Text, Anchor::End);
        scene.bold();
        scene.line(&[(at(found.low), y), (at(found.high), y)], Ink::Envelope, 2.5, Dash::Solid);
        scene.dot((at(found.value), y), 5.0, Ink::Envelope, false);
        if let Some(expected) = expected {
            scene.dot((at(*expected), y), 7.0, Ink::Accent, true);
        }
    }
}
