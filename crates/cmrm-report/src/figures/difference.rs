//! Accuracy of the envelope minus base: a point and its interval on one line, against zero.

use super::Figure;
use crate::axes::minus;
use crate::data::Report;
use crate::scene::{Anchor, Dash, Ink, Scene};

/// Narrower than the others: it stands at the top and is read on phones too.
const WIDTH: f64 = 480.0;

pub(super) fn figure(report: &Report) -> Option<Figure> {
    let difference = report.difference?.accuracy;
    let reach = 1.15 * difference.low.abs().max(difference.high.abs()).max(0.005);
    let (left, right, line) = (24.0, WIDTH - 24.0, 46.0);
    let at = |value: f64| left + (right - left) * (value + reach) / (2.0 * reach);
    let points = |value: f64| minus(format!("{:+.1}", 100.0 * value));
    let mut scene = Scene::new(WIDTH, 88.0);
    scene.line(&[(left, line), (right, line)], Ink::Grid, 1.0, Dash::Solid);
    scene.line(&[(at(0.0), 32.0), (at(0.0), 68.0)], Ink::Muted, 1.0, Dash::Long);
    scene.text((at(0.0), 82.0), "0, no difference", 12.0, Ink::Muted, Anchor::Middle);
    scene.text((left, 82.0), "base better", 12.0, Ink::Muted, Anchor::Start);
    scene.text((right, 82.0), "envelope better", 12.0, Ink::Muted, Anchor::End);
    scene.line(&[(at(difference.low), line), (at(difference.high), line)], Ink::Envelope, 4.0, Dash::Solid);
    for end in [difference.low, difference.high] {
        scene.line(&[(at(end), line - 7.0), (at(end), line + 7.0)], Ink::Envelope, 2.0, Dash::Solid);
    }
    scene.dot((at(difference.value), line), 7.0, Ink::Envelope, false);
    let words =
        format!("{} points [{}, {}]", points(difference.value), points(difference.low), points(difference.high));
    // The words keep inside the drawing.
    let (place, anchor) = match at(difference.value) {
        x if x < 130.0 => (left, Anchor::Start),
        x if x > WIDTH - 130.0 => (right, Anchor::End),
        x => (x, Anchor::Middle),
    };
    scene.text((place, 24.0), words, 13.0, Ink::Text, anchor);
    scene.bold();
    Some(Figure {
        id: "difference",
        title: "Accuracy, envelope minus base, in percentage points".into(),
        alt: format!(
            "The envelope's accuracy minus the base arm's is {} percentage points; the 95 % interval goes from {} to {}.",
            points(difference.value),
            points(difference.low),
            points(difference.high)
        ),
        note: format!(
            "Both arms on the same {} rows, by {}; interval by resampling the rows.",
            report.sizes.judged, report.judged_by
        ),
        scene,
    })
}
