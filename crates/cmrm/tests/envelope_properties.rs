//! What holds for the envelope whatever the numbers: threshold, weights, signs, bounds, and independence of order.

mod naive;

use cmrm::envelope::{
    Batch, Envelope, EnvelopeConfig, MarginKind, Normaliser, Objective, Outcome, Preset, QuantileKind, Scratch, Start,
    couple, threshold,
};
use cmrm::loss::{BaseLoss, LossConfig};
use cmrm::{Matrix, Scalar};
use proptest::prelude::*;
use proptest::sample::select;

const MARGINS: [MarginKind; 3] = [MarginKind::Probability, MarginKind::Logit, MarginKind::Loss];
const QUANTILES: [QuantileKind; 2] = [QuantileKind::Conformal, QuantileKind::Interpolated];
const NORMALISERS: [Normaliser; 2] = [Normaliser::Mean, Normaliser::Weights];

fn config(alpha: f64, temperature: f64) -> EnvelopeConfig {
    EnvelopeConfig {
        lambda: 1.0,
        alpha,
        temperature,
        margin: MarginKind::Probability,
        quantile: QuantileKind::Conformal,
        normaliser: Normaliser::Mean,
        start: Start::Epoch(0),
        ..Preset::Paper.config(&LossConfig::CrossEntropy)
    }
}

fn configs() -> impl Strategy<Value = EnvelopeConfig> {
    (alphas(), 0.05..3.0f64, select(&MARGINS[..]), select(&QUANTILES[..]), select(&NORMALISERS[..])).prop_map(
        |(alpha, temperature, margin, quantile, normaliser)| EnvelopeConfig {
            margin,
            quantile,
            normaliser,
            ..config(alpha, temperature)
        },
    )
}

/// Inside (0, 1), often at its very ends.
fn alphas() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.01..0.99f64,
        1 => select(vec![f64::MIN_POSITIVE, 1e-12, 1.0 - 1e-12, 1.0 - f64::EPSILON / 2.0]),
    ]
}

/// Margins of probabilities; some on a coarse grid, so that there are ties.
fn margins() -> impl Strategy<Value = Vec<f64>> {
    let margin = prop_oneof![(-4i32..=4).prop_map(|k| f64::from(k) / 4.0), -1.0..1.0f64];
    proptest::collection::vec(margin, 1..40)
}

/// Risk, threshold, weights and slopes of given margins.
fn coupled<T: Scalar>(envelope: &Envelope, margins: &[T]) -> (T, f64, Vec<T>, Vec<T>) {
    let (mut weights, mut slopes) = (vec![T::ZERO; margins.len()], vec![T::ZERO; margins.len()]);
    let (tau, risk) =
        couple(envelope, margins, &vec![0; margins.len()], None, &mut weights, &mut slopes, &mut Vec::new());
    (tau, risk, weights, slopes)
}

/// A batch of logits, labels and a loss of each kind.
#[derive(Debug, Clone)]
struct Sample {
    classes: usize,
    logits: Vec<f64>,
    labels: Vec<u32>,
    loss: BaseLoss,
}

fn samples() -> impl Strategy<Value = Sample> {
    (2usize..7, 1usize..30).prop_flat_map(|(classes, rows)| {
        let losses = vec![
            LossConfig::CrossEntropy,
            LossConfig::Focal { gamma: 2.0 },
            LossConfig::Gce { q: 0.7 },
            LossConfig::Sce { alpha: 0.1, beta: 1.0 },
            LossConfig::LabelSmoothing { epsilon: 0.1 },
            LossConfig::Elr { lambda: 3.0, beta: 0.7 },
            LossConfig::Ldam { max_margin: 0.5, scale: 30.0 },
            LossConfig::Hinge,
        ];
        let counts: Vec<f64> = (0..classes).map(|j| 3.0 * j as f64).collect();
        (
            proptest::collection::vec(-5.0..5.0f64, rows * classes),
            proptest::collection::vec(0..classes as u32, rows),
            select(losses).prop_map(move |loss| loss.validate(&counts).unwrap()),
        )
            .prop_map(move |(logits, labels, loss)| Sample { classes, logits, labels, loss })
    })
}

