//! The end of the page: settings, seed, version, fingerprint, and which labels each number used.

use std::fmt::Write;

use crate::arms::Arm;
use crate::data::Report;
use crate::page::escape;

/// How the report was made.
pub(super) fn origin(report: &Report) -> String {
    let origin = &report.origin;
    let judged = escape(&report.judged_by);
    let known = "known clean labels, which training never sees";
    let held = "observed labels of the validation rows".to_owned();
    let mut used =
        vec![("training, thresholds, losses, margins, confidence", "observed labels of the training rows".to_owned())];
    let mut calibrated = held.clone();
    if report.audit.out_of_sample {
        let unseen = "observed labels of the training rows, judged by models that had not seen them".to_owned();
        used = vec![
            ("training", "observed labels of the training rows".to_owned()),
            ("choice of the learners, margins, confidence", unseen.clone()),
        ];
        if report.sizes.validation == 0 {
            calibrated = unseen;
        }
    }
    if !report.history.is_empty() {
        used.push(("accuracy over epochs, choice of the epoch", held));
    }
    used.extend([
        ("metrics, difference, coverage and set size", judged.clone()),
        ("calibration of the sets", calibrated),
        ("labels that look wrong, suggestions", "observed labels and the model, no clean labels".to_owned()),
    ]);
    if report.arms.iter().any(|arm| !arm.corrected_metrics.is_empty()) {
        let by = format!("{judged}, with the estimated noise undone");
        used.push(("corrected metrics, error rate among the surest rows", by));
    }
    if report.wrong_share.is_some() {
        used.push(("colours in figures; precision and recall of the suspects", known.to_owned()));
    }
    let mut out = String::from(
        "<h3>Which labels each number used</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Labels used\">\
         <table>\n<thead><tr><th scope=\"col\">number</th><th scope=\"col\">labels</th></tr></thead>\n<tbody>\n",
    );
    for (number, labels) in used {
        let _ = writeln!(out, "<tr><th scope=\"row\">{number}</th><td>{labels}</td></tr>");
    }
    out += "</tbody></table></div>\n<h3>Origin</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Origin\"><table>\n<tbody>\n";
    let sizes = &report.sizes;
    let rows = format!(
        "{} for training, {} for validation and calibration, {} for judging, {} without a label",
        sizes.train, sizes.validation, sizes.judged, sizes.unlabelled
    );
    let epoch = |arm: &Arm| arm.epoch.map(|epoch| format!("{}: {}", escape(&arm.name), epoch + 1));
    let epochs: Vec<String> = report.arms.iter().filter_map(epoch).collect();
    for (name, value) in [
        ("rows", rows),
        ("epoch kept", epochs.join(", ")),
        ("seed", origin.seed.to_string()),
        ("threads", format!("{} (results do not depend on them)", origin.threads)),
        ("version", format!("cmrm {}", escape(&origin.version))),
        ("fingerprint of the training data", format!("<code>{}</code>", escape(&origin.fingerprint))),
    ] {
        if !value.is_empty() {
            let _ = writeln!(out, "<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>");
        }
    }
    out += "</tbody></table></div>\n<h3>Settings</h3>\n";
    let _ = writeln!(out, "<pre tabindex=\"0\">{}</pre>", escape(&origin.config));
    out
}
