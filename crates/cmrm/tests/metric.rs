//! Metrics against reference values, and the invariances they must have.
//!
//! The reference values were computed with scikit-learn 1.9.1; the call stands beside each.

use cmrm::metric::*;
use cmrm::{Error, Matrix};
use proptest::prelude::*;

const LABELS: [u32; 12] = [0, 0, 1, 2, 2, 1, 0, 3, 1, 2, 0, 1];
#[rustfmt::skip]
const PROBABILITIES: [f64; 48] = [
    0.7, 0.1, 0.1, 0.1,      0.18, 0.5, 0.2, 0.12,    0.1, 0.8, 0.05, 0.05,    0.3, 0.3, 0.35, 0.05,
    0.05, 0.6, 0.25, 0.1,    0.25, 0.4, 0.3, 0.05,    0.9, 0.05, 0.03, 0.02,   0.1, 0.2, 0.3, 0.4,
    0.45, 0.35, 0.15, 0.05,  0.0, 0.02, 0.98, 0.0,    0.52, 0.28, 0.12, 0.08,  0.15, 0.6, 0.2, 0.05,
];
const PREDICTED: [u32; 12] = [0, 1, 1, 2, 1, 1, 0, 3, 0, 2, 0, 1];
const BINARY: [u32; 10] = [0, 1, 1, 0, 1, 0, 0, 1, 0, 1];
const SCORES: [f64; 10] = [0.1, 0.4, 0.35, 0.8, 0.8, 0.2, 0.4, 0.9, 0.05, 0.4];

fn probabilities() -> Matrix<'static, f64> {
    Matrix::new(&PROBABILITIES, 4).unwrap()
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "found {found}, expected {expected}");
}

#[test]
fn classes_agree_with_scikit_learn() {
    assert_eq!(predicted_classes(probabilities()).unwrap(), PREDICTED);
    close(accuracy(&PREDICTED, &LABELS).unwrap(), 0.75); // accuracy_score
    close(balanced_accuracy(&PREDICTED, &LABELS, 4).unwrap(), 0.7916666666666666); // balanced_accuracy_score
    close(macro_f1(&PREDICTED, &LABELS, 4).unwrap(), 0.8041666666666667); // f1_score(average="macro")
    let confusion = Confusion::new(&PREDICTED, &LABELS, 4).unwrap(); // confusion_matrix
    assert_eq!(confusion.counts(), [3, 1, 0, 0, 1, 3, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1]);
    assert_eq!(confusion.count(2, 1).unwrap(), 1);
    // top_k_accuracy_score(k=1, 2, 3)
    for (k, share) in [(1, 0.75), (2, 0.9166666666666666), (3, 1.0), (9, 1.0)] {
        close(top_k_accuracy(probabilities(), &LABELS, k).unwrap(), share);
    }
}

#[test]
fn classes_without_rows_are_left_out_of_the_means() {
    let (labels, predicted) = ([0, 0, 2, 2, 2], [0, 1, 2, 2, 0]);
    close(balanced_accuracy(&predicted, &labels, 5).unwrap(), 0.5833333333333333); // balanced_accuracy_score
    close(macro_f1(&predicted, &labels, 5).unwrap(), 0.43333333333333335); // f1_score(average="macro")
    let confusion = Confusion::new(&predicted, &labels, 5).unwrap();
    assert_eq!(confusion.recalls(), [Some(0.5), None, Some(2.0 / 3.0), None, None]);
    assert_eq!(confusion.precisions(), [Some(0.5), Some(0.0), Some(1.0), None, None]);
}

#[test]
fn binary_metrics_agree_with_scikit_learn() {
    close(auroc(&SCORES, &BINARY).unwrap(), 0.78); // roc_auc_score
    close(average_precision(&SCORES, &BINARY).unwrap(), 0.7428571428571429); // average_precision_score
    close(binary_brier(&SCORES, &BINARY).unwrap(), 0.2045); // brier_score_loss
    // confusion_matrix(labels, scores >= 0.4)
    let counts = BinaryCounts::at_threshold(&SCORES, &BINARY, 0.4).unwrap();
    let expected = BinaryCounts { true_positives: 4, false_positives: 2, true_negatives: 3, false_negatives: 1 };
    assert_eq!(counts, expected);
    close(counts.false_positive_rate().unwrap(), 0.4);
    close(counts.false_negative_rate().unwrap(), 0.2);
    let decided: Vec<u32> = SCORES.iter().map(|&s| u32::from(s >= 0.4)).collect();
    close(false_positive_rate(&decided, &BINARY).unwrap(), 0.4);
    close(false_negative_rate(&decided, &BINARY).unwrap(), 0.2);
}