fn evaluate<T: Scalar>(
    loss: &BaseLoss,
    config: EnvelopeConfig,
    classes: usize,
    logits: &[T],
    labels: &[u32],
) -> (Outcome<T>, Vec<T>, Scratch<T>) {
    let objective = Objective::with_envelope(loss, config.validate().unwrap());
    let mut grad = vec![T::ZERO; logits.len()];
    let mut scratch = Scratch::default();
    let batch = Batch::new(Matrix::new(logits, classes).unwrap(), labels);
    let outcome = objective.evaluate(&batch, &mut grad, &mut scratch).unwrap();
    (outcome, grad, scratch)
}

proptest! {
    #[test]
    fn the_threshold_is_that_of_the_sorted_margins(margins in margins(), alpha in alphas()) {
        for kind in QUANTILES {
            let found = threshold(&margins, alpha, kind, &mut Vec::new()).unwrap();
            let expected = naive::tau(&margins, alpha, kind);
            prop_assert!((found - expected).abs() <= 1e-15, "{kind:?}: {found}, expected {expected}");
        }
        // An order statistic is one of the margins, and splits them as it should.
        let tau = threshold(&margins, alpha, QuantileKind::Conformal, &mut Vec::new()).unwrap();
        let m = margins.len();
        let k = ((alpha * (m as f64 + 1.0)).ceil() as usize).clamp(1, m);
        prop_assert!(margins.contains(&tau));
        prop_assert!(margins.iter().filter(|&&x| x < tau).count() < k);
        prop_assert!(margins.iter().filter(|&&x| x <= tau).count() >= k);
    }

    /// Rows of every length, whole blocks and remainders alike, with equal logits among them.
    #[test]
    fn a_row_of_any_length_is_summarised_as_by_hand(
        logits in proptest::collection::vec(prop_oneof![(-3i32..=3).prop_map(f64::from), -9.0..9.0f64], 2..70),
        label in any::<u32>(),
        scale in select(vec![1.0, 30.0]),
    ) {
        let y = label as usize % logits.len();
        let counts = vec![1.0; logits.len()];
        let loss = LossConfig::Ldam { max_margin: 0.0, scale }.validate(&counts).unwrap();
        let (_, grad, scratch) = evaluate(&loss, config(0.5, 1.0), logits.len(), &logits, &[y as u32]);
        let row = scratch.rows().next().unwrap();
        // Differences before the scale: the other way round, the reference itself loses digits.
        let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let u: Vec<f64> = logits.iter().map(|z| (z - top) * scale).collect();
        let s = naive::softmax(&u);
        prop_assert_eq!((row.label, row.rival), (y, naive::rival(&logits, y)));
        prop_assert_eq!(row.logit_gap, (logits[y] - logits[row.rival]) * scale);
        let others: f64 = (0..s.len()).filter(|&j| j != y).map(|j| s[j]).sum();
        for (found, expected) in [(row.p_label, s[y]), (row.p_rival, s[row.rival]), (row.p_others, others)] {
            prop_assert!((found - expected).abs() <= 1e-14 * expected, "{found} {expected}");
        }
        prop_assert!((row.log_p_label.exp() - s[y]).abs() <= 1e-12 * s[y]);
        // One row: the weight is ½ and the slope of the risk −½(1 + ½M), λ = 1.
        let margin = s[y] - s[row.rival];
        for j in 0..s.len() {
            let at = |k: usize| f64::from(u8::from(j == k));
            let margin_slope = s[y] * at(y) - s[row.rival] * at(row.rival) - margin * s[j];
            let expected = scale * (s[j] - at(y) - 0.5 * (1.0 + 0.5 * margin) * margin_slope);
            prop_assert!((grad[j] - expected).abs() <= 1e-13 * scale, "{j}: {} {expected}", grad[j]);
        }
    }

    #[test]
    fn alpha_at_the_ends_takes_the_extreme_margins(margins in margins()) {
        let smallest = margins.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for kind in QUANTILES {
            let low = threshold(&margins, f64::MIN_POSITIVE, kind, &mut Vec::new()).unwrap();
            let high = threshold(&margins, 1.0 - f64::EPSILON / 2.0, kind, &mut Vec::new()).unwrap();
            prop_assert!((low - smallest).abs() < 1e-12 && (high - largest).abs() < 1e-12, "{kind:?} {low} {high}");
        }
    }

    #[test]
    fn equal_margins_have_weight_one_half(
        margin in -1.0..1.0f64,
        rows in 1usize..20,
        config in configs(),
    ) {
        let (tau, risk, weights, _) = coupled(&config.validate().unwrap(), &vec![margin; rows]);
        prop_assert_eq!(tau, margin);
        prop_assert!(weights.iter().all(|&w| w == 0.5));
        let expected = if config.normaliser == Normaliser::Mean { -margin / 2.0 } else { -margin };
        prop_assert!((risk - expected).abs() < 1e-15 * rows as f64);
    }

    #[test]
    fn one_row_is_its_own_threshold(sample in samples(), config in configs()) {
        let (outcome, _, scratch) =
            evaluate(&sample.loss, config, sample.classes, &sample.logits[..sample.classes], &sample.labels[..1]);
        prop_assert_eq!(outcome.tau, Some(scratch.margins()[0]));
        prop_assert_eq!(scratch.weights(), &[0.5][..]);
    }

    #[test]
    fn the_order_of_rows_does_not_matter(sample in samples(), config in configs(), seed in any::<u64>()) {
        let Sample { classes, logits, labels, loss } = &sample;
        let mut order: Vec<usize> = (0..labels.len()).collect();
        cmrm::rng::Rng::new(seed, 0).shuffle(&mut order);
        let moved: Vec<f64> = order.iter().flat_map(|&i| logits[i * classes..(i + 1) * classes].to_vec()).collect();
        let moved_labels: Vec<u32> = order.iter().map(|&i| labels[i]).collect();
        let (before, grad, scratch) = evaluate(loss, config, *classes, logits, labels);
        let (after, moved_grad, moved_scratch) = evaluate(loss, config, *classes, &moved, &moved_labels);
        prop_assert_eq!(before.tau, after.tau);
        prop_assert!((before.total - after.total).abs() <= 1e-13 * (1.0 + before.total.abs()));
        for (i, &from) in order.iter().enumerate() {
            prop_assert_eq!(moved_scratch.margins()[i], scratch.margins()[from]);
            prop_assert_eq!(moved_scratch.weights()[i], scratch.weights()[from]);
            for j in 0..*classes {
                let (a, b) = (moved_grad[i * classes + j], grad[from * classes + j]);
                prop_assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{a} {b}");
            }
        }
    }

    #[test]
    fn every_row_of_the_gradient_sums_to_zero(sample in samples(), config in configs()) {
        // All losses and margins only see differences of logits.
        let (_, grad, _) = evaluate(&sample.loss, config, sample.classes, &sample.logits, &sample.labels);
        for row in grad.chunks(sample.classes) {
            let size: f64 = row.iter().map(|g| g.abs()).sum();
            prop_assert!(row.iter().sum::<f64>().abs() <= 1e-13 * (1.0 + size), "{row:?}");
        }
    }

    #[test]
    fn weights_lie_inside_and_sum_to_at_least_one_half(sample in samples(), config in configs()) {
        let single: Vec<f32> = sample.logits.iter().map(|&z| z as f32).collect();
        let (outcome, _, scratch) = evaluate(&sample.loss, config, sample.classes, &sample.logits, &sample.labels);
        let (_, _, scratch32) = evaluate(&sample.loss, config, sample.classes, &single, &sample.labels);
        prop_assert!(scratch.weights().iter().sum::<f64>() >= 0.5);
        prop_assert!(scratch32.weights().iter().sum::<f32>() >= 0.5);
        let bounded = config.margin == MarginKind::Probability;
        // Margins are at most two apart; beyond 36 temperatures 1 − w is less than half a unit in the last place of one.
        let strictly_inside = bounded && 2.0 / config.temperature < 36.0;
        for &w in scratch.weights() {
            prop_assert!((0.0..=1.0).contains(&w) && (!bounded || w > 0.0) && (!strictly_inside || w < 1.0), "{w}");
        }
        if bounded {
            let bound = 1.0 + 1e-12;
            prop_assert!(scratch.margins().iter().all(|m| m.abs() <= bound) && outcome.risk.abs() <= bound);
        }
    }

    #[test]
    fn a_gentle_filter_keeps_weights_between_an_eighth_and_seven_eighths(margins in margins(), alpha in alphas()) {
        let (_, _, weights, _) = coupled(&config(alpha, 1.0).validate().unwrap(), &margins);
        prop_assert!(weights.iter().all(|&w| w > 0.119 && w < 0.881), "{weights:?}");
    }

    #[test]
    fn the_mean_form_never_pushes_a_row_from_its_label(margins in margins(), alpha in alphas(), temp in 1.0..3.0f64) {
        let (_, _, weights, slopes) = coupled(&config(alpha, temp).validate().unwrap(), &margins);
        let m = margins.len() as f64;
        for ((&margin, w), slope) in margins.iter().zip(weights).zip(slopes) {
            prop_assert!(slope < 0.0);
            let expected = -(w / m) * (1.0 + margin * (1.0 - w) / temp);
            prop_assert!((slope - expected).abs() <= 1e-14, "{slope} {expected}");
        }
    }

    #[test]
    fn the_weighted_form_pushes_low_rows_from_their_label(
        margins in proptest::collection::vec(-20.0..20.0f64, 1..30),
        alpha in alphas(),
        temp in 0.2..3.0f64,
    ) {
        let envelope = EnvelopeConfig { normaliser: Normaliser::Weights, ..config(alpha, temp) }.validate().unwrap();
        let (_, risk, weights, slopes) = coupled(&envelope, &margins);
        let average = -risk;
        let sum: f64 = weights.iter().sum();
        for ((&margin, w), slope) in margins.iter().zip(weights).zip(slopes) {
            let bend = 1.0 + (1.0 - w) * (margin - average) / temp;
            prop_assert!((slope + w * bend / sum).abs() <= 1e-12 * (1.0 + bend.abs()), "{slope}");
            if bend.abs() > 1e-9 && w > 0.0 {
                prop_assert_eq!(slope < 0.0, bend > 0.0);
            }
        }
    }

    #[test]
    fn the_total_moves_slowly_with_the_threshold(
        margins in margins(),
        tau in -1.0..1.0f64,
        temp in 0.05..3.0f64,
        lambda in 0.0..5.0f64,
    ) {
        let config = EnvelopeConfig { lambda, ..config(0.5, temp) };
        let v = vec![1.0; margins.len()];
        let slope = naive::derivative(1e-3 * temp, |step| lambda * naive::risk(&margins, &v, tau + step, &config));
        prop_assert!(slope.abs() <= lambda / (4.0 * temp) + 1e-9, "{slope}");
    }

    #[test]
    fn the_soft_filter_is_near_the_hard_one(gap in -50.0..50.0f64, temp in 0.05..3.0f64) {
        let hard = if gap >= 0.0 { 1.0 } else { 0.0 };
        prop_assert!((hard - Scalar::sigmoid(gap / temp)).abs() <= (-gap.abs() / temp).exp() * (1.0 + 1e-12) + f64::EPSILON);
        let soft = f64::from(Scalar::sigmoid((gap / temp) as f32));
        prop_assert!((hard - soft).abs() <= (-gap.abs() / temp).exp() * (1.0 + 1e-4) + 1e-7);
    }
}

