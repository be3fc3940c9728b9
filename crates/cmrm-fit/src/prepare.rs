//! From rows as they were read to rows that can be trained on.

use cmrm::noise::{NoiseConfig, NoiseContext};
use cmrm_data::preprocess::{Note, Preprocess, Summary, in_words};
use cmrm_data::{Column, Dataset, Input, LabelOptions, LabelledRows, MissingLabels};
use cmrm_run::summary::Labels;
use cmrm_train::Stop;

use crate::config::FitConfig;
use crate::error::{Error, Result};
use crate::loaded::Loaded;
use crate::memory::doubt_about_classes;
use crate::order::{Arranged, arrange};
use crate::part::Part;
use crate::split::{Split, draw};

/// Rows that can be trained on, split into parts.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// What to call them in reports.
    pub name: String,
    /// The file that they come from, for messages.
    pub source: String,
    /// How columns become numbers.
    pub preprocess: Preprocess,
    /// The places of the parts' rows among all labelled rows.
    pub split: Split,
    /// Rows to train on.
    pub train: Part,
    /// Rows to validate and calibrate by; perhaps none.
    pub validation: Part,
    /// Rows to test on, if there are any, and where their labels come from.
    pub test: Option<(Dataset, Labels)>,
    /// Rows without a label, held out.
    pub unlabelled: usize,
    /// The column of IDs, by row of the data as it was read, if there is one.
    pub ids: Option<Column>,
    /// What the columns are and what becomes of them; nothing if the data is an array.
    pub columns: Option<Summary>,
    /// What the user should hear.
    pub notes: Vec<String>,
}

impl Prepared {
    /// Encodes the labels, splits the rows, learns the preprocessing on those to train on, and makes noise. `stop` is looked
    /// at after every pass over the rows.
    pub fn new(config: &FitConfig, loaded: &Loaded, stop: &Stop) -> Result<Self> {
        let Arranged { input, places, weights } = arrange(config, loaded)?;
        stop.check()?;
        let labelled = encode_labels(config, &input, loaded.classes.as_ref())?;
        let LabelledRows { labels, rows, unlabelled, .. } = &labelled;
        let test_share = config.test_share(loaded.test.is_some());
        let split = draw(&labels.indices, &labels.classes, test_share, config.validation_share(), config.seed)
            .map_err(|error| error.in_data(&loaded.train.source))?;
        stop.check()?;
        // An error names a row; where rows were moved, it is looked for again where they are in the data.
        let named = |error| places.as_ref().and_then(|_| first_refusal(config, &loaded.train)).unwrap_or(error);
        let (preprocess, mut data, notes) = learn_preprocessing(config, &input, &labelled, &split.train, stop)
            .map_err(|error| match error {
                Error::Data(error) => Error::Data(named(error)),
                other => other,
            })?;
        let columns = Summary::planned(&input.features, &preprocess, &notes);
        // Perhaps a copy of all rows, which nothing needs from here on.
        drop(input);
        let weights = weights.map(|weights| rows.iter().map(|&row| weights[row]).collect());
        if let Some(places) = &places {
            data.rows.iter_mut().for_each(|row| *row = places[*row as usize] as u64);
        }
        let mut notes: Vec<String> = in_words(&notes).into_iter().map(|note| format!("note: {note}")).collect();
        if !unlabelled.is_empty() {
            let (count, are) = (unlabelled.len(), if unlabelled.len() == 1 { "row is" } else { "rows are" });
            notes.push(format!("note: {count} {are} held out, without a label"));
        }
        notes.extend(config.advice().map(|word| format!("note: {word}")));
        let many = doubt_about_classes(rows.len(), labels.classes.len());
        let of_labels = if many.is_some() { Vec::new() } else { labels.doubts() };
        notes.extend(many.into_iter().chain(of_labels).map(|word| format!("note: {word}")));
        let place = |row: usize| places.as_ref().map_or(row, |places| places[row]);
        let mut clean = known_labels(loaded, &data.classes)?
            .map(|clean| rows.iter().map(|&row| clean[place(row)]).collect::<Vec<u32>>());
        if let Some(noise) = &config.noise {
            inject(config, noise, &split, &mut data, &mut clean)?;
        }
        let all = Part { data, weights, clean };
        let mut prepared = Prepared {
            unlabelled: unlabelled.len(),
            ids: loaded.train.ids.clone(),
            source: loaded.train.source.clone(),
            columns,
            notes,
            ..Prepared::split(loaded.name.clone(), preprocess, all, split)?
        };
        if let Some(input) = &loaded.test {
            let classes = &prepared.train.data.classes;
            let known = LabelOptions { classes: Some(classes.clone()), ..LabelOptions::default() };
            let test = prepared.preprocess.dataset(input, &input.encode_labels(&known)?)?.0;
            prepared.test = Some((test, Labels::Test));
        }
        let Prepared { train, validation, test, .. } = &prepared;
        let sizes = format!(
            "{}: {} training, {} validation and {} test rows; {} features, {} classes",
            prepared.name,
            train.data.len(),
            validation.data.len(),
            test.as_ref().map_or(0, |(test, _)| test.len()),
            train.data.width(),
            train.data.classes.len()
        );
        prepared.notes.push(sizes);
        Ok(prepared)
    }

