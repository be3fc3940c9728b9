//! What the parts of a vote are worth: the default is fitted, taken apart, and each part judged by clean test labels.
//!
//!     vote_parts PATH... [--seeds N] [--first-seed N]
//!
//! What a PATH is, and how rows are drawn: [`cmrm_bench::noisy`].

use cmrm::metric::accuracy;
use cmrm_bench::Result;
use cmrm_bench::noisy::Means;
use cmrm_fit::{Fit, FitConfig, FitOutcome, Loaded};
use cmrm_run::summary::WEIGHTED;
use cmrm_train::Stop;
use cmrm_train::train::Silent;
use cmrm_train::vote::{Calibration, Predictor, Vote, Voter};

/// The parts, as they are printed.
const PARTS: [&str; 7] = [
    "the default: both votes",
    "the first vote alone",
    "the weighed vote alone",
    "both, without calibration",
    "both, all learners that vote alike",
    "the best learner by observed labels",
    "the best learner in hindsight",
];

fn main() -> Result<()> {
    Means::measure(PARTS, |loaded, seed| measure(&loaded, seed))?.print();
    Ok(())
}

/// The accuracies of [`PARTS`].
fn measure(loaded: &Loaded, seed: u64) -> Result<[f64; 7]> {
    let config = FitConfig { seed, ..FitConfig::default() };
    let outcome = Fit::new(&config, loaded, &Stop::default())?.run(&mut Silent)?;
    let (Predictor::Vote(both), Predictor::Vote(first)) =
        (&outcome.envelope_arm()?.model, &outcome.base_arm().ok_or("no base arm")?.model)
    else {
        return Err("the default is not a vote".into());
    };
    let judge = |voters: Vec<Voter>| judge(voters, &outcome);
    let weighed: Vec<Voter> = both.voters().iter().filter(|voter| voter.name.ends_with(WEIGHTED)).cloned().collect();
    let plain = |voter: &Voter| Voter { calibration: Calibration::default(), ..voter.clone() };
    let alike = |voter: &Voter| Voter { share: 1.0, ..voter.clone() };
    let best = outcome.members.iter().min_by(|a, b| {
        let score = |member: &cmrm_run::summary::MemberSummary| {
            if member.name.ends_with(WEIGHTED) { f64::INFINITY } else { member.brier }
        };
        score(a).total_cmp(&score(b))
    });
    let best = first.voters().iter().find(|voter| best.is_some_and(|best| best.name == voter.name));
    let singles = both.voters().iter().map(|voter| judge(vec![voter.clone()])).collect::<Result<Vec<f64>>>()?;
    Ok([
        judge(both.voters().to_vec())?,
        judge(first.voters().to_vec())?,
        // Where no label was in doubt there was no second round.
        judge(if weighed.is_empty() { first.voters().to_vec() } else { weighed })?,
        judge(both.voters().iter().map(plain).collect())?,
        judge(both.voters().iter().map(alike).collect())?,
        judge(best.into_iter().cloned().collect())?,
        singles.into_iter().fold(0.0, f64::max),
    ])
}

fn judge(voters: Vec<Voter>, outcome: &FitOutcome) -> Result<f64> {
    let (test, _) = outcome.rows.test.as_ref().ok_or("no test rows")?;
    let vote = Predictor::Vote(Vote::new(voters)?);
    Ok(accuracy(&vote.predict(test.x()?)?, &test.labels)?)
}