/// In the authors' form a row far below the others is pushed away from its observed label; in the paper's it is not.
#[test]
fn the_two_presets_differ_in_the_direction_of_a_low_row() {
    let logits = [4.0, 0.0, 3.5, 0.0, 4.5, 0.0, -2.0, 0.0];
    let labels = [0, 0, 0, 0];
    let at_label = |margin: MarginKind, normaliser: Normaliser| {
        let config = EnvelopeConfig { margin, normaliser, lambda: 1000.0, ..config(0.15, 1.0) };
        let (_, grad, _) = evaluate(&LossConfig::CrossEntropy.validate(&[]).unwrap(), config, 2, &logits, &labels);
        grad[6]
    };
    assert!(at_label(MarginKind::Logit, Normaliser::Weights) > 0.0);
    assert!(at_label(MarginKind::Probability, Normaliser::Mean) < 0.0);
}

/// The feature splits large batches over threads; neither results nor errors may depend on the split.
#[cfg(feature = "rayon")]
mod threads {
    use super::*;
    use cmrm::rng::Rng;

    fn batch<T: Scalar>(rows: usize, classes: usize) -> (Vec<T>, Vec<u32>, Vec<T>) {
        let mut rng = Rng::new(7, 1);
        let logits = (0..rows * classes).map(|_| T::from_f64(8.0 * rng.uniform() - 4.0)).collect();
        let labels = (0..rows).map(|_| rng.below(classes) as u32).collect();
        let weights = (0..rows).map(|_| T::from_f64(rng.uniform())).collect();
        (logits, labels, weights)
    }

    fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
    }

    fn check<T: Scalar>(bits: fn(&[T]) -> Vec<u64>) {
        for (rows, classes) in [(3001, 100), (40_000, 2), (700, 1000)] {
            let (logits, labels, weights) = batch::<T>(rows, classes);
            let counts = vec![5.0; classes];
            for loss in [LossConfig::CrossEntropy, LossConfig::Ldam { max_margin: 0.5, scale: 30.0 }] {
                let loss = loss.validate(&counts).unwrap();
                for (margin, row_weights) in MARGINS.into_iter().zip([None, Some(&weights[..]), None]) {
                    let objective = Objective::with_envelope(
                        &loss,
                        EnvelopeConfig { margin, ..config(0.3, 0.5) }.validate().unwrap(),
                    );
                    let run = |threads: usize| {
                        on_threads(threads, || {
                            let logits = Matrix::new(&logits, classes).unwrap();
                            let mut grad = vec![T::ZERO; logits.values().len()];
                            let mut scratch = Scratch::default();
                            let batch = Batch::new(logits, &labels).with_row_weights(row_weights);
                            let outcome = objective.evaluate(&batch, &mut grad, &mut scratch).unwrap();
                            (outcome, bits(&grad), bits(scratch.margins()), bits(scratch.weights()))
                        })
                    };
                    assert!(run(1) == run(4), "{rows} × {classes}, {margin:?}");
                }
            }
        }
    }

    #[test]
    fn the_split_does_not_change_a_bit() {
        check::<f32>(|x| x.iter().map(|v| u64::from(v.to_bits())).collect());
        check::<f64>(|x| x.iter().map(|v| v.to_bits()).collect());
    }

    #[test]
    fn the_first_bad_row_is_reported() {
        let (mut logits, mut labels, _) = batch::<f32>(5000, 50);
        logits[1234 * 50 + 7] = f32::NAN;
        logits[4321 * 50] = f32::NAN;
        let loss = LossConfig::CrossEntropy.validate(&[]).unwrap();
        let error = |labels: &[u32], threads| {
            on_threads(threads, || {
                let mut grad = vec![0.0; logits.len()];
                let batch = Batch::new(Matrix::new(&logits, 50).unwrap(), labels);
                Objective::base(&loss).evaluate(&batch, &mut grad, &mut Scratch::default()).unwrap_err()
            })
        };
        for threads in [1, 4] {
            assert_eq!(error(&labels, threads), cmrm::Error::non_finite("logit", 1234, 7, f64::NAN));
        }
        // A label that is no class comes before any logit, wherever it stands.
        labels[4999] = 50;
        for threads in [1, 4] {
            assert_eq!(error(&labels, threads), cmrm::Error::Label { row: 4999, label: 50, classes: 50 });
        }
    }
}
