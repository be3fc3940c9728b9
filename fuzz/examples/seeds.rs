//! Writes the seeds of the targets `model` and `checkpoint`: `cargo run --example seeds` in `fuzz/`, after their
//! formats have changed.
#![forbid(unsafe_code)]

use std::fs;
use std::ops::ControlFlow;

use cmrm_fuzz::training::with_trainers;
use cmrm_fuzz::votes::votes;
use cmrm_train::train::{EpochStats, Observer, Trainer};
use cmrm_train::{Checkpoint, Result};

/// Ends a training after two epochs.
struct Half;

impl Observer<f32> for Half {
    fn epoch(&mut self, trainer: &Trainer<'_, f32>, _stats: &[EpochStats]) -> Result<ControlFlow<()>> {
        Ok(if trainer.epochs_done() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }
}

fn main() {
    fs::create_dir_all("corpus/model").expect("a folder can be made");
    fs::create_dir_all("corpus/checkpoint").expect("a folder can be made");
    with_trainers(|name, mut trainer| {
        trainer.run(&mut Half).expect("the training goes well");
        let checkpoint = Checkpoint::of(&trainer).to_bytes().expect("a checkpoint can be stored");
        fs::write(format!("corpus/checkpoint/{name}"), checkpoint).expect("a file can be written");
        let trained = trainer.finish().expect("the training went well");
        let model = trained[0].model.to_bytes().expect("a model can be stored");
        fs::write(format!("corpus/model/{name}"), model).expect("a file can be written");
    });
    for (name, vote) in votes().expect("the learners go well") {
        let model = vote.to_bytes().expect("a vote can be stored");
        fs::write(format!("corpus/model/{name}"), model).expect("a file can be written");
    }
}
