//! Noise: exact counts, honest records, nothing touched that was not drawn.

use std::collections::BTreeSet;

use cmrm::noise::*;
use cmrm::{Error, Matrix, SparseRows};
use proptest::prelude::*;

fn rate(rate: f64) -> Rate {
    Rate::new(rate).unwrap()
}

/// What holds for every kind: the record says what differs, no more and no less.
fn check_record(clean: &[u32], noisy: &NoisyLabels, classes: usize) {
    assert_eq!(noisy.labels.len(), clean.len());
    let differing: Vec<usize> = (0..clean.len()).filter(|&i| clean[i] != noisy.labels[i]).collect();
    assert_eq!(noisy.flipped, differing, "flipped rows are those that changed, ascending");
    assert!(noisy.labels.iter().all(|&y| (y as usize) < classes));
    assert_eq!(noisy.mask().iter().filter(|&&m| m).count(), noisy.flipped.len());
}

/// Number of classes, labels, rate in percent, seed.
fn problem() -> impl Strategy<Value = (usize, Vec<u32>, usize, u64)> {
    (2..12usize).prop_flat_map(|classes| {
        (Just(classes), prop::collection::vec(0..classes as u32, 1..300), 0..=100usize, any::<u64>())
    })
}

/// Features with some structure: noise, a constant column and a wildly scaled one.
fn features(rows: usize) -> Vec<f32> {
    let mut rng = cmrm::rng::Rng::new(1, 0);
    (0..rows).flat_map(|_| [rng.normal() as f32, 3.0, rng.normal() as f32 * 1e30, rng.normal() as f32]).collect()
}

