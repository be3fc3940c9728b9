//! Minimal readers for the UCI tables of the paper: numbers, categories as zeros and ones, one binary label.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Result;

/// A table with every column a number, not yet standardised.
#[derive(Debug, Clone)]
pub struct Table {
    /// Features, row after row.
    pub values: Vec<f32>,
    /// Numbers in a row.
    pub columns: usize,
    /// Columns that hold measured numbers, to be standardised; the others are zeros and ones.
    pub numeric: Vec<usize>,
    /// Labels, 0 or 1.
    pub labels: Vec<u32>,
}

/// Adult: both files, without the rows that have an unknown entry. Class 1 earns more than 50K.
pub fn adult(folder: &Path) -> Result<Table> {
    const NUMERIC: [usize; 6] = [0, 2, 4, 10, 11, 12];
    let mut rows = Vec::new();
    for name in ["adult.data", "adult.test"] {
        let complete = |cells: &Vec<String>| cells.len() == 15 && !cells.iter().any(|cell| cell == "?");
        rows.extend(read_cells(&folder.join(name))?.into_iter().filter(complete));
    }
    let mut columns: Vec<Vec<f32>> = Vec::new();
    let mut numeric = Vec::new();
    for j in 0..14 {
        if NUMERIC.contains(&j) {
            numeric.push(columns.len());
            columns.push(numbers(&rows, j)?);
        } else {
            let mut categories: BTreeMap<&str, usize> = rows.iter().map(|row| (row[j].as_str(), 0)).collect();
            for place in categories.values_mut() {
                *place = columns.len();
                columns.push(vec![0.0; rows.len()]);
            }
            for (i, row) in rows.iter().enumerate() {
                columns[categories[row[j].as_str()]][i] = 1.0;
            }
        }
    }
    let labels = rows.iter().map(|row| u32::from(row[14].starts_with('>'))).collect();
    Ok(Table { values: interleave(&columns), columns: columns.len(), numeric, labels })
}

/// Spambase. Class 1 is mail that is wanted, as in the paper's code.
pub fn spambase(folder: &Path) -> Result<Table> {
    all_numbers(read_cells(&folder.join("spambase.data"))?, 0)
}

/// Default of credit card clients, without the ID. Class 1 pays, as in the paper's code.
pub fn credit(folder: &Path) -> Result<Table> {
    all_numbers(read_cells(&folder.join("default_credit_card_clients.csv"))?.split_off(1), 1)
}

/// Numbers from column `first` on, and a last column of 0 and 1 that is turned round.
fn all_numbers(rows: Vec<Vec<String>>, first: usize) -> Result<Table> {
    let last = rows.first().ok_or("a table without rows")?.len() - 1;
    let columns = (first..last).map(|j| numbers(&rows, j)).collect::<Result<Vec<_>>>()?;
    let labels = numbers(&rows, last)?.into_iter().map(|v| u32::from(v == 0.0)).collect();
    Ok(Table { values: interleave(&columns), columns: columns.len(), numeric: (0..columns.len()).collect(), labels })
}

/// The cells of a file of comma-separated values without quotes; empty lines and Adult's comment line are left out.
pub fn read_cells(path: &Path) -> Result<Vec<Vec<String>>> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('|'));
    Ok(lines.map(|line| line.split(',').map(|cell| cell.trim().to_owned()).collect()).collect())
}

fn numbers(rows: &[Vec<String>], column: usize) -> Result<Vec<f32>> {
    let cell = |(i, row): (usize, &Vec<String>)| {
        let text = row.get(column).ok_or_else(|| format!("row {i} has no column {column}"))?;
        text.parse().map_err(|_| format!("row {i}, column {column}: '{text}' is not a number").into())
    };
    rows.iter().enumerate().map(cell).collect()
}

fn interleave(columns: &[Vec<f32>]) -> Vec<f32> {
    let rows = columns.first().map_or(0, Vec::len);
    (0..rows).flat_map(|i| columns.iter().map(move |column| column[i])).collect()
}

/// Subtracts from each of `columns` of `train` and `test` the mean of `train` and divides by its standard deviation.
pub fn standardise(train: &mut [f32], test: &mut [f32], width: usize, columns: &[usize]) {
    let rows = (train.len() / width) as f64;
    for &j in columns {
        let column = |i: usize| f64::from(train[i * width + j]);
        let mean = (0..train.len() / width).map(column).sum::<f64>() / rows;
        let variance = (0..train.len() / width).map(|i| (column(i) - mean).powi(2)).sum::<f64>() / rows;
        let scale = if variance > 0.0 { 1.0 / variance.sqrt() } else { 1.0 };
        for v in train.iter_mut().skip(j).step_by(width).chain(test.iter_mut().skip(j).step_by(width)) {
            *v = ((f64::from(*v) - mean) * scale) as f32;
        }
    }
}
