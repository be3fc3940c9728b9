//! The filter on the base loss, running margins, limit and fade: against the formulas, and what must hold exactly.

mod naive;

use cmrm::Matrix;
use cmrm::envelope::{
    Batch, EnvelopeConfig, Fade, MarginKind, Objective, Outcome, Preset, RowMemory, RunningMargins, Scale, Scope,
    Scratch,
};
use cmrm::loss::{CrossEntropy, Gce, LabelSmoothing, Loss, LossConfig};
use proptest::prelude::*;
use proptest::sample::select;

const CLASSES: usize = 4;

fn filtered() -> EnvelopeConfig {
    EnvelopeConfig {
        lambda: 3.0,
        alpha: 0.5,
        temperature: 0.2,
        scope: Scope::Class,
        ceiling: Some(0.0),
        scale: Scale::Doubt,
        filter_base: true,
        ..Preset::Paper.config(&LossConfig::CrossEntropy)
    }
}

/// Logits, label and weight of each row.
fn rows() -> impl Strategy<Value = Vec<(Vec<f64>, u32, f64)>> {
    let logits = proptest::collection::vec(-6.0..6.0f64, CLASSES);
    let row = (logits, select(vec![0u32, 0, 0, 1, 3]), 0.1..2.0f64);
    proptest::collection::vec(row, 1..40)
}

struct Evaluated {
    outcome: Outcome<f64>,
    grad: Vec<f64>,
    margins: Vec<f64>,
    weights: Vec<f64>,
    losses: Vec<f64>,
}

