//! Rows that are part of a model, and columns of numbers that are scaled and filled in.

use cmrm::OwnedRows;
use cmrm_data::preprocess::Scale;
use cmrm_data::{Error, Problem, Result};

use crate::attribute::Attribute::Integer;
use crate::graph::{Graph, Value, check_size};
use crate::port::Kind;

/// All numbers of some rows, row after row.
pub fn dense(rows: &OwnedRows<f32>) -> Result<Vec<f32>> {
    check_size(rows.rows().saturating_mul(rows.width()).saturating_mul(size_of::<f32>()))?;
    Ok(match rows {
        OwnedRows::Dense { values, .. } => values.clone(),
        OwnedRows::Sparse(sparse) => {
            let mut values = vec![0.0; sparse.rows() * rows.width()];
            for (row, to) in sparse.view().iter_rows().zip(values.chunks_exact_mut(rows.width())) {
                row.iter().for_each(|(column, value)| to[column] = value);
            }
            values
        }
    })
}

/// The squared length of every row.
pub fn squared_lengths(rows: &[f32], width: usize) -> Vec<f32> {
    rows.chunks_exact(width).map(|row| row.iter().fold(0.0, |sum, v| sum + v * v)).collect()
}

/// Casts a tensor.
pub fn cast(graph: &mut Graph, value: &Value, to: Kind) -> Value {
    graph.op("Cast", &[value], &[("to", Integer(to.number()))])
}

/// Puts columns side by side.
pub fn beside(graph: &mut Graph, columns: &[Value]) -> Value {
    match columns {
        [only] => only.clone(),
        columns => graph.op("Concat", &columns.iter().collect::<Vec<_>>(), &[("axis", Integer(1))]),
    }
}

/// The columns at some places.
pub fn take(graph: &mut Graph, columns: &Value, places: &[usize]) -> Value {
    let places: Vec<i64> = places.iter().map(|&place| place as i64).collect();
    let places = graph.integers(&[places.len()], &places);
    graph.op("Gather", &[columns, &places], &[("axis", Integer(1))])
}

/// Scales columns in double precision and rounds once, as the preprocessing does: a number next to a tree's threshold
/// goes the same way.
pub fn scaled(graph: &mut Graph, raw: &Value, scales: &[Scale]) -> Value {
    let mut x = raw.clone();
    let width = [scales.len()];
    if scales.iter().any(|scale| scale.mean != 0.0) {
        let means = graph.doubles(&width, &scales.iter().map(|scale| scale.mean).collect::<Vec<_>>());
        x = graph.op("Sub", &[&x, &means], &[]);
    }
    if scales.iter().any(|scale| scale.deviation != 1.0) {
        let deviations = graph.doubles(&width, &scales.iter().map(|scale| scale.deviation).collect::<Vec<_>>());
        x = graph.op("Div", &[&x, &deviations], &[]);
    }
    cast(graph, &x, Kind::Float)
}

/// Which cells are missing: those that are not a number.
pub fn missing(graph: &mut Graph, raw: &Value, kind: Kind) -> Value {
    let raw = if kind == Kind::Float { raw.clone() } else { cast(graph, raw, Kind::Float) };
    graph.op("IsNaN", &[&raw], &[])
}

/// Puts what fills a missing cell of each column in its place; where nothing does it stays as it is.
pub fn filled(graph: &mut Graph, values: &Value, missing: &Value, fills: &[Option<f32>]) -> Value {
    if fills.iter().all(Option::is_none) {
        return values.clone();
    }
    let fills: Vec<f32> = fills.iter().map(|fill| fill.unwrap_or(f32::NAN)).collect();
    let fills = graph.floats(&[1, fills.len()], &fills);
    graph.op("Where", &[missing, &fills, values], &[])
}

/// What no input can cause.
pub fn internal(error: impl std::fmt::Display) -> Error {
    Error::new(Problem::Internal(error.to_string()))
}
