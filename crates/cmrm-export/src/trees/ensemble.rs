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

#[cfg(test)]
mod tests {
    use cmrm::Matrix;
    use cmrm_train::Stop;
    use cmrm_train::trees::{Bins, Forest, ForestConfig};

    use super::*;

    const LEVELS: usize = 6;

    /// Rows of a number with a flag, and of a name; both are missing here and there.
    fn rows() -> (Vec<f32>, Vec<u32>) {
        let (mut x, mut labels) = (Vec::new(), Vec::new());
        for row in 0..300 {
            let (number, level) = ((row * 37 % 101) as f32, row * 7 % 23 % (LEVELS + 1));
            let missing = row % 11 == 0;
            x.extend([if missing { 0.0 } else { number }, f32::from(u8::from(missing))]);
            x.extend((0..LEVELS).map(|other| f32::from(u8::from(other == level))));
            labels.push((level * 2 % 3 + usize::from(number > 50.0) + usize::from(missing)) as u32 % 3);
        }
        (x, labels)
    }

    /// The way of a row, as the format's description has it.
    fn walk(ensemble: &Ensemble<'_>, values: &[f32]) -> [f32; 3] {
        let Ensemble { nodes, leaves, .. } = ensemble;
        let mut sums = [0.0; 3];
        for tree in 0..ensemble.trees {
            let at =
                |node: i64| (0..nodes.tree.len()).find(|&at| (nodes.tree[at], nodes.node[at]) == (tree, node)).unwrap();
            // The first of a tree's nodes is its root.
            let mut place = nodes.tree.iter().position(|&other| other == tree).unwrap();
            while !nodes.is_leaf[place] {
                let value = values[nodes.feature[place] as usize];
                let yes = if value.is_nan() { nodes.missing_is_yes[place] == 1 } else { value <= nodes.value[place] };
                place = at(if yes { nodes.yes[place] } else { nodes.no[place] });
            }
            for leaf in (0..leaves.tree.len())
                .filter(|&leaf| (leaves.tree[leaf], leaves.node[leaf]) == (tree, nodes.node[place]))
            {
                sums[leaves.output[leaf] as usize] += leaves.weight[leaf];
            }
        }
        sums
    }

    #[test]
    fn every_row_takes_the_way_that_it_takes_in_the_forest() {
        let (x, labels) = rows();
        let width = LEVELS + 2;
        let columns = vec![TreeColumn::Names { at: 2, levels: LEVELS }, TreeColumn::Number { at: 0, missing: Some(1) }];
        let columns = TreeColumns::new(width, columns).unwrap();
        let matrix = Matrix::new(&x, width).unwrap();
        let bins = Bins::learn(matrix, &columns, None).unwrap();
        let codes = bins.codes(matrix).unwrap();
        let config = ForestConfig { trees: 12, ..ForestConfig::default() };
        let (forest, _) = Forest::fit(&bins, &codes, &labels, 3, None, &config, &Stop::default()).unwrap();
        // The name stands last.
        let mut ensemble = Ensemble::new(&[1, 0], &columns);
        for tree in 0..forest.trees() {
            ensemble.add(forest.tree(tree), crate::trees::votes);
        }
        let questions = ensemble.nodes.is_leaf.iter().filter(|leaf| !**leaf).count();
        let asked = |step: &Step<'_>| matches!(step, Step::Question { .. });
        let own = (0..forest.trees()).map(|tree| forest.tree(tree).filter(asked).count()).sum::<usize>();
        assert!(questions > own, "no question about names takes more than one node");
        let wanted = forest.probabilities(matrix).unwrap();
        for (row, wanted) in x.chunks_exact(width).zip(wanted.chunks_exact(3)) {
            let level = row[2..].iter().position(|&set| set == 1.0);
            let values = [if row[1] == 1.0 { f32::NAN } else { row[0] }, level.map_or(f32::NAN, |level| level as f32)];
            let found = walk(&ensemble, &values);
            assert!(found.iter().zip(wanted).all(|(sum, p)| (sum / 12.0 - p).abs() < 1e-6), "{values:?}: {found:?}");
        }
    }
}
