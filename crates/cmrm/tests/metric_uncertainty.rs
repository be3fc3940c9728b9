//! Intervals and paired comparisons against scipy 1.17.1, and the properties they must have.

use cmrm::Error;
use cmrm::metric::*;
use proptest::prelude::*;

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "found {found}, expected {expected}");
}

#[test]
fn wilson_agrees_with_scipy() {
    // scipy.stats.binomtest(k, n).proportion_ci(level, method="wilson")
    for (successes, trials, level, low, high) in [
        (8, 10, 0.95, 0.4901624715366418, 0.9433178485456248),
        (0, 10, 0.95, 0.0, 0.27753279986288926),
        (10, 10, 0.99, 0.6011459066950919, 1.0),
        (9049, 10000, 0.95, 0.8989939074166133, 0.9104951307028128),
        (1, 3, 0.9, 0.07826572633372841, 0.7464661317187758),
    ] {
        let found = wilson(successes, trials, level).unwrap();
        assert!((found.low - low).abs() < 1e-10 && (found.high - high).abs() < 1e-10, "{found:?} for {low}, {high}");
    }
    assert!(wilson(3, 2, 0.95).is_err());
    assert!(matches!(wilson(0, 0, 0.95), Err(Error::Empty { .. })));
    assert!(matches!(wilson(1, 2, 1.0), Err(Error::Parameter { name: "level", .. })));
}

#[test]
fn paired_comparison_agrees_with_scipy() {
    // scipy.stats.ttest_rel(first, second), its confidence_interval(0.95), binomtest(4, 5)
    let first = [0.8567, 0.8612, 0.8549, 0.8601, 0.8590];
    let second = [0.8549, 0.8560, 0.8552, 0.8571, 0.8566];
    let found = compare_paired(&first, &second, 0.95).unwrap();
    let test = found.t_test.unwrap();
    let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-9, "{found} for {expected}");
    near(found.mean_difference, 0.00242);
    near(test.standard_deviation, 0.001990477329687511);
    near(test.statistic, 2.7185863535552146);
    near(test.p, 0.05306427619515594);
    near(test.interval.low, -5.1504039513746835e-05);
    near(test.interval.high, 0.004891504039513746);
    assert_eq!((found.pairs, found.wins, found.losses, found.ties, test.degrees_of_freedom), (5, 4, 1, 0, 4));
    near(found.sign_test_p, 0.375);
    assert_eq!(found.note, None);
}

#[test]
fn sign_tests_agree_with_scipy() {
    // scipy.stats.binomtest(wins, wins + losses).pvalue
    for (wins, losses, p) in [
        (5, 0, 0.0625),
        (0, 5, 0.0625),
        (10, 2, 0.03857421875),
        (60, 40, 0.05688793364098089),
        (7000, 6800, 0.09026155442548957),
        (3, 3, 1.0),
    ] {
        let first: Vec<f64> = (0..wins + losses).map(|i| if i < wins { 1.0 } else { -1.0 }).collect();
        let found = compare_paired(&first, &vec![0.0; first.len()], 0.95).unwrap().sign_test_p;
        assert!((found / p - 1.0).abs() < 1e-9, "{wins}:{losses} {found} for {p}");
    }
}

#[test]
fn comparisons_without_a_spread_claim_nothing() {
    let one = compare_paired(&[0.9], &[0.8], 0.95).unwrap();
    assert!(one.t_test.is_none() && one.note.unwrap().contains("one pair"));
    assert_eq!((one.sign_test_p, one.wins), (1.0, 1));
    close(one.mean_difference, 0.1);

    let same = compare_paired(&[0.5, 0.6], &[0.5, 0.6], 0.95).unwrap();
    assert!(same.t_test.is_none() && same.note.is_some());
    assert_eq!((same.mean_difference, same.sign_test_p, same.ties), (0.0, 1.0, 2));

    // 0.85 − 0.84 and 0.75 − 0.74 differ in the last bits only.
    let shifted = compare_paired(&[0.85, 0.75, 0.65], &[0.84, 0.74, 0.64], 0.95).unwrap();
    assert!(shifted.t_test.is_none() && shifted.note.unwrap().contains("equal"));
    close(shifted.sign_test_p, 0.25);

    let huge = compare_paired(&[f64::MAX, 0.0], &[0.0, f64::MAX], 0.95).unwrap();
    assert!(huge.mean_difference.is_finite());
    assert!(matches!(compare_paired(&[f64::MAX], &[f64::MIN], 0.95), Err(Error::NonFinite { .. })));
    assert!(matches!(compare_paired(&[1.0, f64::NAN], &[1.0, 2.0], 0.95), Err(Error::NonFinite { row: 1, .. })));
}

