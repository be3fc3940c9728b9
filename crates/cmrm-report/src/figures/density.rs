//! Density of the margins, τ, and how far the τ of a batch may be from it.

use super::{Figure, titled};
use crate::axes::{Axis, Panel, Unit, WORDS, minus};
use crate::data::Report;
use crate::scene::{Anchor, Dash, Ink};

pub(super) fn figure(report: &Report) -> Option<Figure> {
    let density = report.density.as_ref()?;
    let tau = report.margins.tau;
    let most = density.curve.iter().map(|point| point.1).fold(0.0, f64::max);
    let mut scene = titled(330.0, "Density of the margins, and the threshold");
    let x = Axis::numbers(-1.0, 1.0, false, Unit::Plain, "margin");
    let y = Axis::numbers(0.0, most, true, Unit::Plain, "density per unit of margin");
    let mut panel = Panel::new(&mut scene, [64.0, 66.0, 590.0, 212.0], x, y);
    if let Some(bound) = density.bound {
        panel.band(tau - bound, tau + bound, Ink::Accent, 0.16);
    }
    panel.under(&density.curve, Ink::Envelope, 0.14);
    panel.curve(&density.curve, Ink::Envelope, Dash::Solid);
    // The theory is about the quantile; a ceiling below it makes the threshold another number.
    let ceiling = report.binding_ceiling();
    let name = if ceiling.is_some() { format!("{}-quantile", report.envelope.alpha) } else { "τ".into() };
    panel.upright(tau, &format!("{name} = {}", minus(format!("{tau:.3}"))), Ink::Text);
    let bound = match density.bound {
        Some(bound) => format!("theory: τ of a batch of {} lies within ±{bound:.3}", density.batch),
        None => format!("theory: no bound for a batch of {}", density.batch),
    };
    if density.bound.is_some() {
        panel.scene.rectangle((330.0, 46.0), (10.0, 10.0), Ink::Accent, 0.35);
    }
    panel.scene.text((345.0, 55.0), bound.clone(), WORDS, Ink::Text, Anchor::Start);
    let seen = density.seen.map_or_else(String::new, |(mean, most)| {
        format!(" Batches drawn from these rows are off by {mean:.3} on average, 95 % of them by at most {most:.3}.")
    });
    let warning = density.warning.as_deref().map_or_else(String::new, |warning| format!(" {}.", sentence(warning)));
    Some(Figure {
        id: "density",
        title: "Kernel density of the margins with τ and the bound on a batch's threshold".into(),
        alt: format!(
            "A density curve over margins from −1 to 1, highest at {most:.2}. {name} is at {}; {bound}.",
            minus(format!("{tau:.3}"))
        ),
        note: format!(
            "Gaussian kernels of width {:.3} on the training rows, by observed labels; the bound holds with probability {:.2} \
             if the estimated density is right.{warning}{seen}{}",
            density.bandwidth,
            1.0 - density.delta,
            ceiling.map_or_else(String::new, |most| minus(format!(
                " This describes the quantile; the threshold itself is kept at {most}."
            )))
        ),
        scene,
    })
}

/// With a capital letter.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
