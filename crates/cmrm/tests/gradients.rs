//! Gradients of every loss × margin × quantile × normaliser, with and without row weights, against finite differences
//! of the plain formulas. No gradient flows through a threshold, so it is held at its value.

mod naive;

use cmrm::Matrix;
use cmrm::envelope::{Batch, EnvelopeConfig, MarginKind, Normaliser, Objective, Preset, QuantileKind, Scratch, Start};
use cmrm::loss::{
    Apl, Backward, BootstrapHard, BootstrapSoft, Cores, CrossEntropy, Focal, Forward, Gce, Hinge, LabelSmoothing, Ldam,
    Logistic, Loss, LossConfig, Sce,
};
use cmrm::noise_model::Transition;
use naive::{Brier, Plain};
use proptest::prelude::*;
use proptest::sample::select;

const MARGINS: [MarginKind; 3] = [MarginKind::Probability, MarginKind::Logit, MarginKind::Loss];
const QUANTILES: [QuantileKind; 2] = [QuantileKind::Conformal, QuantileKind::Interpolated];
const NORMALISERS: [Normaliser; 2] = [Normaliser::Mean, Normaliser::Weights];

/// Logits of the losses without a scale lie within ±4, the others' after scaling.
const LOGIT_RANGE: f64 = 4.0;
/// Step of the differences, in scaled logits.
const STEP: f64 = 1e-3;
/// Distance of a row from the nearest kink, in scaled logits: more than the differences reach.
const CLEAR: f64 = 4.0 * STEP;

#[derive(Debug, Clone)]
struct Sample {
    classes: usize,
    scaled: Vec<f64>,
    labels: Vec<u32>,
    row_weights: Vec<f64>,
    alpha: f64,
    temperature: f64,
    lambda: f64,
}

fn samples(classes: impl Strategy<Value = usize>) -> impl Strategy<Value = Sample> {
    (classes, 1usize..6).prop_flat_map(|(classes, rows)| {
        let numbers = proptest::collection::vec(-LOGIT_RANGE..LOGIT_RANGE, rows * classes);
        let labels = proptest::collection::vec(0..classes as u32, rows);
        let row_weights = proptest::collection::vec(prop_oneof![1 => Just(0.0), 4 => 0.01..3.0f64], rows);
        let settings = (0.01..0.99f64, 0.2..3.0f64, 0.0..3.0f64);
        (numbers, labels, row_weights, settings).prop_filter_map(
            "a kink is near, or no row has a weight",
            move |(scaled, labels, row_weights, (alpha, temperature, lambda))| {
                let sample = Sample { classes, scaled, labels, row_weights, alpha, temperature, lambda };
                sample.is_smooth().then_some(sample)
            },
        )
    })
}

impl Sample {
    /// Far from a change of rival and from the hinge's corner, where the derivative jumps.
    fn is_smooth(&self) -> bool {
        let clear_row = |(u, &y): (&[f64], &u32)| {
            let y = y as usize;
            let strongest = naive::rival(u, y);
            let rivals_apart = (0..u.len()).all(|j| j == y || j == strongest || u[strongest] - u[j] > CLEAR);
            rivals_apart && (1.0 - (u[y] - u[strongest])).abs() > CLEAR
        };
        self.scaled.chunks(self.classes).zip(&self.labels).all(clear_row) && self.row_weights.iter().any(|&v| v > 0.0)
    }

    fn config(&self, margin: MarginKind, quantile: QuantileKind, normaliser: Normaliser) -> EnvelopeConfig {
        EnvelopeConfig {
            lambda: self.lambda,
            alpha: self.alpha,
            temperature: self.temperature,
            margin,
            quantile,
            normaliser,
            start: Start::Epoch(0),
            ..Preset::Paper.config(&LossConfig::CrossEntropy)
        }
    }

    /// Checks one loss in every form of the envelope, with and without row weights.
    fn check<L: Loss<f64>>(&self, loss: &L, plain: &Plain) -> Result<(), TestCaseError> {
        let logits: Vec<f64> = self.scaled.iter().map(|u| u / plain.scale()).collect();
        for margin in MARGINS {
            for quantile in QUANTILES {
                for normaliser in NORMALISERS {
                    let config = self.config(margin, quantile, normaliser);
                    self.check_form(loss, plain, config, &logits, false)?;
                    self.check_form(loss, plain, config, &logits, true)?;
                }
            }
        }
        Ok(())
    }

