//! The theory's numbers against hand computation and against simulation.

use cmrm::rng::Rng;
use cmrm::theory::{
    Bandwidth, MarginDensity, clean_label_check, dkw_epsilon, dkw_interval, filter_quality, gap_curve,
    quantile_gap_bound, soft, tightest_gap_bound,
};
use cmrm::{Error, Matrix};
use proptest::prelude::*;

/// Margins uniform on [−1, 1]: density ½, α-quantile 2α − 1.
fn uniform_margins(rows: usize, rng: &mut Rng) -> Vec<f64> {
    (0..rows).map(|_| 2.0 * rng.uniform() - 1.0).collect()
}

#[test]
fn gap_bound_by_hand() {
    // log(2/0.1) = 2.995732…; ε = sqrt(2.995732/200) = 0.122387…
    let bound = quantile_gap_bound(100, 0.1, 0.5, 0.3).unwrap();
    assert!((bound.epsilon - 0.1223873415).abs() < 1e-9);
    assert!(bound.precondition_holds && bound.warning.is_none());
    assert!((bound.bound.unwrap() - 0.2647746831).abs() < 1e-9);

    let narrow = quantile_gap_bound(100, 0.1, 0.5, 0.2).unwrap();
    assert!(!narrow.precondition_holds && narrow.bound.is_none());
    let smallest = narrow.smallest_batch.unwrap();
    assert!(narrow.warning.unwrap().contains(&format!("at least {smallest} rows")));

    let flat = quantile_gap_bound(100, 0.1, 0.0, 0.2).unwrap();
    assert!(flat.smallest_batch.is_none() && flat.bound.is_none() && flat.warning.is_some());
}

#[test]
fn gap_bound_holds_at_its_stated_rate() {
    let (batch, alpha, delta, trials) = (200, 0.3, 0.2, 2000);
    let limit = quantile_gap_bound(batch, delta, 0.5, 0.4).unwrap().bound.unwrap();
    let tau = 2.0 * alpha - 1.0;
    let mut rng = Rng::new(5, 0);
    let rank = (alpha * (batch as f64 + 1.0)).ceil() as usize;
    let kept = (0..trials).filter(|_| {
        let mut margins = uniform_margins(batch, &mut rng);
        margins.sort_by(f64::total_cmp);
        (margins[rank - 1] - tau).abs() <= limit
    });
    let share = kept.count() as f64 / trials as f64;
    assert!(share >= 1.0 - delta, "{share}");
}

#[test]
fn dkw_ranks_by_hand() {
    let margins: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
    // ε = sqrt(log(40)/2000) = 0.042947…: ranks ⌈57.05⌉ and ⌊142.95⌋ + 1.
    let interval = dkw_interval(&margins, 0.1, 0.05).unwrap();
    assert!((interval.epsilon - 0.042_947).abs() < 1e-6);
    assert_eq!((interval.lower, interval.upper), (Some(58.0), Some(143.0)));
    // s(α−ε) < 0 and s(α+ε) ≥ s: nothing is known on that side.
    assert_eq!(dkw_interval(&margins[..50], 0.1, 0.05).unwrap().lower, None);
    assert_eq!(dkw_interval(&margins[..50], 0.9, 0.05).unwrap().upper, None);
    assert!(dkw_interval(&margins[..1], 0.5, 0.05).unwrap().contains(-1e300));
}

#[test]
fn dkw_contains_the_true_quantile_at_its_stated_rate() {
    // Continuous margins, and margins with heavy ties: five equally likely values.
    let mut rng = Rng::new(11, 0);
    for tied in [false, true] {
        for (alpha, delta) in [(0.1, 0.1), (0.5, 0.3)] {
            let trials = 2000;
            let tau = match (tied, alpha < 0.2) {
                (false, _) => 2.0 * alpha - 1.0,
                (true, true) => 0.0,
                (true, false) => 2.0,
            };
            let mut kept = 0;
            for _ in 0..trials {
                let margins: Vec<f64> = match tied {
                    false => uniform_margins(150, &mut rng),
                    true => (0..150).map(|_| rng.below(5) as f64).collect(),
                };
                kept += usize::from(dkw_interval(&margins, alpha, delta).unwrap().contains(tau));
            }
            let error = 4.0 * (delta * (1.0 - delta) / trials as f64).sqrt();
            assert!(kept as f64 / trials as f64 >= 1.0 - delta - error, "{tied} {alpha} {kept}");
        }
    }
}

