//! An ONNX file, and the part of it that leads to one tensor.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use cmrm_data::read::Source;
use cmrm_data::table::closest;
use cmrm_data::{Error, Result};
use tract_onnx::model::Onnx;
use tract_onnx::onnx;
use tract_onnx::pb::{GraphProto, ModelProto, NodeProto, ValueInfoProto};
use tract_onnx::prelude::Framework;

use crate::input::Input;
use crate::model::{OnnxModel, guarded};

/// Names that a message lists.
const LISTED: usize = 12;
/// The version of the format, with which every model starts.
const FIRST_FIELD: u8 = 0x08;

/// A model as it stands in its file.
pub struct OnnxFile {
    path: PathBuf,
    engine: Onnx,
    model: ModelProto,
}

impl OnnxFile {
    /// Reads a model, and says of other files what they are.
    pub fn read(path: &Path) -> Result<Self> {
        let engine = onnx();
        let model = read(path, &engine)?;
        Ok(OnnxFile { path: path.to_owned(), engine, model })
    }

    /// Whether the model names a tensor among its outputs.
    pub fn has_output(&self, name: &str) -> bool {
        self.model.graph.iter().flat_map(|graph| &graph.output).any(|output| output.name == name)
    }

    /// Cuts the model down to what the tensor `wanted`, or else its first output, depends on.
    pub fn keep(mut self, wanted: Option<&str>) -> Result<OnnxModel> {
        let graph = self.model.graph.get_or_insert_default();
        let output = keep(&self.path, graph, wanted)?;
        check_operators(&self.path, graph, &self.engine)?;
        let given = |name: &String| graph.initializer.iter().any(|tensor| tensor.name == *name);
        let inputs = graph.input.iter().filter(|input| !given(&input.name));
        let inputs = inputs.map(|input| Input::of(&self.path, input)).collect::<Result<_>>()?;
        // Large models keep their numbers in files beside them.
        let folder = self.path.parent().and_then(Path::to_str);
        let model = guarded(&self.path, || Ok(self.engine.parse(&self.model, folder)?.model))?;
        Ok(OnnxModel { path: self.path, model, inputs, output })
    }
}

fn refused(path: &Path, why: impl Into<String>) -> Error {
    Error::option(why).in_file(path.display())
}

fn read(path: &Path, onnx: &Onnx) -> Result<ModelProto> {
    let bytes = Source::file(path).read_all()?;
    let refuse = |why: &str| Err(refused(path, why));
    match bytes.as_slice() {
        [] => return refuse("an empty file"),
        [b'P', b'K', 3, 4, ..] => {
            return refuse("a zip archive, perhaps a PyTorch checkpoint; export the model with torch.onnx.export");
        }
        bytes if bytes.starts_with(b"version https://git-lfs") => {
            return refuse("a Git LFS pointer; fetch the model with `git lfs pull`");
        }
        _ => {}
    }
    let Ok(model) = onnx.proto_model_for_read(&mut bytes.as_slice()) else {
        return refuse(if bytes[0] == FIRST_FIELD {
            "a truncated or damaged ONNX model; download or export it again"
        } else {
            "not an ONNX model"
        });
    };
    match &model.graph {
        Some(graph) if !graph.node.is_empty() && model.opset_import.is_empty() => {
            refuse("a truncated ONNX model without its operator list; download or export it again")
        }
        Some(graph) if !graph.node.is_empty() => Ok(model),
        _ => refuse("not an ONNX model: it has no operators"),
    }
}

/// Cuts a graph down and returns the tensor's name. What a model does after its features need not be supported, nor
/// computed.
fn keep(path: &Path, graph: &mut GraphProto, wanted: Option<&str>) -> Result<String> {
    let first = graph.output.first().map(|output| output.name.clone());
    let Some(name) = wanted.map(str::to_owned).or(first) else {
        return Err(refused(path, "the model has no named output; choose a tensor with --output"));
    };
    let made: Vec<&str> = graph.node.iter().flat_map(made_by).collect();
    if !made.contains(&name.as_str()) {
        return Err(refused(path, missing(&name, &made)));
    }
    let mut needed = HashSet::from([name.clone()]);
    // Operators stand in an order in which they can be computed.
    let mut kept = Vec::new();
    for node in graph.node.drain(..).rev() {
        if made_by(&node).any(|name| needed.contains(name)) {
            add_inputs(&node, &mut needed);
            kept.push(node);
        }
    }
    kept.reverse();
    graph.node = kept;
    graph.initializer.retain(|tensor| needed.contains(&tensor.name));
    graph.input.retain(|input| needed.contains(&input.name));
    graph.output = vec![ValueInfoProto { name: name.clone(), ..ValueInfoProto::default() }];
    // Shapes that the exporter noted hold for the exporter's batch.
    graph.value_info.clear();
    Ok(name)
}

fn made_by(node: &NodeProto) -> impl Iterator<Item = &str> {
    node.output.iter().map(String::as_str).filter(|name| !name.is_empty())
}

fn missing(name: &str, made: &[&str]) -> String {
    let near: Vec<String> = closest(name, made).into_iter().map(|near| format!("'{near}'")).collect();
    let near = if near.is_empty() { String::new() } else { format!(", did you mean {}?", near.join(" or ")) };
    let last = &made[made.len().saturating_sub(LISTED)..];
    let last: Vec<String> = last.iter().map(|name| format!("'{name}'")).collect();
    format!("the model has no tensor '{name}'{near}; the last of its {} are {}", made.len(), last.join(", "))
}

/// Adds what an operator reads, within its branches and loops too.
fn add_inputs(node: &NodeProto, needed: &mut HashSet<String>) {
    needed.extend(node.input.iter().cloned());
    for inner in inner_graphs(node) {
        inner.node.iter().for_each(|node| add_inputs(node, needed));
        needed.extend(inner.output.iter().map(|output| output.name.clone()));
    }
}

fn inner_graphs(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs))
}

/// Refuses operators that the engine does not know, by name.
fn check_operators(path: &Path, graph: &GraphProto, onnx: &Onnx) -> Result<()> {
    let mut unknown: Vec<String> = Vec::new();
    add_unknown(graph, onnx, &mut unknown);
    if unknown.is_empty() {
        return Ok(());
    }
    let (list, them) = (unknown.join(", "), if unknown.len() == 1 { "it" } else { "them" });
    Err(refused(
        path,
        format!(
            "operators that are not supported: {list}; choose a tensor before {them} with --output, or export the \
             network without {them}"
        ),
    ))
}

fn add_unknown(graph: &GraphProto, onnx: &Onnx, unknown: &mut Vec<String>) {
    for node in &graph.node {
        if !onnx.op_register.0.contains_key(&node.op_type) {
            let domain = if node.domain.is_empty() { String::new() } else { format!(" of {}", node.domain) };
            let name = format!("'{}'{domain}", node.op_type);
            if !unknown.contains(&name) {
                unknown.push(name);
            }
        }
        inner_graphs(node).for_each(|inner| add_unknown(inner, onnx, unknown));
    }
}
