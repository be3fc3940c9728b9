//! L-BFGS on functions with known minima: convergence, the Wolfe conditions at every step, resuming, and awkward objectives.

mod problems;

use std::ops::ControlFlow;

use cmrm::Scalar;
use cmrm_train::Error;
use cmrm_train::optim::line_search::Accepted;
use cmrm_train::optim::vector::{dot, max_abs};
use cmrm_train::optim::{LbfgsConfig, LbfgsReport, LbfgsState, LbfgsStatus, Snapshot, minimise};
use problems::{Logistic, quadratic, rosenbrock};
use proptest::prelude::*;

/// Relative rounding error that the line search expects of a loss in double precision.
const LOSS_NOISE: f64 = 64.0 * f64::EPSILON;

fn exact() -> LbfgsConfig {
    LbfgsConfig { gradient_tolerance: 1e-10, function_tolerance: 0.0, ..LbfgsConfig::default() }
}

fn run<T: Scalar>(
    config: LbfgsConfig,
    parameters: &mut [T],
    objective: impl FnMut(&[T], &mut [T]) -> cmrm_train::Result<f64>,
) -> LbfgsReport {
    minimise(config, parameters, objective, |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn rosenbrock_is_solved() {
    for length in [2, 10, 50] {
        let mut x: Vec<f64> = (0..length).map(|i| if i % 2 == 0 { -1.2 } else { 1.0 }).collect();
        let report = run(exact(), &mut x, |x, g| Ok(rosenbrock(x, g)));
        assert_eq!(report.status, LbfgsStatus::GradientTolerance, "{report:?}");
        assert!(report.loss < 1e-18 && report.gradient_norm <= 1e-10);
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-9), "{x:?}");
        assert!(report.evaluations < 30 * length as u64, "{report:?}");
    }
}

#[test]
fn an_ill_conditioned_quadratic_is_solved() {
    let mut x = vec![1.0; 30];
    let report = run(exact(), &mut x, |x, g| Ok(quadratic(x, g)));
    assert_eq!(report.status, LbfgsStatus::GradientTolerance, "{report:?}");
    assert!(x.iter().enumerate().all(|(i, x)| (x - (i as f64).sin()).abs() < 1e-9));
}

#[test]
fn a_loss_at_the_limit_of_its_precision_ends_the_run() {
    // With 7 added, losses near the minimum differ by rounding only long before the gradient is as small as asked for.
    let mut x = vec![1.0; 30];
    let report = run(exact(), &mut x, |x, g| Ok(quadratic(x, g) + 7.0));
    assert!(report.status.converged(), "{report:?}");
    assert!((report.loss - 7.0).abs() < 1e-13, "{report:?}");
}

#[test]
fn logistic_regression_reaches_the_optimum_of_scikit_learn() {
    let problem = Logistic::recorded();
    let mut x = vec![0.0; problem.length()];
    let report = run(exact(), &mut x, |x, g| Ok(problem.evaluate(x, g)));
    assert_eq!(report.status, LbfgsStatus::GradientTolerance, "{report:?}");
    assert!((report.loss - problem.optimum).abs() < 1e-14, "{report:?}");
    assert!(x.iter().zip(&problem.solution).all(|(ours, theirs)| (ours - theirs).abs() < 1e-8));
    assert!(report.evaluations < 60, "{report:?}");
}

#[test]
fn single_precision_gets_as_far_as_it_can() {
    let problem = Logistic::recorded();
    let mut x = vec![0.0f32; problem.length()];
    let config = LbfgsConfig { gradient_tolerance: 1e-7, function_tolerance: 0.0, ..LbfgsConfig::default() };
    let report = run(config, &mut x, |x, g| {
        let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        let mut gradient = vec![0.0; x.len()];
        let loss = problem.evaluate(&wide, &mut gradient);
        for (to, from) in g.iter_mut().zip(gradient) {
            *to = from as f32;
        }
        Ok(loss)
    });
    assert!((report.loss - problem.optimum).abs() < 1e-12, "{report:?}");
    assert!(report.evaluations < 200, "{report:?}");
}

