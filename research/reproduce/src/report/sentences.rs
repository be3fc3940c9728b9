//! Sentences that follow from the comparisons by rule, and those that explain the rules.

use super::binary::{PROTOCOLS, count};
use super::compare::{Comparison, Verdict};
use crate::binary::ArmName;
use crate::experiment::Binary;

/// What stands at the top.
pub(super) const INTRODUCTION: &[&str] = &[
    "`cmrm-reproduce report` writes this page from the cells that `cmrm-reproduce run` trained; no number is copied by hand.",
    "Means ± standard deviations over seeds, in percent where a metric is a share. A difference has its paired 95 % \
     interval (Student's t over seeds): ▲ marks an interval on the better side of zero, ▼ one on the worse side; \
     without a mark the seeds do not decide. One interval in twenty misleads by chance. All metrics use clean test labels, which \
     trained and chose nothing.",
    "M.APSS is the mean size of prediction sets (LAC, coverage 0.9, ten random splits of the test rows), PC and NC APSS \
     those of the rows of class 1 and 0. Lower is better for these, FPR and FNR.",
    "A claim *holds* here if every comparison is better, *holds in part* if more are better than worse, and otherwise \
     *does not hold*.",
];

/// In words, by the rule of the introduction.
pub(super) fn claim([better, worse, open]: [usize; 3]) -> &'static str {
    match (better, worse) {
        (_, 0) if better > 0 && open == 0 => "holds",
        _ if better > worse => "holds in part",
        _ => "does not hold",
    }
}

fn of<'a>(found: &'a [Comparison], protocol: &'a str, arm: ArmName) -> impl Iterator<Item = &'a Comparison> {
    found.iter().filter(move |c| c.protocol == protocol && c.arm == arm.name() && !c.against.is_empty())
}

/// `AUROC: LR +1.20 ▲, focal −0.30`.
fn by_loss(found: &[Comparison], protocol: &str, arm: ArmName, metric: &str) -> String {
    let parts: Vec<String> = of(found, protocol, arm)
        .filter(|c| c.metric == metric)
        .filter_map(|c| Some(format!("{} {:+.2}{}", c.row, c.difference?.0, c.verdict.mark())))
        .collect();
    format!("{metric}: {}", parts.join(", "))
}

/// The sentences of a binary table.
pub(super) fn of_binary(binary: &Binary, found: &[Comparison]) -> Vec<String> {
    let mut texts = Vec::new();
    for protocol in &PROTOCOLS[..2] {
        for &arm in protocol.arms {
            let counts @ [better, worse, open] = count(of(found, protocol.name, arm));
            let all = better + worse + open;
            if all == 0 {
                continue;
            }
            texts.push(format!(
                "**Protocol `{}`, `{}`: the claim that the envelope helps every loss {}.** {all} comparisons (loss × \
                 metric): {better} better, {worse} worse, {open} open. {}; {}.",
                protocol.name,
                arm.name(),
                claim(counts),
                by_loss(found, protocol.name, arm, "accuracy"),
                by_loss(found, protocol.name, arm, "AUROC"),
            ));
        }
    }
    texts.extend(what_remains(found));
    texts.extend(stopped(binary, found));
    texts
}

/// How much of the authors' gain is left when the base arm has the same schedule.
fn what_remains(found: &[Comparison]) -> Option<String> {
    let fair: Vec<&Comparison> = of(found, "fair", ArmName::Penalise).collect();
    let gains: Vec<&Comparison> =
        of(found, "authors", ArmName::Penalise).filter(|c| c.verdict == Verdict::Better).collect();
    if fair.is_empty() || gains.is_empty() {
        return None;
    }
    let kept = gains.iter().filter(|gain| {
        fair.iter().any(|c| (&c.row, &c.metric) == (&gain.row, &gain.metric) && c.verdict == Verdict::Better)
    });
    let (kept, all) = (kept.count(), gains.len());
    let [better, ..] = count(of(found, "schedule", ArmName::BaseFresh));
    Some(format!(
        "Sources of the gains: of the {all} comparisons that `penalise` wins as the authors compare, it also wins {kept} \
         against a base arm with the same schedule. The schedule alone, without any envelope, wins {better} comparisons \
         against the authors' base arm."
    ))
}

/// What stopping at the fork does to the base arm.
fn stopped(binary: &Binary, found: &[Comparison]) -> Option<String> {
    let [better, worse, open] = count(of(found, "schedule", ArmName::BaseWarm));
    // A base arm that ends at the fork is stopped there anyway.
    let steps: Vec<String> = binary
        .rows
        .iter()
        .filter(|row| row.warm.steps < row.base.steps)
        .map(|row| format!("{} {} of {}", row.name, row.warm.steps, row.base.steps))
        .collect();
    (better + worse + open > 0).then(|| {
        format!(
            "Stopping the base arm early ({}) against training to the end: {better} comparisons better, {worse} worse, {open} open. {}; {}.",
            steps.join(", "),
            by_loss(found, "schedule", ArmName::BaseWarm, "accuracy"),
            by_loss(found, "schedule", ArmName::BaseWarm, "AUROC"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_follows_from_the_counts() {
        assert_eq!(claim([8, 0, 0]), "holds");
        assert_eq!(claim([7, 0, 1]), "holds in part");
        assert_eq!(claim([3, 2, 3]), "holds in part");
        assert_eq!(claim([2, 2, 4]), "does not hold");
        assert_eq!(claim([0, 0, 8]), "does not hold");
    }
}
