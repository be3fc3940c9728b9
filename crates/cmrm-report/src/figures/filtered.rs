//! Share of wrong labels among the rows below the threshold, against their share among all rows.

use super::{Figure, percent, titled};
use crate::axes::{Axis, Panel, Unit};
use crate::data::Report;
use crate::scene::{Dash, Ink};

pub(super) fn figure(report: &Report) -> Option<Figure> {
    let all: Vec<_> = report.epochs(report.envelope_arm()).collect();
    let line = |of: &dyn Fn(&crate::data::Epoch) -> Option<f64>| {
        all.iter().filter(|e| e.on).filter_map(|e| Some((e.epoch as f64 + 1.0, of(e)?))).collect::<Vec<_>>()
    };
    let (wrong, filtered) = (line(&|e| e.wrong_among_filtered), line(&|e| Some(e.filtered)));
    let (&first, &last) = (filtered.first()?, filtered.last()?);
    let mut scene = titled(320.0, "What the threshold filters out");
    let x = Axis::numbers(first.0.min(last.0 - 1.0), last.0, false, Unit::Plain, "epoch");
    let mut panel = Panel::new(
        &mut scene,
        [64.0, 66.0, 440.0, 202.0],
        x,
        Axis::numbers(0.0, 1.0, false, Unit::Percent, "share of rows"),
    );
    panel.curve(&filtered, Ink::Envelope, Dash::Long);
    let mut labels = vec![(last.1, "rows filtered".to_owned(), Ink::Envelope)];
    if let Some(&end) = wrong.last() {
        panel.curve(&wrong, Ink::Accent, Dash::Solid);
        labels.push((end.1, "wrong among filtered".to_owned(), Ink::Accent));
    }
    if let (Some(share), false) = (report.wrong_share, wrong.is_empty()) {
        panel.curve(&[(first.0, share), (last.0, share)], Ink::Muted, Dash::Dots);
        labels.push((share, "wrong among all".to_owned(), Ink::Muted));
    }
    panel.end_labels(&labels);
    let known = wrong.last().map_or_else(String::new, |end| {
        format!(" In the last epoch {} of the filtered rows have a wrong label.", percent(end.1))
    });
    Some(Figure {
        id: "filtered",
        title: "Rows below the threshold, and wrong labels among them, by epoch".into(),
        alt: format!("{} of the rows are filtered in the last epoch.{known}", percent(last.1)),
        note: if wrong.is_empty() {
            "Training rows while the envelope is on. The wrong labels are not known, so only the share is shown.".into()
        } else {
            "Training rows while the envelope is on. The wrong labels are known here, but not to the training.".into()
        },
        scene,
    })
}
