//! How far the default can be believed: the estimated share of wrong labels, the probability that a label is wrong, prediction sets and
//! confidence, each against clean labels.
//!
//!     sureness PATH... [--seeds N] [--first-seed N]
//!
//! What a PATH is, and how rows are drawn: [`cmrm_bench::noisy`].

use cmrm::Matrix;
use cmrm::audit::{AuditConfig, rank};
use cmrm::conformal::{ConformalConfig, evaluate};
use cmrm::metric::{calibration_error_of, predicted_classes};
use cmrm_bench::Result;
use cmrm_bench::noisy::each_set;
use cmrm_fit::{Fit, FitConfig, FitOutcome};
use cmrm_run::{CalibratedFor, Expected};
use cmrm_train::Stop;
use cmrm_train::train::Silent;

const RATES: [f64; 4] = [0.0, 0.1, 0.2, 0.4];
const MOST_OF_TWO_CLASSES: f64 = 0.35;
const BINS: usize = 15;

/// What is measured, as it is printed: one number a fit, of which the mean is taken.
const MEASURES: [&str; 14] = [
    "share of wrong labels, error",
    "the same by the confident joint",
    "its 90 % interval covers",
    "probability that a label is wrong, calibration error",
    "expected precision, error",
    "ECE of the base arm",
    "ECE of the envelope arm",
    "settings where it is the larger",
    "90 % sets on observed labels, coverage",
    "size",
    "90 % sets, corrected, coverage",
    "size",
    "90 % sets on clean labels, coverage",
    "size",
];

fn main() -> Result<()> {
    let mut found = vec![vec![Vec::new(); RATES.len()]; MEASURES.len()];
    each_set(|name, draw, seed| {
        for (at, &rate) in RATES.iter().enumerate() {
            let loaded = draw(0.0)?;
            let two = loaded.classes.as_ref().is_some_and(|classes| classes.len() == 2);
            let rate = if two { rate.min(MOST_OF_TWO_CLASSES) } else { rate };
            let noise = if rate > 0.0 { Some(format!("symmetric:{rate}").parse()?) } else { None };
            let config = FitConfig { seed, noise, ..FitConfig::default() };
            let outcome = Fit::new(&config, &loaded, &Stop::default())?.run(&mut Silent)?;
            if outcome.noise.is_none() {
                eprintln!("{name} {seed} {rate}: left out, the models tell nothing of the labels");
                continue;
            }
            let measured = measure(&outcome)?;
            eprintln!("{name} {seed} {rate}: {measured:.3?}");
            found.iter_mut().zip(measured).for_each(|(measure, one)| measure[at].push(one));
        }
        Ok(())
    })?;
    let heads: Vec<String> = RATES.iter().map(|rate| format!("{:.0} %", 100.0 * rate)).collect();
    let fits: Vec<usize> = found[0].iter().map(Vec::len).collect();
    println!("Mean over {fits:?} fits\n\n| | {} | all |", heads.join(" | "));
    println!("|---|{}", "---|".repeat(RATES.len() + 1));
    for (name, measure) in MEASURES.iter().zip(&found) {
        let mean = |values: &[f64]| format!("{:.3}", values.iter().sum::<f64>() / values.len().max(1) as f64);
        let cells: Vec<String> = measure.iter().map(|values| mean(values)).chain([mean(&measure.concat())]).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
    Ok(())
}

/// The numbers of [`MEASURES`].
fn measure(outcome: &FitOutcome) -> Result<[f64; 14]> {
    let (base, envelope) = (outcome.base_arm().ok_or("no base arm")?, outcome.envelope_arm()?);
    let noise = outcome.noise.as_ref().ok_or("the noise was not estimated")?;
    let train = &outcome.rows.train;
    let (labels, classes) = (&train.data.labels, train.data.classes.len());
    let truth = train.clean.as_ref().unwrap_or(labels);
    let wrong: Vec<bool> = truth.iter().zip(labels).map(|(truth, label)| truth != label).collect();
    let share = wrong.iter().filter(|&&wrong| wrong).count() as f64 / wrong.len() as f64;
    let judged = base.out_of_sample.as_ref().ok_or("no out-of-sample probabilities")?;
    let joint = rank(Matrix::new(judged, classes)?, labels, &AuditConfig::default().validate()?)?;
    let joint = joint.noise.as_ref().ok_or("no confident joint")?.rate();
    let [low, high] = noise.estimate.likeliest.interval;
    let rows = &outcome.training_rows;
    let doubts = rows.wrong_probability.iter().zip(&wrong).map(|(&p, &wrong)| (f64::from(p), wrong));
    let doubt_error = calibration_error_of(doubts, BINS);
    let suspects = rows.suspects();
    let precision = suspects.iter().filter(|&&row| wrong[row]).count() as f64 / suspects.len().max(1) as f64;
    let expected = Expected::of(&rows.wrong_probability, suspects.iter().copied());
    // A label that is wrong in the original data counts as a mistake of ours here: clean labels are taken to be right.
    let precision_error = expected.map_or(0.0, |expected| (expected.precision - precision).abs());

    let (test, _) = outcome.rows.test.as_ref().ok_or("no test rows")?;
    let stop = Stop::default();
    let ece = |said: &[f32]| -> Result<f64> {
        let matrix = Matrix::new(said, classes)?;
        let predicted = predicted_classes(matrix)?;
        let told = (0..test.len())
            .map(|row| (f64::from(matrix.row(row)[predicted[row] as usize]), predicted[row] == test.labels[row]));
        Ok(calibration_error_of(told, BINS))
    };
    let said = envelope.model.probabilities(test.x()?, &stop)?;
    let (base_ece, envelope_ece) = (ece(&base.model.probabilities(test.x()?, &stop)?)?, ece(&said)?);
    let calibration = outcome.calibration(envelope, &stop)?.ok_or("no calibration rows")?;
    let conformal = ConformalConfig::default().validate()?;
    let clean = conformal.calibrate(calibration.matrix()?, truth, &[])?;
    let judge = |predictor: &cmrm::conformal::SetPredictor| -> Result<[f64; 2]> {
        let report = evaluate(&predictor.predict(Matrix::new(&said, classes)?, &[])?, &test.labels)?;
        Ok([report.coverage, report.mean_size])
    };
    let observed = judge(&calibration.predictor(&conformal, CalibratedFor::Observed)?)?;
    let corrected = judge(&calibration.predictor(&conformal, CalibratedFor::Corrected)?)?;
    let clean = judge(&clean)?;
    let covers = f64::from(u8::from((low - 1e-9..=high + 1e-9).contains(&share)));
    Ok([
        (noise.estimate.likeliest.rate - share).abs(),
        (joint - share).abs(),
        covers,
        doubt_error,
        precision_error,
        base_ece,
        envelope_ece,
        f64::from(u8::from(envelope_ece > base_ece)),
        observed[0],
        observed[1],
        corrected[0],
        corrected[1],
        clean[0],
        clean[1],
    ])
}
