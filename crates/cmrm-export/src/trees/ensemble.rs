//! Trees in the lists that `TreeEnsembleClassifier` takes them in.
//!
//! A question about a number is a node of its own: what is at most the threshold goes one way, as with us, and each node says
//! where missing values go. A question about names becomes one node for each run of neighbouring names that go the same way:
//! "is the place of the name at most that of the run's last one?", asked from the first run to the last. Runs that go the
//! same way share the child, which the format allows.

use cmrm_train::trees::{Names, Step, Test, TreeColumn, TreeColumns};

use crate::attribute::Attribute::{Floats, Integers, Text, Texts};
use crate::graph::{Graph, Value};

/// Fewest classes that the operator is told of: for two, runtimes differ in what they make of the scores.
const FEWEST_CLASSES: usize = 3;

/// What a leaf adds to one output.
pub struct Leaf {
    /// The output.
    pub output: usize,
    /// The term.
    pub weight: f32,
}

/// Trees under way.
pub struct Ensemble<'a> {
    /// Where each column stands in the input.
    places: &'a [usize],
    columns: &'a TreeColumns,
    trees: i64,
    nodes: Nodes,
    leaves: Leaves,
}

#[derive(Default)]
struct Nodes {
    tree: Vec<i64>,
    node: Vec<i64>,
    feature: Vec<i64>,
    value: Vec<f32>,
    is_leaf: Vec<bool>,
    yes: Vec<i64>,
    no: Vec<i64>,
    missing_is_yes: Vec<i64>,
}

#[derive(Default)]
struct Leaves {
    tree: Vec<i64>,
    node: Vec<i64>,
    output: Vec<i64>,
    weight: Vec<f32>,
}

/// A node that asks.
#[derive(Clone, Copy)]
struct Question {
    feature: usize,
    threshold: f32,
    yes: usize,
    no: usize,
    missing_is_yes: bool,
}

impl<'a> Ensemble<'a> {
    /// No trees, for columns that stand at these places.
    pub fn new(places: &'a [usize], columns: &'a TreeColumns) -> Self {
        Ensemble { places, columns, trees: 0, nodes: Nodes::default(), leaves: Leaves::default() }
    }

    /// Adds a tree, whose leaves add what `leaf` says.
    pub fn add<'s>(&mut self, steps: impl ExactSizeIterator<Item = Step<'s>>, leaf: impl Fn(Step<'s>) -> Vec<Leaf>) {
        let tree = self.trees;
        self.trees += 1;
        // Nodes that a question takes beside its own come after the others.
        let mut spare = steps.len();
        let mut later = Vec::new();
        for (node, step) in steps.enumerate() {
            let Step::Question { column, test, missing_right, left } = step else {
                self.nodes.push_leaf(tree, node);
                for Leaf { output, weight } in leaf(step) {
                    self.leaves.push(tree, node, output, weight);
                }
                continue;
            };
            let feature = self.places[column];
            match test {
                Test::UpTo(threshold) => {
                    let (yes, no) = (left, left + 1);
                    let asked = Question { feature, threshold, yes, no, missing_is_yes: !missing_right };
                    self.nodes.push(tree, node, &asked);
                }
                Test::Among(names) => {
                    let levels = match self.columns.columns()[column] {
                        TreeColumn::Names { levels, .. } => levels,
                        TreeColumn::Number { .. } => 0,
                    };
                    let missing = left + usize::from(missing_right);
                    let first = spare;
                    let mut asked = chain(&names, levels, left, missing, feature, &mut spare).into_iter();
                    // At once, since a tree's first node is its root.
                    asked.next().iter().for_each(|asked| self.nodes.push(tree, node, asked));
                    later.extend((first..).zip(asked));
                }
            }
        }
        later.into_iter().for_each(|(node, asked)| self.nodes.push(tree, node, &asked));
    }

    /// Adds the operator; the sums of so many outputs.
    pub fn write(self, graph: &mut Graph, values: &Value, outputs: usize) -> Value {
        let Ensemble { nodes, leaves, .. } = self;
        let classes: Vec<i64> = (0..outputs.max(FEWEST_CLASSES) as i64).collect();
        let modes: Vec<&str> = nodes.is_leaf.iter().map(|&leaf| if leaf { "LEAF" } else { "BRANCH_LEQ" }).collect();
        let attributes = [
            ("classlabels_int64s", Integers(&classes)),
            ("post_transform", Text("NONE")),
            ("nodes_treeids", Integers(&nodes.tree)),
            ("nodes_nodeids", Integers(&nodes.node)),
            ("nodes_featureids", Integers(&nodes.feature)),
            ("nodes_values", Floats(&nodes.value)),
            ("nodes_modes", Texts(&modes)),
            ("nodes_truenodeids", Integers(&nodes.yes)),
            ("nodes_falsenodeids", Integers(&nodes.no)),
            ("nodes_missing_value_tracks_true", Integers(&nodes.missing_is_yes)),
            ("class_treeids", Integers(&leaves.tree)),
            ("class_nodeids", Integers(&leaves.node)),
            ("class_ids", Integers(&leaves.output)),
            ("class_weights", Floats(&leaves.weight)),
        ];
        let sums = graph.second("TreeEnsembleClassifier", "ai.onnx.ml", &[values], &attributes);
        if outputs < FEWEST_CLASSES { super::first(graph, &sums, outputs) } else { sums }
    }
}

/// The nodes of a question about names. The first takes the question's own place, the others those from `spare` on.
fn chain(
    names: &Names<'_>,
    levels: usize,
    left: usize,
    missing: usize,
    feature: usize,
    spare: &mut usize,
) -> Vec<Question> {
    let side = |level: usize| left + usize::from(!names.holds(level));
    // The last name of each run, and where the run goes.
    let ends = (0..levels).filter(|&level| level + 1 == levels || side(level) != side(level + 1));
    let runs: Vec<(usize, usize)> = ends.map(|last| (last, side(last))).collect();
    let other = |child: usize| if child == left { left + 1 } else { left };
    // Where all names go one way, only missing ones get past the first node.
    let asked = runs.len().saturating_sub(1).max(1);
    let question = |(at, &(last, yes)): (usize, &(usize, usize))| {
        let no = if at + 1 == asked { other(yes) } else { *spare + at };
        Question { feature, threshold: last as f32, yes, no, missing_is_yes: missing == yes }
    };
    let questions: Vec<Question> = runs.iter().enumerate().take(asked).map(question).collect();
    *spare += asked - 1;
    questions
}

impl Nodes {
    fn push(&mut self, tree: i64, node: usize, asked: &Question) {
        self.tree.push(tree);
        self.node.push(node as i64);
        self.feature.push(asked.feature as i64);
        self.value.push(asked.threshold);
        self.is_leaf.push(false);
        self.yes.push(asked.yes as i64);
        self.no.push(asked.no as i64);
        self.missing_is_yes.push(i64::from(asked.missing_is_yes));
    }

    fn push_leaf(&mut self, tree: i64, node: usize) {
        self.push(tree, node, &Question { feature: 0, threshold: 0.0, yes: 0, no: 0, missing_is_yes: false });
        if let Some(last) = self.is_leaf.last_mut() {
            *last = true;
        }
    }
}

impl Leaves {
    fn push(&mut self, tree: i64, node: usize, output: usize, weight: f32) {
        self.tree.push(tree);
        self.node.push(node as i64);
        self.output.push(output as i64);
        self.weight.push(weight);
    }
}