    /// Parts of rows that are numbers already.
    pub fn split(name: String, preprocess: Preprocess, all: Part, split: Split) -> Result<Self> {
        let validation = all.gather(&split.validation)?;
        let test = match split.test.as_slice() {
            [] => None,
            rows => {
                let Part { mut data, clean, .. } = all.gather(rows)?;
                let labels = if clean.is_some() { Labels::Clean } else { Labels::Observed };
                data.labels = clean.unwrap_or(data.labels);
                Some((data, labels))
            }
        };
        // Where all rows train they are moved, not copied.
        let train = if split.train.len() == all.data.len() { all } else { all.gather(&split.train)? };
        let (source, notes) = (name.clone(), Vec::new());
        let (unlabelled, ids, columns) = (0, None, None);
        Ok(Prepared { name, source, preprocess, split, train, validation, test, unlabelled, ids, columns, notes })
    }

    /// The same rows with those to validate among those to train on, and none to test.
    pub(crate) fn unsplit(&self) -> Result<Self> {
        let train = self.train.merge(&self.split.train, &self.validation, &self.split.validation)?;
        let mut places = [self.split.train.as_slice(), &self.split.validation].concat();
        places.sort_unstable();
        Ok(Prepared {
            train,
            validation: self.validation.gather(&[])?,
            split: Split { train: places, validation: Vec::new(), test: Vec::new() },
            test: None,
            name: self.name.clone(),
            source: self.source.clone(),
            preprocess: self.preprocess.clone(),
            ids: self.ids.clone(),
            columns: self.columns.clone(),
            notes: self.notes.clone(),
            ..*self
        })
    }

    /// The IDs of rows by their place in the data; nothing if it has none. A missing ID is empty.
    pub fn ids_of(&self, rows: &[u64]) -> Vec<String> {
        let Some(ids) = &self.ids else { return Vec::new() };
        rows.iter().map(|&row| ids.text(row as usize).unwrap_or_default().into_owned()).collect()
    }

    /// The rows that the arms are judged on, and which labels those rows have.
    pub fn judged(&self) -> (Option<&Dataset>, Labels) {
        match &self.test {
            Some((test, labels)) => (Some(test), *labels),
            None if !self.validation.data.is_empty() => (Some(&self.validation.data), Labels::ObservedValidation),
            None => (None, Labels::None),
        }
    }
}

/// The labels of the rows as class indices; rows without one are held out if the settings say so.
pub(crate) fn encode_labels(config: &FitConfig, input: &Input, classes: Option<&Vec<String>>) -> Result<LabelledRows> {
    let missing = if config.hold_out_unlabelled { MissingLabels::HoldOut } else { MissingLabels::Refuse };
    Ok(input.encode_labels(&LabelOptions { missing, classes: classes.cloned(), ..LabelOptions::default() })?)
}

/// The correct labels of all rows, for data sets that have them.
pub(crate) fn known_labels(loaded: &Loaded, classes: &[String]) -> Result<Option<Vec<u32>>> {
    let options = LabelOptions { classes: Some(classes.to_vec()), ..LabelOptions::default() };
    let encode = |column| Ok(LabelledRows::encode(column, 0, &options)?.labels.indices);
    loaded.clean.as_ref().map(encode).transpose()
}

/// Learns how columns become numbers on the rows at `train` (places among the labelled ones), and applies it to all.
pub(crate) fn learn_preprocessing(
    config: &FitConfig,
    input: &Input,
    labelled: &LabelledRows,
    train: &[usize],
    stop: &Stop,
) -> Result<(Preprocess, Dataset, Vec<Note>)> {
    let rows: Vec<usize> = train.iter().map(|&at| labelled.rows[at]).collect();
    let (preprocess, mut notes) =
        Preprocess::fit(&input.features, &rows, &config.preprocess).map_err(|error| error.in_file(&input.source))?;
    stop.check()?;
    let (data, more) = preprocess.dataset(input, labelled)?;
    stop.check()?;
    notes.extend(more);
    Ok((preprocess, data, notes))
}

/// What preprocessing has against the rows as they are in the data.
fn first_refusal(config: &FitConfig, input: &Input) -> Option<cmrm_data::Error> {
    let all: Vec<usize> = (0..input.features.rows()).collect();
    let fitted = Preprocess::fit(&input.features, &all, &config.preprocess);
    let done = fitted.and_then(|(preprocess, _)| preprocess.transform(&input.features));
    done.map_err(|error| error.in_file(&input.source)).err()
}

/// Makes labels of the training and validation rows wrong; test rows keep theirs.
fn inject(
    config: &FitConfig,
    noise: &NoiseConfig,
    split: &Split,
    data: &mut Dataset,
    clean: &mut Option<Vec<u32>>,
) -> Result<()> {
    let mut rows: Vec<usize> = split.train.iter().chain(&split.validation).copied().collect();
    rows.sort_unstable();
    let labels: Vec<u32> = rows.iter().map(|&i| data.labels[i]).collect();
    let features = data.features.gather(&rows);
    let context = NoiseContext::new(data.classes.len()).with_features(features.view()?);
    let made = noise.apply(&labels, &context, config.seed)?;
    clean.get_or_insert_with(|| data.labels.clone());
    for (at, &row) in rows.iter().enumerate() {
        data.labels[row] = made.labels[at];
    }
    Ok(())
}
