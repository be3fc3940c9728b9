//! A grid of envelopes over folds of the rows: all cells of a fold in one training.

use cmrm::metric::accuracy;
use cmrm_bench::Result;
use cmrm_train::train::{Arm, Examples, Silent, TrainConfig, Trainer};

/// Trains every arm on every fold (row `i` is held out of fold `i mod folds`) and returns the accuracy on the held-out rows,
/// arm by arm and within an arm fold by fold.
pub fn grid(
    config: &TrainConfig,
    arms: &[Arm],
    folds: usize,
    data: Examples<'_, f32>,
    classes: usize,
) -> Result<Vec<Vec<f64>>> {
    let mut found = vec![Vec::with_capacity(folds); arms.len()];
    for fold in 0..folds {
        let part = |held: bool| {
            let rows: Vec<usize> = (0..data.rows()).filter(|row| (row % folds == fold) == held).collect();
            (data.x.gather(&rows), rows.iter().map(|&row| data.labels[row]).collect::<Vec<u32>>())
        };
        let ((x, labels), (held_x, held_labels)) = (part(false), part(true));
        let train = Examples::new(x.view()?, &labels);
        let mut trainer = Trainer::new(config.clone(), arms.to_vec(), classes, train, None)?;
        trainer.run(&mut Silent)?;
        for (of_arm, trained) in found.iter_mut().zip(trainer.finish()?) {
            let predicted = trained.model.predict(held_x.view()?)?;
            of_arm.push(accuracy(&predicted, &held_labels)?);
        }
    }
    Ok(found)
}
