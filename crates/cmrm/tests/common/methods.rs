//! Files of the format `cmrm-methods/1`: losses for noisy labels, and prediction sets corrected for the noise.

use cmrm::envelope::{Batch, Objective, RowMemory, RunningTargets, Scratch};
use cmrm::loss::{BaseLoss, LossConfig, Sce, VolMin};
use cmrm::noise_model::Transition;
use cmrm::{Matrix, Scalar};
use serde_json::Value;

use super::{Report, cast, json, widen};

const FORMAT: &str = "cmrm-methods/1";
/// What a target keeps of itself when its row is met: a half, which is undone without rounding.
const KEPT: f64 = 0.5;

pub fn check<T: Scalar>(file: &Value, report: &mut Report) -> Result<(), String> {
    json::only(file, &["format", "seed", "losses", "corrected_sets"])?;
    match json::text(file, "format")? {
        FORMAT => {}
        other => return Err(format!("unknown format \"{other}\"; known is {FORMAT}")),
    }
    for (index, record) in json::list(file, "losses")?.iter().enumerate() {
        let method = json::text(record, "method").map_err(|error| format!("losses, record {index}: {error}"))?;
        let place = format!("losses, record {index} ({method})");
        check_loss::<T>(method, record, &place, report).map_err(|error| format!("{place}: {error}"))?;
        report.cases += 1;
    }
    let sets = if file.get("corrected_sets").is_some() { json::list(file, "corrected_sets")? } else { &[] };
    for (index, record) in sets.iter().enumerate() {
        let place = format!("corrected_sets, record {index}");
        check_sets::<T>(record, &place, report).map_err(|error| format!("{place}: {error}"))?;
        report.cases += 1;
    }
    Ok(())
}

/// A loss with the parameters of a record, and what it needs beside them.
struct Method {
    loss: BaseLoss,
    volume: Option<VolMin>,
    /// The targets of the rows, if the loss reads any.
    targets: Option<Vec<f64>>,
}

impl Method {
    fn of(name: &str, params: &Value) -> Result<Self, String> {
        let known = |fields: &[&str]| json::only(params, fields).map_err(|error| format!("params: {error}"));
        let parameter = |key: &str| json::number(params, key).map_err(|error| format!("params: {error}"));
        // The library has one A; what another would do, a factor does.
        let by_log_zero = || Ok::<f64, String>(parameter("A")? / Sce::LOG_ZERO);
        let mut targets = None;
        let (config, prior) = match name {
            "forward" | "backward" => {
                known(&["T"])?;
                let transition = transition(params)?;
                let config = if name == "forward" { LossConfig::Forward } else { LossConfig::Backward };
                let loss = config.validate_with(&[], Some(&transition)).map_err(|error| error.to_string())?;
                return Ok(Method { loss, volume: None, targets: None });
            }
            "volmin" => {
                known(&["T", "lambda"])?;
                let volume =
                    VolMin::new(parameter("lambda")?, transition(params)?).map_err(|error| error.to_string())?;
                return Ok(Method {
                    loss: BaseLoss::Forward(volume.forward().clone()),
                    volume: Some(volume),
                    targets: None,
                });
            }
            "sce" => {
                known(&["alpha", "beta", "A"])?;
                (LossConfig::Sce { alpha: parameter("alpha")?, beta: parameter("beta")? * by_log_zero()? }, None)
            }
            "apl" => {
                known(&["a", "b", "A"])?;
                (LossConfig::Apl { a: parameter("a")?, b: parameter("b")? * by_log_zero()? }, None)
            }
            "cores" => {
                known(&["beta", "prior"])?;
                (LossConfig::Cores { beta: parameter("beta")? }, Some(json::numbers(params, "prior")?))
            }
            "elr" => {
                known(&["lambda", "target"])?;
                targets = Some(json::matrix(params, "target")?.0);
                (LossConfig::Elr { lambda: parameter("lambda")?, beta: KEPT }, None)
            }
            "label-smoothing" => {
                known(&["epsilon"])?;
                (LossConfig::LabelSmoothing { epsilon: parameter("epsilon")? }, None)
            }
            "bootstrap-soft" => {
                known(&["beta"])?;
                (LossConfig::BootstrapSoft { beta: parameter("beta")? }, None)
            }
            "bootstrap-hard" => {
                known(&["beta"])?;
                (LossConfig::BootstrapHard { beta: parameter("beta")? }, None)
            }
            _ => {
                return Err(
                    "unknown method; known are forward, backward, volmin, sce, apl, cores, elr, label-smoothing, \
                            bootstrap-soft and bootstrap-hard"
                        .to_owned(),
                );
            }
        };
        let loss = config.validate(prior.as_deref().unwrap_or(&[])).map_err(|error| error.to_string())?;
        Ok(Method { loss, volume: None, targets })
    }
}

fn transition(params: &Value) -> Result<Transition, String> {
    let (entries, classes) = json::matrix(params, "T").map_err(|error| format!("params: {error}"))?;
    let entries = Matrix::new(&entries, classes).map_err(|error| format!("params: field \"T\": {error}"))?;
    Transition::new(entries).map_err(|error| format!("params: field \"T\": {error}"))
}

