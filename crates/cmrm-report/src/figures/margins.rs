//! Distribution of the margins with τ; right and wrong labels apart where that is known.

use super::{Figure, RIGHT, WRONG, heights, percent, titled};
use crate::axes::{Axis, Panel, Unit, WORDS, minus};
use crate::data::Report;
use crate::scene::{Anchor, Ink};

pub(super) fn figure(report: &Report) -> Option<Figure> {
    let margins = &report.margins;
    let ceiling = report.binding_ceiling();
    let tau = ceiling.unwrap_or(margins.tau);
    let right = heights(&margins.right);
    let wrong = margins.wrong.as_deref().map(heights);
    let both: Vec<f64> = right.iter().enumerate().map(|(i, r)| r + wrong.as_ref().map_or(0.0, |w| w[i])).collect();
    let most = both.iter().copied().fold(1.0, f64::max);
    let mut scene = titled(330.0, "Margins of the training rows");
    let x = Axis::numbers(-1.0, 1.0, false, Unit::Plain, "margin: probability of the given label − largest other one");
    let mut panel =
        Panel::new(&mut scene, [64.0, 66.0, 590.0, 212.0], x, Axis::numbers(0.0, most, true, Unit::Plain, "rows"));
    if let Some(wrong) = &wrong {
        panel.bars(wrong, None, Ink::Accent, WRONG);
    }
    panel.bars(&right, wrong.as_deref(), Ink::Envelope, RIGHT);
    panel.upright(tau, &minus(format!("τ = {tau:.3}")), Ink::Text);
    if wrong.is_some() {
        let key = [("label is wrong", Ink::Accent, WRONG), ("label is right", Ink::Envelope, RIGHT)];
        for (i, (words, ink, opacity)) in key.into_iter().enumerate() {
            let x = 430.0 + 118.0 * i as f64;
            panel.scene.rectangle((x, 46.0), (10.0, 10.0), ink, opacity);
            panel.scene.text((x + 15.0, 55.0), words, WORDS, Ink::Text, Anchor::Start);
        }
    }
    let below: f64 = both.iter().take(both.len() / 2).sum();
    let total: f64 = both.iter().sum::<f64>().max(1.0);
    let seen = if report.audit.out_of_sample { "by models that had not seen them" } else { "in the last epoch" };
    Some(Figure {
        id: "margins",
        title: format!("Distribution of the margins {seen}, with the threshold τ"),
        alt: format!(
            "Histogram of {total} margins from −1 to 1; {} are negative. The threshold τ is at {}.",
            percent(below / total),
            minus(format!("{tau:.3}"))
        ),
        note: format!(
            "Training rows {seen}, by observed labels; τ is the {}-quantile of these margins{}{}.",
            report.envelope.alpha,
            ceiling.map_or_else(String::new, |most| minus(format!(", but at most {most}"))),
            if wrong.is_some() { "; the wrong labels are known here and used for the colours only" } else { "" }
        ),
        scene,
    })
}