#[test]
fn density_integrates_to_one_and_finds_the_true_density() {
    let mut rng = Rng::new(2, 0);
    let margins: Vec<f64> = (0..20_000).map(|_| 0.3 * rng.normal()).collect();
    let density = MarginDensity::new(&margins, Bandwidth::Silverman).unwrap();
    let points = density.curve(-3.0, 3.0, 6001);
    let integral: f64 = points.windows(2).map(|p| 0.5 * (p[0].1 + p[1].1) * (p[1].0 - p[0].0)).sum();
    assert!((integral - 1.0).abs() < 1e-6, "{integral}");
    for x in [-0.5, 0.0, 0.2] {
        let truth = (-0.5 * (x / 0.3f64).powi(2)).exp() / (0.3 * std::f64::consts::TAU.sqrt());
        assert!((density.at(x) / truth - 1.0).abs() < 0.05, "{x}");
    }
    // The window must not be seen: compare with the full sum.
    let h = density.bandwidth();
    for x in [-1.2, -0.1, 0.7] {
        let sum: f64 = margins.iter().map(|m| (-0.5 * ((x - m) / h).powi(2)).exp()).sum();
        let full = sum / (20_000.0 * h * std::f64::consts::TAU.sqrt());
        assert!((density.at(x) - full).abs() <= 1e-12 * full + 1e-15);
    }
}

#[test]
fn bandwidth_follows_its_rule() {
    // Standard deviation 1.5811, interquartile range 2 / 1.34 = 1.49254: the smaller one counts.
    let density = MarginDensity::new(&[1.0, 2.0, 3.0, 4.0, 5.0], Bandwidth::Silverman).unwrap();
    assert!((density.bandwidth() - 0.9 * (2.0 / 1.34) * 0.724_779_663_7).abs() < 1e-9);
    // Quartiles equal: the standard deviation, sqrt(0.2), stands in.
    let spike = MarginDensity::new(&[0.0, 0.0, 0.0, 0.0, 1.0], Bandwidth::Silverman).unwrap();
    assert!((spike.bandwidth() - 0.9 * 0.2f64.sqrt() * 0.724_779_663_7).abs() < 1e-9);
    let equal = MarginDensity::new(&[0.5, 0.5], Bandwidth::Silverman);
    assert!(matches!(equal, Err(Error::Parameter { name: "bandwidth", .. })));
    let one = MarginDensity::new(&[0.5f32], Bandwidth::Fixed(0.1)).unwrap();
    assert!((one.at(0.5) - 3.989_422_804).abs() < 1e-8);
}

#[test]
fn minimum_near_the_threshold_is_found() {
    let mut rng = Rng::new(8, 0);
    // Two humps with a valley at 0.
    let margins: Vec<f64> = (0..5000).map(|i| 0.15 * rng.normal() + if i % 2 == 0 { 0.5 } else { -0.5 }).collect();
    let density = MarginDensity::new(&margins, Bandwidth::Silverman).unwrap();
    let near = density.near(0.3, 0.4).unwrap();
    let fine = density.curve(-0.1, 0.7, 20_001);
    let lowest = fine.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    assert!(near.minimum >= lowest - 1e-12 && near.minimum <= lowest * 1.01, "{near:?} {lowest}");
    assert!(near.minimum_at.abs() < 0.1 && near.at_tau > near.minimum);

    let tight = tightest_gap_bound(&density, 0.5, 2000, 0.05, 1.0).unwrap();
    assert!(tight.precondition_holds && tight.radius < 0.1);
    assert!(tight.bound.unwrap() <= tight.radius);
    let small = tightest_gap_bound(&density, 0.0, 8, 0.05, 1.0).unwrap();
    assert!(!small.precondition_holds && small.radius == 1.0);
}

