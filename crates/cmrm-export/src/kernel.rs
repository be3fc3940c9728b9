//! Kernel machines.

use cmrm_data::Result;
use cmrm_train::kernel::KernelMachine;

use crate::attribute::Attribute::{Float, Integer};
use crate::graph::{Graph, Value};
use crate::network::{softmax, squares};
use crate::numbers::{dense, squared_lengths};

/// Probabilities from features: `‖x − l‖² = ‖x‖² + ‖l‖² − 2 x·l`, as in the machine itself.
pub fn probabilities(graph: &mut Graph, machine: &KernelMachine, features: &Value) -> Result<Value> {
    let landmarks = dense(machine.landmarks())?;
    let (count, classes) = (machine.landmarks().rows(), machine.classes());
    let lengths = graph.floats(&[count], &squared_lengths(&landmarks, machine.inputs()));
    let landmarks = graph.floats(&[count, machine.inputs()], &landmarks);
    let attributes = [("transB", Integer(1)), ("alpha", Float(-2.0)), ("beta", Float(1.0))];
    let rest = graph.op("Gemm", &[features, &landmarks, &lengths], &attributes);
    let own = squares(graph, features);
    let distances = graph.op("Add", &[&rest, &own], &[]);
    let distances = graph.op("Relu", &[&distances], &[]);
    let gamma = graph.number(-machine.gamma());
    let exponents = graph.op("Mul", &[&distances, &gamma], &[]);
    let kernel = graph.op("Exp", &[&exponents], &[]);
    let weights = graph.floats(&[count, classes], machine.weights());
    let bias = graph.floats(&[classes], machine.bias());
    let scores = graph.op("Gemm", &[&kernel, &weights, &bias], &[]);
    let temperature = graph.number(machine.temperature());
    let logits = graph.op("Div", &[&scores, &temperature], &[]);
    Ok(softmax(graph, &logits))
}
