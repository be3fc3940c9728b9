//! When an audit ends with exit code 1.

use std::str::FromStr;

use super::Audited;
use super::since::{Changes, Status};

/// A rule of `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FailOn {
    /// There are suspects that were none in the earlier audit, and that nobody has decided on.
    NewSuspects,
    /// Rows differ from those of before.
    Drift,
    /// The estimated share of wrong labels is above this.
    NoiseAbove(f64),
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text.trim(), text.trim().strip_prefix("noise-above:")) {
            ("new-suspects", _) => Ok(FailOn::NewSuspects),
            ("drift", _) => Ok(FailOn::Drift),
            (_, Some(share)) => crate::args::share(share).map(FailOn::NoiseAbove),
            _ => Err("expected new-suspects, drift or noise-above:SHARE, as in noise-above:0.05; several are separated by commas".into()),
        }
    }
}

impl FailOn {
    /// Whether it compares with an earlier audit.
    pub fn needs_previous(self) -> bool {
        !matches!(self, FailOn::NoiseAbove(_))
    }

    /// Its name in `--json`.
    pub fn name(self) -> String {
        match self {
            FailOn::NewSuspects => "new-suspects".into(),
            FailOn::Drift => "drift".into(),
            FailOn::NoiseAbove(share) => format!("noise-above:{share}"),
        }
    }

    /// Why the audit fails by this rule, if it does. What cannot be judged fails nothing: it is said with the result.
    pub fn broken(self, audited: &Audited, changes: Option<&Changes>) -> Option<String> {
        match self {
            FailOn::NewSuspects => {
                let new = changes?.count(Status::New);
                let looks = if new == 1 { "label looks" } else { "labels look" };
                (new > 0).then(|| format!("{new} {looks} wrong that did not before"))
            }
            FailOn::Drift => changes?.drift.found.then(|| "the rows differ from those of before".to_owned()),
            FailOn::NoiseAbove(share) => {
                let rate = audited.estimated()?.rate;
                (rate > share).then(|| format!("the estimated share of wrong labels, {rate:.4}, exceeds {share}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        let of = |text: &str| text.parse::<FailOn>();
        assert_eq!(of("new-suspects"), Ok(FailOn::NewSuspects));
        assert_eq!(of(" drift "), Ok(FailOn::Drift));
        assert_eq!(of("noise-above:0.05"), Ok(FailOn::NoiseAbove(0.05)));
        assert!(of("noise-above:5").unwrap_err().contains("between 0 and 1"));
        assert!(of("suspects").unwrap_err().contains("new-suspects, drift or noise-above:SHARE"));
    }
}
