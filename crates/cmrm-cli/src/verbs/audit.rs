//! `cmrm audit`: the labels that look wrong, most suspicious first, and what has changed since an earlier audit.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use cmrm::audit::{AuditConfig, Filter, ScoreMethod};
use cmrm_data::Features;
use cmrm_run::{RunDir, RunKind};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::args::{ModelArgs, ReadArgs};
use crate::audit::{
    Audited, Changes, FailOn, Folds, NewData, SelfChecking, Since, from_folds, from_new_data, from_probabilities,
    from_run, no_columns,
};
use crate::config;
use crate::failure::{FINDINGS, Failure, Result};
use crate::outputs::{OutFile, Outputs};
use crate::run_data::{self, RunData};
use crate::sources::STANDARD_INPUT;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Folder of a run; with --folds, a data file, folder or quoted pattern of files, `-` for standard input, or data set.
    #[arg(value_name = "RUN|DATA", required_unless_present = "pred_probs", conflicts_with = "pred_probs")]
    pub of: Option<String>,
    /// New rows to audit with the run's models, which have not seen them: a file, folder, or quoted pattern of files, `-` for
    /// standard input, or data set. How they are read is taken from the run; flags override it.
    #[arg(value_name = "NEWDATA", conflicts_with_all = ["folds", "pred_probs", "self_check"])]
    pub new_data: Option<String>,
    /// Cross-fit: judge every row by a model trained on the other K-1 folds.
    #[arg(long, value_name = "K", requires = "of")]
    pub folds: Option<usize>,
    /// Out-of-sample class probabilities, one row per example. --labels FILE holds the given labels: class indices, or
    /// names in sorted order.
    #[arg(long, value_name = "FILE", requires = "labels")]
    pub pred_probs: Option<PathBuf>,
    /// Score that ranks the rows: normalized_margin, self_confidence or confidence_weighted_entropy
    /// [default: normalized_margin].
    #[arg(long, value_parser = named::<ScoreMethod>)]
    pub score: Option<ScoreMethod>,
    /// Rule that flags a row: prune_by_noise_rate, prune_by_class, both, confident_learning,
    /// predicted_neq_given, low_normalized_margin or low_self_confidence [default: prune_by_noise_rate].
    #[arg(long, value_parser = named::<Filter>)]
    pub filter: Option<Filter>,
    /// Write all rows, most suspicious first, to a .csv, .tsv or .parquet file.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Say what is new since an earlier audit: suspects that were none, suspects that are gone, and whether the share of wrong labels, the
    /// classes or the columns have drifted. PREVIOUS is the --out file of that audit, or the folder of a run. Rows are matched by id, else by
    /// content; what was decided on is not shown again.
    #[arg(long, value_name = "PREVIOUS", requires = "of", conflicts_with_all = ["folds", "pred_probs"])]
    pub since: Option<PathBuf>,
    /// With --since: decisions on suspects, a file as `cmrm clean` takes it; row numbers are those of the earlier audit. Decisions of
    /// `cmrm review` are found in the run's folder.
    #[arg(long, value_name = "FILE", requires = "since")]
    pub decisions: Option<PathBuf>,
    /// Add the data's own columns to --out, for an audit of a run on a table.
    #[arg(long, requires = "out", conflicts_with_all = ["folds", "pred_probs"])]
    pub columns: bool,
    /// How good is the audit of this run? Flip some of its labels, fit again with its settings, and see how many come back; the answer
    /// goes into the run's report too. For runs of auto, forest, boosting and kernel.
    #[arg(long)]
    pub self_check: bool,
    /// With --columns, --self-check or --since: where the run's data is now, if it has moved.
    #[arg(long, value_name = "FILE|NAME")]
    pub data: Option<String>,
    /// Number of suspects to show.
    #[arg(long, default_value_t = 10)]
    pub top: usize,
    /// Of the labels that look wrong, flag those that are most likely so, as many as are expected to be wrong with this precision.
    #[arg(long, value_name = "SHARE", conflicts_with = "filter")]
    pub precision: Option<f64>,
    /// Exit with code 1 if the share of suspects exceeds this.
    #[arg(long, value_name = "SHARE")]
    pub fail_above: Option<f64>,
    /// Exit with code 1 by rules, separated by commas: new-suspects (some look wrong that did not before and were not decided on) and
    /// drift, both with --since; noise-above:SHARE (the estimated share of wrong labels).
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// With NEWDATA: leave rows out whose label the run does not know, instead of refusing them (--hold-out-unlabelled
    /// does so with rows without one).
    #[arg(long, requires = "new_data")]
    pub hold_out_unknown: bool,
    /// Flag labels even if the model predicts them no better than chance.
    #[arg(long)]
    pub flag_anyway: bool,
    /// With --folds: write the held-out probabilities to a .npy file, in the order of the labelled rows.
    #[arg(long, value_name = "FILE", requires = "folds")]
    pub probabilities_out: Option<PathBuf>,
    /// With --folds: train with the base loss only.
    #[arg(long, requires = "folds")]
    pub no_envelope: bool,
    #[command(flatten, next_help_heading = "Reading the data")]
    pub read: ReadArgs,
    #[command(flatten, next_help_heading = "Training (with --folds)")]
    pub model: ModelArgs,
}

