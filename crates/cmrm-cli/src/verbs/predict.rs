//! `cmrm predict`: labels, confidence, probabilities and prediction sets for new rows.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use cmrm::conformal::{PredictionSets, SetPredictor};
use cmrm_data::Table;
use cmrm_data::table::{Column, Kind, Values};
use cmrm_run::{Model, Wanted};
use cmrm_train::Stop;
use serde_json::json;

use crate::args::ReadArgs;
use crate::failure::{Failure, Result};
use crate::known;
use crate::new_rows::{Block, NewRows};
use crate::outputs::{OutFile, Outputs};
use crate::prediction_writer::{OutFormat, PredictionWriter, in_output, is_closed_pipe};
use crate::sets::{Calibrator, SetArgs};
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub struct PredictArgs {
    /// Folder of a run.
    pub run: PathBuf,
    /// Data file, folder or quoted pattern of files, `-` for standard input, or name of a data set.
    pub data: String,
    /// Output file: .csv, .tsv, .jsonl, .parquet, or .npy for the probability matrix only [default: CSV on standard output].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write JSON Lines on standard output in place of CSV.
    #[arg(long, conflicts_with_all = ["out", "json"])]
    pub jsonl: bool,
    /// Add prediction sets with this coverage, such as 0.9.
    #[arg(long, value_name = "SHARE", value_parser = crate::args::share)]
    pub coverage: Option<f64>,
    /// Decide only where the prediction set is small: no predicted_label for rows whose set has more than SIZE classes, or not the
    /// likeliest one.
    #[arg(long, value_name = "SIZE", requires = "coverage")]
    pub abstain_above: Option<usize>,
    #[command(flatten)]
    pub sets: SetArgs,
    /// Arm to predict with: base, or the preset's name [default: the envelope arm].
    #[arg(long, value_name = "NAME")]
    pub arm: Option<String>,
    /// Add the probability of every class as columns p_CLASS.
    #[arg(long)]
    pub probabilities: bool,
    #[command(flatten, next_help_heading = "Reading the data")]
    pub read: ReadArgs,
}

