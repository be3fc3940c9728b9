//! What the losses of the noise-model methods promise: unbiased, a posterior, bounded, a volume.

mod naive;

use cmrm::envelope::{Batch, Objective, Scratch};
use cmrm::loss::{
    Apl, Backward, BootstrapHard, BootstrapSoft, Cores, CrossEntropy, Forward, LearnedTransition, Loss, VolMin,
};
use cmrm::noise_model::Transition;
use cmrm::{Matrix, Scalar};
use proptest::collection::vec;
use proptest::prelude::*;

/// Loss and gradient of one row.
fn row<T: Scalar, L: Loss<T>>(loss: L, logits: &[T], label: u32) -> (f64, Vec<f64>) {
    let labels = [label];
    let batch = Batch::new(Matrix::new(logits, logits.len()).unwrap(), &labels);
    let mut grad = vec![T::ZERO; logits.len()];
    let outcome = Objective::base(loss).evaluate(&batch, &mut grad, &mut Scratch::default()).unwrap();
    (outcome.base, grad.iter().map(|g| g.to_f64()).collect())
}

fn near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * (1.0 + expected.abs())
}

fn all_near(found: &[f64], expected: &[f64], tolerance: f64) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(&f, &e)| near(f, e, tolerance))
}

fn matrix(rows: &[Vec<f64>]) -> Transition {
    Transition::try_from(rows.to_vec()).unwrap()
}

