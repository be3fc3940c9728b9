//! Where settings come from: defaults, then a TOML file, then flags.

use std::path::{Path, PathBuf};

use cmrm_data::preprocess::MissingCells;
use cmrm_fit::{FitConfig, TransitionSetting};
use cmrm_run::names::SETTINGS;

use crate::args::{FitArgs, ModelArgs, ReadArgs};
use crate::failure::{Failure, Result, in_read_file};
use crate::outputs::{Outputs, same_file};

/// Sets the fields whose flags were given.
macro_rules! set {
    ($config:ident, $args:ident, $($field:ident),+) => {
        $(if let Some(value) = $args.$field.clone() { $config.$field = value; })+
    };
}

/// The same for fields that may stay empty.
macro_rules! set_optional {
    ($config:ident, $args:ident, $($field:ident),+) => {
        $(if $args.$field.is_some() { $config.$field = $args.$field.clone(); })+
    };
}

/// Defaults, the file, the flags, in this order. To go on with a run, its `own` settings take the place of the defaults.
pub fn resolve(args: &FitArgs, own: Option<&FitConfig>) -> Result<FitConfig> {
    let mut config = match (&args.model.config, own) {
        (None, Some(own)) => own.clone(),
        (file, _) => read_or_default(file.as_deref())?,
    };
    set!(config, args, data);
    set_optional!(config, args, test, noise, test_share, validation_share, learners, budget);
    config.base &= !args.no_base;
    config.class_conditional |= args.class_conditional;
    apply(&mut config, &args.read, &args.model);
    check(&config)?;
    if let Some(out) = &args.out {
        // A run that goes on may be handed its own settings.
        let own = |file: &&PathBuf| args.resume && same_file(file, &out.join(SETTINGS));
        let file = args.model.config.as_ref().filter(|file| !own(file)).map(PathBuf::as_path);
        Outputs::default().reads_settings(&config, file, args.read.cache.as_deref()).run("--out", out)?;
    }
    Ok(config)
}

/// The settings of a verb that trains on `data` and keeps no run.
pub fn resolve_for(data: &str, read: &ReadArgs, model: &ModelArgs) -> Result<FitConfig> {
    let mut config = read_or_default(model.config.as_deref())?;
    config.data = data.to_owned();
    apply(&mut config, read, model);
    let config = config.for_one_model("--folds")?;
    check(&config)?;
    Ok(config)
}

fn read_or_default(file: Option<&Path>) -> Result<FitConfig> {
    file.map_or_else(|| Ok(FitConfig::default()), read)
}

/// Puts the flags over what is there.
fn apply(config: &mut FitConfig, read: &ReadArgs, model: &ModelArgs) {
    set_optional!(config, read, label, labels, id, format, delimiter);
    set!(config, read, skip_lines);
    config.no_header |= read.no_header;
    config.strict |= read.strict;
    config.preprocess.overrides.extend(read.overrides());
    set!(config, model, preset, loss, hidden, tolerance, batch, learning_rate, seed);
    if model.epochs.is_some() || model.steps.is_some() {
        // Either says how long; a flag takes the place of whichever the file has.
        (config.epochs, config.steps) = (model.epochs, model.steps);
    }
    set_optional!(config, model, model, lambda, alpha, temperature, start, optimiser, l2, keep, patience);
    if let Some(file) = &model.transition {
        config.transition = Some(TransitionSetting::File(file.clone()));
    }
    config.hold_out_unlabelled |= model.hold_out_unlabelled;
    config.balance_classes |= model.balance_classes;
    if model.impute {
        config.preprocess.missing = MissingCells::Impute;
        config.preprocess.nan_is_missing = true;
    }
}

/// Reads a TOML file.
pub fn read(path: &Path) -> Result<FitConfig> {
    let text = std::fs::read_to_string(path).map_err(|error| in_read_file(path, &error))?;
    FitConfig::from_toml(&text).map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}

fn check(config: &FitConfig) -> Result<()> {
    if config.data.is_empty() {
        return Err(Failure::input("no data: name a file, a folder or a data set, as in `cmrm fit digits`"));
    }
    Ok(config.check()?)
}
