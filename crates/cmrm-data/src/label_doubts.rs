//! Labels that look like slips of the pen: reported, never merged.

use std::collections::HashMap;

use strsim::osa_distance;

use crate::files::text::printable_value;
use crate::labels::{Labels, exact_number};

/// A label is rare beside another that has this many times its rows.
const TIMES: usize = 20;
/// Fewest letters of labels that may differ by one: `cat` and `car` are two things.
const LETTERS: usize = 4;
/// Most classes that are compared letter by letter.
const MOST_CLASSES: usize = 2000;
/// Classes with fewer rows are hardly learned.
const FEW_ROWS: usize = 5;
/// Most labels that a sentence names.
const NAMED: usize = 6;

impl Labels {
    /// What should make the user look twice at the labels, one sentence each: labels that differ by case, space or one
    /// letter, and classes with too few rows.
    pub fn doubts(&self) -> Vec<String> {
        let mut rows = vec![0; self.classes.len()];
        for &class in &self.indices {
            rows[class as usize] += 1;
        }
        let quoted = |class: usize| {
            let plural = if rows[class] == 1 { "row" } else { "rows" };
            format!("'{}' ({} {plural})", printable_value(&self.classes[class]), rows[class])
        };
        let alike = self.alike(&rows);
        let mut doubts: Vec<String> = alike
            .iter()
            .take(NAMED)
            .map(|(one, other)| {
                format!("the label {} looks like {}; if it is a slip, correct it", quoted(*one), quoted(*other))
            })
            .collect();
        if alike.len() > NAMED {
            doubts.push(format!("{} more labels look like others", alike.len() - NAMED));
        }
        // Where even the largest class is small there is nothing to compare with.
        let comparable = rows.iter().max().is_some_and(|&most| most >= TIMES * FEW_ROWS / 2);
        let is_alike = |class: &usize| alike.iter().any(|(one, _)| one == class);
        let few = (0..rows.len()).filter(|class| (1..FEW_ROWS).contains(&rows[*class]) && !is_alike(class));
        let few: Vec<usize> = few.filter(|_| comparable).collect();
        if !few.is_empty() {
            let named: Vec<String> = few.iter().take(NAMED).map(|&class| quoted(class)).collect();
            let more = if few.len() > NAMED { format!(" and {} more", few.len() - NAMED) } else { String::new() };
            let classes = if few.len() == 1 { "class has" } else { "classes have" };
            doubts.push(format!(
                "{} {classes} fewer than {FEW_ROWS} rows, too few to learn: {}{more}",
                few.len(),
                named.join(", ")
            ));
        }
        doubts
    }

    /// Each label that looks like another, the rarer one first.
    fn alike(&self, rows: &[usize]) -> Vec<(usize, usize)> {
        let plain: Vec<String> = self.classes.iter().map(|class| plain(class)).collect();
        let mut order: Vec<usize> = (0..rows.len()).filter(|&class| rows[class] > 0).collect();
        order.sort_by_key(|&class| std::cmp::Reverse(rows[class]));
        let mut first: HashMap<&str, usize> = HashMap::new();
        let mut alike = Vec::new();
        for (place, &class) in order.iter().enumerate() {
            let text = plain[class].as_str();
            if let Some(&other) = first.get(text) {
                alike.push((class, other));
                continue;
            }
            first.insert(text, class);
            let long = text.chars().count() >= LETTERS && !text.contains(|c: char| c.is_ascii_digit());
            if !long || order.len() > MOST_CLASSES {
                continue;
            }
            let likes = |&&other: &&usize| {
                rows[other] >= TIMES * rows[class]
                    && plain[other].len().abs_diff(text.len()) <= 4
                    && plain[other].chars().count() >= LETTERS
                    && osa_distance(&plain[other], text) == 1
            };
            if let Some(&other) = order[..place].iter().find(likes) {
                alike.push((class, other));
            }
        }
        alike
    }
}

/// Small letters, and one space where there are several; a number as it is without zeros behind its point.
fn plain(text: &str) -> String {
    if let Some(number) = exact_number(text) {
        return number.to_string();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(counts: &[(&str, usize)]) -> Labels {
        let classes = counts.iter().map(|(class, _)| class.to_string()).collect();
        let indices = counts.iter().zip(0..).flat_map(|((_, rows), class)| vec![class; *rows]).collect();
        Labels { indices, classes }
    }

    #[test]
    fn slips_are_reported_with_their_rows() {
        let doubts =
            labels(&[("Churned", 40), ("chruned", 3), ("churned", 900), ("stayed", 800), ("stayed ", 1)]).doubts();
        assert_eq!(
            doubts,
            [
                "the label 'Churned' (40 rows) looks like 'churned' (900 rows); if it is a slip, correct it",
                "the label 'chruned' (3 rows) looks like 'churned' (900 rows); if it is a slip, correct it",
                "the label 'stayed ' (1 row) looks like 'stayed' (800 rows); if it is a slip, correct it",
            ]
        );
    }

    #[test]
    fn labels_that_mean_to_differ_are_left_alone() {
        for counts in [
            &[("class1", 1000), ("class2", 6)][..],
            &[("cat", 1000), ("car", 6)],
            &[("male", 600), ("mule", 400)],
            &[("good", 1000), ("food", 51)],
            &[("a", 3), ("b", 4)],
        ] {
            assert_eq!(labels(counts).doubts(), Vec::<String>::new(), "{counts:?}");
        }
    }

    #[test]
    fn classes_with_too_few_rows_are_named() {
        let doubts = labels(&[("yes", 500), ("no", 400), ("maybe", 2), ("unsure", 1)]).doubts();
        assert_eq!(doubts, ["2 classes have fewer than 5 rows, too few to learn: 'maybe' (2 rows), 'unsure' (1 row)"]);
    }
}