proptest! {
    /// The mean over the noise is cross-entropy on the true class, loss and gradient.
    #[test]
    fn backward_is_unbiased(logits in vec(-20.0..20.0f64, 4), numbers in vec(0.01..1.0f64, 16)) {
        let rows = naive::transition(4, &numbers);
        let loss = Backward::new(matrix(&rows));
        for (class, row_of_class) in rows.iter().enumerate() {
            let (mut value, mut grad) = (0.0, vec![0.0; 4]);
            for (label, probability) in row_of_class.iter().enumerate() {
                let (of_label, slopes) = row(&loss, &logits, label as u32);
                value += probability * of_label;
                grad.iter_mut().zip(slopes).for_each(|(g, slope)| *g += probability * slope);
            }
            let (expected, slopes) = row(CrossEntropy, &logits, class as u32);
            prop_assert!(near(value, expected, 1e-11), "{value} {expected}");
            prop_assert!(all_near(&grad, &slopes, 1e-11), "{grad:?} {slopes:?}");
        }
    }

    /// Natarajan's form for two classes.
    #[test]
    fn backward_of_two_classes_is_lnl(logits in vec(-20.0..20.0f64, 2), rates in vec(0.0..0.45f64, 2)) {
        let loss = Backward::new(matrix(&[vec![1.0 - rates[0], rates[0]], vec![rates[1], 1.0 - rates[1]]]));
        for y in 0..2 {
            let plain = |y: usize| row(CrossEntropy, &logits, y as u32).0;
            let (found, _) = row(&loss, &logits, y as u32);
            let expected =
                ((1.0 - rates[1 - y]) * plain(y) - rates[y] * plain(1 - y)) / (1.0 - rates[0] - rates[1]);
            prop_assert!(near(found, expected, 1e-11), "{found} {expected}");
        }
    }

    /// A model that says what is true has the observed labels' own entropy, and the gradient holds s against the posterior.
    #[test]
    fn forward_compares_with_the_posterior(logits in vec(-20.0..20.0f64, 3), numbers in vec(0.01..1.0f64, 9)) {
        let rows = naive::transition(3, &numbers);
        let (loss, s) = (Forward::new(&matrix(&rows)), naive::softmax(&logits));
        for y in 0..3 {
            let (value, grad) = row(&loss, &logits, y as u32);
            let observed: f64 = (0..3).map(|k| s[k] * rows[k][y]).sum();
            let expected: Vec<f64> = (0..3).map(|k| s[k] - s[k] * rows[k][y] / observed).collect();
            prop_assert!(near(value, -observed.ln(), 1e-12) && all_near(&grad, &expected, 1e-12), "{grad:?} {expected:?}");
        }
    }

    /// Without noise both corrections are cross-entropy, to the digits that a learned row has left.
    #[test]
    fn without_noise_the_corrections_are_cross_entropy(logits in vec(-40.0..40.0f64, 3), label in 0u32..3) {
        let none = Transition::uniform(3, 0.0).unwrap();
        let (expected, slopes) = row(CrossEntropy, &logits, label);
        for (value, grad) in [row(Forward::new(&none), &logits, label), row(Backward::new(none.clone()), &logits, label)] {
            prop_assert!((value / expected - 1.0).abs() < 1e-9, "{value} {expected}");
            prop_assert!(all_near(&grad, &slopes, 1e-12), "{grad:?} {slopes:?}");
        }
    }

    /// Normalised, the losses of all labels together are one; each lies between zero and one.
    #[test]
    fn normalised_cross_entropy_is_bounded(logits in vec(-1e4..1e4f64, 2..6usize)) {
        let loss = Apl::new(1.0, 0.0).unwrap();
        let values: Vec<f64> = (0..logits.len() as u32).map(|label| row(loss, &logits, label).0).collect();
        prop_assert!(values.iter().all(|value| (-1e-15..=1.0 + 1e-15).contains(value)), "{values:?}");
        prop_assert!(near(values.iter().sum(), 1.0, 1e-12), "{values:?}");
    }

    /// A label drawn from the prior itself, at β = 1, is worth nothing on average.
    #[test]
    fn cores_rewards_sure_predictions(logits in vec(-20.0..20.0f64, 3), counts in vec(1.0..100.0f64, 3)) {
        let rows: f64 = counts.iter().sum();
        let loss = Cores::new(1.0, &counts).unwrap();
        let mean: f64 = (0..3).map(|y| counts[y as usize] / rows * row(&loss, &logits, y).0).sum();
        prop_assert!(mean.abs() < 1e-11, "{mean}");
    }

    /// The sieve is the sign of the adjusted loss with all classes alike.
    #[test]
    fn the_sieve_keeps_rows_of_negative_loss(logits in vec(-1e4..1e4f32, 12), labels in vec(0u32..4, 3)) {
        let kept = Cores::sieve(Matrix::new(&logits, 4).unwrap(), &labels).unwrap();
        let loss = Cores::new(1.0, &[1.0; 4]).unwrap();
        for ((kept, logits), &label) in kept.iter().zip(logits.chunks(4)).zip(&labels) {
            let wide: Vec<f64> = logits.iter().map(|&u| f64::from(u)).collect();
            prop_assert_eq!(*kept, row(&loss, &wide, label).0 < 0.0);
        }
    }

    #[test]
    fn bootstrapping_with_the_label_alone_is_cross_entropy(logits in vec(-20.0..20.0f64, 3), label in 0u32..3) {
        let expected = row(CrossEntropy, &logits, label);
        for (value, grad) in [
            row(BootstrapSoft::new(1.0).unwrap(), &logits, label),
            row(BootstrapHard::new(1.0).unwrap(), &logits, label),
        ] {
            prop_assert!(near(value, expected.0, 1e-12) && all_near(&grad, &expected.1, 1e-12));
        }
    }

    /// The whole of VolMinNet by its free parameters, against differences.
    #[test]
    fn the_learned_matrix_has_the_right_gradient(
        logits in vec(-4.0..4.0f64, 12),
        labels in vec(0u32..3, 4),
        moved in vec(-1.5..1.5f64, 9),
        shares in vec(0.1..1.0f64, 4),
    ) {
        let mut learned = LearnedTransition::new(3, 0.7).unwrap();
        learned.parameters_mut().iter_mut().zip(&moved).for_each(|(w, by)| *w += by);
        let logits = Matrix::new(&logits, 3).unwrap();
        let whole = |learned: &LearnedTransition| {
            let transition = learned.transition().unwrap();
            let loss = VolMin::new(0.3, transition.clone()).unwrap();
            let of_row = |i: usize| shares[i] * row(loss.forward(), logits.row(i), labels[i]).0;
            let t: Vec<Vec<f64>> = (0..3).map(|k| transition.row(k).to_vec()).collect();
            let determinant = t[0][0] * (t[1][1] * t[2][2] - t[1][2] * t[2][1])
                - t[0][1] * (t[1][0] * t[2][2] - t[1][2] * t[2][0])
                + t[0][2] * (t[1][0] * t[2][1] - t[1][1] * t[2][0]);
            assert!(near(loss.volume(), 0.3 * determinant.abs().ln(), 1e-10));
            (0..4).map(of_row).sum::<f64>() + loss.volume()
        };
        let loss = VolMin::new(0.3, learned.transition().unwrap()).unwrap();
        let by_entries = loss.gradient_by_transition(logits, &labels, &shares).unwrap();
        let grad = learned.gradient(&by_entries).unwrap();
        for (j, found) in grad.iter().enumerate() {
            let mut other = learned.clone();
            let slope = naive::derivative(1e-4, |step| {
                other.parameters_mut()[j] = learned.parameters()[j] + step;
                whole(&other)
            });
            prop_assert!(near(*found, slope, 1e-6), "{j}: gradient {found}, differences {slope}");
        }
    }
}

