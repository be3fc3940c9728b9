//! The features of a row as trees compare them: see `cmrm_train::trees::TreeColumns`.

use cmrm_train::trees::{TreeColumn, TreeColumns};

use crate::attribute::Attribute::{Integer, Integers};
use crate::graph::{Graph, Value};
use crate::numbers::{beside, cast, take};
use crate::port::Kind;

/// Columns that were read before: the copies of a learner read the same.
#[derive(Default)]
pub struct Columns {
    known: Vec<(Value, TreeColumns, Read)>,
}

/// Columns as a tensor.
#[derive(Clone)]
pub struct Read {
    /// Numbers and places of names; not a number where a cell is missing.
    pub values: Value,
    /// Where each of the columns stands.
    pub places: Vec<usize>,
}

impl Columns {
    /// The columns made of these features.
    pub fn read(&mut self, graph: &mut Graph, features: &Value, columns: &TreeColumns) -> Read {
        let known = self.known.iter().find(|(of, as_read, _)| of == features && as_read == columns);
        if let Some((_, _, read)) = known {
            return read.clone();
        }
        let read = read(graph, features, columns);
        self.known.push((features.clone(), columns.clone(), read.clone()));
        read
    }
}

fn read(graph: &mut Graph, features: &Value, columns: &TreeColumns) -> Read {
    let plain = |(at, column): (usize, &TreeColumn)| *column == TreeColumn::Number { at, missing: None };
    if columns.len() == columns.width() && columns.columns().iter().enumerate().all(plain) {
        return Read { values: features.clone(), places: (0..columns.len()).collect() };
    }
    let (mut numbers, mut flagged, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for (index, column) in columns.columns().iter().enumerate() {
        match *column {
            TreeColumn::Number { at, missing: None } => numbers.push((index, at)),
            TreeColumn::Number { at, missing: Some(flag) } => flagged.push((index, at, flag)),
            TreeColumn::Names { at, levels } => names.push((index, at, levels)),
        }
    }
    let (mut parts, mut order) = (Vec::new(), Vec::new());
    if !numbers.is_empty() {
        parts.push(take(graph, features, &numbers.iter().map(|&(_, at)| at).collect::<Vec<_>>()));
        order.extend(numbers.iter().map(|&(index, _)| index));
    }
    if !flagged.is_empty() {
        let values = take(graph, features, &flagged.iter().map(|&(_, at, _)| at).collect::<Vec<_>>());
        let flags = take(graph, features, &flagged.iter().map(|&(.., flag)| flag).collect::<Vec<_>>());
        let (missing, none) = (cast(graph, &flags, Kind::Truth), nothing(graph));
        parts.push(graph.op("Where", &[&missing, &none, &values], &[]));
        order.extend(flagged.iter().map(|&(index, ..)| index));
    }
    for (index, at, levels) in names {
        parts.push(name(graph, features, at, levels));
        order.push(index);
    }
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &index)| places[index] = place);
    Read { values: beside(graph, &parts), places }
}

/// The place of the first largest feature of a block that is set, or none.
fn name(graph: &mut Graph, features: &Value, at: usize, levels: usize) -> Value {
    let block = take(graph, features, &(at..at + levels).collect::<Vec<_>>());
    let most = graph.op("ReduceMax", &[&block], &[("axes", Integers(&[1])), ("keepdims", Integer(1))]);
    let set = graph.number(TreeColumn::SET);
    let is_set = graph.op("Greater", &[&most, &set], &[]);
    let place = graph.op("ArgMax", &[&block], &[("axis", Integer(1)), ("keepdims", Integer(1))]);
    let place = cast(graph, &place, Kind::Float);
    let none = nothing(graph);
    graph.op("Where", &[&is_set, &place, &none], &[])
}

/// What stands where a cell is missing.
fn nothing(graph: &mut Graph) -> Value {
    graph.floats(&[1, 1], &[f32::NAN])
}
