//! The learners of one round, and those that observed labels chose among them.

use cmrm::scores::most_likely;
use cmrm_run::summary::MemberSummary;
use cmrm_train::vote::{Voter, brier_score, choose};

use super::setting::Setting;
use super::task::{Learned, Task};
use crate::kinds::LearnerKind;

/// Most votes that are cast; a learner may have several of them.
pub(super) const VOTES: usize = 8;

/// One row in so many is one that the vote is sure of.
const SURE: usize = 10;
/// Most of the probability that noise may be taken to spread over all classes.
const MOST_FLOOR: f32 = 0.9;

/// The choice among the learners of a round.
pub(super) struct Chosen {
    /// All of them.
    settings: Vec<Setting>,
    /// Those that vote: with their shares, and what each is worth by observed labels of rows that it had not seen.
    voting: Vec<(Learned, MemberSummary)>,
    /// Out-of-sample probabilities of the vote.
    pub out_of_sample: Vec<f32>,
}

impl Chosen {
    /// Lets observed labels choose.
    pub fn among(learned: Vec<Learned>, labels: &[u32], weights: Option<&[f32]>, classes: usize) -> Self {
        let candidates: Vec<&[f32]> = learned.iter().map(|one| one.out_of_sample.as_slice()).collect();
        let found = choose(&candidates, labels, weights, classes, VOTES);
        let all: usize = found.votes.iter().map(|(_, count)| count).sum();
        let count = |place: usize| found.votes.iter().find(|(at, _)| *at == place).map(|(_, count)| *count);
        let settings = learned.iter().map(|one| one.setting).collect();
        let voting = learned.into_iter().enumerate().filter_map(|(place, one)| {
            let share = count(place)? as f64 / all as f64;
            let worth = worth(&one, share, labels, weights, classes);
            // Said for the last time; the second round needs the room.
            Some((Learned { out_of_sample: Vec::new(), ..one }, worth))
        });
        let voting: Vec<(Learned, MemberSummary)> = voting.collect();
        Chosen { settings, voting, out_of_sample: found.out_of_sample }
    }

    /// What the vote says of clean labels, out of sample. Noise gives every class a part of the probability, whatever the row: about
    /// as much as the least likely class has where the vote is surest. With many wrong labels of two classes that is nearly all
    /// of it, and with it no label would be in doubt.
    pub fn of_clean_labels(&self, labels: &[u32], classes: usize) -> Vec<f32> {
        let mut observed = vec![false; classes];
        labels.iter().for_each(|&label| observed[label as usize] = true);
        let of_observed = |row: &[f32]| {
            row.iter().zip(&observed).filter(|(_, observed)| **observed).fold(1.0, |least, (p, _)| p.min(least))
        };
        let mut least: Vec<f32> = self.out_of_sample.chunks_exact(classes).map(of_observed).collect();
        let sure = least.len() / SURE;
        let (_, &mut floor, _) = least.select_nth_unstable_by(sure, f32::total_cmp);
        let floor = floor.min(MOST_FLOOR / classes as f32);
        let mut clean: Vec<f32> = self.out_of_sample.iter().map(|p| (p - floor).max(0.0)).collect();
        for row in clean.chunks_exact_mut(classes) {
            // Not zero: some class has more than the floor, which is less than an equal share.
            let sum: f32 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= sum);
        }
        clean
    }

    /// The settings of all learners of a kind, if one of them votes.
    pub fn settings_of(&self, kind: LearnerKind) -> Vec<Setting> {
        if self.voting.iter().all(|(one, _)| one.setting.kind() != kind) {
            return Vec::new();
        }
        self.settings.iter().copied().filter(|setting| setting.kind() == kind).collect()
    }

    /// Those that vote, `after` behind their names.
    pub fn voters(self, task: &Task<'_>, after: &str) -> (Vec<Voter>, Vec<MemberSummary>) {
        let voter = |(one, mut member): (Learned, MemberSummary)| {
            member.name += after;
            let voter = Voter {
                name: member.name.clone(),
                share: member.share,
                scales: task.scales(one.setting.scaling()).map(<[f32]>::to_vec),
                copies: one.copies,
                calibration: one.calibration,
            };
            (voter, member)
        };
        self.voting.into_iter().map(voter).unzip()
    }
}

fn worth(learned: &Learned, share: f64, labels: &[u32], weights: Option<&[f32]>, classes: usize) -> MemberSummary {
    let rows = learned.out_of_sample.chunks_exact(classes).zip(labels);
    let right = rows.filter(|(row, label)| most_likely(row) == **label).count();
    MemberSummary {
        name: learned.setting.name(),
        share,
        accuracy: right as f64 / labels.len().max(1) as f64,
        brier: brier_score(&learned.out_of_sample, labels, weights, classes),
    }
}
