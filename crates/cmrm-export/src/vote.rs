//! Votes: the learners' probabilities, calibrated, averaged by their shares, and corrected for the noise.

use cmrm::noise_model::NoiseModel;
use cmrm_data::Result;
use cmrm_train::vote::{Calibration, Member, Vote};

use crate::graph::{Graph, Value};
use crate::network::{self, softmax, sum};
use crate::trees::{self, Columns};
use crate::{kernel, neighbours};

/// Probabilities from features.
pub fn probabilities(graph: &mut Graph, vote: &Vote, features: &Value) -> Result<Value> {
    let mut columns = Columns::default();
    let mut parts = Vec::with_capacity(vote.voters().len());
    for voter in vote.voters() {
        let features = match &voter.scales {
            None => features.clone(),
            Some(scales) => {
                let scales = graph.floats(&[scales.len()], scales);
                graph.op("Mul", &[features, &scales], &[])
            }
        };
        let mut copies = Vec::with_capacity(voter.copies.len());
        for copy in &voter.copies {
            copies.push(match copy {
                Member::Network(model) => network::probabilities(graph, model, &features),
                Member::Kernel(machine) => kernel::probabilities(graph, machine, &features)?,
                Member::Neighbours(near) => neighbours::probabilities(graph, near, &features)?,
                Member::Forest(forest) => trees::forest(graph, forest, &features, &mut columns),
                Member::Boosting(boosting) => trees::boosting(graph, boosting, &features, &mut columns),
            });
        }
        let part = 1.0 / copies.len() as f32;
        let mean = weighted_sum(graph, &copies.into_iter().map(|copy| (copy, part)).collect::<Vec<_>>());
        parts.push((calibrated(graph, &voter.calibration, vote.classes(), mean), voter.share as f32));
    }
    let observed = weighted_sum(graph, &parts);
    Ok(match vote.noise() {
        Some(noise) => corrected(graph, noise, &observed),
        None => observed,
    })
}

fn weighted_sum(graph: &mut Graph, parts: &[(Value, f32)]) -> Value {
    let weighted = |(value, weight): &(Value, f32)| match weight {
        1.0 => value.clone(),
        weight => times(graph, value, *weight),
    };
    let terms: Vec<Value> = parts.iter().map(weighted).collect();
    let sum = terms.into_iter().reduce(|sum, term| graph.op("Add", &[&sum, &term], &[]));
    // Never empty: a vote has a learner, and each learner a copy.
    sum.unwrap_or_else(|| graph.number(0.0))
}

fn times(graph: &mut Graph, value: &Value, factor: f32) -> Value {
    let factor = graph.number(factor);
    graph.op("Mul", &[value, &factor], &[])
}

fn plus(graph: &mut Graph, value: &Value, term: f32) -> Value {
    let term = graph.number(term);
    graph.op("Add", &[value, &term], &[])
}

fn logarithm(graph: &mut Graph, value: &Value, least: f32) -> Value {
    let least = graph.number(least);
    let value = graph.op("Max", &[value, &least], &[]);
    graph.op("Log", &[&value], &[])
}

/// `(1 − floor)·softmax(ln p / temperature) + floor/classes`.
fn calibrated(graph: &mut Graph, calibration: &Calibration, classes: usize, mean: Value) -> Value {
    let mut p = mean;
    if calibration.temperature() != 1.0 {
        let logarithms = logarithm(graph, &p, Calibration::LEAST);
        let temperature = graph.number(calibration.temperature());
        let logits = graph.op("Div", &[&logarithms, &temperature], &[]);
        p = softmax(graph, &logits);
    }
    let floor = calibration.floor();
    if floor == 0.0 {
        return p;
    }
    p = times(graph, &p, 1.0 - floor);
    plus(graph, &p, floor / classes as f32)
}

/// `s ∝ max(q T⁻¹, least)^sharpness`.
fn corrected(graph: &mut Graph, noise: &NoiseModel, observed: &Value) -> Value {
    let clean = undone(graph, noise, observed);
    let logarithms = logarithm(graph, &clean, NoiseModel::LEAST as f32);
    let logits = times(graph, &logarithms, noise.sharpness as f32);
    softmax(graph, &logits)
}

/// `q T⁻¹`; where all classes are confused alike it is `a q + b Σ q`, which takes no matrix.
fn undone(graph: &mut Graph, noise: &NoiseModel, observed: &Value) -> Value {
    let (transition, classes) = (&noise.transition, noise.transition.classes());
    let entries: Vec<f32> = (0..classes).flat_map(|label| transition.unbiased(label)).map(|&w| w as f32).collect();
    let (own, other) = (entries[0], entries.get(1).copied().unwrap_or(0.0));
    let alike = entries.iter().enumerate().all(|(at, &w)| w == if at % (classes + 1) == 0 { own } else { other });
    if !alike {
        let inverse = graph.floats(&[classes, classes], &entries);
        return graph.op("MatMul", &[observed, &inverse], &[]);
    }
    let sum = sum(graph, observed);
    let (kept, spread) = (times(graph, observed, own - other), times(graph, &sum, other));
    graph.op("Add", &[&kept, &spread], &[])
}
