//! Printed numbers beside ours, and what ours say of a printed difference, by rule.

use std::collections::BTreeMap;

use super::compare::{Comparison, with_interval};
use super::document::{Document, Table};
use super::printed::{ENVELOPE, Printed};

/// A way in which the paper's difference is looked for here.
pub(super) struct Ours {
    /// At the head of its column.
    pub name: &'static str,
    /// The protocol of the comparison.
    pub protocol: &'static str,
    /// The arm; what follows `-noise` in an arm's name is its setting.
    pub arm: &'static str,
}

/// What the rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    AsPrinted,
    Larger,
    Smaller,
    Undecided,
    None,
    Opposite,
    NoInterval,
}

impl Found {
    const RULE: &str = "What the words say: *as printed*, our 95 % interval holds the printed difference and not zero; *undecided*, it holds both; \
         *none found*, zero alone; *larger*, *smaller* and *opposite*, neither.";

    fn name(self) -> &'static str {
        match self {
            Found::AsPrinted => "as printed",
            Found::Larger => "larger",
            Found::Smaller => "smaller",
            Found::Undecided => "undecided",
            Found::None => "none found",
            Found::Opposite => "opposite",
            Found::NoInterval => "without an interval",
        }
    }

    fn of(printed: f64, (mean, interval): (f64, Option<(f64, f64)>)) -> Self {
        let Some((low, high)) = interval else { return Found::NoInterval };
        let holds = |value: f64| low <= value && value <= high;
        match (holds(printed), holds(0.0)) {
            (true, true) if printed == 0.0 => Found::AsPrinted,
            (true, true) => Found::Undecided,
            (true, false) => Found::AsPrinted,
            (false, true) => Found::None,
            (false, false) if mean * printed < 0.0 => Found::Opposite,
            (false, false) if mean.abs() > printed.abs() => Found::Larger,
            (false, false) => Found::Smaller,
        }
    }
}

/// Writes the paper's differences, ours beside them, and how many are found again; nothing where the paper has none.
pub(super) fn write(document: &mut Document, numbers: &[Printed], found: &[Comparison], ways: &[Ours]) {
    let mut table = Table {
        caption: "Printed by the paper, and found here: envelope minus base.".into(),
        columns: ["row", "metric", "printed base", "printed envelope", "difference"].map(Into::into).to_vec(),
        rows: Vec::new(),
    };
    table.columns.push("base here".into());
    table.columns.extend(ways.iter().map(|way| way.name.to_owned()));
    let mut counts: Vec<BTreeMap<Found, usize>> = vec![BTreeMap::new(); ways.len()];
    for base in numbers.iter().filter(|number| !number.elsewhere && number.arm == "base") {
        let same = |n: &&Printed| {
            (&n.row, &n.setting, &n.metric, &n.place) == (&base.row, &base.setting, &base.metric, &base.place)
        };
        let Some(envelope) = numbers.iter().filter(same).find(|number| number.arm == ENVELOPE) else { continue };
        let row = if base.setting.is_empty() {
            base.row.clone()
        } else {
            format!("{} {}", base.row, base.setting.replace(',', ""))
        };
        let digits = if base.metric.ends_with("APSS") { 3 } else { 2 };
        let printed = envelope.value - base.value;
        let of_row = || found.iter().filter(|c| c.row == row && c.metric == base.metric);
        let own_base =
            of_row().find(|c| c.against.is_empty()).map_or_else(String::new, |c| format!("{:.digits$}", c.mean));
        let mut cells = vec![
            row.clone(),
            base.metric.clone(),
            base.text(),
            envelope.text(),
            format!("{printed:+.digits$}"),
            own_base,
        ];
        for (way, counts) in ways.iter().zip(&mut counts) {
            let is_way = |c: &&Comparison| {
                let arm = c.arm.split("-noise").next().unwrap_or_default();
                c.protocol == way.protocol && arm == way.arm && !c.against.is_empty()
            };
            let ours = of_row().find(is_way).and_then(|c| Some((c.difference?, c.verdict)));
            cells.push(ours.map_or_else(String::new, |(difference, verdict)| {
                let found = Found::of(printed, difference);
                *counts.entry(found).or_default() += 1;
                format!("{}: {}", with_interval(difference, verdict, digits), found.name())
            }));
        }
        table.rows.push(cells);
    }
    if table.rows.is_empty() {
        return;
    }
    for (way, counts) in ways.iter().zip(&counts) {
        let compared: usize = counts.values().sum();
        if compared > 0 {
            let parts: Vec<String> = counts.iter().map(|(found, count)| format!("{count} {}", found.name())).collect();
            document.text(format!(
                "**Printed differences, {}:** {compared} of {} are compared: {}.",
                way.name,
                table.rows.len(),
                parts.join(", ")
            ));
        }
    }
    document.text(Found::RULE);
    document.table(table);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_follow_from_the_interval() {
        let of = |printed, low: f64, high: f64| Found::of(printed, ((low + high) / 2.0, Some((low, high))));
        assert_eq!(of(1.0, 0.5, 1.5), Found::AsPrinted);
        assert_eq!(of(1.0, -0.5, 1.5), Found::Undecided);
        assert_eq!(of(1.0, -0.5, 0.5), Found::None);
        assert_eq!(of(1.0, 0.2, 0.5), Found::Smaller);
        assert_eq!(of(1.0, 1.2, 1.5), Found::Larger);
        assert_eq!(of(1.0, -0.5, -0.2), Found::Opposite);
        assert_eq!(of(-0.4, -0.5, -0.2), Found::AsPrinted);
        assert_eq!(of(-0.4, -0.9, -0.6), Found::Larger);
        assert_eq!(of(0.0, -0.5, 0.2), Found::AsPrinted);
        assert_eq!(Found::of(1.0, (1.0, None)), Found::NoInterval);
    }
}
