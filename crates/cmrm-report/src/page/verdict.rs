//! The top of the page: did the envelope help, by how much, how sure.

use crate::axes::minus;
use crate::data::Report;
use crate::page::escape;

/// One sentence on what was done.
pub(super) fn lead(report: &Report) -> String {
    let sizes = &report.sizes;
    let noise = match (&report.noise, report.wrong_share) {
        (Some(noise), Some(share)) => {
            format!(", {:.1} % of their labels corrupted on purpose ({})", 100.0 * share, escape(noise))
        }
        (None, Some(share)) => format!(", {:.1} % of their labels known to be wrong", 100.0 * share),
        _ => String::new(),
    };
    format!(
        "Trained on {} rows{noise}; {} features, {} classes; judged on {} rows by {}.",
        sizes.train,
        sizes.features,
        sizes.classes.len(),
        sizes.judged,
        escape(&report.judged_by)
    )
}

/// The verdict, in words that say no more than the numbers.
pub(super) fn verdict(report: &Report) -> String {
    let (class, head, words) = match report.difference {
        None if report.base_arm().is_none() => (
            "none",
            "Not compared: the base arm was not trained.".to_owned(),
            "Fit without <code>--no-base</code> to see whether the envelope helps on this data.".to_owned(),
        ),
        None if report.envelope_arm().is_none() => (
            "none",
            "Not compared: this run has no envelope arm.".to_owned(),
            "See the report of the matching run with an envelope, which compares the two.".to_owned(),
        ),
        None if report.sizes.judged > 0 => (
            "none",
            "Not compared: the envelope's arm learned with weights that know these labels.".to_owned(),
            "Give <code>--test</code> or <code>--test-share</code> to compare the arms on rows that neither has seen.".to_owned(),
        ),
        None => (
            "none",
            "Not compared: there were no rows to judge on.".to_owned(),
            "Give <code>--test</code>, <code>--test-share</code> or <code>--validation-share</code> to compare the arms.".to_owned(),
        ),
        Some(difference) => {
            let verdict = difference.verdict();
            let (numbers, judged) = (minus(difference.numbers()), escape(&report.judged_by));
            (verdict.kind, verdict.words, format!("{numbers} On {} rows, by {judged}.", report.sizes.judged))
        }
    };
    format!("<div class=\"verdict {class}\" role=\"status\"><strong>{head}</strong><p>{words}</p></div>\n")
}

/// What should make the reader look twice.
pub(super) fn warnings(report: &Report) -> String {
    let one = |words: &String| format!("<p class=\"warning\"><strong>Warning:</strong> {}.</p>\n", escape(words));
    report.warnings.iter().map(one).collect()
}

/// The few numbers that most readers look for.
pub(super) fn facts(report: &Report) -> String {
    let mut facts = Vec::new();
    let accuracy = |arm: Option<&crate::arms::Arm>| {
        arm.and_then(|arm| arm.metrics.iter().find(|metric| metric.0 == "accuracy")).map(|metric| metric.1.value)
    };
    if let Some(value) = accuracy(report.base_arm()) {
        facts.push(("accuracy, base", format!("{:.1} %", 100.0 * value)));
    }
    if let Some(value) = accuracy(report.envelope_arm()) {
        facts.push(("accuracy, envelope", format!("{:.1} %", 100.0 * value)));
    }
    let share = report.audit.issues as f64 / report.audit.rows.max(1) as f64;
    facts.push(("labels that look wrong", format!("{:.1} %", 100.0 * share)));
    if let Some(precision) = report.audit.precision {
        facts.push(("precision", format!("{:.1} %", 100.0 * precision)));
    }
    let cells = facts.iter().map(|(name, value)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"));
    format!("<dl class=\"facts\">\n{}</dl>\n", cells.collect::<String>())
}