    fn check_form<L: Loss<f64>>(
        &self,
        loss: &L,
        plain: &Plain,
        config: EnvelopeConfig,
        logits: &[f64],
        weighted: bool,
    ) -> Result<(), TestCaseError> {
        let row_weights = weighted.then_some(&self.row_weights[..]);
        let batch = Batch::new(Matrix::new(logits, self.classes).unwrap(), &self.labels).with_row_weights(row_weights);
        let objective = Objective::with_envelope(loss, config.validate().unwrap());
        let mut grad = vec![f64::NAN; logits.len()];
        let mut scratch = Scratch::default();
        let outcome = objective.evaluate(&batch, &mut grad, &mut scratch).unwrap();
        let tau = outcome.tau.unwrap();

        let v = row_weights.map_or_else(|| vec![1.0; self.labels.len()], <[f64]>::to_vec);
        let margins: Vec<f64> = logits
            .chunks(self.classes)
            .zip(&self.labels)
            .map(|(z, &y)| plain.margin(config.margin, z, y as usize))
            .collect();
        let near = |a: f64, b: f64, tolerance: f64| (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()));
        let expected_tau = naive::tau(&margins, config.alpha, config.quantile);
        prop_assert!(near(tau, expected_tau, 1e-12), "{plain:?} {config:?}: tau {tau}, expected {expected_tau}");
        let parts = |z: &[f64]| naive::base_and_risk(plain, &config, z, self.classes, &self.labels, &v, tau);
        let (base, risk) = parts(logits);
        prop_assert!(near(outcome.base, base, 1e-11), "{plain:?}: base {}, expected {base}", outcome.base);
        prop_assert!(near(outcome.risk, risk, 1e-11), "{config:?}: risk {}, expected {risk}", outcome.risk);
        prop_assert!(near(outcome.total, base + config.lambda * risk, 1e-11));

