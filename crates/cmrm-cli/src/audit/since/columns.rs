//! Columns of before and of now, compared one by one.

use std::collections::HashMap;

use cmrm::drift::{compare_counts, compare_numbers};
use cmrm_data::Column;
use cmrm_data::table::Values;

use super::drift::{LEAST, Subject, Test, percent};
use crate::failure::Result;

/// Numbers by Kolmogorov and Smirnov's test, names by chi-squared, and the share of missing cells of every column. Dates and texts are not
/// compared by value: later rows have later dates, and every text is another. The second list names columns that are of another kind now,
/// or are gone.
pub fn compare(then: &[Column], now: &[Column], is_used: &dyn Fn(&str) -> bool) -> Result<(Vec<Test>, Vec<String>)> {
    let (mut tests, mut left_out) = (Vec::new(), Vec::new());
    for then in then.iter().filter(|column| is_used(&column.name)) {
        match now.iter().find(|now| now.name == then.name) {
            Some(now) if now.kind() == then.kind() => {
                tests.extend(values(then, now)?);
                tests.extend(missing_cells(then, now)?);
            }
            _ => left_out.push(then.name.clone()),
        }
    }
    Ok((tests, left_out))
}

fn values(then: &Column, now: &Column) -> Result<Option<Test>> {
    let test = |difference, [before, after]: [String; 2]| {
        Some(Test::new(Subject::Values, Some(&then.name), difference, LEAST, before, after))
    };
    match (&then.values, &now.values) {
        (Values::Numeric(_), Values::Numeric(_)) => {
            let (one, other) = (numbers(then), numbers(now));
            if one.is_empty() || other.is_empty() {
                return Ok(None);
            }
            let difference = compare_numbers(&one, &other)?;
            Ok(test(difference, [one, other].map(quartiles)))
        }
        (Values::Boolean(_) | Values::Categorical { .. }, _) => {
            let (mut names, mut known) = (Vec::new(), HashMap::new());
            let mut count = |column: &Column| {
                let mut counts = Vec::new();
                for text in (0..column.len()).filter_map(|row| column.text(row)) {
                    let at = *known.entry(text.clone().into_owned()).or_insert_with(|| {
                        names.push(text.into_owned());
                        names.len() - 1
                    });
                    counts.resize(counts.len().max(at + 1), 0u64);
                    counts[at] += 1;
                }
                counts
            };
            let mut counts = [count(then), count(now)];
            counts.iter_mut().for_each(|counts| counts.resize(names.len(), 0));
            let [one, other] = counts;
            if one.iter().sum::<u64>() == 0 || other.iter().sum::<u64>() == 0 {
                return Ok(None);
            }
            let difference = compare_counts(&one, &other)?;
            Ok(test(difference, most_grown(&names, &one, &other)))
        }
        _ => Ok(None),
    }
}

fn missing_cells(then: &Column, now: &Column) -> Result<Option<Test>> {
    let counts = |column: &Column| {
        let missing = (0..column.len()).filter(|&row| column.missing.at(row)).count();
        [(column.len() - missing) as u64, missing as u64]
    };
    let (one, other) = (counts(then), counts(now));
    if one[1] + other[1] == 0 || then.is_empty() || now.is_empty() {
        return Ok(None);
    }
    let share = |counts: [u64; 2]| format!("{} missing", percent(counts[1] as f64 / (counts[0] + counts[1]) as f64));
    let difference = compare_counts(&one, &other)?;
    Ok(Some(Test::new(Subject::MissingCells, Some(&then.name), difference, LEAST, share(one), share(other))))
}

/// The name whose share grew most, with its shares.
pub fn most_grown(names: &[String], one: &[u64], other: &[u64]) -> [String; 2] {
    let (n, m) = (one.iter().sum::<u64>() as f64, other.iter().sum::<u64>() as f64);
    let share = |at: usize| [one[at] as f64 / n, other[at] as f64 / m];
    let growth = |at: usize| share(at)[1] - share(at)[0];
    let Some(most) = (0..names.len()).reduce(|best, at| if growth(at) > growth(best) { at } else { best }) else {
        return [String::new(), String::new()];
    };
    share(most).map(|share| format!("'{}' {}", names[most], percent(share)))
}

fn numbers(column: &Column) -> Vec<f64> {
    let Values::Numeric(values) = &column.values else { return Vec::new() };
    let is_there = |row: &usize| !column.missing.at(*row) && !values[*row].is_nan();
    (0..values.len()).filter(is_there).map(|row| values[row]).collect()
}

fn quartiles(mut values: Vec<f64>) -> String {
    values.sort_unstable_by(f64::total_cmp);
    let [low, middle, high] = [1, 2, 3].map(|quarter| short(values[values.len() * quarter / 4]));
    format!("quartiles {low}, {middle}, {high}")
}

/// Four digits, which are enough to see a change.
fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (3 - value.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmrm_data::Features;
    use cmrm_data::read::{ReadOptions, Source, read};

    fn columns(rows: impl Iterator<Item = String>) -> Vec<Column> {
        let text: String = std::iter::once("age,plan,since,note\n".to_owned()).chain(rows).collect();
        let Features::Table(table) =
            read(&Source::bytes("t.csv", text.into_bytes()), &ReadOptions::default()).unwrap().features
        else {
            panic!()
        };
        table.columns().to_vec()
    }

    #[test]
    fn what_has_changed_is_named_with_its_size() {
        let plan = |row: usize, gold: usize| if row % 10 < gold { "gold" } else { "free" };
        let row = |row: usize| format!("{},{},2024-01-{:02},x\n", row % 50, plan(row, 2), 1 + row % 28);
        let then = columns((0..500).map(row));
        let later = |row: usize| {
            let age = if row.is_multiple_of(4) { String::new() } else { (row % 50 + 25).to_string() };
            format!("{age},{},2025-02-{:02},x\n", plan(row, 5), 1 + row % 28)
        };
        let now = columns((0..500).map(later));
        let (tests, left_out) = compare(&then, &now, &|name| name != "note").unwrap();
        assert!(left_out.is_empty(), "{left_out:?}");
        let about: Vec<_> = tests
            .iter()
            .map(|test| (test.subject, test.column.as_deref().unwrap(), test.then.as_str(), test.now.as_str()))
            .collect();
        assert_eq!(
            about,
            [
                (Subject::Values, "age", "quartiles 12, 25, 37", "quartiles 37, 50, 62"),
                (Subject::MissingCells, "age", "0 % missing", "25 % missing"),
                (Subject::Values, "plan", "'gold' 20 %", "'gold' 50 %"),
            ]
        );
        assert!(tests.iter().all(|test| test.difference.p < 1e-6));
        assert!((tests[2].difference.distance - 0.3).abs() < 1e-12);
        let (same, _) = compare(&then, &then, &|_| true).unwrap();
        assert!(same.iter().all(|test| test.difference.distance == 0.0), "{same:?}");
        let (_, gone) = compare(&then, &now[1..], &|name| name != "note").unwrap();
        assert_eq!(gone, ["age"]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, 41.0, 41.25, 1234.56, 0.0012345, -3.0].map(short),
            ["0", "41", "41.25", "1235", "0.001234", "-3"]
        );
    }
}
