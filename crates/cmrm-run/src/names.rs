//! The names of all files in the folder of a run or a search, in one place.

/// The settings; a folder with this file holds a run or a search that was begun.
pub const SETTINGS: &str = "config.toml";
/// What the run is about; a folder with this file holds a finished run.
pub const RUN: &str = "run.json";
/// How columns become features.
pub const PREPROCESS: &str = "preprocess.json";
/// The figures of every epoch: one [`cmrm_train::train::EpochStats`] on each line; image runs add a few.
pub const METRICS: &str = "metrics.jsonl";
/// What training saw of every row: [`crate::TrainingRows`].
pub const MARGINS: &str = "margins.parquet";
/// The summary, for programs.
pub const SUMMARY: &str = "summary.json";
/// The summary, for people.
pub const SUMMARY_TEXT: &str = "report.md";
/// The data of the report.
pub const REPORT: &str = "report.json";
/// The report.
pub const PAGE: &str = "report.html";
/// How good the suspects are, by planted flips: [`cmrm_report::SelfCheck`].
pub const SELF_CHECK: &str = "self-check.json";
/// The suspects of a run on images with their pictures, for the review page of a program that cannot read images.
pub const CARDS: &str = "cards.json";
/// What the network of a run on images says of the test images.
pub const TEST_PROBABILITIES: &str = "test-probabilities.npy";
/// A finished run on images in one line.
pub const RESULT: &str = "result.json";
/// The model to predict with; those of other arms are named by their arm.
pub const MODEL: &str = "model.safetensors";
/// The decisions made on the review page.
pub const DECISIONS: &str = "review.sqlite";
/// The folder of what is kept until a run is finished.
pub const CHECKPOINTS: &str = "checkpoints";
/// The training between two epochs.
pub const CHECKPOINT: &str = "checkpoints/last.safetensors";
/// Fingerprints of the data that an unfinished run was begun on.
pub const DATA_STAMP: &str = "checkpoints/data.json";
/// What a search was asked to do; a folder with this file holds a search.
pub const SEARCH: &str = "search.json";
/// What a search has tried so far.
pub const TRIALS: &str = "trials.jsonl";
/// The settings that a search has chosen.
pub const BEST: &str = "best.toml";

/// The files of a finished run that are never written to again, or only together with `run.json`; models and calibration rows, which
/// are named by their arm, come besides. Decisions, locks and checkpoints are not among them.
pub(crate) const SEALED: [&str; 12] = [
    SETTINGS,
    PREPROCESS,
    METRICS,
    MARGINS,
    SUMMARY,
    SUMMARY_TEXT,
    REPORT,
    PAGE,
    SELF_CHECK,
    CARDS,
    TEST_PROBABILITIES,
    RESULT,
];

/// Whether a file of that name in the folder of a run or a search is one of its own. Models and calibration rows are named by
/// their arm; SQLite adds endings to the name of its file.
pub fn is_own(name: &str) -> bool {
    let others = [RUN, SEARCH, TRIALS, BEST, ".lock"];
    SEALED.contains(&name) || others.contains(&name) || name.starts_with(DECISIONS) || name.ends_with(".safetensors")
}