#[test]
fn probability_metrics_agree_with_scikit_learn() {
    close(log_loss(probabilities(), &LABELS).unwrap(), 0.7419543592798687); // log_loss
    close(brier(probabilities(), &LABELS).unwrap(), 0.4104999999999999); // brier_score_loss(scale_by_half=False)
    // log_loss([0, 1], [[1, 0], [1, 0]]): an impossible row costs −log of the f64 epsilon.
    close(log_loss(Matrix::new(&[1.0, 0.0, 1.0, 0.0], 2).unwrap(), &[0, 1]).unwrap(), 18.021826694558577);
    // numpy: mean over bins (b/B, (b+1)/B] of the confidence, as documented.
    for (bins, error) in [(1, 0.15), (2, 0.15), (5, 0.2616666666666667), (10, 0.3083333333333333)] {
        close(expected_calibration_error(probabilities(), &LABELS, bins).unwrap(), error);
    }
}

#[test]
fn a_thousand_rows_agree_with_scikit_learn() {
    // i = numpy.arange(1000); s = i*7919 % 101 / 101; y = ((i*31 + i*i % 23) % 17 + 5*(s > .5) > 10)
    let scores: Vec<f64> = (0..1000).map(|i| f64::from(i * 7919 % 101) / 101.0).collect();
    let labels: Vec<u32> = (0..1000u32)
        .map(|i| u32::from((i * 31 + i * i % 23) % 17 + 5 * u32::from(scores[i as usize] > 0.5) > 10))
        .collect();
    assert_eq!(labels.iter().sum::<u32>(), 508);
    close(auroc(&scores, &labels).unwrap(), 0.6332601145893348);
    close(average_precision(&scores, &labels).unwrap(), 0.6059044608159402);
    close(binary_brier(&scores, &labels).unwrap(), 0.2668537398294285);

    // w[:, k] = i*a % b + 1 for the five (a, b); p = w / w.sum(1); y = (i*i + 3*i) % 5, which is never 1 or 2.
    let mut p = Vec::new();
    for i in 0..1000u32 {
        let row = [(37, 19), (53, 29), (71, 31), (97, 43), (11, 7)].map(|(a, b)| f64::from(i * a % b + 1));
        let sum: f64 = row.iter().sum();
        p.extend(row.map(|w| w / sum));
    }
    let labels: Vec<u32> = (0..1000).map(|i| (i * i + 3 * i) % 5).collect();
    let p = Matrix::new(&p, 5).unwrap();
    let predicted = predicted_classes(p).unwrap();
    close(accuracy(&predicted, &labels).unwrap(), 0.225);
    close(balanced_accuracy(&predicted, &labels, 5).unwrap(), 0.1875);
    close(macro_f1(&predicted, &labels, 5).unwrap(), 0.10821337602794556);
    close(log_loss(p, &labels).unwrap(), 1.961690003308615);
    close(brier(p, &labels).unwrap(), 0.8994690172646176);
    close(expected_calibration_error(p, &labels, 15).unwrap(), 0.19040434732763634);
}

#[test]
fn ties_count_half_and_f32_is_accepted() {
    assert_eq!(auroc(&[0.5f32; 4], &[0, 1, 1, 0]).unwrap(), 0.5);
    assert_eq!(auroc(&[-0.0, 0.0], &[0, 1]).unwrap(), 0.5, "both zeros are the same score");
    assert_eq!(auroc(&[f64::MIN, f64::MAX], &[0, 1]).unwrap(), 1.0);
    assert_eq!(average_precision(&[0.5f32; 4], &[0, 1, 1, 0]).unwrap(), 0.5);
    assert_eq!(predicted_classes(Matrix::new(&[1.0f32, 1.0, 0.0], 3).unwrap()).unwrap(), [0]);
    assert_eq!(top_k_accuracy(Matrix::new(&[1.0f32, 1.0, 0.0], 3).unwrap(), &[1], 1).unwrap(), 0.0);
}

