//! How to add a loss that pulls on every class, and the check that every new loss deserves.
//!
//! `cargo run --release -p cmrm --example dense_loss`
//!
//! The Brier score, which the library does not have as a loss. `custom_loss.rs` has one that depends on the label's probability alone, which is
//! shorter to write.

use cmrm::envelope::{Batch, Objective, Outcome, Preset, Scratch};
use cmrm::loss::{Loss, LossConfig, Row, RowLoss, WholeRow};
use cmrm::{Matrix, Scalar};

/// The Brier score `Σ_k (s[k] − 1[k = y])²`.
struct Brier;

impl Brier {
    /// `s[k] − 1[k = y]`, without cancellation at the label.
    fn residual<T: Scalar>(row: &Row<T>, probs: &[T], class: usize) -> T {
        if class == row.label { -row.p_others } else { probs[class] }
    }
}

impl<T: Scalar> Loss<T> for Brier {
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        RowLoss::of_log_probability(&row, T::ZERO, T::ZERO)
    }

    fn is_dense(&self) -> bool {
        true
    }

    fn dense_value(&self, row: &Row<T>, WholeRow { probs, .. }: WholeRow<'_, T>) -> T {
        (0..probs.len()).map(|k| Self::residual(row, probs, k)).map(|r| r * r).sum()
    }

    // With r = s − e_y: ∂/∂u[j] = 2 s[j] (r[j] − Σ_k s[k] r[k]).
    fn add_dense(&self, row: &Row<T>, WholeRow { probs, .. }: WholeRow<'_, T>, factor: T, grad: &mut [T]) {
        let mean: T = (0..probs.len()).map(|k| probs[k] * Self::residual(row, probs, k)).sum();
        let twice = factor + factor;
        for (j, g) in grad.iter_mut().enumerate() {
            *g += twice * probs[j] * (Self::residual(row, probs, j) - mean);
        }
    }
}

const CLASSES: usize = 3;

/// Logits of a model that has learned a little. The last two labels are wrong.
const LOGITS: [f64; 8 * CLASSES] = [
    2.1, 0.3, -0.4, 1.7, -0.2, 0.6, 0.2, 1.9, -0.3, -0.5, 1.2, 0.4, 0.1, -0.6, 2.3, 0.9, 0.2, 1.4, 2.4, -0.1, 0.2,
    -0.3, 0.1, 2.0,
];
const LABELS: [u32; 8] = [0, 0, 1, 1, 2, 2, 1, 0];

fn show<L: Loss<f64>>(name: &str, loss: L) -> cmrm::Result<()> {
    // The preset does not know this loss, so it takes cross-entropy's λ and α.
    let envelope = Preset::Robust.config(&LossConfig::CrossEntropy).validate()?;
    let base = Objective::base(&loss);
    let wrapped = Objective::with_envelope(&loss, envelope);
    let mut scratch = Scratch::default();
    let (plain, pull_before) = evaluate(&base, &LOGITS, &mut scratch)?;
    let (outcome, pull) = evaluate(&wrapped, &LOGITS, &mut scratch)?;

    println!("{name}");
    println!("  base loss {:.4}; with the envelope {:.4} (risk {:.4})", plain.base, outcome.total, outcome.risk);
    println!("  row  label    loss  margin  weight  gradient at the label: base, with the envelope");
    for (i, loss) in scratch.row_losses().enumerate() {
        let label = LABELS[i] as usize;
        let (margin, weight) = (scratch.margins()[i], scratch.weights()[i]);
        let at = i * CLASSES + label;
        let note = if i >= 6 { "  <- wrong label" } else { "" };
        println!(
            "  {i:>3}  {label:>5}  {loss:>6.3}  {margin:>6.3}  {weight:>6.3}  {:>8.4} {:>8.4}{note}",
            pull_before[at], pull[at]
        );
    }
    println!("  base gradient against finite differences: largest error {:.1e}\n", largest_error(&base, &pull_before)?);
    Ok(())
}

fn evaluate<L: Loss<f64>>(
    objective: &Objective<L>,
    logits: &[f64],
    scratch: &mut Scratch<f64>,
) -> cmrm::Result<(Outcome<f64>, Vec<f64>)> {
    let mut grad = vec![0.0; logits.len()];
    let outcome = objective.evaluate(&Batch::new(Matrix::new(logits, CLASSES)?, &LABELS), &mut grad, scratch)?;
    Ok((outcome, grad))
}

/// The check that every new loss deserves: move each logit a little both ways and look at the value.
fn largest_error<L: Loss<f64>>(objective: &Objective<L>, grad: &[f64]) -> cmrm::Result<f64> {
    const STEP: f64 = 1e-5;
    let mut scratch = Scratch::default();
    let mut worst = 0.0f64;
    for j in 0..LOGITS.len() {
        let mut total = |step: f64| {
            let mut logits = LOGITS;
            logits[j] += step;
            evaluate(objective, &logits, &mut scratch).map(|(outcome, _)| outcome.total)
        };
        let slope = (total(STEP)? - total(-STEP)?) / (2.0 * STEP);
        worst = worst.max((slope - grad[j]).abs());
    }
    Ok(worst)
}

fn main() -> cmrm::Result<()> {
    show("Brier score", Brier)?;
    println!("The envelope trusts rows with a large margin and leaves those far below its threshold alone.");
    Ok(())
}
