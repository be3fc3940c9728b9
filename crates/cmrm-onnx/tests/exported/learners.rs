//! Learners of every kind, trained on a table's features.

use cmrm::Rows;
use cmrm_data::preprocess::Preprocess;
use cmrm_train::kernel::KernelConfig;
use cmrm_train::model::{Head, ModelConfig, Network};
use cmrm_train::neighbours::Neighbours;
use cmrm_train::train::Examples;
use cmrm_train::trees::{Bins, Boosting, BoostingConfig, CrossEntropy, Forest, ForestConfig, TreeColumn, TreeColumns};
use cmrm_train::vote::Member;
use cmrm_train::{Model, Stop};

/// One learner of every kind, by its name.
pub fn all(x: Rows<'_, f32>, labels: &[u32], classes: usize, preprocess: &Preprocess) -> Vec<(&'static str, Member)> {
    let stop = Stop::default();
    let bins = Bins::learn(x, &tree_columns(preprocess), None).unwrap();
    let codes = bins.codes(x).unwrap();
    let config = ForestConfig { trees: 30, min_leaf: 3, ..ForestConfig::default() };
    let (forest, _) = Forest::fit(&bins, &codes, labels, classes, None, &config, &stop).unwrap();
    let config = BoostingConfig { rounds: 25, min_leaf: 5, ..BoostingConfig::default() };
    let mut objective = CrossEntropy::new(labels, classes, None).unwrap();
    let boosting = Boosting::fit(&bins, &codes, &mut objective, &config, None, &stop).unwrap().model;
    let weights: Vec<f32> = (0..labels.len()).map(|row| [1.0, 0.5, 0.0][row % 3]).collect();
    let examples = Examples { row_weights: Some(&weights), ..Examples::new(x, labels) };
    let neighbours = Neighbours::fit(examples, classes, &[5], &stop).unwrap().remove(0).neighbours;
    let config = KernelConfig { gammas: vec![0.5], ridges: vec![1.0], landmarks: 80, seed: 0 };
    let machine = config.fit(Examples::new(x, labels), classes, &stop).unwrap().remove(0).machine;
    let network = |config: ModelConfig, scale: f64| {
        let network = Network::new(&config.validate().unwrap(), x.columns(), classes, &[7]).unwrap();
        Member::Network(Model::new(network, scale))
    };
    let mut members = vec![
        ("forest", Member::Forest(forest)),
        ("boosting", Member::Boosting(boosting)),
        ("neighbours", Member::Neighbours(neighbours)),
        ("kernel", Member::Kernel(machine)),
        ("mlp", network(ModelConfig::mlp(&[16, 8]), 1.0)),
        ("cosine", network(ModelConfig { head: Head::Cosine, ..ModelConfig::mlp(&[8]) }, 10.0)),
    ];
    if classes == 2 {
        members.push(("svm", network(ModelConfig { head: Head::Score, ..ModelConfig::mlp(&[4]) }, 2.0)));
    }
    members
}

/// The trees' view of the features: numbers with the flags of missing ones, and names.
fn tree_columns(preprocess: &Preprocess) -> TreeColumns {
    let names = preprocess.feature_names();
    let flag = |name: &str| names.iter().position(|other| *other == format!("{name} is missing"));
    let (mut columns, mut at) = (Vec::new(), 0);
    while at < names.len() {
        let block = names[at..].iter().take_while(|name| name.starts_with("soil")).count();
        if block > 0 {
            columns.push(TreeColumn::Names { at, levels: block });
        } else if !names[at].ends_with("missing") {
            columns.push(TreeColumn::Number { at, missing: flag(&names[at]) });
        }
        at += block.max(1);
    }
    TreeColumns::new(names.len(), columns).unwrap()
}