/// Runs step by step and checks the Wolfe conditions from the outside; returns the number of steps.
fn check_wolfe(config: LbfgsConfig, x: &mut [f64], mut objective: impl FnMut(&[f64], &mut [f64]) -> f64) -> u64 {
    let mut state = LbfgsState::new(config.validate().unwrap(), x.len());
    loop {
        let (old, mut old_gradient) = (x.to_vec(), vec![0.0; x.len()]);
        let old_loss = objective(x, &mut old_gradient);
        let progress = state.step(x, &mut |x: &[f64], g: &mut [f64]| Ok(objective(x, g))).unwrap();
        if let Some(iteration) = progress.iteration {
            let mut gradient = vec![0.0; x.len()];
            let loss = objective(x, &mut gradient);
            assert_eq!((loss, max_abs(&gradient)), (iteration.loss, iteration.gradient_norm));
            assert_eq!(gradient, state.gradient());
            let step: Vec<f64> = x.iter().zip(&old).map(|(new, old)| new - old).collect();
            let (before, after) = (dot(&old_gradient, &step), dot(&gradient, &step));
            // The slopes are recomputed from rounded differences, hence the small slack.
            let slack = 1e-9 * before.abs() + 4.0 * f64::EPSILON * loss.abs();
            assert!(before < 0.0);
            let flat = after.abs() <= config.curvature * before.abs() + slack;
            assert!(flat || iteration.accepted == Accepted::DecreaseOnly, "{iteration:?}: {before} {after}");
            match iteration.accepted {
                Accepted::StrongWolfe => {
                    assert!(loss <= old_loss + config.sufficient_decrease * before + slack, "{iteration:?}");
                }
                Accepted::Approximate => {
                    assert!((loss - old_loss).abs() <= LOSS_NOISE * old_loss.abs(), "{iteration:?}");
                }
                // A smooth function bounded below has a Wolfe step wherever its losses are more than rounding.
                Accepted::DecreaseOnly => {
                    assert!((loss - old_loss).abs() <= LOSS_NOISE * old_loss.abs(), "{iteration:?}");
                }
            }
        }
        if let Some(status) = progress.status {
            assert!(status != LbfgsStatus::LineSearchFailed, "{:?}", state.report(status));
            return state.iterations();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_accepted_step_satisfies_the_strong_wolfe_conditions(
        start in prop::collection::vec(-3.0..3.0f64, 2..12),
        curvature in 0.1..0.95f64,
        history in 1usize..12,
    ) {
        let config = LbfgsConfig { curvature, history, gradient_tolerance: 1e-8, function_tolerance: 0.0, max_iterations: 5000, ..LbfgsConfig::default() };
        prop_assert!(check_wolfe(config, &mut start.clone(), rosenbrock) > 0);
        prop_assert!(check_wolfe(config, &mut start.clone(), quadratic) > 0);
    }

    #[test]
    fn logistic_steps_satisfy_them_too(seed in 0u64..1000, curvature in 0.1..0.95f64) {
        let problem = Logistic::recorded();
        let mut rng = cmrm::rng::Rng::new(seed, 0);
        let mut start: Vec<f64> = (0..problem.length()).map(|_| 4.0 * rng.uniform() - 2.0).collect();
        check_wolfe(LbfgsConfig { curvature, ..exact() }, &mut start, |x, g| problem.evaluate(x, g));
    }

    #[test]
    fn a_run_resumed_anywhere_ends_with_the_same_bits(cut in 0u64..40, history in 1usize..6) {
        let config = LbfgsConfig { history, ..exact() };
        let mut objective = |x: &[f64], g: &mut [f64]| Ok(rosenbrock(x, g));
        let start = vec![-1.2, 1.0, 0.7, -0.3, 2.0];

        let mut whole = start.clone();
        let report = run(config, &mut whole, objective);

        let mut parts = start;
        let mut state = LbfgsState::new(config.validate().unwrap(), parts.len());
        for _ in 0..cut {
            state.step(&mut parts, &mut objective).unwrap();
        }
        let text = serde_json::to_string(&state.snapshot()).unwrap();
        let snapshot: Snapshot<f64> = serde_json::from_str(&text).unwrap();
        let mut state = LbfgsState::new(config.validate().unwrap(), parts.len());
        state.restore(&snapshot).unwrap();
        prop_assert_eq!(state.snapshot(), snapshot);
        let status = loop {
            if let Some(status) = state.step(&mut parts, &mut objective).unwrap().status {
                break status;
            }
        };
        prop_assert_eq!(state.report(status), report);
        let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&parts), bits(&whole));
    }

    #[test]
    fn kinked_and_mismatched_objectives_end_and_never_raise_the_loss(
        start in prop::collection::vec(-2.0..2.0f64, 3),
        lie in -1.5..1.5f64,
    ) {
        // The absolute value has a kink at the minimum; the gradient is off by a factor that may even turn its sign.
        let objective = |x: &[f64], g: &mut [f64]| {
            let mut loss = 0.0;
            for (g, x) in g.iter_mut().zip(x) {
                loss += x.abs() + 0.5 * x * x;
                *g = (1.0 + lie) * x.signum() + x;
            }
            Ok(loss)
        };
        let mut x = start.clone();
        let before = objective(&x, &mut [0.0; 3]).unwrap();
        let mut last = before;
        let report = minimise(exact(), &mut x, objective, |iteration| {
            assert!(iteration.loss <= last + LOSS_NOISE * last.abs());
            last = iteration.loss;
            ControlFlow::Continue(())
        }).unwrap();
        prop_assert!(report.loss <= before * (1.0 + LOSS_NOISE));
        prop_assert!(report.evaluations <= exact().max_evaluations);
        prop_assert_eq!(report.loss, objective(&x, &mut [0.0; 3]).unwrap());
    }
}