pub fn run(args: &PredictArgs, terminal: &Terminal) -> Result<ExitCode> {
    if args.coverage.is_none() && args.sets != SetArgs::default() {
        return Err(Failure::input(
            "--score, --by-class, --calibration and --trusted say how prediction sets are made; ask for sets with --coverage 0.9, or leave \
             them out",
        ));
    }
    let mut outputs = Outputs::default().reads_run(&args.run).reads_with(&args.data, &args.read);
    if let Some(trusted) = &args.sets.trusted {
        outputs = outputs.reads_data(trusted, None, None);
    }
    let out = args.out.as_deref().map(|path| outputs.file("--out", path)).transpose()?;
    let format = args.out.as_deref().map(OutFormat::of).transpose()?;
    if format == Some(OutFormat::Npy) && args.coverage.is_some() {
        return Err(Failure::input(
            "a .npy file holds the probability matrix only, without prediction sets; write to .csv or .parquet, or leave out \
             --coverage",
        ));
    }
    let model = Model::open_arms(&args.run, args.arm.as_deref().map_or(Wanted::Chosen, Wanted::Named))?;
    let arm = model.chosen().name();
    let sets = match args.coverage {
        None => None,
        Some(coverage) => {
            let calibrator = Calibrator::new(&args.run, &model, coverage, &args.sets, None, terminal)?;
            Some(calibrator.predictor(0)?.ok_or_else(|| calibrator.no_rows(0))?)
        }
    };
    let (mut rows, labelled) = match NewRows::arriving(&args.data, &args.read, &args.run, &model, terminal)? {
        Some(rows) => (rows, true),
        None => {
            let read = known::completed(&args.read, &args.data, &args.run, Some(model.preprocess().expected()))?;
            let labelled = read.label.is_some() || read.labels.is_some();
            (NewRows::open(&args.data, &read, &model, terminal)?, labelled)
        }
    };
    let job = Job { args, model: &model, sets: sets.as_ref(), labelled };
    let mut head = serde_json::Map::new();
    head.insert("schema".into(), "cmrm/predict/1".into());
    head.insert("run".into(), args.run.display().to_string().into());
    head.insert("arm".into(), arm.into());
    head.insert("coverage".into(), json!(args.coverage));
    head.insert("abstain_above".into(), json!(args.abstain_above));
    head.insert("version".into(), env!("CARGO_PKG_VERSION").into());
    match (&out, format) {
        (Some(out), Some(format)) => {
            let (count, path) = (to_file(&job, &mut rows, out, format)?, out.path());
            terminal.say(format!("{count} rows predicted with the arm {arm}, written to {}", path.display()));
            if terminal.json() {
                head.insert("out".into(), path.display().to_string().into());
                head.insert("rows".into(), count.into());
                terminal.result(&head, "")?;
            }
        }
        _ => to_stdout(&job, &mut rows, terminal.json().then_some(&head))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn to_file(job: &Job<'_>, rows: &mut NewRows<'_>, out: &OutFile, format: OutFormat) -> Result<u64> {
    let failed = |error: cmrm_data::Error| in_output(error, out.path().display());
    out.fill(|file| {
        let mut writer = PredictionWriter::file(file, format, job.model.classes().len()).map_err(failed)?;
        let mut count = 0;
        rows.each_block(|block, about| {
            let (table, probabilities) = job.predict(block, about)?;
            count += table.rows() as u64;
            writer.write(&table, &probabilities).map_err(failed)?;
            Ok(true)
        })?;
        writer.finish().map_err(failed)?;
        Ok(count)
    })
}

fn to_stdout(
    job: &Job<'_>,
    rows: &mut NewRows<'_>,
    json: Option<&serde_json::Map<String, serde_json::Value>>,
) -> Result<()> {
    // The writer is made with the first rows: an error before them is then the only thing on standard output.
    let mut writer = None;
    let mut closed = false;
    let mut check = |done: cmrm_data::Result<()>| match done {
        Err(error) if is_closed_pipe(&error) => {
            closed = true;
            Ok(false)
        }
        Err(error) => Err(in_output(error, "standard output")),
        Ok(()) => Ok(true),
    };
    rows.each_block(|block, about| {
        let (table, probabilities) = job.predict(block, about)?;
        let open = match writer.take() {
            Some(open) => Ok(open),
            None => json.map_or_else(|| Ok(PredictionWriter::stdout(job.args.jsonl)), PredictionWriter::json),
        };
        check(open.and_then(|open| {
            let writer = writer.insert(open);
            // Whoever sent these rows may wait for them.
            writer.write(&table, &probabilities).and_then(|()| writer.flush())
        }))
    })?;
    if let Some(writer) = writer.filter(|_| !closed) {
        match writer.finish() {
            Err(error) if !is_closed_pipe(&error) => return Err(in_output(error, "standard output")),
            _ => {}
        }
    }
    Ok(())
}

struct Job<'a> {
    args: &'a PredictArgs,
    model: &'a Model,
    sets: Option<&'a SetPredictor>,
    /// Whether the rows have labels that someone asked for.
    labelled: bool,
}

impl Job<'_> {
    /// The table of a block, and its probabilities.
    fn predict(&self, block: Block, id_name: Option<&str>) -> Result<(Table, Vec<f32>)> {
        let classes = self.model.classes();
        let said = self.model.predict_rows(self.model.chosen(), block.x()?, &Stop::default())?;
        let (matrix, predicted) = (said.matrix()?, said.labels());
        let numbers = |of: &dyn Fn(usize) -> f64| (0..said.len()).map(of).collect::<Vec<f64>>();
        let mut columns = vec![Column::numeric("row", numbers(&|i| (block.first_row + i as u64) as f64))];
        if let Some(labels) = block.labels.filter(|_| self.labelled) {
            columns.push(text_column("given_label", labels.iter().map(Option::as_deref)));
        }
        let sets = self.sets.map(|sets| sets.predict(matrix, &[])).transpose()?;
        let undecided: Option<Vec<bool>> = match (&sets, self.args.abstain_above) {
            (Some(sets), Some(most)) => {
                let rows = sets.sizes().zip(predicted).enumerate();
                Some(rows.map(|(row, (size, &class))| size > most || !sets.contains(row, class)).collect())
            }
            _ => None,
        };
        let decided = |row: usize| undecided.as_ref().is_none_or(|undecided| !undecided[row]);
        let label_of = |(row, &k): (usize, &u32)| decided(row).then(|| classes[k as usize].as_str());
        columns.push(text_column("predicted_label", predicted.iter().enumerate().map(label_of)));
        columns.push(Column::numeric("confidence", numbers(&|row| said.confidence(row))));
        columns.push(Column::numeric("margin", numbers(&|row| said.margin(row))));
        if let Some(sets) = &sets {
            let joined = joined_sets(sets, classes);
            columns.push(text_column("prediction_set", joined.iter().map(|set| Some(set.as_str()))));
            columns.push(Column::numeric("set_size", sets.sizes().map(|size| size as f64).collect()));
        }
        if let Some(undecided) = undecided {
            columns.push(Column::new("abstained", Values::Boolean(undecided)));
        }
        if self.args.probabilities {
            for (k, class) in classes.iter().enumerate() {
                columns.push(Column::numeric(format!("p_{class}"), numbers(&|row| f64::from(matrix.row(row)[k]))));
            }
        }
        if let Some(ids) = &block.ids {
            // A name that is one of ours already gives way.
            let name = id_name.filter(|name| columns.iter().all(|column| column.name != *name)).unwrap_or("id");
            columns.insert(1, text_column(name, ids.iter().map(Option::as_deref)));
        }
        Ok((Table::new(columns)?, said.into_probabilities()))
    }
}

fn text_column<'a>(name: &str, cells: impl Iterator<Item = Option<&'a str>>) -> Column {
    let mut builder = cmrm_data::table::ColumnBuilder::new(Kind::Categorical);
    for cell in cells {
        match cell {
            Some(text) => builder.push_name(text),
            None => builder.push_missing(),
        }
    }
    builder.finish(name)
}

/// The names of each set with bars between them; a bar or backslash inside a name has a backslash before it.
fn joined_sets(sets: &PredictionSets, classes: &[String]) -> Vec<String> {
    let escaped: Vec<String> = classes.iter().map(|class| class.replace('\\', "\\\\").replace('|', "\\|")).collect();
    let join = |set: &[u32]| set.iter().map(|&k| escaped[k as usize].as_str()).collect::<Vec<_>>().join("|");
    sets.iter().map(join).collect()
}
