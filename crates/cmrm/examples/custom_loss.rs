//! How to add a loss: implement one trait in one file, and the envelope wraps it like any other.
//!
//! `cargo run --release --example custom_loss`
//!
//! Two losses that the library does not have. Symmetric cross-entropy depends on the logits through the label's
//! probability alone, so value and slope are all there is to write. Label smoothing pulls on every class; what it adds
//! to cross-entropy is its dense part.

use cmrm::envelope::{Batch, Objective, Outcome, Preset, Scratch};
use cmrm::loss::{Loss, LossConfig, Row, RowLoss};
use cmrm::{Matrix, Scalar};

/// Symmetric cross-entropy (Wang et al., 2019): `−a·log s[y] + b·A·(1 − s[y])`. The second term is the cross-entropy
/// of the label under the model's view, with `−A` in place of `log 0`.
struct SymmetricCrossEntropy {
    a: f64,
    b: f64,
    log_zero: f64,
}

impl<T: Scalar> Loss<T> for SymmetricCrossEntropy {
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        let forward = T::from_f64(self.a);
        let reverse = T::from_f64(self.b * self.log_zero);
        let value = reverse * row.p_others - forward * row.log_p_label;
        // By log s: the derivative of −log s is −1, that of 1 − s is −s.
        RowLoss::of_log_probability(&row, value, -forward - reverse * row.p_label)
    }
}

/// Cross-entropy against `(1 − ε)·e_y + ε/K`. With `log s[j] = log s[y] + u[j] − u[y]` it is
/// `−log s[y] + ε·(u[y] − mean(u))`.
struct LabelSmoothing {
    epsilon: f64,
}

impl<T: Scalar> Loss<T> for LabelSmoothing {
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        RowLoss::of_log_probability(&row, -row.log_p_label, -T::ONE)
    }

    fn is_dense(&self) -> bool {
        true
    }

    fn dense_value(&self, row: &Row<T>, scaled: &[T], _probs: &[T]) -> T {
        let mean = scaled.iter().copied().sum::<T>() / T::from_f64(scaled.len() as f64);
        T::from_f64(self.epsilon) * (scaled[row.label] - mean)
    }

    fn add_dense(&self, row: &Row<T>, scaled: &[T], _probs: &[T], factor: T, grad: &mut [T]) {
        let pull = factor * T::from_f64(self.epsilon);
        let share = pull / T::from_f64(scaled.len() as f64);
        grad.iter_mut().for_each(|g| *g -= share);
        grad[row.label] += pull;
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
    show("Symmetric cross-entropy", SymmetricCrossEntropy { a: 0.1, b: 1.0, log_zero: 4.0 })?;
    show("Label smoothing", LabelSmoothing { epsilon: 0.1 })?;
    println!("The envelope trusts rows with a large margin and leaves those far below its threshold alone.");
    Ok(())
}
