//! The engine on real data, end to end: `cargo run --release -p cmrm-bench --bin real_data -- DATA_DIR [options]`.
//!
//! DATA_DIR has the folders `uci` (adult.data, adult.test, spambase.data, default_credit_card_clients.csv), `features`
//! (frozen CIFAR features as .npy) and `cifar-n` (cifar10n.csv, cifar100n.csv). Options:
//! `--sets adult,spambase,credit,cifar10n,cifar100n`, `--seeds 5`, `--rates 0.2,0.4`.

use std::path::{Path, PathBuf};

use cmrm_bench::Result;

mod probe;
mod tabular;

/// What to run.
struct Options {
    folder: PathBuf,
    sets: Vec<String>,
    seeds: u64,
    rates: Vec<f64>,
}

fn main() -> Result<()> {
    let options = parse(std::env::args().skip(1))?;
    for set in &options.sets {
        match set.as_str() {
            "adult" | "spambase" | "credit" => tabular::run(set, &options)?,
            "cifar10n" | "cifar100n" => probe::run(set, &options)?,
            other => {
                return Err(
                    format!("unknown set '{other}': expected adult, spambase, credit, cifar10n or cifar100n").into()
                );
            }
        }
    }
    Ok(())
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options> {
    let folder = arguments.next().ok_or("usage: real_data DATA_DIR [--sets A,B] [--seeds N] [--rates R,S]")?;
    let mut options = Options {
        folder: Path::new(&folder).to_owned(),
        sets: ["adult", "spambase", "credit", "cifar10n", "cifar100n"].map(str::to_owned).to_vec(),
        seeds: 5,
        rates: vec![0.2, 0.4],
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--sets" => options.sets = value.split(',').map(str::to_owned).collect(),
            "--seeds" => options.seeds = value.parse()?,
            "--rates" => options.rates = value.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?,
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    Ok(options)
}
