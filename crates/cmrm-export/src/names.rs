//! Columns of names.

use cmrm_data::preprocess::{ColumnPlan, Encoder, Fill};

use crate::attribute::Attribute::{Integer, Integers, Texts};
use crate::graph::{Graph, Value};
use crate::numbers::cast;
use crate::port::Kind;

/// What stands for a missing cell.
const MISSING: &str = "";

/// The place of each name among the column's levels: −1 for one never seen; of a missing cell what fills it, and the place
/// after the last for a category of its own.
pub fn places(graph: &mut Graph, plan: &ColumnPlan, levels: &[String], cells: &Value) -> Value {
    let mut names: Vec<&str> = levels.iter().map(String::as_str).collect();
    let mut places: Vec<i64> = (0..levels.len() as i64).collect();
    let filled = match &plan.fill {
        Some(Fill::Level(level)) => Some(*level),
        Some(Fill::OwnCategory) => Some(levels.len()),
        Some(Fill::Number(_)) | None => None,
    };
    if let Some(place) = filled.filter(|_| !names.contains(&MISSING)) {
        names.push(MISSING);
        places.push(place as i64);
    }
    mapped(graph, cells, &names, &places, -1)
}

/// A column that is one where the cell is missing.
pub fn is_missing(graph: &mut Graph, cells: &Value) -> Value {
    let missing = mapped(graph, cells, &[MISSING], &[1], 0);
    cast(graph, &missing, Kind::Float)
}

/// One feature for each level, and one for a category of its own.
pub fn one_hot(graph: &mut Graph, plan: &ColumnPlan, levels: &[String], places: &Value) -> Value {
    let own = usize::from(plan.fill == Some(Fill::OwnCategory));
    let all: Vec<i64> = (0..(levels.len() + own) as i64).collect();
    let all = graph.integers(&[1, all.len()], &all);
    let is_level = graph.op("Equal", &[places, &all], &[]);
    cast(graph, &is_level, Kind::Float)
}

/// The levels of a column of names.
pub fn levels(plan: &ColumnPlan) -> &[String] {
    match &plan.encoder {
        Encoder::OneHot { levels } | Encoder::Ordinal { levels, .. } => levels,
        _ => &[],
    }
}

/// `CategoryMapper` rather than `LabelEncoder` or comparisons of text, which tract does not have.
fn mapped(graph: &mut Graph, cells: &Value, names: &[&str], places: &[i64], other: i64) -> Value {
    let attributes =
        [("cats_strings", Texts(names)), ("cats_int64s", Integers(places)), ("default_int64", Integer(other))];
    graph.ml("CategoryMapper", &[cells], &attributes)
}