#[test]
fn a_barrier_of_infinities_is_survived() {
    // Σ x − log x is infinite or NaN outside the positive numbers; the first steps would leave them.
    let mut x = vec![1e-3f64, 50.0, 7.0];
    let report = run(exact(), &mut x, |x, g| {
        let mut loss = 0.0;
        for (g, &x) in g.iter_mut().zip(x) {
            loss += x - x.ln();
            *g = 1.0 - 1.0 / x;
        }
        Ok(loss)
    });
    assert_eq!(report.status, LbfgsStatus::GradientTolerance, "{report:?}");
    assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-9));
}

#[test]
fn a_start_that_is_not_finite_is_a_status() {
    for (loss, slope) in [(f64::NAN, 1.0), (1.0, f64::INFINITY), (f64::NEG_INFINITY, 1.0)] {
        let report = run(exact(), &mut [1.0f32], |_, g| {
            g[0] = slope as f32;
            Ok(loss)
        });
        assert_eq!((report.status, report.evaluations, report.iterations), (LbfgsStatus::NonFinite, 1, 0));
    }
}

#[test]
fn limits_hold_and_can_be_raised_on_resuming() {
    let start = [-1.2, 1.0];
    for limit in 1..30 {
        let mut x = start;
        let config = LbfgsConfig { max_evaluations: limit, ..exact() };
        let report = run(config, &mut x, |x, g| Ok(rosenbrock(x, g)));
        assert_eq!(report.status, LbfgsStatus::EvaluationLimit, "{report:?}");
        // One evaluation may be held back for a search that would need it at its end.
        assert!(report.evaluations <= limit && report.evaluations + 1 >= limit, "{report:?}");
    }
    let mut x = start;
    let mut objective = |x: &[f64], g: &mut [f64]| Ok(rosenbrock(x, g));
    let mut short = LbfgsState::new(LbfgsConfig { max_iterations: 5, ..exact() }.validate().unwrap(), 2);
    while short.step(&mut x, &mut objective).unwrap().status.is_none() {}
    assert_eq!((short.status(), short.iterations()), (Some(LbfgsStatus::IterationLimit), 5));
    let held = x;
    assert_eq!(short.step(&mut x, &mut objective).unwrap().status, Some(LbfgsStatus::IterationLimit));
    assert_eq!(x, held);

    let mut long = LbfgsState::new(exact().validate().unwrap(), 2);
    long.restore(&short.snapshot()).unwrap();
    while long.step(&mut x, &mut objective).unwrap().status.is_none() {}
    let mut whole = start;
    run(exact(), &mut whole, objective);
    assert_eq!(x, whole);
}

