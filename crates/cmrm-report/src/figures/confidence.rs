//! Probability of the observed label, a panel a class: the base arm as an outline over the envelope's bars.

use super::{Figure, RIGHT, WIDTH, WRONG, heights, titled};
use crate::axes::{Axis, Panel, Unit, WORDS};
use crate::data::{Confidence, Report};
use crate::scene::{Anchor, Dash, Ink};

/// Most panels; the classes with the most rows go first.
const PANELS: usize = 10;

pub(super) fn figure(report: &Report) -> Option<Figure> {
    let mut classes: Vec<&Confidence> = report.confidence.iter().collect();
    let rows = |class: &Confidence| -> u32 {
        class.right.iter().sum::<u32>() + class.wrong.as_ref().map_or(0, |wrong| wrong.iter().sum())
    };
    let left_out = classes.len().saturating_sub(PANELS);
    if left_out > 0 {
        classes.sort_by_key(|class| std::cmp::Reverse(rows(class)));
        classes.truncate(PANELS);
    }
    let across = match classes.len() {
        0 => return None,
        4 => 2,
        few => few.min(if few > 6 { 5 } else { 3 }),
    };
    let down = classes.len().div_ceil(across);
    let (cell, tall) = ((WIDTH - 24.0) / across as f64, 150.0);
    let mut scene = titled(84.0 + tall * down as f64, "Probability of the observed label, by observed class");
    let mut key = vec![("envelope", Ink::Envelope, RIGHT)];
    if classes.iter().any(|class| class.wrong.is_some()) {
        key =
            vec![("envelope, label is right", Ink::Envelope, RIGHT), ("envelope, label is wrong", Ink::Accent, WRONG)];
    }
    let mut x = 14.0;
    for (words, ink, opacity) in key {
        scene.rectangle((x, 36.0), (10.0, 10.0), ink, opacity);
        scene.text((x + 15.0, 45.0), words, WORDS, Ink::Text, Anchor::Start);
        x += 30.0 + 6.6 * words.len() as f64;
    }
    if classes.iter().any(|class| class.base.is_some()) {
        scene.line(&[(x, 41.0), (x + 16.0, 41.0)], Ink::Text, 1.5, Dash::Solid);
        scene.text((x + 22.0, 45.0), "base arm, all labels", WORDS, Ink::Text, Anchor::Start);
    }
    for (at, class) in classes.iter().enumerate() {
        let place = [44.0 + cell * (at % across) as f64, 88.0 + tall * (at / across) as f64, cell - 52.0, tall - 62.0];
        draw(&mut scene, place, class);
    }
    let axis = "across: probability of the observed label; up: rows";
    scene.text((WIDTH / 2.0, 76.0 + tall * down as f64), axis, WORDS, Ink::Text, Anchor::Middle);
    let most_sure = |counts: &[u32]| counts.last().copied().unwrap_or(0);
    let sure: u32 =
        report.confidence.iter().map(|c| most_sure(&c.right) + c.wrong.as_deref().map_or(0, most_sure)).sum();
    let base: u32 = report.confidence.iter().filter_map(|c| c.base.as_deref()).map(most_sure).sum();
    let others = if left_out > 0 { format!(" The {left_out} smallest classes are not shown.") } else { String::new() };
    let models = if report.audit.out_of_sample { "by models that had not seen them" } else { "kept models" };
    Some(Figure {
        id: "confidence",
        title: "Probability of the observed label under each arm, by observed class".into(),
        alt: format!(
            "Histograms for {} classes. The highest bin has {sure} rows with the envelope{}.",
            classes.len(),
            if base > 0 { format!(" and {base} with the base arm") } else { String::new() }
        ),
        note: format!("Training rows with their observed labels, {models}; heights are numbers of rows.{others}"),
        scene,
    })
}

fn draw(scene: &mut crate::scene::Scene, place: [f64; 4], class: &Confidence) {
    let right = heights(&class.right);
    let wrong = class.wrong.as_deref().map(heights);
    let base = class.base.as_deref().map(heights);
    let stacked = right.iter().enumerate().map(|(i, r)| r + wrong.as_ref().map_or(0.0, |w| w[i]));
    let most = stacked.chain(base.iter().flatten().copied()).fold(1.0, f64::max);
    let mut x = Axis::numbers(0.0, 1.0, false, Unit::Plain, "");
    x.ticks = vec![(0.0, "0".into()), (0.5, "0.5".into()), (1.0, "1".into())];
    let mut y = Axis::numbers(0.0, most, true, Unit::Plain, "");
    y.ticks.retain(|tick| tick.0 == 0.0 || tick.0 == y.high);
    let mut panel = Panel::new(scene, place, x, y);
    if let Some(wrong) = &wrong {
        panel.bars(wrong, None, Ink::Accent, WRONG);
    }
    panel.bars(&right, wrong.as_deref(), Ink::Envelope, RIGHT);
    if let Some(base) = &base {
        panel.steps(base, Ink::Text, Dash::Solid);
    }
    let [left, top, width, _] = place;
    let letters = (width / 7.0) as usize;
    let name: String = class.class.chars().take(letters.max(3)).collect();
    panel.scene.text((left + width / 2.0, top - 8.0), name, WORDS, Ink::Text, Anchor::Middle);
    panel.scene.bold();
}
