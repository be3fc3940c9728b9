//! A document as Markdown, HTML and LaTeX; the comparisons as CSV. The same results give the same bytes.

use std::fmt::Write;

use cmrm_report::{escape, svg};

use super::compare::Comparison;
use super::document::{Block, Document, Table};

/// As Markdown. Figures are named as files in the folder `figures` beside it.
pub fn markdown(document: &Document, figures: &str) -> String {
    let mut out = String::new();
    for block in &document.blocks {
        // Writing to a String cannot fail.
        let _ = match block {
            Block::Heading(level, text) => writeln!(out, "{} {text}\n", "#".repeat(*level)),
            Block::Text(text) => writeln!(out, "{text}\n"),
            Block::Figure(file, figure) => {
                writeln!(out, "![{}]({figures}/{file}.svg)\n\n{}\n", figure.alt, figure.note)
            }
            Block::Table(table) => {
                let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
                let rows: String = table.rows.iter().map(|row| line(row)).collect();
                let rule = "|---".repeat(table.columns.len());
                writeln!(out, "{}\n\n{}{rule}|\n{rows}", table.caption, line(&table.columns))
            }
        };
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// As one HTML page that needs nothing else.
pub fn html(document: &Document) -> String {
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>The paper again</title>\n<style>body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;\
         padding:0 1rem}table{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}\
         th,td{padding:.2rem .5rem;border-bottom:1px solid #ccc;text-align:left;white-space:nowrap}\
         caption{text-align:left;font-size:15px;padding:.5rem 0}",
    );
    out += "</style>\n<body>\n";
    for block in &document.blocks {
        let _ = match block {
            Block::Heading(level, text) => writeln!(out, "<h{level}>{}</h{level}>", marked(text)),
            Block::Text(text) => writeln!(out, "<p>{}</p>", marked(text)),
            Block::Figure(_, figure) => {
                writeln!(out, "<figure>{}<figcaption>{}</figcaption></figure>", svg(figure), escape(&figure.note))
            }
            Block::Table(table) => writeln!(out, "{}", html_table(table)),
        };
    }
    out + "</body></html>\n"
}

fn html_table(table: &Table) -> String {
    let cells = |tag: &str, cells: &[String]| -> String {
        let cell = |text: &String| format!("<{tag}>{}</{tag}>", marked(text));
        format!("<tr>{}</tr>\n", cells.iter().map(cell).collect::<String>())
    };
    let rows: String = table.rows.iter().map(|row| cells("td", row)).collect();
    format!("<table><caption>{}</caption>\n{}{rows}</table>", marked(&table.caption), cells("th", &table.columns))
}

/// Escaped text with `code` and **bold** as tags.
fn marked(text: &str) -> String {
    let spans = |text: String, mark: &str, tag: &str| -> String {
        let parts: Vec<&str> = text.split(mark).collect();
        let mut out = String::new();
        for (at, part) in parts.iter().enumerate() {
            // A mark without its partner stays as it is.
            if at % 2 == 1 && at + 1 < parts.len() {
                let _ = write!(out, "<{tag}>{part}</{tag}>");
            } else {
                out += if at % 2 == 1 { mark } else { "" };
                out += part;
            }
        }
        out
    };
    spans(spans(escape(text), "`", "code"), "**", "strong")
}

/// The tables as LaTeX, for `\input`; they need the package booktabs.
pub fn latex(document: &Document) -> String {
    let mut out = String::new();
    let mut section = "";
    for block in &document.blocks {
        match block {
            Block::Heading(_, text) => section = text,
            Block::Table(table) => {
                let line = |cells: &[String]| {
                    format!("{} \\\\\n", cells.iter().map(|cell| for_latex(cell)).collect::<Vec<_>>().join(" & "))
                };
                let rows: String = table.rows.iter().map(|row| line(row)).collect();
                let _ = writeln!(
                    out,
                    "\\begin{{table}}\n\\caption{{{}. {}}}\n\\resizebox{{\\textwidth}}{{!}}{{\\begin{{tabular}}{{{}}}\n\\toprule\n{}\\midrule\n{rows}\
                     \\bottomrule\n\\end{{tabular}}}}\n\\end{{table}}\n",
                    for_latex(section),
                    for_latex(&table.caption),
                    "l".repeat(table.columns.len()),
                    line(&table.columns)
                );
            }
            Block::Text(_) | Block::Figure(..) => {}
        }
    }
    out
}

fn for_latex(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars().filter(|letter| *letter != '`') {
        match letter {
            '%' | '&' | '_' | '#' | '$' | '{' | '}' => out.extend(['\\', letter]),
            '\\' => out += "\\textbackslash{}",
            '^' => out += "\\^{}",
            '~' => out += "\\~{}",
            '±' => out += "$\\pm$",
            '×' => out += "$\\times$",
            '½' => out += "$\\frac12$",
            '‖' => out += "$\\|$",
            '²' => out += "$^2$",
            'λ' => out += "$\\lambda$",
            'α' => out += "$\\alpha$",
            'τ' => out += "$\\tau$",
            '⁺' => out += "$^+$",
            '⁻' | '−' => out += "$-$",
            '▲' => out += "$\\blacktriangle$",
            '▼' => out += "$\\blacktriangledown$",
            _ => out.push(letter),
        }
    }
    out
}

/// Every comparison as a line of CSV.
pub fn csv(comparisons: &[Comparison]) -> String {
    let mut out =
        String::from("experiment,protocol,row,arm,against,metric,pairs,mean,deviation,difference,low,high,verdict\n");
    for c in comparisons {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let interval = c.difference.and_then(|(_, interval)| interval);
        let verdict = if c.difference.is_some() { c.verdict.name() } else { "" };
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{},{verdict}",
            c.experiment,
            c.protocol,
            c.row,
            c.arm,
            c.against,
            c.metric,
            c.pairs,
            c.mean,
            c.deviation,
            number(c.difference.map(|(mean, _)| mean)),
            number(interval.map(|(low, _)| low)),
            number(interval.map(|(_, high)| high)),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_tags_and_text_is_escaped() {
        assert_eq!(marked("**a** `<b>` & *"), "<strong>a</strong> <code>&lt;b&gt;</code> &amp; *");
        assert_eq!(marked("one ` alone"), "one ` alone");
        assert_eq!(for_latex("`a_b` 5 % ± 1"), "a\\_b 5 \\% $\\pm$ 1");
    }
}
