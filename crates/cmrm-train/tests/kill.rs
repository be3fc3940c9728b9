//! A process that is killed at any moment leaves a readable checkpoint that resumes to the same bytes.

mod common;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cmrm::Scalar;
use cmrm::loss::LossConfig;
use cmrm_train::model::ModelConfig;
use cmrm_train::train::{EpochStats, Observer, Silent, Trainer};
use cmrm_train::{Checkpoint, Result};

const FOLDER: &str = "CMRM_KILL_TEST_FOLDER";

struct SaveEveryEpoch(PathBuf);

impl<T: Scalar> Observer<T> for SaveEveryEpoch {
    fn epoch(&mut self, trainer: &Trainer<'_, T>, _stats: &[EpochStats]) -> Result<ControlFlow<()>> {
        let bytes = Checkpoint::of(trainer).to_bytes()?;
        cmrm_data::files::write_atomically(&self.0, |file| file.write_all(&bytes)).unwrap();
        Ok(ControlFlow::Continue(()))
    }
}

fn read(path: &Path) -> Checkpoint {
    Checkpoint::from_bytes(&std::fs::read(path).unwrap()).unwrap()
}

fn with_trainer<R>(run: impl FnOnce(&mut Trainer<'_, f32>) -> R) -> R {
    let data = common::blobs(400, 8, 3, 0.3, 1);
    let config = common::adam(ModelConfig::mlp(&[16]), 120, Some(32));
    let arms = common::arms(LossConfig::CrossEntropy);
    run(&mut Trainer::new(config, arms, 3, data.examples(), None).unwrap())
}

/// Trains on from whatever checkpoint there is, saving every epoch.
fn train_on(path: &Path) {
    with_trainer(|trainer| {
        if path.exists() {
            read(path).resume(trainer).unwrap();
        }
        trainer.run(&mut SaveEveryEpoch(path.to_owned())).unwrap();
    });
}

/// Not a test of its own: the process that the test below kills.
#[test]
fn child() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        train_on(&Path::new(&folder).join("checkpoint.safetensors"));
    }
}

#[test]
fn killed_again_and_again_it_ends_in_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let mut reached = Vec::new();
    for delay in [40, 90, 25, 60, 130] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        // SIGKILL on Unix: no destructor runs.
        let _ = child.kill();
        child.wait().unwrap();
        if path.exists() {
            reached.push(read(&path).epochs_done());
        }
    }
    assert!(reached.is_sorted(), "a kill lost epochs: {reached:?}");
    train_on(&path);
    let expected = with_trainer(|trainer| {
        trainer.run(&mut Silent).unwrap();
        Checkpoint::of(trainer)
    });
    assert_eq!(read(&path), expected);
    // Temporary siblings of killed writes may remain, but never under the checkpoint's own name.
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "checkpoint.safetensors" || name.ends_with(".part"), "{name}");
    }
}
