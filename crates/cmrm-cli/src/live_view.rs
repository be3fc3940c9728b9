//! What a training looks like while it runs: a table that is drawn anew after every epoch, and a line for logs.

use std::fmt::Write;

use cmrm_data::files::text::printable_value;
use cmrm_train::train::EpochStats;

/// Epochs that a small curve shows.
const CURVE: usize = 12;
/// The heights of a small curve.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One line a figure of an epoch, for a log.
pub fn line(stats: &[EpochStats]) -> String {
    let arms = stats.iter().map(|s| {
        let mut words = format!("{}: loss {:.4}", s.arm, s.base);
        if s.envelope_on {
            let _ =
                write!(words, ", envelope {:+.4}, {}, filtered {:.0} %", s.total - s.base, tau(s), 100.0 * s.filtered);
        }
        if let Some(accuracy) = s.validation_accuracy {
            let _ = write!(words, ", observed validation {accuracy:.3}");
        }
        words
    });
    arms.collect::<Vec<_>>().join("  |  ")
}

/// A row an arm. `history` has every epoch of every arm, the last ones being shown.
pub fn table(stats: &[EpochStats], history: &[EpochStats]) -> String {
    let arms: Vec<_> = stats.iter().map(|s| printable_value(&s.arm)).collect();
    let name = arms.iter().map(|arm| arm.chars().count()).max().unwrap_or(0).max(4);
    // Eighty columns are enough for it.
    let mut out = format!(
        "  {:name$}  {:>7}  {:>8}  {:>7}  {:>8}  {:>8}  observed validation",
        "arm", "base", "envelope", "total", "filtered", "τ"
    );
    for (s, arm) in stats.iter().zip(arms) {
        let (mut envelope, mut filtered, mut threshold) = ("off".to_owned(), String::new(), String::new());
        if s.envelope_on {
            envelope = format!("{:+.4}", s.total - s.base);
            filtered = format!("{:.1} %", 100.0 * s.filtered);
            threshold = tau(s).replace("τ ", "");
        }
        let accuracy = s.validation_accuracy.map(|a| format!("{:.1} %", 100.0 * a)).unwrap_or_default();
        let past = history.iter().filter(|past| past.arm == s.arm).filter_map(|past| past.validation_accuracy);
        let _ = write!(
            out,
            "\n  {arm:name$}  {:>7.4}  {envelope:>8}  {:>7.4}  {filtered:>8}  {threshold:>8}  {accuracy:>8}  {}",
            s.base,
            s.total,
            curve(&past.collect::<Vec<_>>())
        );
    }
    out
}

/// The threshold, or those of the two classes.
fn tau(stats: &EpochStats) -> String {
    match (stats.tau, stats.tau_plus, stats.tau_minus) {
        (Some(tau), _, _) => format!("τ {tau:+.3}"),
        (None, Some(plus), Some(minus)) => format!("τ⁺ {plus:.3} τ⁻ {minus:.3}"),
        _ => String::new(),
    }
}

/// The last epochs as small bars, from the lowest value to the highest.
fn curve(values: &[f64]) -> String {
    let values = &values[values.len().saturating_sub(CURVE)..];
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = |value: &f64| if high > low { (7.0 * (value - low) / (high - low)).round() as usize } else { 3 };
    values.iter().map(|value| BARS[height(value).min(7)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(arm: &str, epoch: usize) -> EpochStats {
        EpochStats {
            arm: arm.into(),
            epoch,
            envelope_on: arm != "base",
            base: 0.5,
            risk: -0.25,
            total: if arm == "base" { 0.5 } else { 0.25 },
            tau: (arm != "base").then_some(-0.125),
            tau_plus: None,
            tau_minus: None,
            filtered: if arm == "base" { 0.0 } else { 0.498 },
            wrong_among_filtered: None,
            learning_rate: 0.001,
            training_accuracy: Some(0.5),
            validation_accuracy: Some(0.1 * epoch as f64),
            validation_loss: Some(1.0),
        }
    }

    #[test]
    fn the_table_has_every_figure_of_every_arm_in_columns() {
        let history: Vec<EpochStats> =
            (0..3).flat_map(|epoch| [stats("base", epoch), stats("robust", epoch)]).collect();
        let table = table(&history[4..], &history);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3);
        for figure in ["0.5000", "-0.2500", "0.2500", "49.8 %", "-0.125", "20.0 %", "▁▅█"] {
            assert!(lines[2].contains(figure), "{figure}\n{table}");
        }
        assert!(lines[1].contains("off") && !lines[1].contains("-0.125"));
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{table}");
        // The numbers stand below their names.
        let place =
            |line: &str, word: &str| line.find(word).map(|at| line[..at].chars().count() + word.chars().count());
        assert_eq!(place(lines[0], "base"), place(lines[1], "0.5000"));
        assert_eq!(place(lines[0], "filtered"), place(lines[2], "49.8 %"));
        assert_eq!(place(lines[0], "τ"), place(lines[2], "-0.125"));
    }

    #[test]
    fn the_line_says_what_the_table_does() {
        let line = line(&[stats("base", 2), stats("robust", 2)]);
        assert_eq!(
            line,
            "base: loss 0.5000, observed validation 0.200  |  robust: loss 0.5000, envelope -0.2500, τ -0.125, filtered 50 %, \
             observed validation 0.200"
        );
    }

    #[test]
    fn a_flat_curve_and_an_empty_one_are_drawn() {
        assert_eq!((curve(&[]), curve(&[0.5, 0.5])), (String::new(), "▄▄".to_owned()));
        assert_eq!(curve(&[0.0; 99]).chars().count(), CURVE);
    }
}
