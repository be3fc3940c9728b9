//! Ranks the settings of a search and chooses one.

use cmrm::criterion::{Criterion, Verdict, agreement};
use serde::{Deserialize, Serialize};

use super::{Setting, Trial};

/// Where a setting stands: means over the folds it was judged on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Name of the setting.
    pub setting: String,
    /// Folds it was judged on.
    pub folds: usize,
    /// Means over them; `None` if a training failed.
    pub verdict: Option<Verdict>,
}

/// What was chosen, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Name of the setting.
    pub setting: String,
    /// The setting with the best mean, which is another where the default is not clearly beaten.
    pub best: String,
    /// Lead of the best over the setting to keep, and the standard error of that lead over the folds.
    pub lead: Option<(f64, f64)>,
}

/// Where every setting stands, in the order of the settings.
pub fn standings(settings: &[Setting], trials: &[Trial]) -> Vec<Standing> {
    settings
        .iter()
        .map(|setting| {
            let of_setting: Vec<&Trial> = trials.iter().filter(|trial| trial.setting == setting.name).collect();
            Standing { setting: setting.name.clone(), folds: of_setting.len(), verdict: mean(&of_setting) }
        })
        .collect()
}

fn mean(trials: &[&Trial]) -> Option<Verdict> {
    let verdicts = trials.iter().map(|trial| trial.verdict).collect::<Option<Vec<_>>>()?;
    if verdicts.is_empty() {
        return None;
    }
    let mean = |of: fn(&Verdict) -> f64| verdicts.iter().map(of).sum::<f64>() / verdicts.len() as f64;
    Some(Verdict {
        observed: mean(|v| v.observed),
        weighted: mean(|v| v.weighted),
        corrected: mean(|v| v.corrected),
        posterior: mean(|v| v.posterior),
        agreement: agreement_of_folds(trials),
    })
}

/// Mean agreement of all pairs of folds on the rows that none of them trained on.
fn agreement_of_folds(trials: &[&Trial]) -> Option<f64> {
    let pairs = trials.iter().enumerate().flat_map(|(i, a)| trials[..i].iter().map(move |b| (a, b)));
    let shares = pairs.map(|(a, b)| agreement(&a.witness, &b.witness).ok()).collect::<Option<Vec<_>>>()?;
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// The setting to use by a criterion: the best of those judged on the most folds, unless a setting to keep is not
/// beaten by more than the standard error of the lead over the folds; then that one. `None` if no setting was judged by it.
pub fn choose(settings: &[Setting], trials: &[Trial], criterion: Criterion) -> Option<Choice> {
    let standings = standings(settings, trials);
    let most = standings.iter().filter(|s| s.verdict.is_some()).map(|s| s.folds).max()?;
    let score = |standing: &Standing| standing.verdict.and_then(|verdict| verdict.by(criterion));
    let finalists: Vec<usize> =
        (0..settings.len()).filter(|&i| standings[i].folds == most && score(&standings[i]).is_some()).collect();
    // The first of equals: settings are listed from the plain to the special.
    let better = |a: usize, b: usize| if score(&standings[b]) > score(&standings[a]) { b } else { a };
    let best = finalists.iter().copied().reduce(better)?;
    let name = |i: usize| settings[i].name.clone();
    let kept = finalists.iter().copied().find(|&i| settings[i].keep && i != best);
    let Some(kept) = kept else { return Some(Choice { setting: name(best), best: name(best), lead: None }) };
    let lead = lead(trials, &settings[best].name, &settings[kept].name, criterion);
    let chosen = if lead.is_none_or(|(lead, error)| lead > error) { best } else { kept };
    Some(Choice { setting: name(chosen), best: name(best), lead })
}

/// Mean and standard error over the folds of how far `first` is ahead of `second`. With a single fold there is no spread
/// to tell luck by, and the error is zero; `None` by agreement, which is one number for all folds.
fn lead(trials: &[Trial], first: &str, second: &str, criterion: Criterion) -> Option<(f64, f64)> {
    let of = |name: &str, fold: usize| {
        let trial = trials.iter().find(|trial| trial.setting == name && trial.fold == fold);
        trial.and_then(|trial| trial.verdict).and_then(|verdict| verdict.by(criterion))
    };
    let folds = trials.iter().map(|trial| trial.fold + 1).max().unwrap_or(0);
    let leads: Vec<f64> = (0..folds).filter_map(|fold| Some(of(first, fold)? - of(second, fold)?)).collect();
    if leads.is_empty() {
        return None;
    }
    let count = leads.len() as f64;
    let mean = leads.iter().sum::<f64>() / count;
    let variance = leads.iter().map(|lead| (lead - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    Some((mean, (variance / count).sqrt()))
}