#[test]
fn reliability_bins_are_closed_above() {
    let p = Matrix::new(&[0.5, 0.5, 0.500_1, 0.499_9, 1.0, 0.0], 2).unwrap();
    let bins = reliability(p, &[0, 1, 0], 2).unwrap();
    assert_eq!(bins.iter().map(|bin| bin.rows).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((bins[0].accuracy, bins[0].confidence), (1.0, 0.5));
}

#[test]
fn bad_input_is_an_error_that_says_where() {
    assert!(matches!(accuracy(&[], &[]), Err(Error::Empty { .. })));
    assert!(matches!(accuracy(&[0], &[0, 1]), Err(Error::Shape { expected: 2, found: 1, .. })));
    assert!(matches!(auroc(&[0.1, f64::NAN], &[0, 1]), Err(Error::NonFinite { row: 1, .. })));
    assert!(matches!(auroc(&[0.1, 0.2], &[0, 2]), Err(Error::Label { row: 1, label: 2, classes: 2 })));
    assert!(auroc(&[0.1, 0.2], &[1, 1]).unwrap_err().to_string().contains("none of the 2 rows has label 0"));
    assert!(average_precision(&[0.1, 0.2], &[0, 0]).unwrap_err().to_string().contains("label 1"));
    assert!(false_positive_rate(&[1], &[1]).is_err() && false_negative_rate(&[1], &[0]).is_err());
    let message = Confusion::new(&[0, 3], &[0, 1], 3).unwrap_err().to_string();
    assert!(message.contains("predicted") && message.contains("row 1") && message.contains('3'), "{message}");
    assert!(matches!(Confusion::new(&[0], &[5], 3), Err(Error::Label { row: 0, label: 5, classes: 3 })));
    assert!(Confusion::new(&[0], &[0], usize::MAX).is_err());
    let logits = Matrix::new(&[0.5, 0.5, 3.0, -2.0], 2).unwrap();
    let message = log_loss(logits, &[0, 1]).unwrap_err().to_string();
    assert!(message.contains("row 1, column 0 is 3"), "{message}");
    let short = Matrix::new(&[0.5, 0.3], 2).unwrap();
    assert!(brier(short, &[0]).unwrap_err().to_string().contains("row 0 sums to 0.8"));
    assert!(binary_brier(&[0.5, 1.5], &[0, 1]).is_err());
    assert!(reliability(probabilities(), &LABELS, 0).is_err());
    assert!(reliability(probabilities(), &LABELS, usize::MAX).is_err());
    assert!(top_k_accuracy(probabilities(), &LABELS, 0).is_err());
    assert!(BinaryCounts::at_threshold(&SCORES, &BINARY, f64::NAN).is_err());
    assert!(matches!(predicted_classes(Matrix::<f64>::new(&[], 3).unwrap()), Err(Error::Empty { .. })));
}

/// Scores on a coarse grid, so that ties are common, with both classes present.
fn scored() -> impl Strategy<Value = (Vec<f64>, Vec<u32>)> {
    prop::collection::vec((0..12i32, 0..2u32), 2..60)
        .prop_map(|rows| rows.into_iter().map(|(s, y)| (f64::from(s) / 4.0 - 1.5, y)).unzip())
        .prop_filter("both classes", |(_, y): &(Vec<f64>, Vec<u32>)| y.contains(&0) && y.contains(&1))
}

/// Rows of four probabilities with their labels.
fn distributions() -> impl Strategy<Value = (Vec<[f64; 4]>, Vec<u32>)> {
    prop::collection::vec((prop::array::uniform4(0.01..1.0f64), 0..4u32), 1..40).prop_map(|rows| {
        rows.into_iter()
            .map(|(w, y)| {
                let sum: f64 = w.iter().sum();
                (w.map(|w| w / sum), y)
            })
            .unzip()
    })
}

fn by_pairs(scores: &[f64], labels: &[u32]) -> f64 {
    let (mut sum, mut pairs) = (0.0, 0.0);
    for (a, _) in scores.iter().zip(labels).filter(|(_, y)| **y == 1) {
        for (b, _) in scores.iter().zip(labels).filter(|(_, y)| **y == 0) {
            sum += if a > b { 1.0 } else { f64::from(u8::from(a == b)) / 2.0 };
            pairs += 1.0;
        }
    }
    sum / pairs
}

proptest! {
    #[test]
    fn auroc_counts_pairs_and_ignores_monotone_transforms((scores, labels) in scored()) {
        let area = auroc(&scores, &labels).unwrap();
        prop_assert!((area - by_pairs(&scores, &labels)).abs() < 1e-12);
        let bent: Vec<f64> = scores.iter().map(|s| (3.0 * s).exp() + s).collect();
        prop_assert_eq!(area, auroc(&bent, &labels).unwrap());
        prop_assert_eq!(average_precision(&scores, &labels).unwrap(), average_precision(&bent, &labels).unwrap());
        let turned: Vec<f64> = scores.iter().map(|s| -s).collect();
        prop_assert!((area + auroc(&turned, &labels).unwrap() - 1.0).abs() < 1e-12);
        let swapped: Vec<u32> = labels.iter().map(|y| 1 - y).collect();
        prop_assert!((area + auroc(&scores, &swapped).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn average_precision_is_at_least_the_least_precision((scores, labels) in scored()) {
        let found = average_precision(&scores, &labels).unwrap();
        let positives = labels.iter().filter(|&&y| y == 1).count();
        // Every positive is found with at least one right among all rows.
        prop_assert!(found >= 1.0 / labels.len() as f64 && found <= 1.0);
        // A perfect ranking has area 1, a constant one the base rate.
        let perfect: Vec<f64> = labels.iter().map(|&y| f64::from(y)).collect();
        prop_assert_eq!(average_precision(&perfect, &labels).unwrap(), 1.0);
        let flat = average_precision(&vec![0.0; labels.len()], &labels).unwrap();
        prop_assert!((flat - positives as f64 / labels.len() as f64).abs() < 1e-12);
    }

    #[test]
    fn the_order_of_the_rows_does_not_matter((rows, labels) in distributions(), seed in any::<u64>()) {
        let order = cmrm::rng::Rng::new(seed, 0).permutation(labels.len());
        let moved: Vec<f64> = order.iter().flat_map(|&i| rows[i]).collect();
        let moved_labels: Vec<u32> = order.iter().map(|&i| labels[i]).collect();
        let (a, b) = (Matrix::new(rows.as_flattened(), 4).unwrap(), Matrix::new(&moved, 4).unwrap());
        let (y, z) = (&labels, &moved_labels);
        let (p, q) = (predicted_classes(a).unwrap(), predicted_classes(b).unwrap());
        prop_assert_eq!(Confusion::new(&p, y, 4).unwrap(), Confusion::new(&q, z, 4).unwrap());
        prop_assert_eq!(top_k_accuracy(a, y, 2).unwrap(), top_k_accuracy(b, z, 2).unwrap());
        for (x, w) in [
            (log_loss(a, y).unwrap(), log_loss(b, z).unwrap()),
            (brier(a, y).unwrap(), brier(b, z).unwrap()),
            (expected_calibration_error(a, y, 10).unwrap(), expected_calibration_error(b, z, 10).unwrap()),
        ] {
            prop_assert!((x - w).abs() < 1e-12);
        }
    }

    #[test]
    fn metrics_stay_in_their_ranges((rows, labels) in distributions(), bins in 1..30usize) {
        let p = Matrix::new(rows.as_flattened(), 4).unwrap();
        let predicted = predicted_classes(p).unwrap();
        let share = accuracy(&predicted, &labels).unwrap();
        prop_assert_eq!(share, top_k_accuracy(p, &labels, 1).unwrap());
        let mut before = 0.0;
        for k in 1..=4 {
            let now = top_k_accuracy(p, &labels, k).unwrap();
            prop_assert!(now >= before);
            before = now;
        }
        prop_assert_eq!(before, 1.0);
        prop_assert!((0.0..=1.0).contains(&macro_f1(&predicted, &labels, 4).unwrap()));
        prop_assert!((0.0..=1.0).contains(&balanced_accuracy(&predicted, &labels, 4).unwrap()));
        prop_assert!((0.0..=2.0).contains(&brier(p, &labels).unwrap()));
        let error = expected_calibration_error(p, &labels, bins).unwrap();
        prop_assert!((0.0..=1.0).contains(&error));
        // Splitting bins can only raise the error: with one bin it is the gap of the means.
        prop_assert!(error + 1e-12 >= expected_calibration_error(p, &labels, 1).unwrap());
        prop_assert_eq!(reliability(p, &labels, bins).unwrap().iter().map(|b| b.rows).sum::<usize>(), labels.len());
    }

    #[test]
    fn two_class_brier_is_twice_the_binary_one(rows in prop::collection::vec((0.0..=1.0f64, 0..2u32), 1..30)) {
        let (p, y): (Vec<f64>, Vec<u32>) = rows.into_iter().unzip();
        let both: Vec<f64> = p.iter().flat_map(|&p| [1.0 - p, p]).collect();
        let full = brier(Matrix::new(&both, 2).unwrap(), &y).unwrap();
        prop_assert!((full - 2.0 * binary_brier(&p, &y).unwrap()).abs() < 1e-12);
    }
}