fn check_loss<T: Scalar>(method: &str, record: &Value, place: &str, report: &mut Report) -> Result<(), String> {
    let mut known = vec!["method", "params", "logits", "labels", "values", "total", "grad"];
    if method == "volmin" {
        known.push("grad_transition");
    }
    json::only(record, &known)?;
    let refused = |error: cmrm::Error| error.to_string();
    let Method { loss, volume, targets } = Method::of(method, json::field(record, "params")?)?;
    let (numbers, classes) = json::matrix(record, "logits")?;
    let logits: Vec<T> = cast(&numbers);
    let labels = json::labels(record, "labels")?;
    let matrix = Matrix::new(&logits, classes).map_err(refused)?;
    let identities: Vec<u32> = (0..labels.len() as u32).collect();
    let mut memory = targets.map(|targets| remembering(&targets, &numbers, classes)).transpose()?;
    let (mut grad, mut scratch) = (vec![T::ZERO; logits.len()], Scratch::default());
    let batch = Batch::new(matrix, &labels).with_identities(Some(&identities));
    let outcome = Objective::base(loss)
        .evaluate_remembering(&batch, memory.as_mut(), &mut grad, &mut scratch)
        .map_err(refused)?;

    let at = |quantity: &str| format!("{place}, {quantity}");
    let values = json::numbers(record, "values")?;
    let found: Vec<f64> = scratch.row_losses().map(T::to_f64).collect();
    report.vector(&at("values"), &values, &found)?;
    // Terms of both signs may cancel in the mean: it is compared relative to their size.
    let total = outcome.total + volume.as_ref().map_or(0.0, VolMin::volume);
    let size = values.iter().fold(0.0f64, |a, value| a.max(value.abs()));
    report.compare(&at("total"), json::number(record, "total")?, total, size);
    report.vector(&at("grad"), &json::matrix(record, "grad")?.0, &widen(&grad))?;
    if let Some(volume) = volume {
        let found = volume.gradient_by_transition(matrix, &labels, scratch.shares()).map_err(refused)?;
        report.vector(&at("grad_transition"), &json::matrix(record, "grad_transition")?.0, &found)?;
    }
    Ok(())
}

/// What must have been remembered for the targets to be these once the rows are met: their probabilities go into the targets, kept
/// off zero and one.
fn remembering<T: Scalar>(targets: &[f64], logits: &[f64], classes: usize) -> Result<RowMemory<T>, String> {
    if targets.len() != logits.len() {
        return Err(format!("params: field \"target\" lists {} numbers for {} logits", targets.len(), logits.len()));
    }
    let mut before = RunningTargets::new(targets.len() / classes.max(1), classes);
    let rows = logits.chunks(classes).zip(targets.chunks(classes)).zip(before.targets_mut().chunks_mut(classes));
    for ((logits, targets), before) in rows {
        let top = logits.iter().copied().fold(f64::MIN, f64::max);
        let exponentials: Vec<f64> = logits.iter().map(|u| (u - top).exp()).collect();
        let sum: f64 = exponentials.iter().sum();
        let kept: Vec<f64> = exponentials.iter().map(|e| (e / sum).clamp(1e-4, 1.0 - 1e-4)).collect();
        let sum: f64 = kept.iter().sum();
        for ((before, target), kept) in before.iter_mut().zip(targets).zip(kept) {
            *before = T::from_f64((target - (1.0 - KEPT) * kept / sum) / KEPT);
        }
    }
    Ok(RowMemory { targets: Some(before), ..RowMemory::default() })
}

fn check_sets<T: Scalar>(record: &Value, place: &str, report: &mut Report) -> Result<(), String> {
    json::only(record, &["score", "noise", "rate", "coverage", "probabilities", "labels", "threshold"])?;
    json::choice(record, "score", &[("lac", ())])?;
    json::choice(record, "noise", &[("uniform", ())])?;
    let (probabilities, classes) = json::matrix(record, "probabilities")?;
    let probabilities = widen(&cast::<T>(&probabilities));
    let labels = json::labels(record, "labels")?;
    let refused = |error: cmrm::Error| error.to_string();
    let noise = Transition::uniform(classes, json::number(record, "rate")?).map_err(refused)?;
    cmrm::error::check_labels(&labels, classes).map_err(refused)?;
    if labels.len() * classes != probabilities.len() {
        return Err(format!("{} labels for {} rows of probabilities", labels.len(), probabilities.len() / classes));
    }
    let weigh = |(row, &label): (&[f64], &u32)| {
        let weights = noise.unbiased(label as usize);
        row.iter().zip(weights).map(|(p, &weight)| (1.0 - p, weight)).collect::<Vec<_>>()
    };
    let mut scored: Vec<(f64, f64)> = probabilities.chunks(classes).zip(&labels).flat_map(weigh).collect();
    let wanted = json::number(record, "coverage")? * labels.len() as f64;
    let found = cmrm::conformal::corrected_threshold(&mut scored, wanted);
    report.scalar(&format!("{place}, threshold"), json::number(record, "threshold")?, found);
    Ok(())
}
