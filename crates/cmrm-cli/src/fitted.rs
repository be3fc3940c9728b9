//! A finished run, loaded to be applied to new rows.

use std::path::Path;

use cmrm_data::preprocess::Preprocess;
use cmrm_train::Model;

use crate::failure::{Failure, Result};
use crate::run_dir::{RunDir, RunInfo};

/// A run's pipeline and the models that were asked for.
pub struct Fitted {
    pub run: RunDir,
    pub info: RunInfo,
    pub preprocess: Preprocess,
    /// Name and model of each arm.
    pub arms: Vec<(String, Model<f32>)>,
}

/// Which arms of a run are wanted.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// The arm to predict with.
    Chosen,
    /// Every arm.
    All,
    /// The arm of that name.
    Named(&'a str),
}

impl Fitted {
    /// Loads a run and checks that its files belong together.
    pub fn open(path: &Path, wanted: Wanted<'_>) -> Result<Self> {
        let (run, info) = RunDir::open(path)?;
        run.check_kind(&info)?;
        let names = match wanted {
            Wanted::Chosen => vec![info.chosen.clone()],
            Wanted::All => info.arms.clone(),
            Wanted::Named(name) if info.arms.iter().any(|arm| arm == name) => vec![name.to_owned()],
            Wanted::Named(name) => return Err(no_such_arm(&run, &info, name)),
        };
        let stored = run.read("preprocess.json")?;
        let file = run.file("preprocess.json");
        let preprocess = Preprocess::from_json(&stored).map_err(|error| error.in_file(file.display()))?;
        let mut arms = Vec::with_capacity(names.len());
        for name in names {
            let model = run.read_model(&name, &info)?;
            let inputs = model.network().layout().inputs();
            for (what, expected, found) in
                [("features", preprocess.width(), inputs), ("classes", info.classes.len(), model.classes())]
            {
                if expected != found {
                    return Err(Failure::input(format!(
                        "{}: the model has {found} {what}, the rest of the run {expected}; the files are of different \
                         runs: copy the folder again or fit again",
                        run.model_file(&name, &info.chosen).display()
                    )));
                }
            }
            arms.push((name, model));
        }
        Ok(Fitted { run, info, preprocess, arms })
    }
}

fn no_such_arm(run: &RunDir, info: &RunInfo, name: &str) -> Failure {
    let near = cmrm_data::table::closest(name, &info.arms);
    let suggestion = near.first().map(|near| format!(", did you mean '{near}'?")).unwrap_or_default();
    Failure::input(format!(
        "{}: the run has no arm '{name}'{suggestion}; its arms are {}",
        run.path().display(),
        info.arms.join(", ")
    ))
}
