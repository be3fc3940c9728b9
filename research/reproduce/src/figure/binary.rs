//! An arm of a binary table and its fair base, step by step.

use cmrm_report::{Envelope, Report};
use cmrm_train::train::{Arm, EpochStats, Examples, Silent, Term, Trained, Trainer};

use super::data::{Traced, assemble, epoch};
use crate::binary::{BinaryCell, Phase, fork_config, model};
use crate::data::{Split, Table};
use crate::error::{Error, Result};

const ARM: &str = "envelope";

/// One training with its record; the last model, and the parameters to go on from.
fn trace(
    split: &Split,
    cell: &BinaryCell,
    phase: Phase,
    arm: Arm,
    from: Option<&[f32]>,
) -> Result<(Vec<EpochStats>, Vec<f32>, Trained<f32>)> {
    let wrong = split.observed.iter().zip(&split.clean).map(|(a, b)| a != b).collect();
    let examples = Examples::new(split.x()?, &split.observed);
    let mut trainer =
        Trainer::new(model(&cell.hidden, phase, cell.seed), vec![arm], 2, examples, None)?.with_known_wrong(wrong)?;
    if let Some(from) = from {
        trainer = trainer.starting_from(from)?;
    }
    trainer.run(&mut Silent)?;
    let (history, parameters) = (trainer.history().to_vec(), trainer.parameters_of(0));
    let trained = trainer.finish()?.into_iter().next();
    Ok((history, parameters, trained.ok_or_else(|| Error::Internal("a training without an arm".into()))?))
}

pub(super) fn report(cell: &BinaryCell, table: &Table) -> Result<Report> {
    let split = table.split(cell.noise, cell.seed)?;
    let base = |_: &BinaryCell| Arm::base(cell.loss);
    let (mut history, mut from, mut first) = (Vec::new(), None, 0);
    if let Some(warm) = cell.warm {
        let (steps, parameters, _) = trace(&split, cell, warm, base(cell), None)?;
        // Before the fork both arms are one.
        for name in ["base", ARM] {
            history.extend(steps.iter().map(|stats| epoch(name, 0, stats)));
        }
        (from, first) = (Some(parameters), warm.steps);
    }
    let (_, arm) = fork_config(cell);
    let (steps, _, plain) = trace(&split, cell, cell.phase, base(cell), from.as_deref())?;
    history.extend(steps.iter().map(|stats| epoch("base", first, stats)));
    let (steps, _, trained) = trace(&split, cell, cell.phase, arm, from.as_deref())?;
    history.extend(steps.iter().map(|stats| epoch(ARM, first, stats)));
    let envelope = match cell.term {
        Term::Envelope(config) => Envelope {
            lambda: config.lambda,
            alpha: config.alpha,
            temperature: config.temperature,
            ceiling: config.ceiling,
        },
        // Two thresholds on p; of the margins, the share that is beyond either of them.
        _ => {
            let filtered = steps.last().map_or(0.5, |stats| stats.filtered).clamp(0.01, 0.99);
            Envelope { lambda: 1.0, alpha: (1000.0 * filtered).round() / 1000.0, temperature: 1.0, ceiling: None }
        }
    };
    let x = split.x()?;
    assemble(Traced {
        data: cell.data.set.clone(),
        x,
        observed: &split.observed,
        clean: &split.clean,
        classes: vec![format!("not {}", cell.data.positive), cell.data.positive.clone()],
        test_rows: split.truth.len(),
        arm: ARM,
        model: trained.model,
        record: trained.record,
        base: plain.model,
        history,
        envelope,
        sensitivity: None,
        seed: cell.seed,
    })
}