#[test]
fn bootstrap_is_seeded_and_close_to_theory() {
    let labels: Vec<u32> = (0..400).map(|i| u32::from(i % 4 == 0)).collect();
    let right = |rows: &[usize]| Ok(rows.iter().map(|&row| f64::from(labels[row])).sum::<f64>() / rows.len() as f64);
    let config = BootstrapConfig { resamples: 4000, level: 0.95, seed: 7 };
    let found = bootstrap(400, &config, right).unwrap();
    assert_eq!(found, bootstrap(400, &config, right).unwrap());
    assert_ne!(found, bootstrap(400, &BootstrapConfig { seed: 8, ..config }, right).unwrap());
    assert_eq!((found.estimate, found.resamples, found.undefined), (0.25, 4000, 0));
    // sqrt(0.25·0.75/400) = 0.02165; 4000 resamples know it to about 1 %.
    assert!((found.standard_error / 0.02165 - 1.0).abs() < 0.05, "{found:?}");
    assert!((found.interval.low - 0.2076).abs() < 0.006 && (found.interval.high - 0.2924).abs() < 0.006, "{found:?}");
}

#[test]
fn bootstrap_counts_what_it_leaves_out() {
    let labels = [0u32, 1, 0, 1];
    let scores = [0.1, 0.9, 0.2, 0.8];
    let area = |rows: &[usize]| {
        let s: Vec<f64> = rows.iter().map(|&row| scores[row]).collect();
        let y: Vec<u32> = rows.iter().map(|&row| labels[row]).collect();
        auroc(&s, &y)
    };
    let found = bootstrap(4, &BootstrapConfig::default(), area).unwrap();
    assert_eq!(found.resamples + found.undefined, 1000);
    assert!(found.undefined > 50, "one in eight resamples has one class only: {found:?}");
    let mut calls = 0;
    let once = |_: &[usize]| {
        calls += 1;
        if calls == 1 { Ok(1.0) } else { Ok(f64::NAN) }
    };
    assert!(matches!(bootstrap(4, &BootstrapConfig::default(), once), Err(Error::Invalid { .. })));
    assert!(bootstrap(1, &BootstrapConfig::default(), |_| Ok(1.0)).is_err());
    assert!(bootstrap(4, &BootstrapConfig { resamples: 0, ..Default::default() }, |_| Ok(1.0)).is_err());
}

proptest! {
    #[test]
    fn swapping_the_methods_turns_the_comparison_around(
        pairs in prop::collection::vec((0.0..1.0f64, 0.0..1.0f64), 1..20),
    ) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let (one, other) = (compare_paired(&a, &b, 0.9).unwrap(), compare_paired(&b, &a, 0.9).unwrap());
        prop_assert_eq!(one.mean_difference, -other.mean_difference);
        prop_assert_eq!((one.wins, one.losses, one.ties), (other.losses, other.wins, other.ties));
        prop_assert_eq!(one.sign_test_p, other.sign_test_p);
        prop_assert_eq!(one.t_test.is_some(), a.len() > 1);
        if let (Some(s), Some(t)) = (one.t_test, other.t_test) {
            prop_assert_eq!((s.p, s.interval.low), (t.p, -t.interval.high));
            prop_assert!(s.interval.contains(one.mean_difference));
            // The interval excludes zero exactly when the test rejects at its level.
            prop_assert!(((s.p < 0.1) != s.interval.contains(0.0)) || (s.p - 0.1).abs() < 1e-9);
        }
    }

    #[test]
    fn wilson_holds_the_share_and_narrows_with_rows(successes in 0..50usize, more in 0..50usize, level in 0.5..0.999f64) {
        let trials = successes + more + 1;
        let found = wilson(successes, trials, level).unwrap();
        prop_assert!(found.contains(successes as f64 / trials as f64));
        prop_assert!(found.low >= 0.0 && found.high <= 1.0);
        let tenfold = wilson(10 * successes, 10 * trials, level).unwrap();
        prop_assert!(tenfold.high - tenfold.low < found.high - found.low);
        let other = wilson(trials - successes, trials, level).unwrap();
        prop_assert!((found.low - (1.0 - other.high)).abs() < 1e-12);
    }
}