proptest! {
    #[test]
    fn counts_are_exact_and_the_record_is_true((classes, labels, percent, seed) in problem()) {
        let share = rate(percent as f64 / 100.0);
        let count = percent * labels.len() / 100;
        let x = features(labels.len());
        let x = Matrix::new(&x, 4).unwrap();
        let kinds: [&dyn Fn(Rate, u64) -> NoisyLabels; 3] = [
            &|r, s| symmetric(&labels, classes, r, s).unwrap(),
            &|r, s| circular(&labels, classes, r, s).unwrap(),
            &|r, s| instance_dependent(&labels, classes, x, r, s).unwrap(),
        ];
        for make in kinds {
            let noisy = make(share, seed);
            prop_assert_eq!(noisy.flipped.len(), count);
            check_record(&labels, &noisy, classes);
            prop_assert_eq!(&noisy, &make(share, seed), "same seed, same result");
            // A higher rate adds rows and keeps the old ones.
            let more: BTreeSet<usize> = make(rate((percent as f64 / 100.0 + 0.1).min(1.0)), seed).flipped.into_iter().collect();
            prop_assert!(noisy.flipped.iter().all(|row| more.contains(row)));
        }
    }

    #[test]
    fn circular_goes_to_the_next_class((classes, labels, percent, seed) in problem()) {
        let noisy = circular(&labels, classes, rate(percent as f64 / 100.0), seed).unwrap();
        for &row in &noisy.flipped {
            prop_assert_eq!(noisy.labels[row] as usize, (labels[row] as usize + 1) % classes);
        }
    }

    #[test]
    fn binary_flip_is_exact(labels in prop::collection::vec(0..2u32, 1..200), percent in 0..=100usize, seed in any::<u64>()) {
        let noisy = binary_flip(&labels, rate(percent as f64 / 100.0), seed).unwrap();
        check_record(&labels, &noisy, 2);
        prop_assert_eq!(noisy.flipped.len(), percent * labels.len() / 100);
    }

    #[test]
    fn superclass_noise_stays_in_its_coarse_class(
        coarse in prop::collection::vec(0..4u32, 3..20), rows in 1..200usize, percent in 0..=100usize, seed in any::<u64>(),
    ) {
        let labels: Vec<u32> = (0..rows).map(|i| (i * 7 % coarse.len()) as u32).collect();
        let groups = Superclasses::new(&coarse).unwrap();
        let count = percent * rows / 100;
        let eligible = labels.iter().filter(|&&y| groups.members(y).len() > 1).count();
        match superclass(&labels, &groups, rate(percent as f64 / 100.0), seed) {
            Ok(noisy) => {
                prop_assert_eq!(noisy.flipped.len(), count);
                check_record(&labels, &noisy, coarse.len());
                for row in 0..rows {
                    prop_assert_eq!(coarse[labels[row] as usize], coarse[noisy.labels[row] as usize]);
                }
            }
            Err(error) => {
                prop_assert!(count > eligible, "{}", error);
                let reason = format!("only {eligible} rows");
                prop_assert!(error.to_string().contains(&reason), "{}", error);
            }
        }
    }

    #[test]
    fn class_maps_move_mapped_rows_only(labels in prop::collection::vec(0..10u32, 1..300), percent in 0..=100usize, seed in any::<u64>()) {
        let map = ClassMap::cifar10();
        let eligible = labels.iter().filter(|&&y| map.target(y).is_some()).count();
        let share = rate(percent as f64 / 100.0);
        let of_eligible = class_map(&labels, &map, share, RateOf::EligibleRows, seed).unwrap();
        prop_assert_eq!(of_eligible.flipped.len(), percent * eligible / 100);
        let of_all = class_map(&labels, &map, share, RateOf::AllRows, seed);
        prop_assert_eq!(of_all.is_ok(), percent * labels.len() / 100 <= eligible);
        if let Ok(noisy) = &of_all {
            prop_assert_eq!(noisy.flipped.len(), percent * labels.len() / 100);
        }
        for noisy in [Ok(of_eligible), of_all].into_iter().flatten() {
            check_record(&labels, &noisy, 10);
            for &row in &noisy.flipped {
                prop_assert_eq!(Some(noisy.labels[row]), map.target(labels[row]));
            }
        }
    }

    #[test]
    fn transition_noise_draws_possible_classes_only(labels in prop::collection::vec(0..3u32, 1..300), seed in any::<u64>()) {
        let values = [0.5, 0.5, 0.0, 0.0, 1.0, 0.0, 0.1, 0.0, 0.9];
        let matrix = TransitionMatrix::new(Matrix::new(&values, 3).unwrap()).unwrap();
        let noisy = transition(&labels, &matrix, seed).unwrap();
        check_record(&labels, &noisy, 3);
        for (&from, &to) in labels.iter().zip(&noisy.labels) {
            prop_assert!(values[from as usize * 3 + to as usize] > 0.0);
        }
        prop_assert_eq!(noisy, transition(&labels, &matrix, seed).unwrap());
    }

    #[test]
    fn text_survives_a_round_trip(kind in 0..10usize, percent in 0.0..=1.0f64, eligible in any::<bool>(), a in 0..9u32, b in 10..20u32) {
        let rate = rate(percent);
        let of = if eligible { RateOf::EligibleRows } else { RateOf::AllRows };
        let config = match kind {
            0 => NoiseConfig::Symmetric { rate },
            1 => NoiseConfig::Circular { rate },
            2 => NoiseConfig::Superclass { rate },
            3 => NoiseConfig::BlocksOfFive { rate },
            4 => NoiseConfig::ClassMap { rate, of, transitions: vec![(a, b), (b, a)] },
            5 => NoiseConfig::Cifar10Pairs { rate, of },
            6 => NoiseConfig::Cifar10PairsWithoutDeer { rate, of },
            7 => NoiseConfig::Matrix { rows: vec![vec![percent, 1.0 - percent], vec![0.0, 1.0]] },
            8 => NoiseConfig::BinaryFlip { rate },
            _ => NoiseConfig::Instance { rate },
        };
        prop_assert_eq!(&config.to_string().parse::<NoiseConfig>().unwrap(), &config);
        let json = serde_json::to_string(&config).unwrap();
        prop_assert_eq!(&serde_json::from_str::<NoiseConfig>(&json).unwrap(), &config);
        prop_assert!(NoiseConfig::kinds().any(|name| name == config.kind()));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-z0-9:.,/ -]{0,40}") {
        let _ = text.parse::<NoiseConfig>();
    }
}

#[test]
fn symmetric_noise_is_uniform_over_rows_and_other_classes() {
    let n = 60_000;
    let labels = vec![2u32; n];
    let noisy = symmetric(&labels, 5, rate(0.5), 3).unwrap();
    let mut counts = [0usize; 5];
    for &row in &noisy.flipped {
        counts[noisy.labels[row] as usize] += 1;
    }
    assert_eq!(counts[2], 0);
    // 30,000 draws over four classes: 7500 each, standard deviation 75.
    assert!(counts.iter().enumerate().all(|(k, &c)| k == 2 || c.abs_diff(7500) < 375), "{counts:?}");
    let first_half = noisy.flipped.iter().filter(|&&row| row < n / 2).count();
    assert!(first_half.abs_diff(15_000) < 440, "{first_half}"); // standard deviation 87
    assert_ne!(noisy, symmetric(&labels, 5, rate(0.5), 4).unwrap(), "another seed, another draw");
}

