//! An ONNX graph that grows operator by operator, and the file that it becomes.

use std::collections::{HashMap, HashSet};

use cmrm_data::{Error, Problem, Result};

use crate::attribute::Attribute;
use crate::port::{Kind, Port};
use crate::wire::Message;

/// Version of the file format, that of the operators below.
const IR_VERSION: i64 = 8;
/// The operator sets that are asked for: old enough for most runtimes, new enough for both of those that the tests run.
pub const OPSETS: [(&str, i64); 2] = [("ai.onnx", 15), ("ai.onnx.ml", 2)];
/// The domain of operators for trees and names.
const ML: &str = "ai.onnx.ml";
/// Most bytes of a file: protocol buffers hold less than 2 GiB.
pub const MOST_BYTES: usize = (1 << 31) - 1;

/// Constants of more bytes are not looked for again.
const SMALL: usize = 4096;

/// A tensor by its name in the graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Value(String);

/// A graph under way.
#[derive(Debug, Default)]
pub struct Graph {
    body: Message,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    taken: HashSet<String>,
    next: usize,
    /// Small constants that are there already.
    constants: HashMap<(i64, Vec<i64>, Vec<u8>), Value>,
}

impl Graph {
    /// A graph none of whose inner tensors has one of these names.
    pub fn new<'a>(reserved: impl IntoIterator<Item = &'a str>) -> Self {
        Graph { taken: reserved.into_iter().map(String::from).collect(), ..Graph::default() }
    }

    /// Adds an input of that width.
    pub fn input(&mut self, name: &str, kind: Kind, width: usize) -> Value {
        self.taken.insert(name.to_owned());
        self.inputs.push(Port { name: name.to_owned(), kind, width: Some(width) });
        Value(name.to_owned())
    }

    /// Makes a tensor an output.
    pub fn output(&mut self, from: &Value, name: &str, kind: Kind, width: Option<usize>) {
        self.add("Identity", "", &[from], &[], &[name]);
        self.outputs.push(Port { name: name.to_owned(), kind, width });
    }

    /// Adds an operator with one output.
    pub fn op(&mut self, operator: &str, inputs: &[&Value], attributes: &[(&str, Attribute<'_>)]) -> Value {
        let made = self.fresh();
        self.add(operator, "", inputs, attributes, &[&made]);
        Value(made)
    }

    /// Adds an operator of `ai.onnx.ml` with one output.
    pub fn ml(&mut self, operator: &str, inputs: &[&Value], attributes: &[(&str, Attribute<'_>)]) -> Value {
        let made = self.fresh();
        self.add(operator, ML, inputs, attributes, &[&made]);
        Value(made)
    }

    /// Adds an operator with two outputs and gives the second.
    pub fn second(
        &mut self,
        operator: &str,
        domain: &str,
        inputs: &[&Value],
        attributes: &[(&str, Attribute<'_>)],
    ) -> Value {
        let (first, second) = (self.fresh(), self.fresh());
        self.add(operator, domain, inputs, attributes, &[&first, &second]);
        Value(second)
    }

    /// Numbers that are part of the model.
    pub fn floats(&mut self, shape: &[usize], values: &[f32]) -> Value {
        self.constant(Kind::Float, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    /// The same in double precision.
    pub fn doubles(&mut self, shape: &[usize], values: &[f64]) -> Value {
        self.constant(Kind::Double, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    /// The same, whole.
    pub fn integers(&mut self, shape: &[usize], values: &[i64]) -> Value {
        self.constant(Kind::Integer, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    /// One number, for every place of what it meets.
    pub fn number(&mut self, value: f32) -> Value {
        self.floats(&[1], &[value])
    }

    /// Texts that are part of the model.
    pub fn texts(&mut self, values: &[String]) -> Value {
        let mut tensor = Message::default();
        tensor.integers(1, &[values.len() as i64]).integer(2, Kind::Text.number());
        values.iter().for_each(|value| {
            tensor.block(6, value.as_bytes());
        });
        self.initialise(tensor)
    }

    fn constant(&mut self, kind: Kind, shape: &[usize], bytes: Vec<u8>) -> Value {
        let shape: Vec<i64> = shape.iter().map(|&length| length as i64).collect();
        let mut tensor = Message::default();
        tensor.integers(1, &shape).integer(2, kind.number()).block(9, &bytes);
        if bytes.len() > SMALL {
            return self.initialise(tensor);
        }
        let key = (kind.number(), shape, bytes);
        if let Some(known) = self.constants.get(&key) {
            return known.clone();
        }
        let made = self.initialise(tensor);
        self.constants.insert(key, made.clone());
        made
    }

    fn initialise(&mut self, mut tensor: Message) -> Value {
        let name = self.fresh();
        tensor.block(8, name.as_bytes());
        self.body.message(5, &tensor);
        Value(name)
    }

    fn fresh(&mut self) -> String {
        loop {
            self.next += 1;
            let name = format!("t{}", self.next);
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }

    fn add(
        &mut self,
        operator: &str,
        domain: &str,
        inputs: &[&Value],
        attributes: &[(&str, Attribute<'_>)],
        outputs: &[&str],
    ) {
        let mut node = Message::default();
        inputs.iter().for_each(|input| {
            node.block(1, input.0.as_bytes());
        });
        outputs.iter().for_each(|output| {
            node.block(2, output.as_bytes());
        });
        // What it makes is a name of its own.
        node.block(3, format!("{operator} {}", outputs[0]).as_bytes()).block(4, operator.as_bytes());
        for (name, attribute) in attributes {
            node.message(5, &attribute.message(name));
        }
        if !domain.is_empty() {
            node.block(7, domain.as_bytes());
        }
        self.body.message(1, &node);
    }

    /// The bytes of the file, the inputs and the outputs.
    pub fn finish(self, notes: &[(String, String)]) -> Result<(Vec<u8>, Vec<Port>, Vec<Port>)> {
        let mut graph = self.body;
        graph.block(2, b"cmrm");
        self.inputs.iter().for_each(|port| {
            graph.message(11, &port.message());
        });
        self.outputs.iter().for_each(|port| {
            graph.message(12, &port.message());
        });
        check_size(graph.len())?;
        let mut model = Message::default();
        model.integer(1, IR_VERSION).block(2, b"cmrm").block(3, env!("CARGO_PKG_VERSION").as_bytes());
        for (domain, version) in OPSETS {
            let mut set = Message::default();
            // The standard operators have no domain in the file.
            set.block(1, if domain == ML { ML.as_bytes() } else { b"" }).integer(2, version);
            model.message(8, &set);
        }
        for (key, value) in notes {
            let mut note = Message::default();
            note.block(1, key.as_bytes()).block(2, value.as_bytes());
            model.message(14, &note);
        }
        model.message(7, &graph);
        check_size(model.len())?;
        Ok((model.into_bytes(), self.inputs, self.outputs))
    }
}

/// Refuses a file that no reader takes.
pub fn check_size(bytes: usize) -> Result<()> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    let (what, size, limit) = ("the model as an ONNX file, in bytes,".into(), bytes as u64, MOST_BYTES as u64);
    Err(Error::new(Problem::TooLarge { what, size, limit })
        .way_out("fit a smaller one, such as `--model boosting` or `--model linear`, and export that"))
}
