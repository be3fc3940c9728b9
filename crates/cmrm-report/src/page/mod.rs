//! The report as one HTML page that needs nothing else: no address is asked for anything.

mod escape;
mod labels;
mod suspects;
mod tables;
mod verdict;

use std::fmt::Write;

use base64::Engine;
use sha2::{Digest, Sha256};

use crate::data::Report;
use crate::figures::{Figure, figures};
use crate::svg::inline_svg;

pub use escape::escape;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The page. Every word that comes from the data is escaped, and the page forbids any script but its own.
pub fn page(report: &Report) -> String {
    let drawn = figures(report);
    let figure = |id: &str| drawn.iter().find(|figure| figure.id == id).map(figure_html).unwrap_or_default();
    let together = |ids: &[&str]| ids.iter().map(|id| figure(id)).collect::<String>();
    let mut sections = vec![
        ("comparison", "Base against envelope", tables::comparison(report) + &together(&["risk-coverage", "sets"])),
        ("members", "What each learner is worth", tables::members(report)),
        (
            "labels",
            "Labels that look wrong",
            suspects::estimate(report) + &figure("confusion") + &suspects::list(report),
        ),
        ("self-check", "How good the suspects are", suspects::self_check(report, &figure("self-check"))),
        ("margins", "Margins and the threshold", together(&["margins", "density"]) + &tables::checks(report)),
        ("training", "Training", together(&["losses", "validation", "filtered", "threshold"])),
        ("confidence", "Confidence", figure("confidence")),
        ("sensitivity", "Sensitivity to α and λ", sensitivity(report, &figure("sensitivity"))),
        ("origin", "Provenance", labels::origin(report)),
    ];
    sections.retain(|section| !section.2.is_empty());

    let script = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    let title = escape(&report.data);
    // Writing to a String cannot fail.
    let mut out = String::with_capacity(256 * 1024);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
         script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} · cmrm report</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#comparison\">Skip to the numbers</a>\n<header>\n\
         <div class=\"kind\"><span>cmrm report</span><button id=\"theme\" type=\"button\" hidden>Theme: system</button></div>\n\
         <h1>{title}</h1>\n<p class=\"lead\">{}</p>\n",
        verdict::lead(report)
    );
    out += &verdict::verdict(report);
    out += &verdict::warnings(report);
    out += &figure("difference");
    out += &verdict::facts(report);
    out += "<nav aria-label=\"Contents\"><ul>\n";
    for (id, name, _) in &sections {
        let _ = writeln!(out, "<li><a href=\"#{id}\">{name}</a></li>");
    }
    out += "</ul></nav>\n</header>\n<main>\n";
    for (id, name, body) in &sections {
        let _ = write!(
            out,
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{name}</h2>\n{body}</section>\n"
        );
    }
    let _ = write!(
        out,
        "</main>\n<footer><p>Made by cmrm {}. This page is self-contained and loads nothing from the network.</p></footer>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        escape(&report.origin.version)
    );
    out
}

fn figure_html(figure: &Figure) -> String {
    format!(
        "<figure id=\"figure-{}\">\n<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">{}</div>\n\
         <figcaption>{}</figcaption>\n</figure>\n",
        figure.id,
        escape(&figure.title),
        inline_svg(figure),
        escape(&figure.note)
    )
}

fn sensitivity(report: &Report, figure: &str) -> String {
    if report.sensitivity.is_some() {
        return figure.to_owned();
    }
    // The learners of a vote do not train by α and λ alone.
    if !report.members.is_empty() {
        return String::new();
    }
    "<p>Not measured in this run. <code>cmrm fit … --sensitivity</code> also trains with other values of α and λ on the \
     same rows.</p>\n"
        .to_owned()
}