fn evaluate<L: Loss<f64>>(
    loss: L,
    config: Option<EnvelopeConfig>,
    rows: &[(Vec<f64>, u32, f64)],
    weighted: bool,
    memory: Option<(&[u32], &mut RowMemory<f64>)>,
) -> Evaluated {
    let logits: Vec<f64> = rows.iter().flat_map(|r| r.0.iter().copied()).collect();
    let labels: Vec<u32> = rows.iter().map(|r| r.1).collect();
    let v: Vec<f64> = rows.iter().map(|r| r.2).collect();
    let batch = Batch::new(Matrix::new(&logits, CLASSES).unwrap(), &labels).with_row_weights(weighted.then_some(&v));
    let (identities, memory) = memory.map_or((None, None), |(ids, memory)| (Some(ids), Some(memory)));
    let objective = Objective { loss, envelope: config.map(|config| config.validate().unwrap()) };
    let (mut grad, mut scratch) = (vec![0.0; logits.len()], Scratch::default());
    let outcome =
        objective.evaluate_remembering(&batch.with_identities(identities), memory, &mut grad, &mut scratch).unwrap();
    Evaluated {
        outcome,
        grad,
        margins: scratch.margins().to_vec(),
        weights: scratch.weights().to_vec(),
        losses: scratch.row_losses().collect(),
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-10 * (1.0 + a.abs().max(b.abs()))
}

fn absolute(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(f64::abs).sum()
}

/// The weights of the filter by their definition, from the margins that it reads.
fn weights_of(config: &EnvelopeConfig, margins: &[f64], labels: &[u32]) -> Vec<f64> {
    let whole = naive::tau(margins, config.alpha, config.quantile);
    let tau = |label: u32| {
        let class: Vec<f64> = (0..margins.len()).filter(|&i| labels[i] == label).map(|i| margins[i]).collect();
        let own = config.scope == Scope::Class && class.len() >= 8;
        let tau = if own { naive::tau(&class, config.alpha, config.quantile) } else { whole };
        config.ceiling.map_or(tau, |ceiling| tau.min(ceiling))
    };
    margins.iter().zip(labels).map(|(&m, &label)| naive::weight(m, tau(label), config.temperature)).collect()
}

fn fade_of(fade: Fade, margins: &[f64], v: &[f64]) -> f64 {
    let doubtful: f64 = margins.iter().zip(v).filter(|(m, _)| **m < fade.margin).map(|(_, v)| v).sum();
    (1.0 - doubtful / v.iter().sum::<f64>() / fade.share).max(0.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_filtered_base_is_the_weighted_mean(rows in rows(), weighted in any::<bool>(), faded in any::<bool>()) {
        let fade = faded.then_some(Fade { margin: -0.3, share: 0.4 });
        let config = EnvelopeConfig { fade, ..filtered() };
        let found = evaluate(CrossEntropy, Some(config), &rows, weighted, None);
        let labels: Vec<u32> = rows.iter().map(|r| r.1).collect();
        let v: Vec<f64> = rows.iter().map(|r| if weighted { r.2 } else { 1.0 }).collect();
        let f = fade.map_or(0.0, |fade| fade_of(fade, &found.margins, &v));
        let weights: Vec<f64> = weights_of(&config, &found.margins, &labels).iter().map(|w| f + (1.0 - f) * w).collect();
        let sum: f64 = weights.iter().zip(&v).map(|(w, v)| w * v).sum();
        let base: f64 = (0..v.len()).map(|i| v[i] * weights[i] / sum * found.losses[i]).sum();
        prop_assert!(close(found.outcome.base, base), "{} against {base}", found.outcome.base);
        prop_assert!(close(found.outcome.lambda, config.lambda * (1.0 - f)));
        prop_assert!(close(found.outcome.total, base + found.outcome.lambda * found.outcome.risk));
        for (found, expected) in found.weights.iter().zip(&weights) {
            prop_assert!((0.0..=1.0).contains(found) && close(*found, *expected), "{found} against {expected}");
        }
    }

    #[test]
    fn the_gradient_is_that_of_fixed_weights(rows in rows(), weighted in any::<bool>()) {
        // With λ 0 the total is Σ share·ℓ, and shares have no gradient: it is the row gradient of cross-entropy by shares.
        let config = EnvelopeConfig { lambda: 0.0, ..filtered() };
        let found = evaluate(CrossEntropy, Some(config), &rows, weighted, None);
        let v: Vec<f64> = rows.iter().map(|r| if weighted { r.2 } else { 1.0 }).collect();
        let sum: f64 = found.weights.iter().zip(&v).map(|(w, v)| w * v).sum();
        for (i, (logits, label, _)) in rows.iter().enumerate() {
            let s = naive::softmax(logits);
            for j in 0..CLASSES {
                let expected = v[i] * found.weights[i] / sum * (s[j] - f64::from(u8::from(j == *label as usize)));
                prop_assert!(close(found.grad[i * CLASSES + j], expected));
            }
        }
    }

    #[test]
    fn the_risk_never_outvotes_the_base(
        rows in rows(),
        rho in 0.05..3.0f64,
        lambda in 0.1..50.0f64,
        kind in select(vec![MarginKind::Probability, MarginKind::Logit, MarginKind::Loss]),
        dense in any::<bool>(),
    ) {
        let filter_base = kind == MarginKind::Probability;
        let scale = if kind == MarginKind::Loss { Scale::Fixed } else { Scale::Doubt };
        let free = EnvelopeConfig { lambda, margin: kind, filter_base, scale, ceiling: None, ..filtered() };
        let limited = EnvelopeConfig { limit: Some(rho), ..free };
        let pair = |config| {
            if dense { evaluate(LabelSmoothing::new(0.2).unwrap(), Some(config), &rows, true, None) } else { evaluate(Gce::new(0.7).unwrap(), Some(config), &rows, true, None) }
        };
        let base = pair(EnvelopeConfig { lambda: 0.0, ..free });
        let (free, limited) = (pair(free), pair(limited));
        let of_base = absolute(base.grad.iter().copied());
        let of_risk = absolute(free.grad.iter().zip(&base.grad).map(|(a, b)| a - b));
        let left = absolute(limited.grad.iter().zip(&base.grad).map(|(a, b)| a - b));
        prop_assert!(left <= rho * of_base * (1.0 + 1e-9) + 1e-12, "{left} over {rho} × {of_base}");
        // And no smaller than it has to be.
        prop_assert!((left - of_risk.min(rho * of_base)).abs() <= 1e-8 * (1.0 + of_risk), "{left}, {of_risk}, {of_base}");
        prop_assert!(limited.outcome.lambda <= lambda);
        prop_assert_eq!(limited.outcome.base, base.outcome.base);
    }

    #[test]
    fn without_doubt_a_step_is_the_bases(rows in rows(), weighted in any::<bool>(), lambda in 0.0..100.0f64) {
        // Every label becomes the most likely class, so no margin is below the fade's.
        let mut rows = rows;
        for (logits, label, _) in &mut rows {
            let top = (0..CLASSES).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap();
            *label = top as u32;
        }
        let config = EnvelopeConfig { lambda, limit: Some(1.0), fade: Some(Fade { margin: -0.3, share: 0.1 }), ..filtered() };
        let base = evaluate(CrossEntropy, None, &rows, weighted, None);
        let found = evaluate(CrossEntropy, Some(config), &rows, weighted, None);
        prop_assert!(found.weights.iter().all(|&w| w == 1.0));
        prop_assert_eq!(found.outcome.lambda, 0.0);
        prop_assert_eq!(found.grad, base.grad);
    }

    #[test]
    fn running_margins_average_and_weigh(rows in rows(), beta in 0.0..0.99f64, seed in any::<u64>()) {
        let config = EnvelopeConfig { running: Some(beta), limit: Some(1.0), ..filtered() };
        let mut memory = RowMemory { running: Some(RunningMargins::new(rows.len() + 3, beta)), ..RowMemory::default() };
        let mut expected: Vec<Option<f64>> = vec![None; rows.len() + 3];
        // Three epochs in different orders, the logits drifting; the first without the envelope.
        for epoch in 0..3u64 {
            let turn = (seed.wrapping_add(epoch) % rows.len() as u64) as usize;
            let mut order: Vec<usize> = (0..rows.len()).collect();
            order.rotate_left(turn);
            let met: Vec<_> = order
                .iter()
                .map(|&i| (rows[i].0.iter().map(|z| z * (1.0 + epoch as f64)).collect(), rows[i].1, rows[i].2))
                .collect();
            let ids: Vec<u32> = order.iter().map(|&i| i as u32 + 2).collect();
            let found = evaluate(CrossEntropy, (epoch > 0).then_some(config), &met, true, Some((&ids, &mut memory)));
            for (id, margin) in ids.iter().zip(&found.margins) {
                let kept = &mut expected[*id as usize];
                *kept = Some(kept.map_or(*margin, |old| beta * old + (1.0 - beta) * margin));
            }
            if epoch > 0 {
                let averaged: Vec<f64> = ids.iter().map(|&id| expected[id as usize].unwrap()).collect();
                let labels: Vec<u32> = met.iter().map(|r| r.1).collect();
                for (found, expected) in found.weights.iter().zip(weights_of(&config, &averaged, &labels)) {
                    prop_assert!(close(*found, expected), "{found} against {expected}");
                }
            }
        }
        for (kept, expected) in memory.running.unwrap().margins().iter().zip(expected) {
            prop_assert!(expected.map_or(kept.is_nan(), |expected| close(*kept, expected)));
        }
    }

    #[test]
    fn the_order_of_a_batch_does_not_matter(rows in rows(), turn in 0usize..40) {
        let config = EnvelopeConfig {
            running: Some(0.7),
            limit: Some(1.0),
            fade: Some(Fade { margin: -0.3, share: 0.5 }),
            ..filtered()
        };
        let turn = turn % rows.len();
        let ids: Vec<u32> = (0..rows.len() as u32).collect();
        let memory = || {
            let mut running = RunningMargins::new(rows.len(), 0.7);
            for (i, margin) in running.margins_mut().iter_mut().enumerate() {
                *margin = (i as f64 * 0.37).sin();
            }
            RowMemory { running: Some(running), ..RowMemory::default() }
        };
        let (mut turned, mut turned_ids) = (rows.clone(), ids.clone());
        turned.rotate_left(turn);
        turned_ids.rotate_left(turn);
        let mut a = evaluate(CrossEntropy, Some(config), &rows, true, Some((&ids, &mut memory())));
        let b = evaluate(CrossEntropy, Some(config), &turned, true, Some((&turned_ids, &mut memory())));
        a.grad.rotate_left(turn * CLASSES);
        prop_assert!(close(a.outcome.total, b.outcome.total));
        prop_assert!(a.grad.iter().zip(&b.grad).all(|(a, b)| close(*a, *b)));
    }
}

#[test]
fn rows_without_identity_fall_back_to_the_batch() {
    let rows =
        [(vec![2.0, 0.0, 0.0, 0.0], 0, 1.0), (vec![2.0, 0.0, 0.0, 0.0], 1, 1.0), (vec![0.5, 0.0, 0.0, 0.0], 0, 1.0)];
    let config = EnvelopeConfig { running: Some(0.7), ..filtered() };
    let plain = evaluate(CrossEntropy, Some(EnvelopeConfig { running: None, ..config }), &rows, false, None);
    let nameless = evaluate(CrossEntropy, Some(config), &rows, false, None);
    assert_eq!(plain.grad, nameless.grad);
    // At first sight a row's running margin is its margin.
    let mut memory = RowMemory { running: Some(RunningMargins::new(3, 0.7)), ..RowMemory::default() };
    let first = evaluate(CrossEntropy, Some(config), &rows, false, Some((&[0, 1, 2], &mut memory)));
    assert_eq!(plain.grad, first.grad);
}

#[test]
fn a_single_row_keeps_its_base_loss() {
    // One row, doubted or not, has all the weight there is.
    for label in 0..2 {
        let rows = [(vec![3.0, 0.0, 0.0, 0.0], label, 1.0)];
        let config = EnvelopeConfig { lambda: 0.0, limit: Some(1.0), ..filtered() };
        let base = evaluate(CrossEntropy, None, &rows, false, None);
        let found = evaluate(CrossEntropy, Some(config), &rows, false, None);
        assert_eq!(base.outcome.base, found.outcome.base);
        assert_eq!(base.grad, found.grad);
    }
}

#[test]
fn a_row_that_is_not_remembered_is_refused() {
    let logits = [1.0, 0.0];
    let batch = Batch::new(Matrix::new(&logits, 2).unwrap(), &[0]).with_identities(Some(&[7]));
    let mut memory = RowMemory { running: Some(RunningMargins::new(7, 0.5)), ..RowMemory::default() };
    let objective = Objective::base(CrossEntropy);
    let error = objective.evaluate_remembering(&batch, Some(&mut memory), &mut [0.0; 2], &mut Scratch::default());
    assert!(error.unwrap_err().to_string().contains("row identity = 7"));
}

#[test]
fn settings_out_of_range_are_refused() {
    let refused = |change: fn(EnvelopeConfig) -> EnvelopeConfig| change(filtered()).validate().unwrap_err().to_string();
    assert!(refused(|c| EnvelopeConfig { running: Some(1.0), ..c }).contains("running = 1"));
    assert!(refused(|c| EnvelopeConfig { limit: Some(0.0), ..c }).contains("limit = 0"));
    assert!(
        refused(|c| EnvelopeConfig { fade: Some(Fade { margin: -2.0, share: 0.1 }), ..c }).contains("fade margin = -2")
    );
    assert!(
        refused(|c| EnvelopeConfig { fade: Some(Fade { margin: 0.0, share: 0.0 }), ..c }).contains("fade share = 0")
    );
    assert!(refused(|c| EnvelopeConfig { margin: MarginKind::Logit, ..c }).contains("margin probability"));
}
