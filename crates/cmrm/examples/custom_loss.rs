//! A loss of one's own in the envelope: one trait in one file.
//!
//! `cargo run --release -p cmrm --example custom_loss`
//!
//! Taylor cross-entropy of second order (Feng et al., 2020) is `(1 − s[y]) + (1 − s[y])²/2`, the first terms of the series of
//! `−log s[y]`: a wrong label cannot cost more than 3/2. It depends on the logits through the label's probability alone, so value
//! and slope are all there is to write. `dense_loss.rs` has a loss that pulls on every class.

use cmrm::envelope::{Batch, Objective, Preset, Scratch};
use cmrm::loss::{Loss, LossConfig, Row, RowLoss};
use cmrm::{Matrix, Scalar};

struct TaylorCrossEntropy;

impl<T: Scalar> Loss<T> for TaylorCrossEntropy {
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        let value = row.p_others + T::from_f64(0.5) * row.p_others * row.p_others;
        // By log s: the derivative of 1 − s is −s.
        RowLoss::of_log_probability(&row, value, -row.p_label * (T::ONE + row.p_others))
    }
}

fn main() -> cmrm::Result<()> {
    // Four rows of three classes; the label of the last is wrong.
    let logits = [2.1, 0.3, -0.4, 0.2, 1.9, -0.3, 0.1, -0.6, 2.3, 2.4, -0.1, 0.2];
    let batch = Batch::new(Matrix::new(&logits, 3)?, &[0, 1, 2, 1]);
    // The preset does not know this loss, so it takes the λ and α of cross-entropy.
    let envelope = Preset::Robust.config(&LossConfig::CrossEntropy).validate()?;
    let (mut grad, mut scratch) = ([0.0; 12], Scratch::default());
    let outcome = Objective::with_envelope(TaylorCrossEntropy, envelope).evaluate(&batch, &mut grad, &mut scratch)?;
    println!("loss {:.4}, weights {:.3?}, gradient {grad:.3?}", outcome.total, scratch.weights());
    Ok(())
}