        let size = grad.iter().fold(0.0f64, |a, g| a.max(g.abs()));
        for j in 0..logits.len() {
            let mut moved = logits.to_vec();
            let slope = naive::derivative(STEP / plain.scale(), |step| {
                moved[j] = logits[j] + step;
                let (base, risk) = parts(&moved);
                base + config.lambda * risk
            });
            prop_assert!(
                (grad[j] - slope).abs() <= 2e-7 * (plain.scale() + size),
                "{plain:?} {config:?} weighted {weighted}, entry {j}: gradient {}, differences {slope}",
                grad[j]
            );
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn cross_entropy(sample in samples(2usize..5)) {
        sample.check(&CrossEntropy, &Plain::CrossEntropy)?;
    }

    #[test]
    fn focal(sample in samples(2usize..5), gamma in prop_oneof![Just(0.0), Just(1.0), Just(2.0), 0.1..5.0f64]) {
        sample.check(&Focal::new(gamma).unwrap(), &Plain::Focal(gamma))?;
    }

    #[test]
    fn generalised_cross_entropy(sample in samples(2usize..5), q in prop_oneof![Just(1.0), 0.05..1.0f64]) {
        sample.check(&Gce::new(q).unwrap(), &Plain::Gce(q))?;
    }

    #[test]
    fn symmetric_cross_entropy(sample in samples(2usize..5), alpha in 0.01..2.0f64, beta in 0.0..2.0f64) {
        sample.check(&Sce::new(alpha, beta).unwrap(), &Plain::Sce(alpha, beta))?;
    }

    #[test]
    fn label_smoothing(sample in samples(2usize..5), epsilon in prop_oneof![Just(0.0), 0.01..0.99f64]) {
        sample.check(&LabelSmoothing::new(epsilon).unwrap(), &Plain::LabelSmoothing(epsilon))?;
    }

    #[test]
    fn active_passive_loss(sample in samples(2usize..5), a in 0.0..2.0f64, b in 0.01..2.0f64) {
        sample.check(&Apl::new(a, b).unwrap(), &Plain::Apl(a, b))?;
    }

    #[test]
    fn confidence_regularised(
        sample in samples(2usize..5),
        beta in prop_oneof![Just(0.0), Just(1.0), 0.0..3.0f64],
        counts in proptest::collection::vec(1.0..1000.0f64, 5),
    ) {
        let counts = counts[..sample.classes].to_vec();
        sample.check(&Cores::new(beta, &counts).unwrap(), &Plain::Cores(beta, counts))?;
    }

    #[test]
    fn hard_bootstrapping(sample in samples(2usize..5), beta in 0.05..1.0f64) {
        let rows = || sample.scaled.chunks(sample.classes).zip(&sample.labels);
        let gap = |(u, &y): (&[f64], &u32)| u[y as usize] - u[naive::rival(u, y as usize)];
        prop_assume!(rows().all(|row| gap(row).abs() > CLEAR));
        sample.check(&BootstrapHard::new(beta).unwrap(), &Plain::BootstrapHard(beta))?;
    }

    /// The target is held fixed, so differences of the value cannot tell: the base loss pulls β times as much as cross-entropy.
    #[test]
    fn soft_bootstrapping_pulls_like_cross_entropy(sample in samples(2usize..5), beta in 0.05..=1.0f64) {
        let config = sample.config(MarginKind::Probability, QuantileKind::Conformal, Normaliser::Mean);
        let envelope = config.validate().unwrap();
        fn gradient<L: Loss<f64>>(sample: &Sample, objective: Objective<L>) -> (f64, Vec<f64>) {
            let batch = Batch::new(Matrix::new(&sample.scaled, sample.classes).unwrap(), &sample.labels)
                .with_row_weights(Some(&sample.row_weights));
            let mut grad = vec![f64::NAN; sample.scaled.len()];
            let outcome = objective.evaluate(&batch, &mut grad, &mut Scratch::default()).unwrap();
            (outcome.base, grad)
        }
        let (value, found) = gradient(&sample, Objective::with_envelope(BootstrapSoft::new(beta).unwrap(), envelope));
        let (base, of_base) = gradient(&sample, Objective::base(CrossEntropy));
        let (_, of_both) = gradient(&sample, Objective::with_envelope(CrossEntropy, envelope));
        for ((found, base), both) in found.iter().zip(of_base).zip(of_both) {
            let expected = both - (1.0 - beta) * base;
            prop_assert!((found - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{found} {expected}");
        }
        let rows = sample.scaled.chunks(sample.classes).zip(&sample.row_weights);
        let entropy = |u: &[f64]| naive::softmax(u).iter().map(|s| -s * s.ln()).sum::<f64>();
        let mean = rows.map(|(u, v)| v * entropy(u)).sum::<f64>() / sample.row_weights.iter().sum::<f64>();
        let expected = beta * base + (1.0 - beta) * mean;
        prop_assert!((value - expected).abs() < 1e-11 * (1.0 + expected.abs()), "{value} {expected}");
    }

    #[test]
    fn forward_correction(sample in samples(2usize..5), numbers in proptest::collection::vec(0.01..1.0f64, 16)) {
        let rows = naive::transition(sample.classes, &numbers);
        sample.check(&Forward::new(&Transition::try_from(rows.clone()).unwrap()), &Plain::Forward(rows))?;
    }

    #[test]
    fn backward_correction(sample in samples(2usize..5), numbers in proptest::collection::vec(0.01..1.0f64, 16)) {
        let rows = naive::transition(sample.classes, &numbers);
        sample.check(&Backward::new(Transition::try_from(rows.clone()).unwrap()), &Plain::Backward(rows))?;
    }

    #[test]
    fn ldam(
        sample in samples(2usize..5),
        max_margin in 0.0..1.0f64,
        scale in 0.5..30.0f64,
        counts in proptest::collection::vec(1.0..1000.0f64, 5),
    ) {
        let counts = counts[..sample.classes].to_vec();
        let loss = Ldam::new(max_margin, scale, &counts).unwrap();
        sample.check(&loss, &Plain::Ldam(max_margin, scale, counts))?;
    }

    #[test]
    fn hinge(sample in samples(2usize..5)) {
        sample.check(&Hinge, &Plain::Hinge)?;
    }

    #[test]
    fn logistic_is_cross_entropy_of_two_classes(sample in samples(Just(2usize))) {
        sample.check(&Logistic, &Plain::CrossEntropy)?;
    }

    #[test]
    fn a_dense_loss_of_ones_own(sample in samples(2usize..5), scale in 0.5..3.0f64) {
        sample.check(&Brier { scale }, &Plain::Brier(scale))?;
    }
}

mod binary {
    use super::*;
    use cmrm::envelope::binary::{
        BinaryConfig, BinaryObjective, BinaryScratch, Direction, TailNormaliser, ThresholdKind, Thresholds,
    };

    fn configs() -> impl Strategy<Value = BinaryConfig> {
        (
            (0.0..2.0f64, 0.0..2.0f64, 0.01..0.99f64, 0.01..0.99f64),
            select(vec![Direction::Relax, Direction::Penalise]),
            select(vec![TailNormaliser::Mean, TailNormaliser::Tail, TailNormaliser::TailWithTies]),
            select(vec![ThresholdKind::Conformal, ThresholdKind::Indexed]),
        )
            .prop_map(
                |((lambda_plus, lambda_minus, alpha_plus, alpha_minus), direction, normaliser, thresholds)| {
                    BinaryConfig {
                        direction,
                        normaliser,
                        thresholds,
                        ..BinaryConfig::paper(lambda_plus, lambda_minus, alpha_plus, alpha_minus)
                    }
                },
            )
    }

    /// Thresholds by sorting and counting.
    fn naive_thresholds(config: &BinaryConfig, p: &[f64], labels: &[u32]) -> Thresholds<f64> {
        let of = |label: u32| {
            let mut side: Vec<f64> = p.iter().zip(labels).filter(|&(_, &y)| y == label).map(|(&p, _)| p).collect();
            side.sort_by(f64::total_cmp);
            side
        };
        let (zeros, ones) = (of(0), of(1));
        match config.thresholds {
            ThresholdKind::Conformal => {
                let allowed = |alpha: f64, n: usize| (alpha * (n as f64 + 1.0)).ceil() as usize;
                let (n0, n1) = (allowed(config.alpha_minus, zeros.len()), allowed(config.alpha_plus, ones.len()));
                let minus = zeros.iter().find(|&&t| zeros.iter().filter(|&&p| p >= t).count() <= n0);
                let plus = ones.iter().rfind(|&&t| ones.iter().filter(|&&p| p <= t).count() <= n1);
                Thresholds {
                    plus: plus.copied().unwrap_or(f64::NEG_INFINITY),
                    minus: minus.copied().unwrap_or(f64::INFINITY),
                }
            }
            ThresholdKind::Indexed => {
                let at = |side: &[f64], share: f64| {
                    let index = (side.len() as f64 * share).floor() as usize;
                    side.get(index.min(side.len().saturating_sub(1))).copied()
                };
                Thresholds {
                    plus: at(&ones, config.alpha_plus).unwrap_or(f64::NEG_INFINITY),
                    minus: at(&zeros, 1.0 - config.alpha_minus).unwrap_or(f64::INFINITY),
                }
            }
        }
    }

    fn check<L: Loss<f64>>(
        loss: &L,
        plain: &Plain,
        config: BinaryConfig,
        scores: &[f64],
        labels: &[u32],
        row_weights: Option<&[f64]>,
    ) -> Result<(), TestCaseError> {
        let p_of = |score: f64| 1.0 / (1.0 + (-score * plain.scale()).exp());
        let p: Vec<f64> = scores.iter().map(|&t| p_of(t)).collect();
        let objective = BinaryObjective { loss, envelope: Some(config.validate().unwrap()) };
        let mut grad = vec![f64::NAN; scores.len()];
        let outcome =
            objective.evaluate(scores, labels, row_weights, &mut grad, &mut BinaryScratch::default()).unwrap();
        let found = outcome.thresholds.unwrap();
        let expected = naive_thresholds(&config, &p, labels);
        let near = |a: f64, b: f64| a == b || (a - b).abs() < 1e-12;
        prop_assert!(near(found.plus, expected.plus) && near(found.minus, expected.minus), "{found:?} {expected:?}");

        // Which rows are beyond their threshold is fixed too: the threshold is one of the rows, and there the tail has
        // its corner (where the library takes the slope 0).
        let beyond = |i: usize| if labels[i] == 0 { p[i] - found.minus } else { found.plus - p[i] };
        let tail: Vec<bool> = (0..p.len()).map(|i| beyond(i) > 1e-12).collect();
        let count = |label: u32| (0..p.len()).filter(|&i| tail[i] && labels[i] == label).count();
        let divisor = |label: u32| match config.normaliser {
            TailNormaliser::Mean => p.len() as f64,
            TailNormaliser::Tail => count(label).max(1) as f64,
            TailNormaliser::TailWithTies => {
                let ties = (0..p.len()).filter(|&i| beyond(i).abs() <= 1e-12 && labels[i] == label).count();
                (count(label) + ties).max(1) as f64
            }
        };
        let v = row_weights.map_or_else(|| vec![1.0; p.len()], <[f64]>::to_vec);
        let sign = if config.direction == Direction::Relax { -1.0 } else { 1.0 };
        let parts = |scores: &[f64]| {
            let (mut sum, mut risk) = (0.0, 0.0);
            for i in 0..scores.len() {
                sum += v[i] * plain.loss(&[0.0, scores[i]], labels[i] as usize);
                if tail[i] && labels[i] == 0 {
                    risk += sign * config.lambda_minus * (p_of(scores[i]) - found.minus) / divisor(0);
                } else if tail[i] {
                    risk += sign * config.lambda_plus * (found.plus - p_of(scores[i])) / divisor(1);
                }
            }
            (sum / v.iter().sum::<f64>(), risk)
        };
        let (base, risk) = parts(scores);
        prop_assert!((outcome.base - base).abs() < 1e-11 * (1.0 + base), "base {} {base}", outcome.base);
        prop_assert!((outcome.risk - risk).abs() < 1e-11, "{config:?}: risk {}, expected {risk}", outcome.risk);
        prop_assert!((outcome.total - base - risk).abs() < 1e-11 * (1.0 + base));
        for i in 0..scores.len() {
            let mut moved = scores.to_vec();
            let slope = naive::derivative(STEP / plain.scale(), |step| {
                moved[i] = scores[i] + step;
                let (base, risk) = parts(&moved);
                base + risk
            });
            prop_assert!(
                (grad[i] - slope).abs() < 1e-8 * plain.scale(),
                "{plain:?} {config:?}, row {i}: gradient {}, differences {slope}",
                grad[i]
            );
        }
        Ok(())
    }

    /// Scores on a coarse grid, so that there are ties, moved off the hinge's corner at ±1.
    fn rows() -> impl Strategy<Value = Vec<(f64, u32, f64)>> {
        let score = prop_oneof![(-8i32..8).prop_map(|k| f64::from(k) * 0.3 + 0.05), -4.0..4.0f64]
            .prop_filter("a corner of the hinge is near", |t| (t.abs() - 1.0).abs() > CLEAR);
        proptest::collection::vec((score, 0u32..2, 0.1..3.0f64), 1..20)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn binary_envelope(
            rows in rows(),
            config in configs(),
            gamma in 0.1..4.0f64,
            q in 0.05..1.0f64,
            scale in 0.5..10.0f64,
            weighted in any::<bool>(),
        ) {
            let scores: Vec<f64> = rows.iter().map(|r| r.0).collect();
            let labels: Vec<u32> = rows.iter().map(|r| r.1).collect();
            let weights: Vec<f64> = rows.iter().map(|r| r.2).collect();
            let weights = weighted.then_some(&weights[..]);
            let counts = [30.0, 7.0];
            check(&Hinge, &Plain::Hinge, config, &scores, &labels, weights)?;
            check(&Logistic, &Plain::CrossEntropy, config, &scores, &labels, weights)?;
            check(&Focal::new(gamma).unwrap(), &Plain::Focal(gamma), config, &scores, &labels, weights)?;
            check(&Gce::new(q).unwrap(), &Plain::Gce(q), config, &scores, &labels, weights)?;
            check(&Sce::new(q, gamma).unwrap(), &Plain::Sce(q, gamma), config, &scores, &labels, weights)?;
            let smoothed = LabelSmoothing::new(q / 2.0).unwrap();
            check(&smoothed, &Plain::LabelSmoothing(q / 2.0), config, &scores, &labels, weights)?;
            let scaled: Vec<f64> = scores.iter().map(|t| t / scale).collect();
            let ldam = Ldam::new(0.5, scale, &counts).unwrap();
            check(&ldam, &Plain::Ldam(0.5, scale, counts.to_vec()), config, &scaled, &labels, weights)?;
            check(&Brier { scale }, &Plain::Brier(scale), config, &scaled, &labels, weights)?;
        }
    }
}
