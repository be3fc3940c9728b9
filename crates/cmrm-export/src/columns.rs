//! From the columns of the data to features.

use std::collections::HashMap;

use cmrm_data::preprocess::{ColumnPlan, DatePart, Encoder, Preprocess, Scale};
use cmrm_data::table::made_up_name;
use cmrm_data::{Error, Kind as Cells, Result};

use crate::graph::{Graph, Value};
use crate::missing::features_of_missing;
use crate::numbers::{beside, cast, filled, missing, scaled, take};
use crate::port::Kind;
use crate::{FEATURES, LABEL, PROBABILITIES, dates, names};

/// Names that the graph must not give to tensors of its own: those of inputs and outputs. Refuses columns whose names are
/// no names of inputs, and columns that cannot be said.
pub fn input_names(preprocess: &Preprocess, from_features: bool) -> Result<Vec<&str>> {
    let mut taken = vec![LABEL, PROBABILITIES, FEATURES];
    if from_features || is_array(preprocess) {
        return Ok(taken);
    }
    for plan in needed(preprocess) {
        let name = plan.name.as_str();
        let refuse = |why: String| {
            Err(Error::option(why).in_column(name).way_out(
                "export the model alone with --from-features, fit without the column (--ignore), or predict with `cmrm predict`",
            ))
        };
        if plan.kind == Cells::Text {
            return refuse("it is read by its words, which ONNX has no operators to count".into());
        }
        if name.is_empty() || name == LABEL || name == PROBABILITIES {
            return refuse(format!("an input of an ONNX model cannot be called '{name}'"));
        }
        taken.push(name);
    }
    Ok(taken)
}

/// Whether the columns have no names and hold numbers alone, so that one input takes them all.
fn is_array(preprocess: &Preprocess) -> bool {
    let number = |plan: &ColumnPlan| matches!(plan.kind, Cells::Numeric | Cells::Boolean);
    preprocess.is_unnamed() && needed(preprocess).all(number)
}

/// The columns that features are made of.
fn needed(preprocess: &Preprocess) -> impl Iterator<Item = &ColumnPlan> {
    preprocess.columns().iter().filter(|plan| plan.width() > 0)
}

/// Adds the inputs, and makes features of them.
pub fn features(graph: &mut Graph, preprocess: &Preprocess) -> Result<Value> {
    if let Some(factors) = preprocess.sparse_factors() {
        return Ok(of_sparse(graph, &factors));
    }
    let fills = features_of_missing(preprocess)?;
    let mut groups = Groups::default();
    let mut offset = 0;
    for plan in needed(preprocess) {
        groups.add(plan, offset, &fills);
        offset += plan.width();
    }
    let mut made = Made::default();
    if is_array(preprocess) {
        let places: HashMap<String, usize> = (0..preprocess.inputs()).map(|at| (made_up_name(at), at)).collect();
        let all = graph.input(FEATURES, Kind::Float, preprocess.inputs());
        let place = |plan: &&ColumnPlan| places.get(&plan.name).copied().ok_or_else(|| not_there(plan));
        let places: Vec<usize> = groups.numbers.plans.iter().map(place).collect::<Result<_>>()?;
        let whole = places.len() == preprocess.inputs() && places.iter().zip(0..).all(|(&place, at)| place == at);
        let raw = if whole { all } else { take(graph, &all, &places) };
        groups.numbers.write(graph, &raw, Kind::Float, &mut made);
    } else {
        for (group, kind) in [(&groups.numbers, Kind::Float), (&groups.days, Kind::Double)] {
            let raw: Vec<Value> = group.plans.iter().map(|plan| graph.input(&plan.name, kind, 1)).collect();
            if !raw.is_empty() {
                let raw = beside(graph, &raw);
                group.write(graph, &raw, kind, &mut made);
            }
        }
        for &(plan, offset) in &groups.others {
            of_other(graph, plan, offset, &fills, &mut made);
        }
    }
    Ok(made.in_order(graph))
}

/// A pipeline without names calls its columns by their places, unless someone edited it.
fn not_there(plan: &ColumnPlan) -> Error {
    Error::option("the preprocessing has no such place")
        .in_column(&*plan.name)
        .way_out("copy the run again, or fit again")
}

/// Features of columns, and where they belong.
#[derive(Default)]
struct Made {
    parts: Vec<Value>,
    places: Vec<usize>,
}

impl Made {
    fn push(&mut self, part: Value, places: impl IntoIterator<Item = usize>) {
        self.parts.push(part);
        self.places.extend(places);
    }

    fn in_order(self, graph: &mut Graph) -> Value {
        let all = beside(graph, &self.parts);
        let mut order = vec![0; self.places.len()];
        self.places.iter().enumerate().for_each(|(at, &place)| order[place] = at);
        if order.iter().zip(0..).all(|(&place, at)| place == at) { all } else { take(graph, &all, &order) }
    }
}

/// Columns that are treated together, so that wide data do not become thousands of operators.
#[derive(Default)]
struct Groups<'a> {
    /// Numbers and booleans.
    numbers: Group<'a>,
    /// Dates as days.
    days: Group<'a>,
    /// The others, and where their features begin.
    others: Vec<(&'a ColumnPlan, usize)>,
}

