//! Customers who stay or leave, some of them with the wrong label: rows of today, and rows that come later.

use std::collections::HashSet;
use std::path::Path;

use cmrm::rng::Rng;

/// A table to write.
#[derive(Clone, Copy)]
pub struct Customers {
    pub seed: u64,
    pub rows: usize,
    /// Share of the labels that are wrong.
    pub wrong: f64,
    /// Years that everybody is older.
    pub older: f64,
    /// How much chance has to do with who leaves.
    pub chance: f64,
    /// The first id; no column of ids without one.
    pub first_id: Option<usize>,
}

impl Customers {
    pub fn new(seed: u64, rows: usize, wrong: f64) -> Self {
        Customers { seed, rows, wrong, older: 0.0, chance: 0.2, first_id: None }
    }

    pub fn with_ids(self, first: usize) -> Self {
        Customers { first_id: Some(first), ..self }
    }

    /// The lines without the header, and which labels are wrong.
    pub fn lines(&self) -> (Vec<String>, HashSet<usize>) {
        let mut random = Rng::new(self.seed, 0);
        let mut flipped = HashSet::new();
        let line = |row: usize| {
            let (age, income) = (45.0 + 12.0 * random.normal() + self.older, 50.0 + 15.0 * random.normal());
            let plan = ["free", "basic", "gold"][random.below(3)];
            let score = (age - 45.0) / 12.0 + (income - 50.0) / 15.0 + if plan == "gold" { 0.8 } else { 0.0 };
            let leaves = score + self.chance * random.normal() > 0.2;
            let is_wrong = random.uniform() < self.wrong;
            if is_wrong {
                flipped.insert(row);
            }
            let id = self.first_id.map(|first| format!("c{},", first + row)).unwrap_or_default();
            format!("{id}{age:.2},{income:.2},{plan},{}", if leaves != is_wrong { "yes" } else { "no" })
        };
        let lines = (0..self.rows).map(line).collect();
        (lines, flipped)
    }

    pub fn header(&self) -> &'static str {
        if self.first_id.is_some() { "customer,age,income,plan,churned" } else { "age,income,plan,churned" }
    }

    /// Writes them, and tells which labels are wrong.
    pub fn write(&self, path: &Path) -> HashSet<usize> {
        let (lines, flipped) = self.lines();
        write_lines(path, self.header(), &lines);
        flipped
    }
}

pub fn write_lines(path: &Path, header: &str, lines: &[String]) {
    let text: String =
        std::iter::once(header.to_owned()).chain(lines.iter().cloned()).map(|line| line + "\n").collect();
    std::fs::write(path, text).unwrap();
}

/// A CSV file without quotes, as lines of cells; the first is the header.
pub fn cells(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}
