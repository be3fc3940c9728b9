//! From rows as they were read to rows that can be trained on.

use cmrm::Matrix;
use cmrm::noise::{NoiseConfig, NoiseContext};
use cmrm_data::preprocess::{Preprocess, in_words};
use cmrm_data::{Column, Dataset, Input, LabelOptions, LabelledRows, MissingLabels};
use cmrm_run::summary::Labels;

use crate::config::FitConfig;
use crate::error::Result;
use crate::memory::doubt_about_classes;
use crate::order::{Arranged, arrange};
use crate::split::{Split, draw};

/// Data as it was read, before any split.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The rows to learn from.
    pub train: Input,
    /// Rows to test on, if there are any of their own.
    pub test: Option<Input>,
    /// Classes in a fixed order, if the data set has one.
    pub classes: Option<Vec<String>>,
    /// Labels known to be right, one a training row, for data sets with human noise.
    pub clean: Option<Column>,
    /// Weights of the rows, all one if absent. Whole numbers count rows: a row with the weight 2 is there twice, one with
    /// the weight 0 is not.
    pub weights: Option<Vec<f32>>,
    /// What to call it in reports.
    pub name: String,
}

/// Data ready to train on.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// What to call it in reports.
    pub name: String,
    /// How columns become numbers.
    pub preprocess: Preprocess,
    /// Every labelled row, with observed labels.
    pub data: Dataset,
    /// Weights of the rows of `data`, where some differ from one.
    pub weights: Option<Vec<f32>>,
    /// Labels before any noise, or known to be right; one a row of `data`.
    pub clean: Option<Vec<u32>>,
    /// Which rows do what.
    pub split: Split,
    /// Test rows from a file of their own.
    pub test: Option<Dataset>,
    /// Rows without a label, held out.
    pub unlabelled: usize,
}

/// Encodes the labels, splits the rows, learns the preprocessing on those to train on, and makes noise. Besides the data
/// there are words for the user.
pub fn prepare(config: &FitConfig, loaded: &Loaded) -> Result<(Prepared, Vec<String>)> {
    let missing = if config.hold_out_unlabelled { MissingLabels::HoldOut } else { MissingLabels::Refuse };
    let options = LabelOptions { missing, classes: loaded.classes.clone() };
    let Arranged { input, places, weights } = arrange(config, loaded)?;
    let labelled = input.encode_labels(&options)?;
    let LabelledRows { labels, rows, unlabelled } = &labelled;
    let has_test = loaded.test.is_some();
    let split =
        draw(&labels.indices, &labels.classes, config.test_share(has_test), config.validation_share, config.seed)
            .map_err(|error| error.in_data(&loaded.train.source))?;
    let training_rows: Vec<usize> = split.train.iter().map(|&i| rows[i]).collect();
    // An error names a row; where rows were moved, it is looked for again where they stand in the data.
    let named = |error| places.as_ref().and_then(|_| first_refusal(config, &loaded.train)).unwrap_or(error);
    let (preprocess, notes) = Preprocess::fit(&input.features, &training_rows, &config.preprocess)
        .map_err(|error| named(error).in_file(&input.source))?;
    let (mut data, more) = preprocess.dataset(&input, &labelled).map_err(named)?;
    let weights = weights.map(|weights| rows.iter().map(|&row| weights[row]).collect());
    if let Some(places) = &places {
        data.rows.iter_mut().for_each(|row| *row = places[*row as usize] as u64);
    }
    let mut words: Vec<String> =
        in_words(notes.iter().chain(&more)).into_iter().map(|note| format!("note: {note}")).collect();
    if !unlabelled.is_empty() {
        words.push(format!("note: {} rows without a label are held out", unlabelled.len()));
    }
    words.extend(config.advice().map(|word| format!("note: {word}")));
    words.extend(doubt_about_classes(rows.len(), labels.classes.len()).map(|word| format!("note: {word}")));
    let classes = data.classes.clone();
    let mut clean = match &loaded.clean {
        None => None,
        Some(column) => {
            let options = LabelOptions { missing: MissingLabels::Refuse, classes: Some(classes.clone()) };
            let clean = LabelledRows::encode(column, 0, &options)?.labels.indices;
            Some(match &places {
                Some(places) => places.iter().map(|&row| clean[row]).collect(),
                None => clean,
            })
        }
    };
    if let Some(noise) = &config.noise {
        inject(config, noise, &split, &mut data, &mut clean)?;
    }
    let test = match &loaded.test {
        None => None,
        Some(input) => {
            let known = LabelOptions { missing: MissingLabels::Refuse, classes: Some(classes) };
            Some(preprocess.dataset(input, &input.encode_labels(&known)?)?.0)
        }
    };
    words.push(format!(
        "{}: {} rows to train on, {} to validate, {} to test; {} features, {} classes",
        loaded.name,
        split.train.len(),
        split.validation.len(),
        test.as_ref().map_or(split.test.len(), Dataset::len),
        data.width(),
        data.classes.len()
    ));
    let name = loaded.name.clone();
    Ok((Prepared { name, preprocess, data, weights, clean, split, test, unlabelled: unlabelled.len() }, words))
}

/// What preprocessing has against the rows as they stand in the data.
fn first_refusal(config: &FitConfig, input: &Input) -> Option<cmrm_data::Error> {
    let all: Vec<usize> = (0..input.features.rows()).collect();
    let fitted = Preprocess::fit(&input.features, &all, &config.preprocess);
    fitted.and_then(|(preprocess, _)| preprocess.transform(&input.features)).err()
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
    let features: Vec<f32> =
        rows.iter().flat_map(|&i| data.features[i * data.width()..(i + 1) * data.width()].iter().copied()).collect();
    let context = NoiseContext::new(data.classes.len()).with_features(Matrix::new(&features, data.width())?);
    let made = noise.apply(&labels, &context, config.seed)?;
    clean.get_or_insert_with(|| data.labels.clone());
    for (at, &row) in rows.iter().enumerate() {
        data.labels[row] = made.labels[at];
    }
    Ok(())
}

/// Which training rows have a wrong label, where that is known.
pub fn known_wrong(prepared: &Prepared) -> Option<Vec<bool>> {
    let clean = prepared.clean.as_ref()?;
    Some(prepared.split.train.iter().map(|&i| clean[i] != prepared.data.labels[i]).collect())
}

/// The rows that the arms are judged on, and which labels those rows have.
pub fn judged(prepared: &Prepared) -> Result<(Option<Dataset>, Labels)> {
    let data = &prepared.data;
    Ok(match &prepared.test {
        Some(test) => (Some(test.clone()), Labels::Test),
        None if !prepared.split.test.is_empty() => {
            let mut test = data.gather(&prepared.split.test)?;
            if let Some(clean) = &prepared.clean {
                test.labels = prepared.split.test.iter().map(|&i| clean[i]).collect();
            }
            (Some(test), if prepared.clean.is_some() { Labels::Clean } else { Labels::Observed })
        }
        None if !prepared.split.validation.is_empty() => {
            (Some(data.gather(&prepared.split.validation)?), Labels::ObservedValidation)
        }
        None => (None, Labels::None),
    })
}