#[test]
fn superclass_draws_every_sibling_alike() {
    // The classes of group 9 are 0, 2, 3 and 5; the drawn one differs from the own in every case.
    let groups = Superclasses::new(&[9, 4, 9, 9, 4, 9]).unwrap();
    for own in [0u32, 2, 3, 5] {
        let noisy = superclass(&vec![own; 9000], &groups, rate(1.0), 1).unwrap();
        for sibling in [0u32, 2, 3, 5].into_iter().filter(|&s| s != own) {
            let count = noisy.labels.iter().filter(|&&y| y == sibling).count();
            assert!(count.abs_diff(3000) < 225, "{own} to {sibling}: {count}"); // standard deviation 45
        }
    }
}

#[test]
fn superclasses_come_from_a_map_from_rows_or_in_fives() {
    assert_eq!(Superclasses::blocks_of_five(12).unwrap().members(11), [10, 11]);
    assert_eq!(Superclasses::blocks_of_five(100).unwrap().members(7), [5, 6, 7, 8, 9]);
    let groups = Superclasses::from_rows(&[0, 2, 0, 3], &[1, 1, 1, 0], 5).unwrap();
    assert_eq!((groups.members(0), groups.members(1), groups.members(3)), (&[0, 2][..], &[1][..], &[3][..]));
    assert_eq!(groups.members(99), [0u32; 0]);
    let message = Superclasses::from_rows(&[0, 2, 0], &[1, 1, 7], 3).unwrap_err().to_string();
    assert!(message.contains("row 2") && message.contains("class 0") && message.contains('7'), "{message}");
    assert!(Superclasses::new(&[]).is_err());
    assert!(Superclasses::blocks_of_five(usize::MAX).is_err());
}

#[test]
fn cifar10_pairs_are_those_of_the_method() {
    // airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck
    let of = |map: ClassMap| (0..10).map(|class| map.target(class)).collect::<Vec<_>>();
    let full = [None, None, Some(0), Some(5), Some(7), Some(3), None, None, None, Some(1)];
    assert_eq!(of(ClassMap::cifar10()), full);
    let mut without = full;
    without[4] = None;
    assert_eq!(of(ClassMap::cifar10_without_deer()), without);
    assert_eq!(ClassMap::pairs(4, &[(0, 3)]).unwrap(), ClassMap::new(4, &[(3, 0), (0, 3)]).unwrap());
}

#[test]
fn transition_frequencies_follow_the_matrix() {
    let values = [0.7, 0.2, 0.1, 0.0, 1.0, 0.0, 0.25, 0.25, 0.5];
    let matrix = TransitionMatrix::new(Matrix::new(&values, 3).unwrap()).unwrap();
    for class in 0..3u32 {
        let noisy = transition(&vec![class; 20_000], &matrix, 5).unwrap();
        for to in 0..3u32 {
            let share = noisy.labels.iter().filter(|&&y| y == to).count() as f64 / 20_000.0;
            let expected = values[(class * 3 + to) as usize];
            assert!((share - expected).abs() < 0.018, "{class} to {to}: {share} for {expected}"); // five deviations
        }
    }
}