#[test]
fn gap_shrinks_with_the_root_of_the_batch() {
    let mut rng = Rng::new(4, 0);
    let margins = uniform_margins(50_000, &mut rng);
    let sizes = [16, 64, 256, 1024, 4096];
    let curve = gap_curve(&margins, 0.2, &sizes, 300, 1).unwrap();
    let slope = curve.slope.unwrap();
    assert!((slope + 0.5).abs() < 0.05, "{slope}");
    assert!((curve.tau - -0.6).abs() < 0.02);
    for point in &curve.points {
        assert!(point.gap_95 > point.mean_gap && point.standard_error < 0.1 * point.mean_gap);
        // Batches are drawn from a set of density ½, where the bound applies to all but the smallest of them.
        if let Some(limit) = quantile_gap_bound(point.batch, 0.05, 0.5, 0.35).unwrap().bound {
            assert!(point.gap_95 <= limit, "{point:?} {limit}");
        }
    }
    assert_eq!(curve, gap_curve(&margins, 0.2, &sizes, 300, 1).unwrap());
    assert_ne!(curve, gap_curve(&margins, 0.2, &sizes, 300, 2).unwrap());
    let flat = gap_curve(&[0.25; 10], 0.2, &sizes, 5, 0).unwrap();
    assert_eq!((flat.slope, flat.points[0].mean_gap), (None, 0.0));
}

#[test]
fn clean_check_by_hand() {
    // Margins of the observed labels: 0.8, 0.5, −0.5 (flipped), 0.25; α = 0.4 of 4 rows: rank ⌈2⌉, τ = 0.25.
    let probabilities = [0.9, 0.1, 0.75, 0.25, 0.75, 0.25, 0.625, 0.375];
    let matrix = Matrix::new(&probabilities, 2).unwrap();
    let check = clean_label_check(matrix, &[0, 0, 1, 0], &[0, 0, 0, 0], 0.4, None).unwrap();
    assert_eq!((check.tau, check.delta_w, check.slack), (0.25, 0.25, 0.25));
    assert_eq!((check.observed_share, check.clean_share), (0.75, 1.0));
    assert!((check.observed_risk + (0.8 + 0.5 + 0.25) / 4.0).abs() < 1e-12);
    assert!((check.clean_risk + (0.8 + 0.5 + 0.5 + 0.25) / 4.0).abs() < 1e-12);
    assert!((check.risk_gap - 0.125).abs() < 1e-12 && check.risk_holds && check.share_holds);
    assert!((check.risk_limit - (0.4 + 0.75 + 0.25)).abs() < 1e-12);
    // A threshold from elsewhere that keeps nothing breaks the first claim.
    let foreign = clean_label_check(matrix, &[0; 4], &[0; 4], 0.1, Some(0.99)).unwrap();
    assert!(!foreign.share_holds && foreign.clean_share == 0.0 && foreign.delta_w == 0.0);
    assert!(!foreign.risk_holds);
}

#[test]
fn filter_by_hand() {
    let quality = filter_quality(&[0.1f32, 0.5, 0.4, 0.9, 0.3], &[true, true, false, false, true]).unwrap();
    assert_eq!((quality.filtered, quality.wrong, quality.wrong_filtered), (3, 3, 2));
    assert_eq!((quality.precision, quality.recall), (Some(2.0 / 3.0), Some(2.0 / 3.0)));
    let nothing = filter_quality(&[0.5, 0.9], &[false, false]).unwrap();
    assert_eq!((nothing.precision, nothing.recall), (None, None));
}

#[test]
fn bad_input_is_named() {
    assert_eq!(dkw_interval(&[0.5, f64::NAN], 0.1, 0.1), Err(Error::non_finite("margin", 1, 0, f64::NAN)));
    assert!(matches!(dkw_interval::<f64>(&[], 0.1, 0.1), Err(Error::Empty { .. })));
    assert!(matches!(dkw_interval(&[0.5], 1.0, 0.1), Err(Error::Parameter { name: "alpha", .. })));
    assert!(matches!(dkw_interval(&[0.5], 0.5, 0.0), Err(Error::Parameter { name: "delta", .. })));
    assert!(matches!(dkw_epsilon(0, 0.1), Err(Error::Parameter { name: "rows", .. })));
    assert!(quantile_gap_bound(10, 0.1, f64::NAN, 0.1).is_err() && quantile_gap_bound(10, 0.1, 0.5, 0.0).is_err());
    assert!(gap_curve(&[0.5], 0.1, &[0], 1, 0).is_err() && gap_curve(&[0.5], 0.1, &[], 1, 0).is_err());
    assert!(gap_curve(&[0.5], 0.1, &[1], 0, 0).is_err());
    assert!(gap_curve(&[f64::MAX, f64::MIN], 0.1, &[2], 9, 0).is_err());
    assert!(MarginDensity::new(&[f64::MAX, f64::MIN], Bandwidth::Silverman).is_err());
    assert!(MarginDensity::new(&[0.5], Bandwidth::Fixed(-1.0)).is_err());
    assert!(matches!(filter_quality(&[0.5], &[]), Err(Error::Shape { expected: 1, found: 0, .. })));
    let matrix = Matrix::new(&[0.5, 0.5], 2).unwrap();
    assert_eq!(clean_label_check(matrix, &[0], &[2], 0.1, None), Err(Error::Label { row: 0, label: 2, classes: 2 }));
    assert!(clean_label_check(matrix, &[0, 1], &[0], 0.1, None).is_err());
    assert!(clean_label_check(Matrix::new(&[1.0], 1).unwrap(), &[0], &[0], 0.1, None).is_err());
    assert!(clean_label_check(matrix, &[0], &[0], 0.1, Some(f64::NAN)).is_err());
}

