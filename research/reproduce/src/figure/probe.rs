//! A linear probe and its base, iteration by iteration, and accuracy against α and λ.

use cmrm::Matrix;
use cmrm::envelope::EnvelopeConfig;
use cmrm::loss::LossConfig;
use cmrm::metric::wilson;
use cmrm_report::{Envelope, Estimate, Report, Sensitivity, Setting};
use cmrm_train::train::{Arm, EpochStats, Examples, Silent, Term, Trained, Trainer};

use super::FigureCell;
use super::data::{Traced, assemble, epoch};
use crate::error::{Error, Result};
use crate::probe::{ProbeCell, Probed, fit, settings};

/// Column of the file of labels that holds the clean ones.
pub(super) const CLEAN: &str = "clean_label";
const ARM: &str = "envelope";

fn trace(data: &Probed, cell: &ProbeCell, term: Term) -> Result<(Vec<EpochStats>, Trained<f32>)> {
    let (observed, clean) = (data.observed(&cell.column), data.observed(CLEAN));
    let wrong = observed.iter().zip(clean).map(|(a, b)| a != b).collect();
    let arm = Arm { name: "arm".into(), term, ..Arm::base(LossConfig::CrossEntropy) };
    let examples = Examples::new(Matrix::new(&data.train, data.width)?, observed);
    let mut trainer = Trainer::new(settings(cell), vec![arm], cell.classes, examples, None)?.with_known_wrong(wrong)?;
    trainer.run(&mut Silent)?;
    let history = trainer.history().to_vec();
    let trained = trainer.finish()?.into_iter().next();
    Ok((history, trained.ok_or_else(|| Error::Internal("a training without an arm".into()))?))
}

pub(super) fn report(cell: &ProbeCell, alphas: &[f64], lambdas: &[f64], data: &Probed) -> Result<Report> {
    let whole = FigureCell::Probe { cell: cell.clone(), alphas: Vec::new(), lambdas: Vec::new() };
    let own = whole.envelope().ok_or_else(|| Error::Unknown("a probe without an envelope has no figures".into()))?;
    let (base_steps, base) = trace(data, cell, Term::Base)?;
    let (steps, trained) = trace(data, cell, Term::Envelope(own))?;
    let mut history: Vec<_> = base_steps.iter().map(|stats| epoch("base", 0, stats)).collect();
    history.extend(steps.iter().map(|stats| epoch(ARM, 0, stats)));
    let x = Matrix::new(&data.train, data.width)?;
    assemble(Traced {
        data: format!("{} {}", cell.set, cell.column),
        x,
        observed: data.observed(&cell.column),
        clean: data.observed(CLEAN),
        classes: (0..cell.classes).map(|class| class.to_string()).collect(),
        test_rows: data.truth.len(),
        arm: ARM,
        model: trained.model,
        record: trained.record,
        base: base.model,
        history,
        envelope: Envelope { lambda: own.lambda, alpha: own.alpha, temperature: own.temperature, ceiling: own.ceiling },
        sensitivity: sensitivity(cell, own, alphas, lambdas, data)?,
        seed: 0,
    })
}

/// One fit a value, each from the base's solution.
fn sensitivity(
    cell: &ProbeCell,
    own: EnvelopeConfig,
    alphas: &[f64],
    lambdas: &[f64],
    data: &Probed,
) -> Result<Option<Sensitivity>> {
    if alphas.is_empty() || lambdas.is_empty() {
        return Ok(None);
    }
    let (x, test) = (Matrix::new(&data.train, data.width)?, Matrix::new(&data.test, data.width)?);
    let observed = data.observed(&cell.column);
    let (_, start) = fit(x, observed, cell, Term::Base, None)?;
    let judge = |setting: EnvelopeConfig| -> Result<Option<Estimate>> {
        let (model, _) = fit(x, observed, cell, Term::Envelope(setting), Some(&start))?;
        let right = model.predict(test)?.iter().zip(&data.truth).filter(|(a, b)| a == b).count();
        let interval = wilson(right, data.truth.len(), 0.95)?;
        let value = right as f64 / data.truth.len() as f64;
        Ok(Some(Estimate { value, low: interval.low, high: interval.high }))
    };
    let line = |values: &[f64], chosen: f64, with: &dyn Fn(f64) -> EnvelopeConfig| -> Result<Vec<Setting>> {
        let one = |&value: &f64| {
            Ok(Setting { value, chosen: value == chosen, validation: None, judged: judge(with(value))? })
        };
        values.iter().map(one).collect()
    };
    Ok(Some(Sensitivity {
        alpha: line(alphas, own.alpha, &|alpha| EnvelopeConfig { alpha, ..own })?,
        lambda: line(lambdas, own.lambda, &|lambda| EnvelopeConfig { lambda, ..own })?,
        judged_by: "clean test labels".into(),
    }))
}
