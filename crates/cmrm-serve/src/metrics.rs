//! What the service has done, in the text form that Prometheus reads.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Upper ends of the latency histogram, in seconds.
const BUCKETS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<Counts>);

#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// By path and status.
    requests: BTreeMap<(&'static str, u16), u64>,
    /// Predictions by the bucket that holds them, the last one without an end.
    latencies: [u64; BUCKETS.len() + 1],
    seconds: f64,
    pub rows: u64,
    /// By class.
    pub predicted: Vec<u64>,
    pub labelled: u64,
    pub doubted: u64,
    pub filled: u64,
    pub unknown: u64,
    pub batches: u64,
}

impl Metrics {
    pub fn counts(&self) -> MutexGuard<'_, Counts> {
        // Whoever panicked left at worst a count too few.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request that was answered.
    pub fn answered(&self, path: &'static str, status: u16, took: Option<Duration>) {
        let mut counts = self.counts();
        *counts.requests.entry((path, status)).or_default() += 1;
        if let Some(took) = took.map(|took| took.as_secs_f64()) {
            let bucket = BUCKETS.iter().position(|&end| took <= end).unwrap_or(BUCKETS.len());
            counts.latencies[bucket] += 1;
            counts.seconds += took;
        }
    }

    /// All of them, with the names of the classes.
    pub fn text(&self, classes: &[String], under_way: usize) -> String {
        let counts = self.counts();
        let mut out = String::new();
        head(&mut out, "cmrm_requests_total", "counter", "Requests that were answered.");
        for ((path, status), count) in &counts.requests {
            line(&mut out, &format!("cmrm_requests_total{{path=\"{path}\",status=\"{status}\"}}"), count);
        }
        head(&mut out, "cmrm_requests_under_way", "gauge", "Predictions that are being made.");
        line(&mut out, "cmrm_requests_under_way", under_way);
        head(&mut out, "cmrm_predict_seconds", "histogram", "Time from a request's head to its answer.");
        let mut below = 0;
        for (at, count) in counts.latencies.iter().enumerate() {
            below += count;
            let end = BUCKETS.get(at).map_or("+Inf".to_owned(), f64::to_string);
            line(&mut out, &format!("cmrm_predict_seconds_bucket{{le=\"{end}\"}}"), below);
        }
        line(&mut out, "cmrm_predict_seconds_sum", counts.seconds);
        line(&mut out, "cmrm_predict_seconds_count", below);
        head(&mut out, "cmrm_predicted_total", "counter", "Rows by the class that was predicted.");
        for (class, name) in classes.iter().enumerate() {
            let count = counts.predicted.get(class).copied().unwrap_or_default();
            line(&mut out, &format!("cmrm_predicted_total{{class=\"{}\"}}", escaped(name)), count);
        }
        for (name, what, count) in [
            ("cmrm_rows_total", "Rows that were predicted.", counts.rows),
            ("cmrm_batches_total", "Batches of rows that were predicted together.", counts.batches),
            ("cmrm_given_labels_total", "Rows that came with a label.", counts.labelled),
            ("cmrm_doubted_labels_total", "Labels that look wrong.", counts.doubted),
            ("cmrm_filled_cells_total", "Missing or unreadable cells that were filled in.", counts.filled),
            ("cmrm_unknown_categories_total", "Cells with a name that the training rows do not have.", counts.unknown),
        ] {
            head(&mut out, name, "counter", what);
            line(&mut out, name, count);
        }
        out
    }
}

fn head(out: &mut String, name: &str, kind: &str, what: &str) {
    // A string takes whatever is written to it.
    let _ = write!(out, "# HELP {name} {what}\n# TYPE {name} {kind}\n");
}

fn line(out: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = writeln!(out, "{name} {value}");
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_what_was_counted() {
        let metrics = Metrics::default();
        metrics.answered("/predict", 200, Some(Duration::from_micros(700)));
        metrics.answered("/predict", 200, Some(Duration::from_secs(60)));
        metrics.answered("/health", 200, None);
        metrics.counts().predicted = vec![3, 0];
        let text = metrics.text(&["a \"b\"\\\n".into(), "c".into()], 1);
        for line in [
            "cmrm_requests_total{path=\"/health\",status=\"200\"} 1",
            "cmrm_requests_total{path=\"/predict\",status=\"200\"} 2",
            "cmrm_predict_seconds_bucket{le=\"0.0005\"} 0",
            "cmrm_predict_seconds_bucket{le=\"0.001\"} 1",
            "cmrm_predict_seconds_bucket{le=\"10\"} 1",
            "cmrm_predict_seconds_bucket{le=\"+Inf\"} 2",
            "cmrm_predict_seconds_count 2",
            "cmrm_predicted_total{class=\"a \\\"b\\\"\\\\\\n\"} 3",
            "cmrm_predicted_total{class=\"c\"} 0",
            "cmrm_requests_under_way 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing:\n{text}");
        }
        assert!(text.lines().all(|line| line.starts_with('#') || line.split(' ').count() >= 2));
    }
}
