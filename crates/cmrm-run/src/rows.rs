//! What training saw of every row: `margins.parquet`.

use std::path::Path;

use cmrm::Matrix;
use cmrm::audit::{Audit, Evidence, MarginOptions, limit_by_class, rank_confidences, rank_margins};
use cmrm::scores::strongest_other;
use cmrm_data::read::{ReadOptions, Source, read};
use cmrm_data::table::Values;
use cmrm_data::write::ParquetTableWriter;
use cmrm_data::{Column, Dataset, Features, LabelOptions, LabelledRows, Override, Table};
use cmrm_train::train::RowRecord;

use crate::error::{Error, Result};
use crate::folder::write_file;
use crate::names::MARGINS;
use crate::suspects::most_likely_wrong;

/// The column of probabilities that labels are wrong.
pub const WRONG_PROBABILITY: &str = "wrong_probability";

/// What training saw of every row; each list has one entry for each. Margins are of probabilities, whatever the envelope
/// goes by.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrainingRows {
    /// The row's place in the data, from zero.
    pub rows: Vec<u64>,
    /// The row's ID, where the data has a column of them; else empty.
    pub ids: Vec<String>,
    /// The row's file, where each has one; else empty.
    pub files: Vec<String>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// The observed label.
    pub labels: Vec<u32>,
    /// The strongest other class in the last epoch.
    pub rival: Vec<u32>,
    /// Margin in the last epoch.
    pub margin: Vec<f32>,
    /// Mean margin over the epochs.
    pub mean_margin: Vec<f32>,
    /// Weight in the last epoch.
    pub weight: Vec<f32>,
    /// Mean weight over the epochs.
    pub mean_weight: Vec<f32>,
    /// Probability of the observed label by models that have not seen the row, where there are such; else empty.
    pub confidence: Vec<f32>,
    /// The same probability, and the margin, by the base arm's models, whose training knew nothing of the row's label; else empty.
    pub base_confidence: Vec<f32>,
    /// The margin that goes with it.
    pub base_margin: Vec<f32>,
    /// Probability that the label is wrong, where the noise in the labels was estimated; else empty.
    pub wrong_probability: Vec<f32>,
    /// Whether the label is wrong, where that is known.
    pub wrong: Option<Vec<bool>>,
}

impl TrainingRows {
    /// What the native engine recorded of the rows of `train`.
    pub fn of(train: &Dataset, record: &RowRecord) -> Self {
        TrainingRows {
            rows: train.rows.clone(),
            classes: train.classes.clone(),
            labels: train.labels.clone(),
            rival: record.rival.clone(),
            margin: record.last_margin.clone(),
            mean_margin: record.mean_margin.clone(),
            weight: record.last_weight.clone(),
            mean_weight: record.mean_weight.clone(),
            ..TrainingRows::default()
        }
    }

