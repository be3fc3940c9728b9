//! The labels that look wrong: how many, and the most suspicious rows with decisions to download.

use std::fmt::Write;

use crate::axes::minus;
use crate::data::{Card, Content, Estimate, Neighbour, Report};
use crate::page::escape;

/// The estimate in words.
pub(super) fn estimate(report: &Report) -> String {
    let audit = &report.audit;
    let share = 100.0 * audit.issues as f64 / audit.rows.max(1) as f64;
    let (who, find, despite) = match audit.out_of_sample {
        true => ("models that had not seen the row", "find", ""),
        false => ("the model", "finds", ", although it was trained on that label"),
    };
    let rate = match audit.noise {
        Some(Estimate { value, low, high }) => format!(
            "Estimated noise rate: <strong>{:.1} %</strong> (90 % interval {:.1} to {:.1} %).",
            100.0 * value,
            100.0 * low,
            100.0 * high
        ),
        None => "How many labels are wrong was not estimated.".to_owned(),
    };
    let mut out = format!(
        "<p>{rate} {} of {} labels look wrong (<strong>{share:.1} %</strong>): {who} {find} another class more likely than the \
         given label{despite}.",
        audit.issues, audit.rows
    );
    if let Some([precision, recall]) = audit.expected {
        let _ = write!(
            out,
            " {:.1} % of these should indeed be wrong, and they should be {:.1} % of all wrong labels.",
            100.0 * precision,
            100.0 * recall
        );
    }
    if let (Some(precision), Some(recall)) = (audit.precision, audit.recall) {
        let _ = write!(
            out,
            " Checked against the known labels: precision {:.1} %, recall {:.1} %.",
            100.0 * precision,
            100.0 * recall
        );
    }
    out += "</p>\n";
    // A model that gets few labels right doubts right ones too; then its doubts say little about the labels.
    let accuracy = report.epochs(report.envelope_arm()).last().and_then(|epoch| epoch.validation_accuracy);
    if share > 50.0 || accuracy.is_some_and(|accuracy| accuracy < 0.5) {
        let model = accuracy.map(|a| format!(" (it agrees with {:.1} % of the observed validation labels)", 100.0 * a));
        let _ = writeln!(
            out,
            "<p class=\"caution\"><strong>Read this with care.</strong> The model is too weak, or the labels are too noisy, \
             for a reliable estimate{}: a weak model also doubts correct labels. Train longer or use better features \
             before acting on it.</p>",
            model.unwrap_or_default()
        );
    }
    out
}

/// What planted flips tell of them.
pub(super) fn self_check(report: &Report, figure: &str) -> String {
    let Some(check) = &report.self_check else { return String::new() };
    let findings: String = check.findings().iter().map(|finding| format!("<li>{}</li>\n", escape(finding))).collect();
    format!("<p>{}:</p>\n<ul>\n{findings}</ul>\n{figure}<p>{}</p>\n", escape(&check.done()), escape(&check.limits()))
}

/// The list.
pub(super) fn list(report: &Report) -> String {
    if report.suspects.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "<h3 id=\"suspects\">The {} most suspicious rows</h3>\n<p>Decide on each row and download the decisions; \
         <code>cmrm clean DATA decisions.csv --label COLUMN --out FILE</code> applies them. This page forgets them when it is closed; \
         <code>cmrm review RUN</code> shows all suspects, one at a time, and saves every decision.</p>\n<ol class=\"cards\">\n",
        report.suspects.len()
    );
    for card in &report.suspects {
        write_card(&mut out, card);
    }
    out += "</ol>\n<ul id=\"classes\" hidden>\n";
    for class in &report.sizes.classes {
        let _ = writeln!(out, "<li>{}</li>", escape(class));
    }
    let fingerprint = report.origin.rows_fingerprint.as_deref().unwrap_or_default();
    let _ = writeln!(
        out,
        "</ul>\n<div class=\"bar\"><span id=\"decided\" role=\"status\">0 decided</span>\
         <button id=\"download\" class=\"main\" type=\"button\" data-fingerprint=\"{}\" disabled>Download decisions.csv</button></div>",
        escape(fingerprint)
    );
    out
}

fn write_card(out: &mut String, card: &Card) {
    let (given, suggested) = (escape(&card.given), escape(&card.suggested));
    let id = card.id.as_ref().map(|id| format!(" data-id=\"{}\"", escape(id))).unwrap_or_default();
    let _ = write!(
        out,
        "<li class=\"card\" data-row=\"{row}\"{id} data-given=\"{given}\" data-suggested=\"{suggested}\">\n<div><h3>Row {row} \
         <span>margin {margin}</span></h3><p class=\"labels\">given <b>{given}</b>, suggested <b class=\"new\">{suggested}</b></p></div>\n\
         <div class=\"decide\"><select aria-label=\"Decision for row {row}\" disabled><option value=\"\">Undecided</option>\
         <option value=\"keep\">Keep {given}</option><option value=\"relabel:{suggested}\">Relabel to {suggested}</option>\
         <option value=\"drop\">Drop the row</option></select></div>\n<div class=\"rows\">",
        row = card.row,
        margin = minus(format!("{:+.3}", card.margin)),
    );
    if card.content.picture.is_some() {
        write_pictures(out, card);
    } else {
        write_cells(out, card);
    }
    *out += "</div>\n</li>\n";
}

fn write_pictures(out: &mut String, card: &Card) {
    let picture = |content: &Content, alt: String| {
        content
            .picture
            .as_ref()
            .map(|address| format!("<img src=\"{}\" alt=\"{}\">", escape(address), escape(&alt)))
            .unwrap_or_default()
    };
    let _ = write!(
        out,
        "<div class=\"pictures\"><div class=\"this\">{}this row</div>",
        picture(&card.content, format!("Row {}, labelled {}", card.row, card.given))
    );
    for Neighbour { row, label, content } in &card.neighbours {
        let _ = write!(
            out,
            "<div>{}{}</div>",
            picture(content, format!("Trusted row {row}, labelled {label}")),
            escape(label)
        );
    }
    *out += "</div>";
}

/// The row beside its neighbours, a column each.
fn write_cells(out: &mut String, card: &Card) {
    let _ = write!(
        out,
        "<details><summary>Values of the row and of {} trusted rows like it</summary><div class=\"scroll\" tabindex=\"0\" \
         role=\"group\" aria-label=\"Values of row {}\"><table class=\"compare\"><thead><tr><th scope=\"col\">column</th>\
         <th scope=\"col\">this row: {}</th>",
        card.neighbours.len(),
        card.row,
        escape(&card.given)
    );
    for neighbour in &card.neighbours {
        let _ = write!(out, "<th scope=\"col\">row {}: {}</th>", neighbour.row, escape(&neighbour.label));
    }
    *out += "</tr></thead><tbody>";
    for (at, (name, value)) in card.content.cells.iter().enumerate() {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>{}", escape(name), table_cell(value));
        for neighbour in &card.neighbours {
            *out += &table_cell(neighbour.content.cells.get(at).map_or("", |cell| &cell.1));
        }
        *out += "</tr>";
    }
    *out += "</tbody></table></div>";
    if card.content.more > 0 {
        let _ = write!(out, "<p class=\"hint\">and {} more columns</p>", card.content.more);
    }
    *out += "</details>";
}

/// A value; text that is longer than a name may take several lines.
fn table_cell(value: &str) -> String {
    let kind = if value.chars().count() > 40 { " class=\"long\"" } else { "" };
    format!("<td{kind}>{}</td>", escape(value))
}
