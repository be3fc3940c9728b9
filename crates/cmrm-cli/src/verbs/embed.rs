//! `cmrm embed`: texts of a table as features, by a sentence encoder.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use cmrm_data::ColumnRef;
use cmrm_data::read::ReadOptions;
use cmrm_data::write::{NpyWriter, NpzWriter};
use cmrm_embed::{Encoder, EncoderOptions, Pooling, Survey, TextTable};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::load::set_text;
use crate::outputs::Outputs;
use crate::prediction_writer::in_output;
use crate::progress::{interrupted, watch_interrupts};
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub struct EmbedArgs {
    /// Data file, a table with a column of text.
    pub data: PathBuf,
    /// Encoder: an ONNX model of tokens.
    #[arg(long, value_name = "FILE")]
    pub onnx: PathBuf,
    /// The encoder's tokenizer.json.
    #[arg(long, value_name = "FILE")]
    pub tokenizer: PathBuf,
    /// Text column: a name, or an index (negative counts from the end); may be given several times, the texts are joined by a space.
    #[arg(long, value_name = "NAME|INDEX", required = true, allow_hyphen_values = true)]
    pub text: Vec<String>,
    /// File for the features: .npz, which holds the labels as well, or .npy.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// How a text's vector is made of its tokens': mean or cls (the first one's) [default: as the files of
    /// sentence-transformers beside the tokenizer say, else mean].
    #[arg(long)]
    pub pooling: Option<Pooling>,
    /// Scale vectors to length one: true or false [default: as those files say, else true].
    #[arg(long, value_name = "BOOL")]
    pub normalise: Option<bool>,
    /// Tokens after which a text is cut off [default: as those files say, else 256].
    #[arg(long, value_name = "TOKENS")]
    pub max_length: Option<usize>,
    /// Name of the model's tensor to use [default: sentence_embedding if the model has it, else its first output].
    #[arg(long, value_name = "NAME")]
    pub output: Option<String>,
    /// Label column, to be kept beside the features: a name, or an index (negative counts from the end).
    #[arg(long, value_name = "NAME|INDEX", allow_hyphen_values = true, help_heading = "Reading the data")]
    pub label: Option<String>,
    /// Character between cells, \t for a tab [default: detected].
    #[arg(long, help_heading = "Reading the data")]
    pub delimiter: Option<String>,
    /// The first row is data, not column names.
    #[arg(long, help_heading = "Reading the data")]
    pub no_header: bool,
    /// Lines to skip at the start of a text file, such as a title.
    #[arg(long, value_name = "N", help_heading = "Reading the data")]
    pub skip_lines: Option<usize>,
}

pub fn run(args: &EmbedArgs, terminal: &Terminal) -> Result<ExitCode> {
    let archive = is_archive(&args.out, args.label.is_some())?;
    let outputs = Outputs::default().reads("the data file itself", &args.data).reads("the model itself", &args.onnx);
    let out = outputs.reads("the tokenizer itself", &args.tokenizer).file("--out", &args.out)?;
    let options = EncoderOptions {
        output: args.output.clone(),
        pooling: args.pooling,
        normalise: args.normalise,
        max_length: args.max_length,
    };
    let encoder = Encoder::open(&args.onnx, &args.tokenizer, &options)?;
    let table = open(args)?;
    let survey = table.survey()?;
    if let Some(first) = survey.first_empty {
        terminal.say(format!("note: {} of {} rows have no text, the first is row {first}", survey.empty, survey.rows));
    }
    watch_interrupts();
    let started = Instant::now();
    let bar = progress_bar(terminal, survey.rows);
    let job = Job { encoder: &encoder, table: &table, survey: &survey, bar: &bar };
    let cut = out.fill(|file| job.write(file, out.path(), archive));
    bar.finish_and_clear();
    let cut = cut?;
    if cut > 0 {
        let (rows, limit) = (survey.rows, encoder.max_length());
        terminal.say(format!("note: {cut} of {rows} texts were cut off after {limit} tokens (--max-length)"));
    }
    let speed = survey.rows as f64 / started.elapsed().as_secs_f64();
    let object = json!({
        "schema": "cmrm/embed/1", "data": args.data, "rows": survey.rows, "features": encoder.width(),
        "without_text": survey.empty, "cut": cut, "max_length": encoder.max_length(), "out": args.out,
    });
    let (out, rows, width, how) = (args.out.display(), survey.rows, encoder.width(), encoder.describe());
    terminal.result(&object, &format!("{out}: {rows} rows of {width} features ({how}), {speed:.0} texts/s\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn open(args: &EmbedArgs) -> Result<TextTable> {
    let mut reading = ReadOptions::default();
    set_text(&mut reading, args.no_header, args.delimiter.as_deref())?;
    reading.text.skip_lines = args.skip_lines.unwrap_or(0);
    let texts: Vec<ColumnRef> = args.text.iter().cloned().map(ColumnRef).collect();
    let label = args.label.clone().map(ColumnRef);
    Ok(TextTable::open(&args.data, &texts, label.as_ref(), reading)?)
}

/// Whether the features go into an archive, by the file's name.
fn is_archive(out: &Path, labelled: bool) -> Result<bool> {
    let extension = out.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    let refuse = |why: &str| Err(Failure::input(format!("{}: {why}", out.display())));
    match extension.as_str() {
        "npz" => Ok(true),
        "npy" if labelled => refuse("a .npy file has no room for labels; write to .npz, or leave out --label"),
        "npy" => Ok(false),
        _ => refuse("features cannot be written to a file of that name; end it in .npz or .npy"),
    }
}

fn progress_bar(terminal: &Terminal, rows: usize) -> ProgressBar {
    let target = if terminal.bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(rows as u64), target);
    // A template of our own that does not parse would be a bug; the plain bar is good enough then.
    if let Ok(style) = ProgressStyle::with_template("  text {pos}/{len}  {bar:32}  {per_sec}  {eta} left") {
        bar.set_style(style);
    }
    bar
}

/// What is encoded, and what shows how far it is.
struct Job<'a> {
    encoder: &'a Encoder,
    table: &'a TextTable,
    survey: &'a Survey,
    bar: &'a ProgressBar,
}

impl Job<'_> {
    /// Encodes all rows into a file under way, and returns how many texts were cut off.
    fn write(&self, file: &mut BufWriter<File>, path: &Path, archive: bool) -> Result<usize> {
        let failed = |error: cmrm_data::Error| in_output(error, path.display());
        let (rows, width) = (self.survey.rows, self.encoder.width());
        if archive {
            let mut writer = NpzWriter::new(file, rows, width).map_err(failed)?;
            let cut = self.encode(|features| writer.write(features).map_err(failed))?;
            writer.finish(self.survey.labels.as_deref()).map_err(failed)?;
            Ok(cut)
        } else {
            let mut writer = NpyWriter::new(file, width).map_err(failed)?;
            let cut = self.encode(|features| writer.write(features).map_err(failed))?;
            writer.finish().map_err(failed)?;
            Ok(cut)
        }
    }

    fn encode(&self, mut take: impl FnMut(&[f32]) -> Result<()>) -> Result<usize> {
        let go_on = || {
            self.bar.inc(1);
            !interrupted()
        };
        let mut cut = 0;
        self.table.each_window(|first_row, texts| {
            let encoded = self.encoder.encode(first_row, texts, &go_on)?;
            let encoded = encoded.ok_or_else(|| Failure::interrupted("interrupted; nothing was written"))?;
            cut += encoded.cut;
            take(&encoded.features)
        })?;
        Ok(cut)
    }
}
