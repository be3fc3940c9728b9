//! Tables of linear probes.

use cmrm::envelope::EnvelopeConfig;

use super::beside::{self, Ours};
use super::compare::{Comparison, Verdict, with_interval};
use super::document::Table;
use super::{Report, printed::printed};
use crate::cell::{CellConfig, CellResult, Results};
use crate::error::Result;
use crate::plan::Options;
use crate::probe::{Probe, ProbeArm, Variant, choose};

/// How the paper's differences are looked for: its base arm and ours differ in their features.
const WAYS: [Ours; 3] = [
    Ours { name: "fair, authors' form", protocol: "fair", arm: "authors" },
    Ours { name: "fair, paper's form", protocol: "fair", arm: "paper" },
    Ours { name: "fair, `robust`", protocol: "fair", arm: "robust" },
];
/// 97.5 % point of the normal distribution.
const NORMAL: f64 = 1.959_964;

/// The fit of an arm on all rows, and its setting.
fn fit<'a>(
    probe: &Probe,
    variant: &Variant,
    arm: &ProbeArm,
    results: &'a Results,
) -> Option<(EnvelopeConfig, &'a CellResult)> {
    let settings = arm.settings();
    let chosen = if settings.len() == 1 {
        0
    } else {
        let fold = |fold| results.get(&CellConfig::Probe(probe.fold(variant, arm, fold))).map(|r| r.metrics.clone());
        choose(&(0..probe.folds).map(fold).collect::<Option<Vec<_>>>()?, settings.len())?
    };
    let setting = settings[chosen];
    Some((setting, results.get(&CellConfig::Probe(probe.chosen(variant, setting)))?))
}

pub(super) fn write(
    report: &mut Report,
    name: &str,
    probe: &Probe,
    results: &Results,
    options: &Options,
) -> Result<()> {
    let mut table = Table {
        caption:
            "Accuracy by clean test labels; the interval of a difference is over the test rows, which both arms share \
                  (the fits have nothing random)."
                .into(),
        columns: ["labels", "arm", "accuracy, %", "minus base", "M.APSS", "minus base", "λ", "α"]
            .map(Into::into)
            .to_vec(),
        rows: Vec::new(),
    };
    let mut found = Vec::new();
    for variant in probe.variants.iter().filter(|variant| options.wants(&variant.name)) {
        let Some(base) = results.get(&CellConfig::Probe(probe.base(variant))) else { continue };
        let get = |result: &CellResult, key: &str| result.metrics.get(key).copied().unwrap_or(f64::NAN);
        let size = get(base, "m-apss");
        table.rows.push(vec![
            variant.name.clone(),
            "`base`".into(),
            format!("{:.2}", 100.0 * get(base, "accuracy")),
            String::new(),
            format!("{size:.3}"),
            String::new(),
            String::new(),
            String::new(),
        ]);
        for arm in &probe.arms {
            let Some((setting, result)) = fit(probe, variant, arm, results) else { continue };
            let (wins, losses, rows) = (get(result, "wins"), get(result, "losses"), get(result, "test-rows"));
            let difference = 100.0 * (wins - losses) / rows;
            let error = 100.0 * (wins + losses - (wins - losses).powi(2) / rows).max(0.0).sqrt() / rows;
            let (low, high) = (difference - NORMAL * error, difference + NORMAL * error);
            let verdict = Verdict::of(low, high, true);
            let accuracy = 100.0 * get(result, "accuracy");
            table.rows.push(vec![
                String::new(),
                format!("`{}`", arm.name),
                format!("{accuracy:.2}"),
                with_interval((difference, Some((low, high))), verdict, 2),
                format!("{:.3}", get(result, "m-apss")),
                format!("{:+.3}", get(result, "m-apss") - size),
                setting.lambda.to_string(),
                setting.alpha.to_string(),
            ]);
            found.push(Comparison {
                experiment: name.into(),
                protocol: "fair".into(),
                row: variant.name.clone(),
                arm: arm.name.clone(),
                against: "base".into(),
                metric: "accuracy".into(),
                pairs: rows as usize,
                mean: accuracy,
                deviation: 0.0,
                difference: Some((difference, Some((low, high)))),
                verdict,
            });
        }
    }
    if found.is_empty() {
        report.document.text("No results yet; train them with `cmrm-reproduce run`.");
        return Ok(());
    }
    let mut missing = Vec::new();
    for arm in &probe.arms {
        let of_arm = || found.iter().filter(|c| c.arm == arm.name);
        let [better, worse, open] = super::binary::count(of_arm());
        if better + worse + open == 0 {
            missing.push(arm.name.as_str());
            continue;
        }
        let gains: Vec<String> =
            of_arm().filter_map(|c| Some(format!("{} {:+.2}{}", c.row, c.difference?.0, c.verdict.mark()))).collect();
        report.document.text(format!(
            "**`{}`: the claim that the envelope raises accuracy {}.** {better} kinds of labels better, {worse} worse, {open} open: {}.",
            arm.name,
            super::sentences::claim([better, worse, open]),
            gains.join(", ")
        ));
    }
    if !missing.is_empty() {
        report.document.text(format!("Not finished: {}.", missing.join(", ")));
    }
    let mut numbers = printed()?;
    numbers.retain(|number| number.experiment == name);
    beside::write(&mut report.document, &numbers, &found, &WAYS);
    report.document.table(table);
    report.comparisons.extend(found);
    Ok(())
}