proptest! {
    #[test]
    fn soft_filter_is_close_to_the_hard_one(difference in -1e3f64..1e3, temperature in 1e-3f64..1e2) {
        let hard = if difference >= 0.0 { 1.0 } else { 0.0 };
        let gap = (hard - soft::soft_indicator(difference, temperature)).abs();
        prop_assert!((soft::soft_indicator_gap(difference, temperature) - gap).abs() <= 1e-15);
        prop_assert!(soft::soft_indicator_gap(difference, temperature) <= soft::soft_indicator_bound(difference, temperature));
    }

    #[test]
    fn soft_filter_moves_no_faster_than_its_bound(margin in -1.0f64..1.0, tau in -1.0f64..1.0, temperature in 0.05f64..5.0) {
        // −w(M)·M is one row's share of the risk.
        let share = |tau: f64| -soft::soft_indicator(margin - tau, temperature) * margin;
        let slope = (share(tau + 1e-6) - share(tau - 1e-6)) / 2e-6;
        prop_assert!(slope.abs() <= soft::threshold_sensitivity_bound(temperature) + 1e-6);
    }

    #[test]
    fn smallest_batch_is_the_smallest(delta in 1e-6f64..0.999, floor in 1e-3f64..5.0, radius in 1e-2f64..2.0) {
        let smallest = quantile_gap_bound(1, delta, floor, radius).unwrap().smallest_batch.unwrap();
        prop_assert!(quantile_gap_bound(smallest, delta, floor, radius).unwrap().precondition_holds);
        if smallest > 1 {
            prop_assert!(!quantile_gap_bound(smallest - 1, delta, floor, radius).unwrap().precondition_holds);
        }
    }

    #[test]
    fn claims_about_noise_hold_with_the_rows_own_threshold(
        seed in any::<u64>(), rows in 1usize..200, classes in 2usize..6, flips in 0.0f64..1.0,
        alpha in 0.001f64..0.999, coarse in any::<bool>(),
    ) {
        let mut rng = Rng::new(seed, 0);
        let mut values = Vec::new();
        for _ in 0..rows {
            // Coarse numbers make many equal margins.
            let weights: Vec<f64> = (0..classes)
                .map(|_| if coarse { 1.0 + rng.below(2) as f64 } else { (3.0 * rng.normal()).exp() })
                .collect();
            let total: f64 = weights.iter().sum();
            values.extend(weights.iter().map(|weight| weight / total));
        }
        let clean: Vec<u32> = (0..rows).map(|_| rng.below(classes) as u32).collect();
        let observed: Vec<u32> =
            clean.iter().map(|&y| if rng.uniform() < flips { rng.below(classes) as u32 } else { y }).collect();
        let matrix = Matrix::new(&values, classes).unwrap();
        let check = clean_label_check(matrix, &observed, &clean, alpha, None).unwrap();
        prop_assert!(check.share_holds && check.risk_holds, "{:?}", check);
        prop_assert!((check.observed_share - check.clean_share).abs() <= check.delta_w + 1e-12);
    }

    #[test]
    fn no_margins_panic(margins in prop::collection::vec(any::<f64>(), 0..20), alpha in any::<f64>(), delta in any::<f64>(), x in any::<f64>()) {
        let _ = dkw_interval(&margins, alpha, delta);
        let _ = gap_curve(&margins, alpha, &[1, 3], 2, 0);
        let _ = quantile_gap_bound(3, delta, alpha, x);
        for bandwidth in [Bandwidth::Silverman, Bandwidth::Fixed(x.abs())] {
            if let Ok(density) = MarginDensity::new(&margins, bandwidth) {
                let _ = density.at(delta);
                let _ = density.near(alpha, x);
                let _ = tightest_gap_bound(&density, alpha, 5, delta, x);
            }
        }
    }
}