#[test]
fn an_objective_without_lower_bound_ends() {
    let mut x = [0.0f64];
    let report = run(LbfgsConfig { max_iterations: 50, ..exact() }, &mut x, |x, g| {
        g[0] = -1.0;
        Ok(-x[0])
    });
    assert!(!report.status.converged() && report.evaluations <= exact().max_evaluations, "{report:?}");
}

#[test]
fn the_observer_can_stop_and_errors_come_through() {
    let mut x = [-1.2, 1.0];
    let report = minimise(
        exact(),
        &mut x,
        |x, g| Ok(rosenbrock(x, g)),
        |iteration| {
            if iteration.iteration == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    );
    let report = report.unwrap();
    assert_eq!((report.status, report.iterations), (LbfgsStatus::Stopped, 3));

    let mut calls = 0;
    let start = x;
    let error = minimise(
        exact(),
        &mut x,
        |x, g| {
            calls += 1;
            if calls == 2 { Err(Error::from(cmrm::Error::Empty { what: "batch" })) } else { Ok(rosenbrock(x, g)) }
        },
        |_| ControlFlow::Continue(()),
    );
    assert!(matches!(error.unwrap_err(), Error::Method(cmrm::Error::Empty { what: "batch" })));
    assert_eq!(x, start);
}

#[test]
fn a_changed_objective_is_evaluated_again() {
    let mut x = [5.0f64];
    let mut state = LbfgsState::new(exact().validate().unwrap(), 1);
    for target in [1.0, 2.0] {
        let mut objective = |x: &[f64], g: &mut [f64]| {
            g[0] = 2.0 * (x[0] - target);
            Ok((x[0] - target) * (x[0] - target))
        };
        state.refresh();
        while state.step(&mut x, &mut objective).unwrap().status.is_none() {}
        assert!((x[0] - target).abs() < 1e-9);
    }
}

#[test]
fn bad_settings_and_foreign_snapshots_are_refused() {
    let good = LbfgsConfig::default();
    for bad in [
        LbfgsConfig { history: 0, ..good },
        LbfgsConfig { max_iterations: 0, ..good },
        LbfgsConfig { sufficient_decrease: 0.5, ..good },
        LbfgsConfig { curvature: 1e-5, ..good },
        LbfgsConfig { curvature: 1.0, ..good },
        LbfgsConfig { gradient_tolerance: f64::NAN, ..good },
        LbfgsConfig { loss_noise: Some(-1.0), ..good },
    ] {
        assert!(bad.validate().is_err(), "{bad:?}");
    }
    let good = good.validate().unwrap();
    let snapshot = LbfgsState::<f64>::new(good, 4).snapshot();
    let mut state = LbfgsState::<f64>::new(good, 3);
    assert!(state.restore(&snapshot).unwrap_err().to_string().contains("expected 3, found 4"));
    let own = state.snapshot();
    for name in own.counters.keys() {
        let mut broken = own.clone();
        broken.counters.remove(name);
        assert!(state.restore(&broken).is_err(), "{name}");
    }
    let mut broken = own.clone();
    broken.counters.insert("status".into(), 99);
    assert!(state.restore(&broken).is_err());
    let mut broken = own;
    broken.buffers.insert("steps".into(), vec![0.0; 4]);
    broken.buffers.insert("changes".into(), vec![0.0; 4]);
    assert!(state.restore(&broken).is_err());
    assert!(state.step(&mut [0.0; 2], &mut |_: &[f64], _: &mut [f64]| Ok(0.0)).is_err());
    // No parameters at all: nothing to do, which is an end.
    assert_eq!(run(*good, &mut [] as &mut [f64], |_, _| Ok(1.0)).status, LbfgsStatus::GradientTolerance);
}