pub fn run(args: &AuditArgs, terminal: &Terminal) -> Result<ExitCode> {
    if let Some(share) = args.fail_above.filter(|share| !(0.0..=1.0).contains(share)) {
        return Err(Failure::input(format!("--fail-above {share}: expected a share from 0 to 1")));
    }
    if let Some(share) = args.precision.filter(|share| !(0.0..=1.0).contains(share)) {
        return Err(Failure::input(format!("--precision {share}: expected a share from 0 to 1, such as 0.9")));
    }
    let (mut audited, out) = audit(args, terminal)?;
    if let Some(precision) = args.precision {
        audited = audited.with_precision(precision)?;
    }
    let audited = audited.guarded(args.flag_anyway)?;
    let changes = match (&args.since, &args.of) {
        (Some(previous), Some(run)) => {
            let (data, cache) = (args.data.as_deref(), args.read.cache.as_deref());
            let since = Since { previous, decisions: args.decisions.as_deref(), run: Path::new(run), data, cache };
            Some(since.changes(&audited)?)
        }
        _ => None,
    };
    changes.iter().flat_map(|changes| &changes.notes).for_each(|note| terminal.say(format!("note: {note}")));
    // Before what takes as long as a fit.
    if let Some(out) = out {
        out.write_table_for_people(&audited.table(changes.as_ref())?)?;
    }
    let self_check = match &args.of {
        Some(run) if args.self_check => {
            let (data, cache) = (args.data.as_deref(), args.read.cache.as_deref());
            let checking = SelfChecking { run: Path::new(run), data, cache, precision: args.precision };
            Some(checking.run(terminal)?)
        }
        _ => None,
    };
    let broken = broken_rules(args, &audited, changes.as_ref(), terminal);
    let names: Vec<String> = broken.iter().map(|(rule, _)| rule.clone()).collect();
    let mut object = audited.json(args, changes.as_ref(), &names);
    let mut text = audited.text(args, changes.as_ref());
    if let Some(check) = &self_check {
        object["self_check"] = json!(check);
        text += &format!("\n{}", check.to_text());
    }
    terminal.result(&object, &text)?;
    broken.iter().for_each(|(_, why)| terminal.say(why));
    Ok(if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDINGS) })
}

/// The rules that the audit breaks: name, and why in words.
fn broken_rules(
    args: &AuditArgs,
    audited: &Audited,
    changes: Option<&Changes>,
    terminal: &Terminal,
) -> Vec<(String, String)> {
    let share = audited.share();
    let above = args.fail_above.filter(|&limit| share > limit);
    let above = above.map(|limit| {
        ("fail-above".to_owned(), format!("the share of suspects, {share:.4}, exceeds --fail-above {limit}"))
    });
    let mut broken: Vec<(String, String)> = above.into_iter().collect();
    for rule in &args.fail_on {
        if matches!(rule, FailOn::NoiseAbove(_)) && audited.estimated().is_none() {
            terminal.say(format!("note: --fail-on {}: how many labels are wrong could not be estimated", rule.name()));
        }
        let why = rule.broken(audited, changes);
        broken.extend(why.map(|why| (rule.name(), format!("{why} (--fail-on {})", rule.name()))));
    }
    broken
}

