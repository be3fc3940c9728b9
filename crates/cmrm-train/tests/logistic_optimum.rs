//! L-BFGS on the embedded data sets ends at the optimum that scikit-learn's logistic regression reaches
//! (recorded by `reference/logistic_optimum.py`).

mod common;

use cmrm::Matrix;
use cmrm::envelope::{Batch, Objective};
use cmrm::loss::{CrossEntropy, LossConfig};
use cmrm_data::{Features, LabelOptions};
use cmrm_datasets::{Cache, load};
use cmrm_train::Model;
use cmrm_train::model::{Head, ModelConfig};
use cmrm_train::optim::LbfgsConfig;
use cmrm_train::train::{Arm, Examples, Method, Silent, TrainConfig, Trainer};
use serde_json::Value;

/// Features in double precision, standardised by the population deviation, and labels.
fn standardised(name: &str) -> (Vec<f64>, usize, Vec<u32>) {
    let named = load(name, &Cache::at("unused")).unwrap();
    let options = LabelOptions { classes: Some(named.classes), ..LabelOptions::default() };
    let labels = named.train.encode_labels(&options).unwrap().labels.indices;
    let (mut x, columns) = match &named.train.features {
        Features::Array(array) => (array.values().iter().map(|&v| f64::from(v)).collect::<Vec<f64>>(), array.width()),
        Features::Table(table) => {
            let columns: Vec<Vec<f64>> = table
                .columns()
                .iter()
                .map(|column| (0..column.len()).map(|row| column.text(row).unwrap().parse().unwrap()).collect())
                .collect();
            let rows = columns[0].len();
            ((0..rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect(), columns.len())
        }
        Features::Sparse(_) => panic!("the embedded sets are dense"),
    };
    let rows = labels.len() as f64;
    for j in 0..columns {
        let mean = x.iter().skip(j).step_by(columns).sum::<f64>() / rows;
        let variance = x.iter().skip(j).step_by(columns).map(|v| (v - mean).powi(2)).sum::<f64>() / rows;
        let deviation = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        for value in x.iter_mut().skip(j).step_by(columns) {
            *value = (*value - mean) / deviation;
        }
    }
    (x, columns, labels)
}

/// Mean cross-entropy plus half of `l2` times the squared weights.
fn objective(model: &Model<f64>, x: Matrix<'_, f64>, labels: &[u32], l2: f64) -> f64 {
    let logits = model.logits(x).unwrap();
    let batch = Batch::new(Matrix::new(&logits, model.classes()).unwrap(), labels);
    let mut grad = vec![0.0; logits.len()];
    let base = Objective::base(CrossEntropy).evaluate(&batch, &mut grad, &mut Default::default()).unwrap().base;
    let weights = &model.network().parameters()[model.network().layout().layers[0].weights()];
    base + 0.5 * l2 * weights.iter().map(|w| w * w).sum::<f64>()
}

#[test]
fn the_loss_is_scikit_learns_to_a_millionth() {
    let record: Value = serde_json::from_str(include_str!("reference/logistic_optimum.json")).unwrap();
    let mut checked = 0;
    for set in record["sets"].as_array().unwrap() {
        let (x, columns, labels) = standardised(set["name"].as_str().unwrap());
        assert_eq!(
            (labels.len(), columns),
            (set["rows"].as_u64().unwrap() as usize, set["columns"].as_u64().unwrap() as usize)
        );
        let classes = set["classes"].as_u64().unwrap() as usize;
        let x = Matrix::new(&x, columns).unwrap();
        for optimum in set["optima"].as_array().unwrap() {
            let c = optimum["c"].as_f64().unwrap();
            let l2 = match optimum["penalty"].as_str().unwrap() {
                "method" => 1.0 / c,
                "sklearn" => 1.0 / (c * labels.len() as f64),
                other => panic!("unknown penalty {other}"),
            };
            let head = if optimum["form"] == "one_logit" { Head::Score } else { Head::Linear };
            let lbfgs = LbfgsConfig { gradient_tolerance: 1e-7, function_tolerance: 0.0, ..LbfgsConfig::default() };
            let config = TrainConfig {
                method: Method::FullBatch(lbfgs),
                l2,
                ..common::adam(ModelConfig { head, ..ModelConfig::linear() }, 2000, None)
            };
            let arms = vec![Arm::base(LossConfig::CrossEntropy)];
            let mut trainer = Trainer::new(config, arms, classes, Examples::new(x, &labels), None).unwrap();
            trainer.run(&mut Silent).unwrap();
            let found = objective(&trainer.finish().unwrap()[0].model, x, &labels, l2);
            let expected = optimum["objective"].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-6, "{} {optimum}: {found}", set["name"]);
            checked += 1;
        }
    }
    assert!(checked >= 8, "{checked}");
}
