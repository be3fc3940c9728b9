//! Given against suggested labels of the rows that look wrong.

use super::{Figure, WIDTH, percent, titled};
use crate::axes::WORDS;
use crate::data::Report;
use crate::scene::{Anchor, Ink, Scene};

/// Most classes that a matrix stays readable with; beyond, the pairs are bars.
const MATRIX: usize = 12;
/// Opacity of the fullest cell: words on it keep a contrast of 4.5 in both themes.
const STRONGEST: f64 = 0.5;
/// Most bars.
const BARS: usize = 15;

pub(super) fn figure(report: &Report) -> Option<Figure> {
    let first = report.audit.pairs.first()?;
    let scene = if report.sizes.classes.len() <= MATRIX { matrix(report) } else { bars(report) };
    Some(Figure {
        id: "confusion",
        title: "Given and suggested labels of the suspects".into(),
        alt: format!(
            "{} of {} training labels look wrong. The most frequent pair is given {}, suggested {}, with {} rows.",
            report.audit.issues,
            report.audit.rows,
            report.class(first.given),
            report.class(first.suggested),
            first.rows
        ),
        note: format!(
            "{} of the training rows have an observed label that is less likely than another class.",
            percent(report.audit.issues as f64 / report.audit.rows.max(1) as f64)
        ),
        scene,
    })
}

/// A name that fits into its place.
fn short(name: &str, letters: usize) -> String {
    if name.chars().count() <= letters {
        return name.to_owned();
    }
    name.chars().take(letters - 1).chain(['…']).collect()
}

fn matrix(report: &Report) -> Scene {
    let classes = report.sizes.classes.len();
    let (left, top) = (130.0, 62.0);
    let (cell, tall) = ((WIDTH - left - 20.0).min(96.0 * classes as f64) / classes as f64, 30.0);
    let mut scene = titled(top + tall * classes as f64 + 30.0, "Labels that look wrong: given → suggested, rows");
    let most = report.audit.pairs.iter().map(|pair| pair.rows).max().unwrap_or(1) as f64;
    scene.text((left - 12.0, top - 10.0), "given", WORDS, Ink::Muted, Anchor::End);
    for (i, class) in report.sizes.classes.iter().enumerate() {
        let (x, y) = (left + cell * i as f64, top + tall * i as f64);
        let letters = (cell / 7.0).floor().max(2.0) as usize;
        scene.text((x + cell / 2.0, top - 10.0), short(class, letters), WORDS, Ink::Text, Anchor::Middle);
        scene.text((left - 12.0, y + tall / 2.0 + 4.0), short(class, 16), WORDS, Ink::Text, Anchor::End);
        for j in 0..classes {
            let opacity = if i == j { 0.9 } else { 0.35 };
            scene.rectangle((left + cell * j as f64 + 1.0, y + 1.0), (cell - 2.0, tall - 2.0), Ink::Grid, opacity);
        }
    }
    for pair in &report.audit.pairs {
        let (x, y) = (left + cell * f64::from(pair.suggested), top + tall * f64::from(pair.given));
        let strength = STRONGEST * (0.12 + 0.88 * pair.rows as f64 / most);
        scene.rectangle((x + 1.0, y + 1.0), (cell - 2.0, tall - 2.0), Ink::Envelope, strength);
        scene.text((x + cell / 2.0, y + tall / 2.0 + 4.0), pair.rows.to_string(), WORDS, Ink::Text, Anchor::Middle);
    }
    let middle = left + cell * classes as f64 / 2.0;
    scene.text((middle, top + tall * classes as f64 + 18.0), "suggested", WORDS, Ink::Muted, Anchor::Middle);
    scene
}

fn bars(report: &Report) -> Scene {
    let shown = report.audit.pairs.len().min(BARS);
    let mut scene = titled(56.0 + 24.0 * shown as f64, "Labels that look wrong: most frequent pairs, rows");
    let most = report.audit.pairs.first().map_or(1, |pair| pair.rows) as f64;
    let left = 300.0;
    for (i, pair) in report.audit.pairs.iter().take(shown).enumerate() {
        let y = 42.0 + 24.0 * i as f64;
        let name = format!("{} → {}", short(report.class(pair.given), 18), short(report.class(pair.suggested), 18));
        scene.text((left - 10.0, y + 13.0), name, WORDS, Ink::Text, Anchor::End);
        let width = (WIDTH - left - 70.0) * pair.rows as f64 / most;
        scene.rectangle((left, y + 2.0), (width, 15.0), Ink::Envelope, 0.85);
        scene.text((left + width + 6.0, y + 13.0), pair.rows.to_string(), WORDS, Ink::Muted, Anchor::Start);
    }
    scene
}