/// What was found, and where the table of it goes. The file is claimed before the work begins.
fn audit(args: &AuditArgs, terminal: &Terminal) -> Result<(Audited, Option<OutFile>)> {
    check_flags(args)?;
    let claim = |outputs: &mut Outputs| args.out.as_deref().map(|out| outputs.file("--out", out)).transpose();
    // The margin ranked wrong human labels better than the probability of the label, which cleanlab ranks by.
    let score = args.score.unwrap_or(ScoreMethod::NormalizedMargin);
    let options =
        AuditConfig { score, filter: args.filter.unwrap_or_default(), ..AuditConfig::default() }.validate()?;
    match (&args.of, args.folds, &args.pred_probs) {
        (Some(data), Some(count), _) => {
            let config = config::resolve_for(data, &args.read, &args.model)?;
            let (cache, no_envelope) = (args.read.cache.as_deref(), args.no_envelope);
            let mut outputs = Outputs::default().reads_settings(&config, args.model.config.as_deref(), cache);
            let out = claim(&mut outputs)?;
            let probabilities_out = args.probabilities_out.as_deref();
            let probabilities_out =
                probabilities_out.map(|path| outputs.file("--probabilities-out", path)).transpose()?;
            out.as_ref().map_or(Ok(()), OutFile::can_hold_table)?;
            let folds = Folds { config: &config, count, no_envelope, cache, probabilities_out };
            Ok((from_folds(&folds, &options, terminal)?, out))
        }
        (Some(data), None, _) if Path::new(data).is_file() || data == STANDARD_INPUT => {
            Err(Failure::input(format!("{data}: a file; add --folds K to audit data, or name the folder of a run")))
        }
        (Some(run), None, _) if args.new_data.is_some() => new_rows(args, Path::new(run), terminal),
        (Some(run), None, _) => {
            let cache = args.read.cache.clone().filter(|_| !args.columns && !args.self_check && args.since.is_none());
            let refused = ReadArgs { cache, ..args.read.clone() };
            if refused != ReadArgs::default() || args.model != ModelArgs::default() {
                return Err(Failure::input(format!(
                    "{run}: an audit of a run takes no flags for reading or training; add --folds K to cross-fit a data \
                     set, or leave them out"
                )));
            }
            if args.score.is_some() || args.filter.is_some() {
                return Err(Failure::input(format!(
                    "{run}: --score and --filter apply to probabilities (--folds, --pred-probs); a run is ranked by its \
                     margins, so leave them out"
                )));
            }
            let mut outputs = reads(args, Path::new(run));
            if !args.columns {
                let out = claim(&mut outputs)?;
                return Ok((from_run(Path::new(run))?, out));
            }
            let (opened, info) = RunDir::open(Path::new(run))?;
            if info.kind == RunKind::Images {
                return Err(Failure::input(format!("{run}: a run on images has no columns; leave out --columns")));
            }
            let config = run_data::settings(&opened, args.data.as_deref())?;
            let cache = args.read.cache.as_deref();
            let out = claim(&mut outputs.reads_settings(&config, None, cache))?;
            let RunData { loaded, rows } = run_data::read(&config, &info, cache)?;
            let Features::Table(table) = loaded.train.features else {
                return Err(no_columns(&config.data));
            };
            // Where the rows are now: those without a label may have come or gone.
            let places: Vec<usize> = rows.train.data.rows.iter().map(|&row| row as usize).collect();
            Ok((Audited { data: Some(table.gather(&places)?), ..from_run(Path::new(run))? }, out))
        }
        (None, _, Some(probabilities)) => {
            let rest = ReadArgs { labels: None, ..args.read.clone() };
            if rest != ReadArgs::default() || args.model != ModelArgs::default() {
                return Err(Failure::input(
                    "--pred-probs takes --labels FILE but no other flags for reading or training; leave them out",
                ));
            }
            let labels = args.read.labels.as_deref();
            let labels = labels.ok_or_else(|| Failure::input("--pred-probs also needs --labels FILE"))?;
            let outputs = Outputs::default().reads("the probability file itself", probabilities);
            let out = claim(&mut outputs.reads("the label file itself", labels))?;
            Ok((from_probabilities(probabilities, labels, &options)?, out))
        }
        (None, _, None) => Err(Failure::input(
            "nothing to audit: name a run, or data with --folds K, or give --pred-probs and --labels",
        )),
    }
}