#[test]
fn instance_noise_depends_on_the_features_and_only_on_them() {
    let n = 20_000;
    let x = features(n);
    let labels: Vec<u32> = (0..n as u32).map(|i| i % 4).collect();
    let noisy = instance_dependent(&labels, 4, Matrix::new(&x, 4).unwrap(), rate(0.3), 11).unwrap();
    // Some linear direction of the features tells flipped rows from kept ones: the means differ clearly in one column.
    let mask = noisy.mask();
    let gap = |column: usize, scale: f64| {
        let mut sums = [[0.0; 2]; 2];
        for row in 0..n {
            let side = usize::from(mask[row]);
            sums[side][0] += f64::from(x[row * 4 + column]) / scale;
            sums[side][1] += 1.0;
        }
        sums[1][0] / sums[1][1] - sums[0][0] / sums[0][1]
    };
    let gaps = [gap(0, 1.0), gap(2, 1e30), gap(3, 1.0)];
    let length = gaps.iter().map(|g| g * g).sum::<f64>().sqrt();
    assert!(length > 0.5, "without dependence this is about 0.03: {gaps:?}");
    // Constant features carry nothing: which rows are flipped is then unrelated to the old ones.
    let flat = vec![2.5f32; n];
    let plain = instance_dependent(&labels, 4, Matrix::new(&flat, 1).unwrap(), rate(0.3), 11).unwrap();
    assert_eq!(plain.flipped.len(), 6000);
    let first_half = plain.flipped.iter().filter(|&&row| row < n / 2).count();
    assert!(first_half.abs_diff(3000) < 200, "{first_half}");
    // Sparse rows with the same numbers go wrong alike.
    let mut sparse = SparseRows::empty(4).unwrap();
    for row in x.chunks_exact(4) {
        let kept: Vec<(u32, f32)> = row.iter().zip(0..).filter(|(v, _)| **v != 0.0).map(|(&v, at)| (at, v)).collect();
        sparse.push(&kept).unwrap();
    }
    let again = instance_dependent(&labels, 4, sparse.view(), rate(0.3), 11).unwrap();
    let same = again.labels.iter().zip(&noisy.labels).filter(|(a, b)| a == b).count();
    assert!(same > n - 20, "{same}");
    // f64 features at the end of the range do not overflow.
    let extreme = [f64::MAX, f64::MIN, 5e-324, 0.0];
    let noisy = instance_dependent(&[0, 1, 0, 1], 2, Matrix::new(&extreme, 1).unwrap(), rate(0.5), 0).unwrap();
    assert_eq!(noisy.flipped.len(), 2);
}

#[test]
fn config_text_is_applied() {
    let labels: Vec<u32> = (0..200).map(|i| i % 10).collect();
    let coarse = Superclasses::new(&[0, 0, 1, 1, 0, 2, 2, 2, 1, 0]).unwrap();
    let x = features(200);
    let context = NoiseContext::new(10).with_superclasses(&coarse).with_features(Matrix::new(&x, 4).unwrap());
    for (text, count) in [
        ("symmetric:0.4", 80),
        ("circular:0.25", 50),
        ("superclass:0.3", 60),
        ("blocks-of-five:0.2", 40),
        ("class-map:0.1:3-5,5-3", 20),
        ("class-map:0.1:3-5,5-3:eligible", 4),
        ("cifar10-pairs:0.4", 80),
        ("cifar10-pairs:0.4:eligible", 40),
        ("cifar10-pairs-without-deer:0.4:eligible", 32),
        ("instance:0.3", 60),
    ] {
        let config: NoiseConfig = text.parse().unwrap();
        assert_eq!(config.to_string(), text);
        let noisy = config.apply(&labels, &context, 1).unwrap();
        assert_eq!(noisy.flipped.len(), count, "{text}");
        check_record(&labels, &noisy, 10);
    }
    let two: Vec<u32> = labels.iter().map(|y| y % 2).collect();
    let context = NoiseContext::new(2);
    let flip: NoiseConfig = " binary-flip:0.29 ".parse().unwrap();
    assert_eq!(flip.apply(&two[..100], &context, 0).unwrap().flipped.len(), 29);
    let matrix: NoiseConfig = "matrix:0.0,1.0/0.0,1.0".parse().unwrap();
    assert_eq!(matrix.apply(&two, &context, 0).unwrap().flipped.len(), 100);
}

