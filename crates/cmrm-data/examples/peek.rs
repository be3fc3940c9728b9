//! Shows what a file's columns are: `cargo run --example peek -- FILE [LABEL]`.

use std::path::Path;
use std::time::Instant;

use cmrm_data::preprocess::{MissingCells, Preprocess, PreprocessOptions, Summary};
use cmrm_data::read::{ReadOptions, read_path};
use cmrm_data::{Fingerprint, LabelOptions, Result};

fn main() {
    if let Err(error) = peek() {
        eprintln!("{error}");
        std::process::exit(2);
    }
}

fn peek() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut options = ReadOptions {
        label: arguments.get(1).filter(|text| !text.is_empty()).map(|text| text.as_str().into()),
        ..Default::default()
    };
    options.arrays.features = arguments.get(2).cloned();
    options.arrays.labels = arguments.get(3).cloned();
    let start = Instant::now();
    let input = read_path(Path::new(arguments.first().map_or("", String::as_str)), &options)?;
    println!("{} rows in {:.2?}\n{}", input.features.rows(), start.elapsed(), Summary::of(&input.features));
    let start = Instant::now();
    let all: Vec<usize> = (0..input.features.rows()).collect();
    let preprocess = PreprocessOptions { missing: MissingCells::Impute, ..Default::default() };
    let (pipeline, notes) = Preprocess::fit(&input.features, &all, &preprocess)?;
    println!("fit {:.2?}, {} features", start.elapsed(), pipeline.width());
    for note in notes {
        println!("{note}");
    }
    if input.labels.is_some() {
        let start = Instant::now();
        let labels = input.encode_labels(&LabelOptions::default())?;
        let (data, _) = pipeline.dataset(&input, &labels)?;
        println!(
            "{:?}, {:.2?}, {}",
            data.classes.iter().take(12).collect::<Vec<_>>(),
            start.elapsed(),
            Fingerprint::of(&data)
        );
    }
    Ok(())
}
