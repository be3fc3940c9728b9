//! Reads arbitrary bytes as a checkpoint, goes on from it, and uses what comes out as `cmrm fit --resume` does.
#![no_main]

use cmrm_fuzz::training::{CLASSES, ROWS, with_trainers};
use cmrm_train::Checkpoint;
use cmrm_train::train::Silent;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(checkpoint) = Checkpoint::from_bytes(bytes) else { return };
    with_trainers(|_, mut trainer| {
        // Numbers that make training diverge are refused on the way; whatever is not refused must be whole.
        if checkpoint.resume(&mut trainer).is_err() || trainer.run(&mut Silent).is_err() {
            return;
        }
        let _ = Checkpoint::of(&trainer);
        for arm in trainer.finish().expect("a training that ended well") {
            assert_eq!(arm.record.rival.len(), ROWS);
            assert!(arm.record.rival.iter().all(|&rival| (rival as usize) < CLASSES));
            assert!(arm.record.mean_margin.len() == ROWS && arm.record.last_weight.len() == ROWS);
            let _ = arm.model.to_bytes();
        }
    });
});
