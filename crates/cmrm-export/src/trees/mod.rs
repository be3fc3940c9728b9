//! Forests and boosting, by `TreeEnsembleClassifier`: of the operators for trees the one that both runtimes have.

mod ensemble;
mod read;

pub use read::Columns;

use cmrm_train::trees::{Boosting, Forest, Step};

use crate::graph::{Graph, Value};
use crate::network::{of_two, softmax};
use crate::numbers::take;
use crate::trees::ensemble::{Ensemble, Leaf};

/// Probabilities from features: the mean of the trees' votes.
pub fn forest(graph: &mut Graph, forest: &Forest, features: &Value, columns: &mut Columns) -> Value {
    let read = columns.read(graph, features, forest.columns());
    let mut ensemble = Ensemble::new(&read.places, forest.columns());
    for tree in 0..forest.trees() {
        ensemble.add(forest.tree(tree), votes);
    }
    let votes = ensemble.write(graph, &read.values, forest.classes());
    let trees = graph.number(forest.trees() as f32);
    graph.op("Div", &[&votes, &trees], &[])
}

/// What a leaf of a forest says.
fn votes(step: Step<'_>) -> Vec<Leaf> {
    match step {
        Step::Class(output) => vec![Leaf { output, weight: 1.0 }],
        Step::Shares(shares) => {
            let some = shares.iter().enumerate().filter(|(_, share)| **share != 0.0);
            some.map(|(output, &weight)| Leaf { output, weight }).collect()
        }
        Step::Value(_) | Step::Question { .. } => Vec::new(),
    }
}

/// Probabilities from features: the sum of the trees' values, as logits.
pub fn boosting(graph: &mut Graph, boosting: &Boosting, features: &Value, columns: &mut Columns) -> Value {
    let read = columns.read(graph, features, boosting.columns());
    let mut ensemble = Ensemble::new(&read.places, boosting.columns());
    let outputs = boosting.start().len();
    for tree in 0..boosting.trees() {
        let output = tree % outputs;
        ensemble.add(boosting.tree(tree), |step| match step {
            Step::Value(weight) => vec![Leaf { output, weight }],
            _ => Vec::new(),
        });
    }
    if boosting.trees() == 0 {
        ensemble.add([Step::Value(0.0)].into_iter(), |_| vec![Leaf { output: 0, weight: 0.0 }]);
    }
    let sums = ensemble.write(graph, &read.values, outputs);
    let start = graph.floats(&[outputs], boosting.start());
    let logits = graph.op("Add", &[&sums, &start], &[]);
    let logits = if outputs == boosting.classes() { logits } else { of_two(graph, &logits, 1.0) };
    softmax(graph, &logits)
}

/// The first of a tensor's columns.
fn first(graph: &mut Graph, columns: &Value, count: usize) -> Value {
    take(graph, columns, &(0..count).collect::<Vec<_>>())
}
