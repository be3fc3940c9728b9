//! A list of gains as a few words.

use cmrm::metric::compare_paired;

use super::results::Setting;

/// Mean, interval and worst of gains over settings.
pub struct Gains {
    pub mean: f64,
    pub interval: Option<(f64, f64)>,
    pub worst: f64,
    pub worst_at: String,
}

impl Gains {
    pub fn of(gains: &[(&Setting, f64)]) -> Option<Self> {
        let values: Vec<f64> = gains.iter().map(|(_, gain)| *gain).collect();
        let zeros = vec![0.0; values.len()];
        let paired = compare_paired(&values, &zeros, 0.95).ok()?;
        let worst = gains.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Gains {
            mean: paired.mean_difference,
            interval: paired.t_test.map(|test| (test.interval.low, test.interval.high)),
            worst: worst.1,
            worst_at: describe(worst.0),
        })
    }

    /// `+1.23 [+0.50, +1.96], worst −0.10`.
    pub fn cell(&self) -> String {
        let interval = self.interval.map(|(low, high)| format!(" [{low:+.2}, {high:+.2}]")).unwrap_or_default();
        format!("{:+.2}{interval}, worst {:+.2}", self.mean, self.worst)
    }
}

/// `adult mlp symmetric 40 %`.
pub fn describe(setting: &Setting) -> String {
    let model = format!("{:?}", setting.model).to_lowercase();
    let rate = if setting.rate > 0.0 { format!(" {:.0} %", 100.0 * setting.rate) } else { String::new() };
    format!("{} {model} {}{rate}", setting.set, setting.noise)
}

/// A Markdown table.
pub fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut out = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        out += &format!("| {} |\n", row.join(" | "));
    }
    out
}
