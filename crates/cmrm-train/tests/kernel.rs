//! Kernel machines and votes: what they predict, and what their files keep.

use cmrm::Matrix;
use cmrm::noise_model::{NoiseModel, Transition};
use cmrm::rng::Rng;
use cmrm_train::kernel::KernelConfig;
use cmrm_train::train::Examples;
use cmrm_train::vote::{Calibration, Member, Vote, Voter};
use cmrm_train::{Predictor, Stop};

/// Points in the plane; the class is whether they lie in a ring around the origin.
fn ring(rows: usize, seed: u64) -> (Vec<f32>, Vec<u32>) {
    let mut rng = Rng::new(seed, 7);
    let x: Vec<f32> = (0..2 * rows).map(|_| rng.normal() as f32).collect();
    let labels =
        x.chunks_exact(2).map(|p| u32::from((0.7..1.6).contains(&(p[0] * p[0] + p[1] * p[1]).sqrt()))).collect();
    (x, labels)
}

fn config(landmarks: usize) -> KernelConfig {
    KernelConfig { gammas: vec![4.0], ridges: vec![0.1], landmarks, seed: 3 }
}

fn right(probabilities: &[f32], labels: &[u32]) -> f64 {
    let right = probabilities.chunks_exact(2).zip(labels).filter(|(p, label)| u32::from(p[1] > p[0]) == **label);
    right.count() as f64 / labels.len() as f64
}

#[test]
fn left_out_rows_are_judged_as_if_they_had_not_been_there() {
    let (x, labels) = ring(60, 1);
    let weights: Vec<f32> = (0..60).map(|row| if row % 3 == 0 { 0.25 } else { 1.0 }).collect();
    let whole = Examples { row_weights: Some(&weights), ..Examples::new(Matrix::new(&x, 2).unwrap(), &labels) };
    let fitted = config(60).fit(whole, 2, &Stop::default()).unwrap().remove(0);
    for row in [0, 7, 31, 59] {
        // The same row with a weight of zero: it is there, so that landmarks and scale stay, and has no say.
        let mut without = weights.clone();
        without[row] = 0.0;
        let rest = Examples { row_weights: Some(&without), ..whole };
        let retrained = config(60).fit(rest, 2, &Stop::default()).unwrap().remove(0);
        // Both temperatures are chosen anew: the sides of the boundary are compared.
        let (short, long) = (&fitted.left_out[2 * row..2 * row + 2], &retrained.left_out[2 * row..2 * row + 2]);
        let odds = |p: &[f32]| (p[1] / p[0]).ln();
        assert!((odds(short) - odds(long)).abs() < 0.25 * odds(long).abs().max(0.5), "row {row}: {short:?} {long:?}");
    }
}

#[test]
fn a_kernel_learns_a_ring_and_fewer_landmarks_nearly_as_well() {
    let ((x, labels), (new, truth)) = (ring(600, 1), ring(400, 2));
    let rows = Examples::new(Matrix::new(&x, 2).unwrap(), &labels);
    for landmarks in [600, 100] {
        let fitted = config(landmarks).fit(rows, 2, &Stop::default()).unwrap().remove(0);
        let judged = right(&fitted.left_out, &labels);
        let found = fitted.machine.probabilities(Matrix::new(&new, 2).unwrap(), &Stop::default()).unwrap();
        assert!(right(&found, &truth) > 0.92, "{}", right(&found, &truth));
        assert!((judged - right(&found, &truth)).abs() < 0.04, "{judged}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (x, labels) = ring(3000, 5);
    let rows = Examples::new(Matrix::new(&x, 2).unwrap(), &labels);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| config(200).fit(rows, 2, &Stop::default()).unwrap().remove(0))
    };
    let (one, four) = (on(1), on(4));
    assert_eq!(one.machine, four.machine);
    assert_eq!(one.left_out, four.left_out);
}

fn voter(share: f64, copies: Vec<Member>, scales: Option<Vec<f32>>) -> Voter {
    Voter { name: "kernel".into(), share, scales, copies, calibration: Calibration::default() }
}

