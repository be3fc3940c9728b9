//! Total, base loss and the envelope's part over the epochs, and the base arm's loss beside them.

use super::{Figure, titled};
use crate::axes::{Axis, Panel, Unit};
use crate::data::Report;
use crate::scene::{Dash, Ink};

pub(super) fn figure(report: &Report) -> Option<Figure> {
    let envelope: Vec<_> = report.epochs(report.envelope_arm()).collect();
    let last = *envelope.last()?;
    let line = |of: &dyn Fn(&crate::data::Epoch) -> f64| {
        envelope.iter().map(|epoch| (epoch.epoch as f64 + 1.0, of(epoch))).collect::<Vec<_>>()
    };
    let (total, base, part) = (line(&|e| e.total), line(&|e| e.base), line(&|e| e.total - e.base));
    let plain: Vec<(f64, f64)> = report.epochs(report.base_arm()).map(|e| (e.epoch as f64 + 1.0, e.base)).collect();
    let all = [&total[..], &base, &part, &plain].concat();
    let ends = |of: fn(f64, f64) -> f64, from: f64| all.iter().map(|point| point.1).fold(from, of);
    let mut scene = titled(340.0, "Loss over training");
    let x = Axis::numbers(1.0, (last.epoch as f64 + 1.0).max(2.0), false, Unit::Plain, "epoch");
    let y = Axis::numbers(
        ends(f64::min, 0.0),
        ends(f64::max, 0.0),
        true,
        Unit::Plain,
        "mean loss per row, in nats for cross-entropy",
    );
    let mut panel = Panel::new(&mut scene, [64.0, 66.0, 470.0, 222.0], x, y);
    let mut labels = Vec::new();
    if let Some(end) = plain.last() {
        panel.curve(&plain, Ink::Base, Dash::Long);
        labels.push((end.1, "base arm".to_owned(), Ink::Base));
    }
    panel.curve(&part, Ink::Accent, Dash::Dots);
    panel.curve(&base, Ink::Envelope, Dash::Long);
    panel.curve(&total, Ink::Envelope, Dash::Solid);
    labels.extend([
        (last.total, format!("{}, total", last.arm), Ink::Envelope),
        (last.base, format!("{}, base loss", last.arm), Ink::Envelope),
        (last.total - last.base, format!("{}, envelope", last.arm), Ink::Accent),
    ]);
    panel.end_labels(&labels);
    let on = envelope.iter().find(|epoch| epoch.on).map(|epoch| epoch.epoch + 1);
    if let Some(on) = on.filter(|&on| on > 1) {
        panel.upright(on as f64, "envelope on", Ink::Muted);
    }
    Some(Figure {
        id: "losses",
        title: "Loss over training: total, base loss and envelope".into(),
        alt: format!(
            "Curves over {} epochs. In the last one the envelope arm's total is {:.3}, its base loss {:.3}, the envelope's part {:.3}{}.",
            last.epoch + 1,
            last.total,
            last.base,
            last.total - last.base,
            plain.last().map_or_else(String::new, |end| format!("; the base arm's loss is {:.3}", end.1))
        ),
        note: "Means over the training rows as training met them, by observed labels; the envelope's part is weighed by λ \
               and, with an L2 penalty, includes it."
            .into(),
        scene,
    })
}