/// The files that an audit with a run reads.
fn reads(args: &AuditArgs, run: &Path) -> Outputs {
    let cache = args.read.cache.as_deref();
    let mut outputs = Outputs::default().reads_run(run);
    for data in args.data.iter().chain(&args.new_data) {
        outputs = outputs.reads_data(data, args.read.labels.as_deref(), cache);
    }
    if let Some(previous) = &args.since {
        outputs =
            if previous.is_dir() { outputs.reads_run(previous) } else { outputs.reads("the earlier audit", previous) };
    }
    args.decisions.iter().fold(outputs, |outputs, file| outputs.reads("the decision file itself", file))
}

/// The audit of new rows by the models of a run.
fn new_rows(args: &AuditArgs, run: &Path, terminal: &Terminal) -> Result<(Audited, Option<OutFile>)> {
    let data = args.new_data.as_deref().unwrap_or_default();
    let hold_out_unlabelled = args.model.hold_out_unlabelled;
    if args.model != (ModelArgs { hold_out_unlabelled, ..ModelArgs::default() }) {
        return Err(Failure::input(format!(
            "{data}: the run's models judge new rows, nothing is trained; leave out the flags for training (--hold-out-unlabelled may stay)"
        )));
    }
    if args.score.is_some() || args.filter.is_some() {
        return Err(Failure::input(format!(
            "{data}: --score and --filter apply to probabilities (--folds, --pred-probs); new rows are ranked as those of the run are, so \
             leave them out"
        )));
    }
    let mut outputs = reads(args, run);
    let out = args.out.as_deref().map(|out| outputs.file("--out", out)).transpose()?;
    out.as_ref().map_or(Ok(()), OutFile::can_hold_table)?;
    let (columns, compared) = (args.columns, args.since.is_some());
    let (read, hold_out_unknown) = (&args.read, args.hold_out_unknown);
    let new = NewData { run, data, read, hold_out_unlabelled, hold_out_unknown, columns, compared };
    Ok((from_new_data(&new, terminal)?, out))
}

/// Refuses flags that would have nothing to work on.
fn check_flags(args: &AuditArgs) -> Result<()> {
    if args.self_check && (args.folds.is_some() || args.pred_probs.is_some()) {
        return Err(Failure::input(
            "--self-check fits a run again, and with --folds or --pred-probs there is none; fit one with `cmrm fit DATA --out RUN`, then \
             `cmrm audit RUN --self-check`",
        ));
    }
    if args.data.is_some() && args.since.is_none() && (args.new_data.is_some() || !args.columns && !args.self_check) {
        return Err(Failure::input(
            "--data: only --columns, --self-check and --since read the run's data; add one of them, or leave out the flag",
        ));
    }
    if let Some(rule) = args.fail_on.iter().find(|rule| rule.needs_previous() && args.since.is_none()) {
        return Err(Failure::input(format!(
            "--fail-on {}: needs an earlier audit to compare with; add --since PREVIOUS",
            rule.name()
        )));
    }
    Ok(())
}

/// A choice by cleanlab's name for it; a hyphen will do for an underscore.
fn named<T: DeserializeOwned>(text: &str) -> std::result::Result<T, String> {
    serde_json::from_value(Value::String(text.replace('-', "_"))).map_err(|error| error.to_string())
}
