//! The comparison of the arms, and the checks of theory.

use std::fmt::Write;

use crate::arms::{Arm, Member, Sets};
use crate::data::{Estimate, Report};
use crate::page::escape;

/// Metrics where less is better.
const LOWER: [&str; 5] = ["log_loss", "brier", "ece", "fpr", "fnr"];

/// Names that are not their words with spaces.
fn name(metric: &str) -> String {
    match metric {
        "macro_f1" => "macro F1".into(),
        "auroc" => "AUROC".into(),
        "auprc" => "AUPRC".into(),
        "fpr" => "false positive rate".into(),
        "fnr" => "false negative rate".into(),
        "ece" => "expected calibration error".into(),
        "brier" => "Brier score".into(),
        "top_5_accuracy" => "top-5 accuracy".into(),
        other => escape(&other.replace('_', " ")),
    }
}

/// One row a metric, one column an arm.
pub(super) fn comparison(report: &Report) -> String {
    let Some(first) = report.arms.first().filter(|arm| !arm.metrics.is_empty()) else {
        return "<p>There were no rows to judge the arms by.</p>\n".into();
    };
    let fair = match report.members.is_empty() {
        true => "Both arms saw the same rows in the same order and differ only in the envelope. ",
        false => {
            "The base arm learned from the labels as they are. The envelope arm adds learners that were trained with \
             doubtful rows counting less; the doubt comes from models that had not seen the row. "
        }
    };
    let mut out = format!(
        "<p>{fair}Measured on {} rows by {}, with \
         95 % intervals (Wilson for accuracy, bootstrap for the rest).</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Metrics of the arms\"><table>\n<thead><tr><th scope=\"col\">metric</th>",
        report.sizes.judged,
        escape(&report.judged_by)
    );
    for arm in &report.arms {
        let name = if arm.is_base { escape(&arm.name) } else { format!("envelope ({})", escape(&arm.name)) };
        let _ = write!(out, "<th scope=\"col\" class=\"n\">{name}</th>");
    }
    out += "</tr></thead>\n<tbody>\n";
    type Metrics = fn(&Arm) -> &[(String, Estimate)];
    let kinds: [(&str, Metrics); 2] =
        [("", |arm| &arm.metrics), (", corrected for wrong labels", |arm| &arm.corrected_metrics)];
    for (which, metrics) in kinds {
        for (metric, _) in metrics(first) {
            let lower = LOWER.contains(&metric.as_str());
            let of_arm = |arm| metrics(arm).iter().find(|other| other.0 == *metric).map(|other| other.1);
            let values: Vec<Option<Estimate>> = report.arms.iter().map(of_arm).collect();
            let hint = if lower { "lower is better" } else { "higher is better" };
            let _ =
                write!(out, "<tr><th scope=\"row\">{}{which} <span class=\"hint\">{hint}</span></th>", name(metric));
            write_cells(&mut out, &values, Some(lower));
        }
    }
    type Which = fn(&Arm) -> Option<&Sets>;
    let kinds: [(&str, Which); 2] =
        [("", |arm| arm.sets.as_ref()), (", corrected for wrong labels", |arm| arm.corrected_sets.as_ref())];
    for (which, sets) in kinds {
        let Some(wanted) = report.arms.iter().find_map(sets).map(|sets| sets.wanted) else { continue };
        let of = |pick: fn(&Sets) -> Estimate| -> Vec<Option<Estimate>> {
            report.arms.iter().map(|arm| sets(arm).map(pick)).collect()
        };
        let _ = write!(
            out,
            "<tr><th scope=\"row\">coverage of sets{which} <span class=\"hint\">target {:.0} %</span></th>",
            100.0 * wanted
        );
        write_cells(&mut out, &of(|sets| sets.coverage), None);
        let _ =
            write!(out, "<tr><th scope=\"row\">mean set size{which} <span class=\"hint\">lower is better</span></th>");
        write_cells(&mut out, &of(|sets| sets.size), Some(true));
    }
    out + "</tbody>\n</table></div>\n"
}

/// The learners of a vote, one row each.
pub(super) fn members(report: &Report) -> String {
    if report.members.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<p>The prediction is the mean of the learners' probabilities, weighed by their shares. Each learner is judged by the \
         observed labels of rows that it had not seen. Learners marked <em>weighted</em> were trained again with \
         doubtful rows counting less; their figures are too good, since the weights were computed from the same labels.</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Learners of the vote\"><table>\n<thead><tr>\
         <th scope=\"col\">learner</th><th scope=\"col\" class=\"n\">share of the vote</th>\
         <th scope=\"col\" class=\"n\">accuracy</th><th scope=\"col\" class=\"n\">Brier score</th></tr></thead>\n<tbody>\n",
    );
    for Member { name, share, accuracy, brier } in &report.members {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{:.0} %</td><td class=\"n\">{accuracy:.4}</td>\
             <td class=\"n\">{brier:.4}</td></tr>",
            escape(name),
            100.0 * share
        );
    }
    out + "</tbody>\n</table></div>\n"
}

/// The cells of a row, the best of them stronger.
fn write_cells(out: &mut String, values: &[Option<Estimate>], lower_is_better: Option<bool>) {
    let known = || values.iter().flatten().map(|estimate| estimate.value);
    let best = match lower_is_better {
        Some(true) => known().reduce(f64::min),
        Some(false) => known().reduce(f64::max),
        None => None,
    };
    // Nobody is the best of one, nor of equals.
    let best = best.filter(|&best| values.len() > 1 && known().filter(|&value| value == best).count() == 1);
    for value in values {
        let _ = match value {
            None => write!(out, "<td class=\"n\">–</td>"),
            Some(estimate) => {
                let strong = if Some(estimate.value) == best { " class=\"best\"" } else { "" };
                write!(
                    out,
                    "<td class=\"n\"><span{strong}>{:.4}</span> <span class=\"range\">[{:.4}, {:.4}]</span></td>",
                    estimate.value, estimate.low, estimate.high
                )
            }
        };
    }
    *out += "</tr>\n";
}

/// The claims about clean labels, where those are known.
pub(super) fn checks(report: &Report) -> String {
    let Some(check) = report.density.as_ref().and_then(|density| density.check) else { return String::new() };
    let row = |claim: &str, gap: f64, limit: f64| {
        let holds = if gap <= limit + 1e-12 { "holds" } else { "does not hold" };
        format!(
            "<tr><th scope=\"row\">{claim}</th><td class=\"n\">{gap:.4}</td><td class=\"n\">{limit:.4}</td>\
             <td class=\"n\">{holds}</td></tr>\n"
        )
    };
    format!(
        "<h3>The paper's claims about clean labels</h3>\n<p>The threshold comes from observed labels, {:.1} % of which are \
         wrong (δ). The paper bounds the cost of that. Both sides are computed on the training rows with the kept model.</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Claims about clean labels\"><table>\n<thead><tr>\
         <th scope=\"col\">claim</th><th scope=\"col\" class=\"n\">gap</th><th scope=\"col\" class=\"n\">limit</th>\
         <th scope=\"col\" class=\"n\"></th></tr></thead>\n<tbody>\n{}{}</tbody>\n</table></div>\n",
        100.0 * check.wrong,
        row("share of clean margins above τ lies within 1 − α ± δ", check.share_gap, check.share_limit),
        row("noisy and clean risk differ by at most α + 3δ", check.risk_gap, check.risk_limit),
    )
}
