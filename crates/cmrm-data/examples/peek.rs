//! Shows what a file's columns are and what becomes of them: `cargo run --example peek -- FILE [LABEL]`.

use std::path::Path;

use cmrm_data::preprocess::{MissingCells, Preprocess, PreprocessOptions, Summary};
use cmrm_data::read::{ReadOptions, read_path};
use cmrm_data::{Error, Fingerprint, LabelOptions, Result};

fn main() {
    if let Err(error) = peek() {
        eprintln!("{error}");
        std::process::exit(2);
    }
}

fn peek() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or_else(|| Error::option("name a file, and perhaps its label column"))?;
    let options = ReadOptions { label: arguments.next().as_deref().map(Into::into), ..ReadOptions::default() };
    let input = read_path(Path::new(&file), &options)?;
    println!("{} rows\n{}", input.features.rows(), Summary::of(&input.features));

    let all: Vec<usize> = (0..input.features.rows()).collect();
    let preprocess = PreprocessOptions { missing: MissingCells::Impute, ..PreprocessOptions::default() };
    let (pipeline, notes) = Preprocess::fit(&input.features, &all, &preprocess)?;
    println!("{} features", pipeline.width());
    for note in notes {
        println!("{note}");
    }
    if input.labels.is_some() {
        let labels = input.encode_labels(&LabelOptions::default())?;
        let (data, _) = pipeline.dataset(&input, &labels)?;
        println!("{} classes, fingerprint {}", data.classes.len(), Fingerprint::of(&data));
    }
    Ok(())
}