/// A row whose label no likely class is observed as: the probabilities underflow, their logarithms do not.
#[test]
fn forward_is_exact_where_probabilities_underflow() {
    fn check<T: Scalar>(tolerance: f64) {
        let rows = [vec![0.9, 0.1, 0.0], vec![0.0, 0.9, 0.1], vec![0.1, 0.0, 0.9]];
        let loss = Forward::new(&matrix(&rows));
        let logits = [-1e4, -9.99e3, 1e4].map(T::from_f64);
        // Class 1 is observed as itself by classes 0 and 1: log (0.1 exp(-20000) + 0.9 exp(-19990)).
        let (value, grad) = row(&loss, &logits, 1);
        let expected = 19990.0 - (0.9f64 + 0.1 * (-10f64).exp()).ln();
        assert!((value / expected - 1.0).abs() < tolerance, "{value} {expected}");
        let posterior = [0.1 * (-10f64).exp() / (0.9 + 0.1 * (-10f64).exp()), 0.0, 0.0];
        let expected = [-posterior[0], posterior[0] - 1.0, 1.0];
        assert!(grad.iter().zip(expected).all(|(g, e)| (g - e).abs() < tolerance), "{grad:?} {expected:?}");
    }
    check::<f64>(1e-12);
    check::<f32>(1e-6);
}

#[test]
fn a_learned_matrix_begins_as_asked() {
    for (classes, kept) in [(2, 0.9), (10, 0.5), (100, 0.2)] {
        let transition = LearnedTransition::new(classes, kept).unwrap().transition().unwrap();
        let other = (1.0 - kept) / (classes - 1) as f64;
        assert!((transition.probability(1, 1) - kept).abs() < 1e-12);
        assert!((transition.probability(1, 0) - other).abs() < 1e-12);
    }
}

/// A likely class that is never observed as the label has no finite slope: the least noise would make all the difference.
#[test]
fn a_gradient_by_the_matrix_that_is_no_number_is_refused() {
    let rows = [vec![0.9, 0.1, 0.0], vec![0.0, 0.9, 0.1], vec![0.1, 0.0, 0.9]];
    let loss = VolMin::new(1e-4, matrix(&rows)).unwrap();
    let logits = Matrix::new(&[-1e4, -9.99e3, 1e4], 3).unwrap();
    let error = loss.gradient_by_transition(logits, &[1], &[1.0]).unwrap_err().to_string();
    assert!(error.contains("gradient by the transition matrix at row 0, column 2 is -inf"), "{error}");
}
