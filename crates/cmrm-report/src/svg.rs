//! A scene as SVG.

use std::fmt::Write;

use crate::figures::Figure;
use crate::page::escape;
use crate::scene::{Anchor, Ink, Mark, Scene};

/// Fonts of a file of its own, the one of the PNG files first.
const FONTS: &str = "Inter, 'Helvetica Neue', Helvetica, Arial, sans-serif";

/// A figure as a file: a title, a description, white paper, colours of its own.
pub fn svg(figure: &Figure) -> String {
    let Scene { width, height, .. } = figure.scene;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" font-family=\"{FONTS}\">\n<title>{}</title>\n<desc>{}</desc>\n<style>",
        escape(&figure.title),
        escape(&figure.alt)
    );
    for ink in Ink::ALL {
        let [r, g, b] = ink.on_paper();
        // Writing to a String cannot fail.
        let _ = write!(out, ".f-{0}{{fill:#{r:02x}{g:02x}{b:02x}}}.s-{0}{{stroke:#{r:02x}{g:02x}{b:02x}}}", ink.name());
    }
    let _ = writeln!(out, "</style>\n<rect width=\"{width}\" height=\"{height}\" class=\"f-paper\"/>");
    write_marks(&mut out, &figure.scene);
    out + "</svg>\n"
}

/// A figure inside a page, which brings the colours.
pub fn inline_svg(figure: &Figure) -> String {
    let Scene { width, height, .. } = figure.scene;
    let id = escape(figure.id);
    let mut out = format!(
        "<svg viewBox=\"0 0 {width} {height}\" style=\"max-width:{width}px\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
         <title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>\n",
        escape(&figure.title),
        escape(&figure.alt)
    );
    write_marks(&mut out, &figure.scene);
    out + "</svg>"
}

fn write_marks(out: &mut String, scene: &Scene) {
    for mark in &scene.marks {
        let _ = match mark {
            Mark::Line { points, ink, width, dash } => {
                let lengths: Vec<String> = dash.lengths().iter().map(ToString::to_string).collect();
                let dashes = if lengths.is_empty() {
                    String::new()
                } else {
                    format!(" stroke-dasharray=\"{}\"", lengths.join(" "))
                };
                writeln!(
                    out,
                    "<path class=\"s-{}\" d=\"{}\" fill=\"none\" stroke-width=\"{width}\"{dashes} stroke-linejoin=\"round\"/>",
                    ink.name(),
                    path(points)
                )
            }
            Mark::Area { points, ink, opacity } => {
                let faint = if *opacity < 1.0 { format!(" fill-opacity=\"{opacity:.3}\"") } else { String::new() };
                writeln!(out, "<path class=\"f-{}\" d=\"{}Z\"{faint}/>", ink.name(), path(points))
            }
            Mark::Dot { at: (x, y), radius, ink, hollow } => {
                let class = if *hollow { format!("f-paper s-{}", ink.name()) } else { format!("f-{}", ink.name()) };
                writeln!(
                    out,
                    "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" stroke-width=\"1.5\"/>"
                )
            }
            Mark::Text { at: (x, y), words, size, ink, anchor, bold, upwards } => {
                let anchor = match anchor {
                    Anchor::Start => "",
                    Anchor::Middle => " text-anchor=\"middle\"",
                    Anchor::End => " text-anchor=\"end\"",
                };
                let weight = if *bold { " font-weight=\"600\"" } else { "" };
                let turn = if *upwards { format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"") } else { String::new() };
                writeln!(
                    out,
                    "<text class=\"f-{}\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\"{anchor}{weight}{turn}>{}</text>",
                    ink.name(),
                    escape(words)
                )
            }
        };
    }
}

/// Points as the commands of a path, to a tenth of a pixel.
fn path(points: &[(f64, f64)]) -> String {
    let mut out = String::with_capacity(points.len() * 12);
    for (at, (x, y)) in points.iter().enumerate() {
        let _ = write!(out, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
    }
    out
}
