//! Linear models and networks.

use cmrm_train::Model;
use cmrm_train::model::{Head, SMALLEST_NORM};

use crate::attribute::Attribute::Integer;
use crate::graph::{Graph, Value};

/// Probabilities from features.
pub fn probabilities(graph: &mut Graph, model: &Model<f32>, features: &Value) -> Value {
    let network = model.network();
    let (layout, parameters) = (network.layout(), network.parameters());
    let mut x = features.clone();
    let last = layout.layers.len().saturating_sub(1);
    for (at, layer) in layout.layers.iter().enumerate() {
        let weights = &parameters[layer.weights()];
        let shape = [layer.outputs, layer.inputs];
        x = if at == last && layout.head == Head::Cosine {
            cosines(graph, &x, shape, weights)
        } else {
            let weights = graph.floats(&shape, weights);
            let biases = graph.floats(&[layer.outputs], &parameters[layer.biases()]);
            graph.op("Gemm", &[&x, &weights, &biases], &[("transB", Integer(1))])
        };
        if at < last {
            x = graph.op("Relu", &[&x], &[]);
        }
    }
    let scale = model.scale() as f32;
    let logits = if layout.head == Head::Score {
        of_two(graph, &x, scale)
    } else if scale == 1.0 {
        x
    } else {
        let scale = graph.number(scale);
        graph.op("Mul", &[&x, &scale], &[])
    };
    softmax(graph, &logits)
}

/// `w·h / (‖w‖‖h‖)`; the weight vectors are brought to length one beforehand.
fn cosines(graph: &mut Graph, x: &Value, shape: [usize; 2], weights: &[f32]) -> Value {
    let mut unit = Vec::with_capacity(weights.len());
    for row in weights.chunks_exact(shape[1]) {
        let squares: f64 = row.iter().map(|&w| f64::from(w) * f64::from(w)).sum();
        let inverse = 1.0 / squares.sqrt().max(SMALLEST_NORM);
        unit.extend(row.iter().map(|&w| (f64::from(w) * inverse) as f32));
    }
    let unit = graph.floats(&shape, &unit);
    let none = graph.floats(&[shape[0]], &vec![0.0; shape[0]]);
    let products = graph.op("Gemm", &[x, &unit, &none], &[("transB", Integer(1))]);
    let squares = squares(graph, x);
    let norm = graph.op("Sqrt", &[&squares], &[]);
    let least = graph.number(SMALLEST_NORM as f32);
    let norm = graph.op("Max", &[&norm, &least], &[]);
    graph.op("Div", &[&products, &norm], &[])
}

/// The squared length of every row, as a column.
pub fn squares(graph: &mut Graph, x: &Value) -> Value {
    let squares = graph.op("Mul", &[x, x], &[]);
    sum(graph, &squares)
}

/// The sum of every row, as a column.
pub fn sum(graph: &mut Graph, x: &Value) -> Value {
    let axis = graph.integers(&[1], &[1]);
    graph.op("ReduceSum", &[x, &axis], &[("keepdims", Integer(1))])
}

/// Logits of two classes from a column of scores: the first class has zero.
pub fn of_two(graph: &mut Graph, score: &Value, scale: f32) -> Value {
    let second = graph.floats(&[1, 2], &[0.0, scale]);
    graph.op("MatMul", &[score, &second], &[])
}

/// Probabilities from logits.
pub fn softmax(graph: &mut Graph, logits: &Value) -> Value {
    graph.op("Softmax", &[logits], &[("axis", Integer(1))])
}
