//! Nearest neighbours.

use cmrm_data::Result;
use cmrm_train::neighbours::Neighbours;

use crate::attribute::Attribute::{Float, Integer};
use crate::graph::{Graph, Value};
use crate::numbers::{dense, squared_lengths};

/// Probabilities from features: `(Σ w + 1/classes) / (Σ w + 1)` over the nearest rows.
pub fn probabilities(graph: &mut Graph, neighbours: &Neighbours, features: &Value) -> Result<Value> {
    let (inputs, classes) = (neighbours.inputs(), neighbours.classes());
    let rows = dense(neighbours.rows())?;
    let weights = neighbours.weights();
    // Rows without weight are nobody's neighbours.
    let counted: Vec<usize> = (0..weights.len()).filter(|&row| weights[row] > 0.0).collect();
    let rows: Vec<f32> = counted.iter().flat_map(|&row| &rows[row * inputs..][..inputs]).copied().collect();
    let labels: Vec<i64> = counted.iter().map(|&row| i64::from(neighbours.labels()[row])).collect();
    let weights: Vec<f32> = counted.iter().map(|&row| weights[row]).collect();

    // The nearest have the largest `2 x·r − ‖r‖²`; of equals the operator takes the earlier, as we do.
    let minus: Vec<f32> = squared_lengths(&rows, inputs).iter().map(|length| -length).collect();
    let minus = graph.floats(&[counted.len()], &minus);
    let rows = graph.floats(&[counted.len(), inputs], &rows);
    let attributes = [("transB", Integer(1)), ("alpha", Float(2.0)), ("beta", Float(1.0))];
    let nearness = graph.op("Gemm", &[features, &rows, &minus], &attributes);
    let count = graph.integers(&[1], &[neighbours.count().min(counted.len()) as i64]);
    let nearest = graph.second("TopK", "", &[&nearness, &count], &[("axis", Integer(1)), ("largest", Integer(1))]);

    // Of each neighbour a row of zeros with its weight at its class, `[N, count, classes]`.
    let [labels, weights] = {
        let labels = graph.integers(&[counted.len(), 1], &labels);
        let weights = graph.floats(&[counted.len(), 1], &weights);
        [labels, weights].map(|of_rows| graph.op("Gather", &[&of_rows, &nearest], &[("axis", Integer(0))]))
    };
    let all = graph.integers(&[1, 1, classes], &(0..classes as i64).collect::<Vec<_>>());
    let is_class = graph.op("Equal", &[&labels, &all], &[]);
    let is_class = graph.op("Cast", &[&is_class], &[("to", Integer(1))]);
    let votes = graph.op("Mul", &[&is_class, &weights], &[]);
    let axis = graph.integers(&[1], &[1]);
    let votes = graph.op("ReduceSum", &[&votes, &axis], &[("keepdims", Integer(0))]);
    let sum = graph.op("ReduceSum", &[&weights, &axis], &[("keepdims", Integer(0))]);
    let (one, doubt) = (graph.number(1.0), graph.number(1.0 / classes as f32));
    let votes = graph.op("Add", &[&votes, &doubt], &[]);
    let sum = graph.op("Add", &[&sum, &one], &[]);
    Ok(graph.op("Div", &[&votes, &sum], &[]))
}