#[test]
fn bad_text_is_refused_with_a_way_out() {
    for (text, parts) in [
        ("symetric:0.4", &["'symetric'", "symmetric, circular, superclass", "binary-flip", "instance"][..]),
        ("", &["unknown kind ''", "symmetric:0.4"]),
        ("symmetric", &["rate is missing", "symmetric:0.4"]),
        ("symmetric:", &["rate is missing"]),
        ("symmetric:x", &["'x' is not a number"]),
        ("symmetric:40", &["rate = 40", "between 0 and 1"]),
        ("symmetric:-0.1", &["rate = -0.1"]),
        ("symmetric:NaN", &["rate = NaN"]),
        ("symmetric:0.4:1", &["unexpected '1' at the end"]),
        ("class-map:0.4", &["transitions is missing", "class-map:0.4:3-5,5-3"]),
        ("class-map:0.4:35", &["'35' has no '-'"]),
        ("class-map:0.4:3-3", &["3-3", "does not change the label"]),
        ("class-map:0.4:3-5,3-6", &["class 3 is already mapped to 5"]),
        ("class-map:0.4:3-5:mapped", &["'mapped'", "eligible"]),
        ("matrix:0.9,0.1", &["row 0 has 2 numbers", "1 rows"]),
        ("matrix:0.9,0.2/0,1", &["row 0 sums to 1.1"]),
        ("matrix:1.5,-0.5/0,1", &["row 0, column 0 is 1.5"]),
    ] {
        let message = text.parse::<NoiseConfig>().unwrap_err().to_string();
        assert!(parts.iter().all(|part| message.contains(part)), "{text}: {message}");
        assert!(serde_json::from_value::<NoiseConfig>(text.into()).is_err());
    }
}

#[test]
fn bad_input_is_an_error_that_names_the_place() {
    let half = rate(0.5);
    assert!(matches!(symmetric(&[], 3, half, 0), Err(Error::Empty { .. })));
    assert!(matches!(symmetric(&[0, 3], 3, half, 0), Err(Error::Label { row: 1, label: 3, classes: 3 })));
    assert!(matches!(symmetric(&[0, 0], 1, half, 0), Err(Error::Parameter { name: "classes", .. })));
    assert!(matches!(circular(&[0, 0], 1, half, 0), Err(Error::Parameter { name: "classes", .. })));
    assert_eq!(symmetric(&[0, 0], 1, rate(0.0), 0).unwrap().flipped, [0usize; 0]);
    assert!(symmetric(&[0], usize::MAX, half, 0).is_err());
    assert!(matches!(binary_flip(&[0, 2], half, 0), Err(Error::Label { row: 1, label: 2, classes: 2 })));
    assert!(
        ClassMap::new(3, &[(0, 3)]).unwrap_err().to_string().contains("class 3 is not below the number of classes 3")
    );
    assert!(ClassMap::new(0, &[(0, 1)]).is_err() && ClassMap::new(3, &[]).is_err());
    assert!(ClassMap::new(usize::MAX, &[(0, 1)]).is_err());
    let square = Matrix::new(&[1.0, 0.0], 2).unwrap();
    assert!(matches!(TransitionMatrix::new(square), Err(Error::Shape { expected: 2, found: 1, .. })));
    let nan = Matrix::new(&[f64::NAN], 1).unwrap();
    assert!(TransitionMatrix::new(nan).unwrap_err().to_string().contains("row 0, column 0 is NaN"));
    let x = [0.0f32, f32::INFINITY];
    let x = Matrix::new(&x, 1).unwrap();
    assert!(matches!(instance_dependent(&[0, 1], 2, x, half, 0), Err(Error::NonFinite { row: 1, column: 0, .. })));
    assert!(matches!(instance_dependent(&[0], 2, x, half, 0), Err(Error::Shape { expected: 1, found: 2, .. })));
    let bare = NoiseContext::new(10);
    for text in ["superclass:0.2", "instance:0.2", "binary-flip:0.2", "matrix:1"] {
        assert!(text.parse::<NoiseConfig>().unwrap().apply(&[0, 1], &bare, 0).is_err(), "{text}");
    }
    let nine = NoiseContext::new(9);
    assert!(matches!(
        "cifar10-pairs:0.2".parse::<NoiseConfig>().unwrap().apply(&[0], &nine, 0),
        Err(Error::Shape { expected: 10, found: 9, .. })
    ));
    assert!(matches!(NoisyLabels::between(&[0, 1], &[0]), Err(Error::Shape { expected: 2, found: 1, .. })));
    assert_eq!(NoisyLabels::between(&[0, 1, 2], &[0, 2, 2]).unwrap().flipped, [1]);
}

#[test]
fn a_seed_means_the_same_rows_in_every_version() {
    // Fixed by the first release: changing these changes every published noisy data set.
    let labels = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1];
    let noisy = symmetric(&labels, 4, rate(0.4), 42).unwrap();
    assert_eq!(noisy.flipped, [0, 1, 6, 9]);
    assert_eq!(noisy.labels, [1, 2, 2, 3, 0, 1, 0, 3, 0, 0]);
}
