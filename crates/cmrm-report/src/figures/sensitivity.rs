//! Accuracy against α and against λ.

use super::{Figure, WIDTH, percent, titled};
use crate::axes::{Axis, Panel, Unit, WORDS};
use crate::data::{Estimate, Report, Setting};
use crate::scene::{Anchor, Dash, Ink, Scene};

pub(super) fn figure(report: &Report) -> Option<Figure> {
    let sensitivity = report.sensitivity.as_ref()?;
    let mut scene = titled(340.0, "Accuracy against α and λ");
    let all = || sensitivity.alpha.iter().chain(&sensitivity.lambda).flat_map(|s| [s.judged, s.validation]).flatten();
    let (low, high) = (all().map(|e| e.low).reduce(f64::min)?, all().map(|e| e.high).reduce(f64::max)?);
    let half = WIDTH / 2.0;
    draw(&mut scene, 56.0, &sensitivity.alpha, &format!("α (λ = {})", report.envelope.lambda), (low, high));
    draw(&mut scene, half + 56.0, &sensitivity.lambda, &format!("λ (α = {})", report.envelope.alpha), (low, high));
    let mut x = 250.0;
    for (words, ink, hollow) in [
        (format!("judged: {}", sensitivity.judged_by), Ink::Envelope, false),
        ("observed validation labels".to_owned(), Ink::Base, true),
    ] {
        let shown = if hollow { all_of(sensitivity, |s| s.validation) } else { all_of(sensitivity, |s| s.judged) };
        if shown {
            scene.dot((x, 18.0), 4.0, ink, hollow);
            scene.text((x + 9.0, 22.0), words.clone(), WORDS, Ink::Text, Anchor::Start);
            x += 30.0 + 6.6 * words.chars().count() as f64;
        }
    }
    let best = |settings: &[Setting]| {
        let score = |s: &Setting| s.judged.or(s.validation).map_or(f64::NEG_INFINITY, |e| e.value);
        settings.iter().copied().max_by(|a, b| score(a).total_cmp(&score(b))).map(|s| (s.value, score(&s)))
    };
    let (alpha, lambda) = (best(&sensitivity.alpha)?, best(&sensitivity.lambda)?);
    Some(Figure {
        id: "sensitivity",
        title: "Sensitivity of accuracy to α and λ".into(),
        alt: format!(
            "Two curves. Along α the highest accuracy is {} at {}; along λ it is {} at {}. The run used α = {} and λ = {}.",
            percent(alpha.1),
            alpha.0,
            percent(lambda.1),
            lambda.0,
            report.envelope.alpha,
            report.envelope.lambda
        ),
        note:
            "One training a point, beside each other on the same rows in the same order; whiskers are 95 % intervals \
               (Wilson), the ring marks the run's own setting. Choose by validation, never by the judged rows."
                .into(),
        scene,
    })
}

fn all_of(sensitivity: &crate::data::Sensitivity, of: fn(&Setting) -> Option<Estimate>) -> bool {
    sensitivity.alpha.iter().any(|setting| of(setting).is_some())
}

fn draw(scene: &mut Scene, left: f64, settings: &[Setting], title: &str, (low, high): (f64, f64)) {
    let names: Vec<String> = settings.iter().map(|setting| setting.value.to_string()).collect();
    let y = Axis::numbers(low, high, true, Unit::Percent, "accuracy");
    let mut panel = Panel::new(scene, [left, 68.0, WIDTH / 2.0 - 76.0, 218.0], Axis::names(&names, title), y);
    type Kind = (fn(&Setting) -> Option<Estimate>, Ink, Dash, f64);
    let kinds: [Kind; 2] =
        [(|s| s.validation, Ink::Base, Dash::Long, 0.06), (|s| s.judged, Ink::Envelope, Dash::Solid, -0.06)];
    for (of, ink, dash, aside) in kinds {
        let points: Vec<(f64, Estimate, bool)> =
            settings.iter().enumerate().filter_map(|(i, s)| Some((i as f64 + aside, of(s)?, s.chosen))).collect();
        panel.curve(&points.iter().map(|p| (p.0, p.1.value)).collect::<Vec<_>>(), ink, dash);
        for (x, estimate, chosen) in points {
            let (from, to) = (panel.at((x, estimate.low)), panel.at((x, estimate.high)));
            panel.scene.line(&[from, to], ink, 1.0, Dash::Solid);
            let at = panel.at((x, estimate.value));
            if chosen {
                panel.scene.dot(at, 7.0, Ink::Accent, true);
            }
            panel.scene.dot(at, 4.0, ink, ink == Ink::Base);
        }
    }
}