#[test]
fn a_vote_survives_its_file_and_damaged_files_are_refused() {
    let (x, labels) = ring(80, 1);
    let rows = Examples::new(Matrix::new(&x, 2).unwrap(), &labels);
    let member = |seed| {
        let config = KernelConfig { seed, ..config(20) };
        Member::Kernel(config.fit(rows, 2, &Stop::default()).unwrap().remove(0).machine)
    };
    let voters = vec![
        voter(3.0, vec![member(1), member(2)], None),
        // Halved features of a machine that was trained on them as they are.
        Voter {
            calibration: Calibration::fit(&[0.9, 0.1].repeat(80), &labels, None, 2),
            ..voter(1.0, vec![member(3)], Some(vec![0.5, 0.5]))
        },
    ];
    let probabilities =
        |vote: &Predictor, x: &[f32]| vote.probabilities(Matrix::new(x, 2).unwrap(), &Stop::default()).unwrap();
    let halved: Vec<f32> = x.iter().map(|v| 0.5 * v).collect();
    let alone = |voter: &Voter, scales: Option<Vec<f32>>| {
        Predictor::Vote(Vote::new(vec![Voter { scales, ..voter.clone() }]).unwrap())
    };
    assert_eq!(
        probabilities(&alone(&voters[1], Some(vec![0.5, 0.5])), &x),
        probabilities(&alone(&voters[1], None), &halved)
    );
    let vote = Predictor::Vote(Vote::new(voters).unwrap());
    let said = probabilities(&vote, &x);
    for p in said.chunks_exact(2) {
        assert!((p[0] + p[1] - 1.0).abs() < 1e-5);
    }
    let bytes = vote.to_bytes().unwrap();
    let read = Predictor::from_bytes(&bytes).unwrap();
    assert_eq!(read.probabilities(rows.x, &Stop::default()).unwrap(), said);
    assert_eq!(read.to_bytes().unwrap(), bytes);
    for at in (0..bytes.len()).step_by(37) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        // Refused or read, never a panic.
        let _ = Predictor::from_bytes(&damaged).map(|model| model.probabilities(rows.x, &Stop::default()));
        assert!(Predictor::from_bytes(&bytes[..at]).is_err());
    }
    // Corrected for noise, a vote is surer of the same classes, in its file too.
    let Predictor::Vote(plain) = vote else { panic!("no vote") };
    let noise = NoiseModel::known(Transition::uniform(2, 0.1).unwrap(), &[0.5, 0.5]).unwrap();
    let corrected = Predictor::Vote(plain.clone().corrected(noise.clone()).unwrap());
    assert_eq!(corrected.observed_probabilities(rows.x, &Stop::default()).unwrap(), said);
    let clean = probabilities(&corrected, &x);
    assert_eq!(clean, noise.clean_probabilities(Matrix::new(&said, 2).unwrap()).unwrap());
    assert!(clean.iter().zip(&said).all(|(clean, said)| (clean - 0.5) * (said - 0.5) >= 0.0));
    let read = Predictor::from_bytes(&corrected.to_bytes().unwrap()).unwrap();
    assert_eq!((probabilities(&read, &x), read.to_bytes().unwrap()), (clean, corrected.to_bytes().unwrap()));
    let three = NoiseModel::known(Transition::uniform(3, 0.1).unwrap(), &[0.4, 0.3, 0.3]).unwrap();
    assert!(plain.corrected(three).is_err());
    // Shares that do not quite add up to one after rounding.
    let many = Vote::new((1..=40).map(|share| voter(f64::from(share), vec![member(1)], None)).collect()).unwrap();
    let bytes = many.to_bytes().unwrap();
    assert!(Vote::from_bytes(&bytes).unwrap().to_bytes().unwrap() == bytes);
    assert!(Vote::new(Vec::new()).is_err());
    for scales in [vec![1.0], vec![1.0, f32::NAN]] {
        assert!(Vote::new(vec![voter(1.0, vec![member(1)], Some(scales))]).is_err());
    }
}
