//! Trained models as ONNX files, for programs that know nothing of cmrm.
//!
//! [`to_onnx`] writes down what `cmrm predict` does: the columns of the data become features, features probabilities, and
//! the likeliest class is the label. The file asks for old operator sets and for operators that both onnxruntime and tract
//! have. Where a sum has another order in a runtime than here, the last digits of single precision differ.
//!
//! What ONNX cannot say is refused: counting the words of a text, and rows too wide to be dense.

mod attribute;
mod columns;
mod dates;
mod graph;
mod kernel;
mod missing;
mod names;
mod neighbours;
mod network;
mod numbers;
mod port;
mod trees;
mod vote;
mod wire;

pub use graph::OPSETS;
pub use port::{Kind, Port};

use cmrm_data::preprocess::Preprocess;
use cmrm_data::{Error, Result};
use cmrm_train::Predictor;

use crate::graph::{Graph, Value};

/// The output with the most likely class.
pub const LABEL: &str = "label";
/// The output with the probabilities of all classes.
pub const PROBABILITIES: &str = "probabilities";
/// The input with all numbers of a row, where columns have no names.
pub const FEATURES: &str = "features";
/// Most features of a row: runtimes take dense ones.
const MOST_FEATURES: usize = 1 << 17;

/// What is to be exported.
#[derive(Clone, Copy)]
pub struct Export<'a> {
    /// Names of the classes.
    pub classes: &'a [String],
    /// How columns become features.
    pub preprocess: &'a Preprocess,
    /// How features become probabilities.
    pub model: &'a Predictor,
    /// Whether the model is to take features instead of columns.
    pub from_features: bool,
}

/// A model as an ONNX file.
#[derive(Debug, Clone)]
pub struct Exported {
    /// The file.
    pub bytes: Vec<u8>,
    /// What it takes.
    pub inputs: Vec<Port>,
    /// What it gives.
    pub outputs: Vec<Port>,
}

/// Writes a model down. `notes` become properties of the file, by their names.
pub fn to_onnx(export: Export<'_>, notes: &[(String, String)]) -> Result<Exported> {
    let Export { classes, preprocess, model, from_features } = export;
    check_width(preprocess)?;
    let mut graph = Graph::new(columns::input_names(preprocess, from_features)?);
    let features = if from_features {
        graph.input(FEATURES, Kind::Float, preprocess.width())
    } else {
        columns::features(&mut graph, preprocess)?
    };
    let probabilities = match model {
        Predictor::Network(model) => network::probabilities(&mut graph, model, &features),
        Predictor::Vote(vote) => vote::probabilities(&mut graph, vote, &features)?,
    };
    let label = label(&mut graph, &probabilities, classes);
    graph.output(&label, LABEL, Kind::Text, None);
    graph.output(&probabilities, PROBABILITIES, Kind::Float, Some(classes.len()));
    let (bytes, inputs, outputs) = graph.finish(notes)?;
    Ok(Exported { bytes, inputs, outputs })
}

/// The name of the likeliest class, of equals the first.
fn label(graph: &mut Graph, probabilities: &Value, classes: &[String]) -> Value {
    use attribute::Attribute::Integer;
    let class = graph.op("ArgMax", &[probabilities], &[("axis", Integer(1)), ("keepdims", Integer(0))]);
    let names = graph.texts(classes);
    graph.op("Gather", &[&names, &class], &[("axis", Integer(0))])
}

fn check_width(preprocess: &Preprocess) -> Result<()> {
    let width = preprocess.width();
    if width <= MOST_FEATURES {
        return Ok(());
    }
    Err(Error::option(format!(
        "the model reads {width} features, and ONNX models read rows that are dense, of at most {MOST_FEATURES}"
    ))
    .way_out("fit on fewer columns or terms, or predict with `cmrm predict`"))
}