/// Columns of one number each.
#[derive(Default)]
struct Group<'a> {
    plans: Vec<&'a ColumnPlan>,
    offsets: Vec<usize>,
    fills: Vec<Option<f32>>,
}

impl<'a> Groups<'a> {
    fn add(&mut self, plan: &'a ColumnPlan, offset: usize, fills: &[f32]) {
        let group = match (plan.kind, &plan.encoder) {
            (Cells::Numeric | Cells::Boolean, _) => &mut self.numbers,
            (Cells::Date, Encoder::Days(_) | Encoder::Dropped) => &mut self.days,
            _ => return self.others.push((plan, offset)),
        };
        group.plans.push(plan);
        group.offsets.push(offset);
        group.fills.push(plan.fill.as_ref().map(|_| fills[offset]));
    }
}

impl Group<'_> {
    fn write(&self, graph: &mut Graph, raw: &Value, kind: Kind, made: &mut Made) {
        let empty = self.fills.iter().any(Option::is_some).then(|| missing(graph, raw, kind));
        // A column that is dropped may still have a flag.
        let scale = |at: &usize| match self.plans[*at].encoder {
            Encoder::Number(scale) | Encoder::Days(scale) => Some(scale),
            _ => None,
        };
        let all = 0..self.plans.len();
        let kept: Vec<usize> = all.clone().filter(|at| scale(at).is_some()).collect();
        let scales: Vec<Scale> = kept.iter().filter_map(scale).collect();
        let of_kept = |graph: &mut Graph, columns: &Value| {
            if kept.len() == self.plans.len() { columns.clone() } else { take(graph, columns, &kept) }
        };
        if !kept.is_empty() {
            let raw = of_kept(graph, raw);
            let raw = if kind == Kind::Double { raw } else { cast(graph, &raw, Kind::Double) };
            let mut values = scaled(graph, &raw, &scales);
            if let Some(empty) = &empty {
                let empty = of_kept(graph, empty);
                let fills: Vec<Option<f32>> = kept.iter().map(|&at| self.fills[at]).collect();
                values = filled(graph, &values, &empty, &fills);
            }
            made.push(values, kept.iter().map(|&at| self.offsets[at]));
        }
        let flagged: Vec<usize> = all.filter(|&at| self.plans[at].flag).collect();
        if let Some(empty) = empty.filter(|_| !flagged.is_empty()) {
            let flags = take(graph, &empty, &flagged);
            let flags = cast(graph, &flags, Kind::Float);
            made.push(flags, flagged.iter().map(|&at| self.offsets[at] + self.plans[at].width() - 1));
        }
    }
}

/// A column of names, or of dates by their parts.
fn of_other(graph: &mut Graph, plan: &ColumnPlan, offset: usize, fills: &[f32], made: &mut Made) {
    let width = plan.width() - usize::from(plan.flag);
    let flag_place = offset + width;
    if let Encoder::Parts(parts) = &plan.encoder {
        let days = graph.input(&plan.name, Kind::Double, 1);
        let (wanted, scales): (Vec<DatePart>, Vec<Scale>) = parts.iter().copied().unzip();
        let values = dates::parts(graph, &days, &wanted);
        let values = beside(graph, &values);
        let mut values = scaled(graph, &values, &scales);
        if plan.fill.is_some() {
            let empty = missing(graph, &days, Kind::Double);
            let fills: Vec<Option<f32>> = fills[offset..flag_place].iter().copied().map(Some).collect();
            values = filled(graph, &values, &empty, &fills);
            if plan.flag {
                let flag = cast(graph, &empty, Kind::Float);
                made.push(flag, [flag_place]);
            }
        }
        return made.push(values, offset..flag_place);
    }
    let cells = graph.input(&plan.name, Kind::Text, 1);
    let levels = names::levels(plan);
    if width > 0 {
        let places = names::places(graph, plan, levels, &cells);
        let values = match &plan.encoder {
            Encoder::Ordinal { scale, .. } => {
                let places = cast(graph, &places, Kind::Double);
                scaled(graph, &places, &[*scale])
            }
            _ => names::one_hot(graph, plan, levels, &places),
        };
        made.push(values, offset..flag_place);
    }
    if plan.flag {
        let flag = names::is_missing(graph, &cells);
        made.push(flag, [flag_place]);
    }
}

/// The numbers of a sparse array, given as dense rows. A column that is ignored may hold anything.
fn of_sparse(graph: &mut Graph, factors: &[f64]) -> Value {
    let raw = graph.input(FEATURES, Kind::Float, factors.len());
    let x = cast(graph, &raw, Kind::Double);
    let width = [1, factors.len()];
    let constants = graph.doubles(&width, factors);
    let x = graph.op("Mul", &[&x, &constants], &[]);
    let x = cast(graph, &x, Kind::Float);
    if factors.iter().all(|&factor| factor != 0.0) {
        return x;
    }
    let used = graph.doubles(&width, factors);
    let used = cast(graph, &used, Kind::Truth);
    let zero = graph.number(0.0);
    graph.op("Where", &[&used, &x, &zero], &[])
}