    /// What models say of the rows of `train` that have not seen them, `[rows, classes]`, what the base arm's say, and the weights
    /// that these rows were learned from with in the end.
    pub fn out_of_sample(
        train: &Dataset,
        probabilities: Matrix<'_, f32>,
        base: Matrix<'_, f32>,
        weight: Vec<f32>,
    ) -> Self {
        let rival = |(row, label): (&[f32], usize)| strongest_other(row, label).unwrap_or(label);
        let margin_of = |(row, label): (&[f32], usize)| row[label] - row[rival((row, label))];
        let said = || probabilities.iter_rows().zip(&train.labels).map(|(row, &label)| (row, label as usize));
        let first = || base.iter_rows().zip(&train.labels).map(|(row, &label)| (row, label as usize));
        let margin: Vec<f32> = said().map(margin_of).collect();
        TrainingRows {
            rows: train.rows.clone(),
            classes: train.classes.clone(),
            labels: train.labels.clone(),
            rival: said().map(|of| rival(of) as u32).collect(),
            mean_margin: margin.clone(),
            margin,
            mean_weight: weight.clone(),
            weight,
            confidence: said().map(|(row, label)| row[label]).collect(),
            base_confidence: first().map(|(row, label)| row[label]).collect(),
            base_margin: first().map(margin_of).collect(),
            ..TrainingRows::default()
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Puts the rows in the order of the data.
    pub fn sort_by_row(&mut self) {
        fn sorted<T: Clone>(order: &[usize], values: &mut Vec<T>) {
            if !values.is_empty() {
                *values = order.iter().map(|&at| values[at].clone()).collect();
            }
        }
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by_key(|&at| self.rows[at]);
        sorted(&order, &mut self.rows);
        [&mut self.ids, &mut self.files].into_iter().for_each(|texts| sorted(&order, texts));
        [&mut self.labels, &mut self.rival].into_iter().for_each(|labels| sorted(&order, labels));
        let numbers = [&mut self.margin, &mut self.mean_margin, &mut self.weight, &mut self.mean_weight];
        numbers.into_iter().for_each(|values| sorted(&order, values));
        let judged =
            [&mut self.confidence, &mut self.base_confidence, &mut self.base_margin, &mut self.wrong_probability];
        judged.into_iter().for_each(|values| sorted(&order, values));
        if let Some(wrong) = &mut self.wrong {
            sorted(&order, wrong);
        }
    }

    /// Name of a class.
    pub fn name(&self, class: u32) -> &str {
        self.classes.get(class as usize).map_or("?", String::as_str)
    }

    /// What models that have not seen the rows tell of the labels, where there are such: those of the base arm, since the weights of the
    /// others come from models that know all labels. By those even noise seems to be told.
    pub fn evidence(&self) -> Option<Evidence> {
        let agrees = |row: usize| self.base_margin.get(row).is_some_and(|&margin| margin > 0.0);
        // Nothing for rows that do not fit together, which `audit` refuses with a reason.
        Evidence::of_labels(&self.base_confidence, agrees, &self.labels, self.classes.len()).ok()
    }

    /// Positions of the suspects, most suspicious first: rows where another class is more likely than the given one, and of each
    /// given class not more than may be wrong by chance, where it was estimated how many are. So a rare class, whose rows all look like those
    /// of a frequent one, is not emptied. They are ranked by the probability of the given label where models judged the rows that they
    /// had not seen, else by the margin. There are none where the models tell nothing of the labels ([`Evidence::tells_nothing`]).
    pub fn suspects(&self) -> Vec<usize> {
        if self.evidence().is_some_and(|evidence| evidence.tells_nothing()) {
            return Vec::new();
        }
        let by = if self.confidence.is_empty() { &self.margin } else { &self.confidence };
        let mut suspects: Vec<usize> = (0..self.len()).filter(|&at| self.margin[at] < 0.0).collect();
        suspects.sort_by(|&a, &b| by[a].total_cmp(&by[b]).then(a.cmp(&b)));
        if self.wrong_probability.is_empty() {
            return suspects;
        }
        // Rows that do not fit together are refused by `audit`.
        limit_by_class(&suspects, &self.labels, &self.wrong_probability, self.classes.len()).unwrap_or(suspects)
    }

    /// The suspects, or instead those rows that are most likely wrong, as many as are expected to be so with this precision.
    pub fn listed(&self, precision: Option<f64>) -> Vec<usize> {
        let Some(precision) = precision else { return self.suspects() };
        if self.evidence().is_some_and(|evidence| evidence.tells_nothing()) {
            return Vec::new();
        }
        most_likely_wrong(&self.wrong_probability, precision, |row| self.margin[row] < 0.0)
    }

    /// The audit of all rows; it flags and ranks as [`TrainingRows::suspects`] does, whatever the models tell of the labels.
    pub fn audit(&self) -> Result<Audit> {
        let (classes, options) = (self.classes.len(), MarginOptions::default());
        let (margin, rival, labels) = (&self.margin, &self.rival, &self.labels);
        let mut audit = match &self.confidence[..] {
            [] => rank_margins(margin, rival, labels, classes, &options)?,
            confidence => rank_confidences(confidence, margin, rival, labels, classes, &options)?,
        };
        if !self.wrong_probability.is_empty() {
            audit.limit_by_class(labels, &self.wrong_probability)?;
        }
        Ok(audit)
    }

    /// Writes the table.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_file(path, &self.to_parquet()?)
    }

    /// The table as the bytes of its file.
    pub fn to_parquet(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut writer = ParquetTableWriter::new(&mut bytes);
        writer.write(&self.table()?)?;
        writer.finish()?;
        Ok(bytes)
    }

    fn table(&self) -> Result<Table> {
        let numbers = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        let names = |labels: &[u32]| labels.iter().map(|&label| self.name(label)).collect::<Vec<&str>>();
        let mut columns = vec![Column::numeric("row", self.rows.iter().map(|&row| row as f64).collect())];
        for (name, cells) in [("id", &self.ids), ("file", &self.files)] {
            if !cells.is_empty() {
                columns.push(Column::categorical(name, cells));
            }
        }
        columns.extend([
            Column::categorical("given_label", &names(&self.labels)),
            Column::categorical("rival_label", &names(&self.rival)),
            Column::numeric("margin", numbers(&self.margin)),
            Column::numeric("mean_margin", numbers(&self.mean_margin)),
            Column::numeric("weight", numbers(&self.weight)),
            Column::numeric("mean_weight", numbers(&self.mean_weight)),
        ]);
        let judged = [("label_confidence", &self.confidence), ("base_label_confidence", &self.base_confidence)];
        let of_label = [("base_margin", &self.base_margin), (WRONG_PROBABILITY, &self.wrong_probability)];
        for (name, values) in judged.into_iter().chain(of_label) {
            if !values.is_empty() {
                columns.push(Column::numeric(name, numbers(values)));
            }
        }
        if let Some(wrong) = &self.wrong {
            let wrong = wrong.iter().map(|&wrong| f64::from(u8::from(wrong))).collect();
            columns.push(Column::numeric("known_wrong", wrong));
        }
        Ok(Table::new(columns)?)
    }

    /// Reads the table of a run that knows these classes.
    pub fn read(path: &Path, classes: &[String]) -> Result<Self> {
        TrainingRows::read_from(&Source::file(path), path, classes)
    }

    /// The same of the bytes of its file.
    pub fn from_parquet(bytes: &[u8], classes: &[String]) -> Result<Self> {
        TrainingRows::read_from(&Source::bytes(MARGINS, bytes.to_vec()), Path::new(MARGINS), classes)
    }

    fn read_from(source: &Source, path: &Path, classes: &[String]) -> Result<Self> {
        let bad = |what: &str| Error::in_file(path, format!("{what}; fit again"));
        let mut options = ReadOptions::default();
        for name in ["given_label", "rival_label"] {
            options.overrides.insert(name.into(), Override::Categorical);
        }
        let Features::Table(table) = read(source, &options)?.features else {
            return Err(bad("not a table"));
        };
        let column = |name: &str| table.column(name).ok_or_else(|| bad(&format!("no column '{name}'")));
        let numbers = |name: &str| match &column(name)?.values {
            Values::Numeric(values) => Ok(values),
            _ => Err(bad(&format!("column '{name}' is not numeric"))),
        };
        let singles =
            |name: &str| -> Result<Vec<f32>> { Ok(numbers(name)?.iter().map(|&value| value as f32).collect()) };
        let known = LabelOptions { classes: Some(classes.to_vec()), ..LabelOptions::default() };
        let labels = |name: &str| -> Result<Vec<u32>> {
            let encoded = LabelledRows::encode(column(name)?, 0, &known).map_err(|e| e.in_file(path.display()))?;
            Ok(encoded.labels.indices)
        };
        let texts = |name: &str| match table.column(name) {
            Some(column) => (0..column.len()).map(|row| column.text(row).unwrap_or_default().into_owned()).collect(),
            None => Vec::new(),
        };
        let of_vote = |name: &str| if table.column(name).is_some() { singles(name) } else { Ok(Vec::new()) };
        let wrong = match table.column("known_wrong") {
            Some(_) => Some(numbers("known_wrong")?.iter().map(|&value| value != 0.0).collect()),
            None => None,
        };
        let rows = numbers("row")?;
        // Above 2⁵³ not every whole number is a double.
        if rows.iter().any(|row| row.fract() != 0.0 || !(0.0..9e15).contains(row)) {
            return Err(bad("column 'row' has values that are not row numbers"));
        }
        Ok(TrainingRows {
            rows: rows.iter().map(|&row| row as u64).collect(),
            ids: texts("id"),
            files: texts("file"),
            classes: classes.to_vec(),
            labels: labels("given_label")?,
            rival: labels("rival_label")?,
            margin: singles("margin")?,
            mean_margin: singles("mean_margin")?,
            weight: singles("weight")?,
            mean_weight: singles("mean_weight")?,
            confidence: of_vote("label_confidence")?,
            base_confidence: of_vote("base_label_confidence")?,
            base_margin: of_vote("base_margin")?,
            wrong_probability: of_vote(WRONG_PROBABILITY)?,
            wrong,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(MARGINS);
        let text = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
        let mut rows = TrainingRows {
            rows: vec![4, 0, 7],
            ids: text(&["007", "", "=1"]),
            files: Vec::new(),
            classes: text(&["1", "2", "true"]),
            labels: vec![2, 0, 0],
            rival: vec![0, 1, 2],
            margin: vec![0.1, -0.6, -0.7],
            mean_margin: vec![0.2, -0.5, 0.3],
            weight: vec![1.0, 0.1, 0.9],
            mean_weight: vec![1.0, 0.2, 0.9],
            wrong: Some(vec![false, true, true]),
            ..TrainingRows::default()
        };
        rows.write(&path).unwrap();
        assert_eq!(TrainingRows::read(&path, &rows.classes).unwrap(), rows);
        assert_eq!(rows.suspects(), [2, 1]);
        assert!((rows.audit().unwrap().label_score[1] - 0.2).abs() < 1e-6);
        // By models that have not seen the row: the margin says who is a suspect, the probability in which order.
        rows.confidence = vec![0.01, 0.1, 0.15];
        (rows.base_confidence, rows.base_margin) = (vec![0.3, 0.2, 0.1], vec![0.0, -0.2, -0.3]);
        rows.wrong_probability = vec![0.9, 0.75, 0.5];
        rows.write(&path).unwrap();
        assert_eq!(TrainingRows::read(&path, &rows.classes).unwrap(), rows);
        assert_eq!(rows.suspects(), [1, 2]);
        let audit = rows.audit().unwrap();
        assert_eq!((audit.order, audit.label_score), (vec![0, 1, 2], rows.confidence.clone()));
        assert_eq!(audit.is_label_issue, [false, true, true]);
        // Not more of a class than may be wrong by chance.
        let many = TrainingRows {
            labels: vec![0; 9],
            margin: vec![-0.1; 9],
            confidence: (0..9u8).map(|at| f32::from(9 - at) / 20.0).collect(),
            wrong_probability: vec![0.0; 9],
            rival: vec![1; 9],
            rows: (0..9).collect(),
            classes: rows.classes.clone(),
            ..TrainingRows::default()
        };
        assert_eq!(many.suspects(), [8, 7]);
        assert_eq!(many.audit().unwrap().issue_count(), 2);
        rows.confidence.clear();
        (rows.ids, rows.wrong) = (Vec::new(), None);
        rows.write(&path).unwrap();
        assert_eq!(TrainingRows::read(&path, &rows.classes).unwrap(), rows);
        assert_eq!(TrainingRows::from_parquet(&std::fs::read(&path).unwrap(), &rows.classes).unwrap(), rows);
        rows.sort_by_row();
        assert_eq!((&rows.rows, &rows.labels), (&vec![0, 4, 7], &vec![0, 2, 0]));
        assert_eq!((&rows.margin, &rows.wrong_probability), (&vec![-0.6, 0.1, -0.7], &vec![0.75, 0.9, 0.5]));
        let refused = TrainingRows::read(&path, &text(&["1", "2"])).unwrap_err().to_string();
        assert!(refused.contains("true") && refused.contains(MARGINS), "{refused}");
    }
    #[test]
    fn a_row_is_judged_by_its_own_probabilities() {
        let classes = ["a", "b", "c"].map(str::to_owned).to_vec();
        let train = Dataset {
            features: cmrm::OwnedRows::Dense { values: vec![0.0; 2], width: 1 },
            feature_names: ["x".to_string()].into(),
            labels: vec![0, 2],
            rows: vec![5, 3],
            classes,
            image: None,
        };
        let said = [0.5, 0.25, 0.25, 0.125, 0.625, 0.25];
        let rows = TrainingRows::out_of_sample(
            &train,
            Matrix::new(&said, 3).unwrap(),
            Matrix::new(&said, 3).unwrap(),
            vec![1.0, 0.5],
        );
        assert_eq!((&rows.rows, &rows.rival), (&vec![5, 3], &vec![1, 1]));
        assert_eq!((&rows.confidence, &rows.margin), (&vec![0.5, 0.25], &vec![0.25, -0.375]));
        assert_eq!((&rows.mean_margin, &rows.weight), (&rows.margin, &vec![1.0, 0.5]));
        assert_eq!(rows.suspects(), [1]);
    }
}
