//! Columns of text: terms, weights, the stored form, and text beside other columns.

use cmrm::{OwnedRows, SparseRows};
use cmrm_data::preprocess::{Fitter, Note, Preprocess, PreprocessOptions, TextEncoding};
use cmrm_data::table::{Missing, Values};
use cmrm_data::{Column, Features, Table};
use proptest::prelude::*;

fn column(name: &str, texts: &[&str]) -> Column {
    Column::new(name, Values::Text(texts.iter().map(|text| text.to_string()).collect()))
}

fn table(columns: Vec<Column>) -> Features {
    Features::Table(Table::new(columns).unwrap())
}

fn fit(features: &Features, options: &PreprocessOptions) -> (Preprocess, Vec<Note>) {
    let rows: Vec<usize> = (0..features.rows()).collect();
    Preprocess::fit(features, &rows, options).unwrap()
}

fn sparse(pipeline: &Preprocess, features: &Features) -> SparseRows<f32> {
    match pipeline.transform(features).unwrap().rows {
        OwnedRows::Sparse(rows) => rows,
        OwnedRows::Dense { .. } => panic!("text is sparse"),
    }
}

fn row(rows: &SparseRows<f32>, at: usize) -> Vec<(usize, f32)> {
    rows.view().row(at).iter().collect()
}

fn text(words: usize, min_rows: u32) -> PreprocessOptions {
    let text = TextEncoding { words, min_rows, characters: None, ..TextEncoding::default() };
    PreprocessOptions { text, ..PreprocessOptions::default() }
}

#[test]
fn terms_are_weighted_and_named() {
    let data = table(vec![column("q", &["The cat sat", "the CAT the cat", "a dog"])]);
    let (pipeline, notes) = fit(&data, &text(2, 2));
    assert_eq!(notes, []);
    assert!(pipeline.is_sparse());
    // The most frequent first; of those the first by its text.
    assert_eq!(pipeline.feature_names(), ["q: cat", "q: the", "q: the cat"]);
    assert_eq!(pipeline.feature_units(), [1.0; 3]);
    let rows = sparse(&pipeline, &data);
    let third = (1.0f64 / 3.0).sqrt() as f32;
    assert_eq!(row(&rows, 0), [(0, third), (1, third), (2, third)]);
    assert_eq!(row(&rows, 2), []);
    // Here each term is found twice, and all weigh the same again.
    assert_eq!(row(&rows, 1), row(&rows, 0));
}

#[test]
fn rare_terms_weigh_more_and_repetition_less_than_in_proportion() {
    let data = table(vec![column("q", &["a b", "a b", "a"])]);
    let (pipeline, _) = fit(&data, &text(1, 1));
    let new = table(vec![column("q", &["a b b b"])]);
    let (a, b) = (1.0f64, (1.0 + 3f64.ln()) * (1.0 + (4.0f64 / 3.0).ln()));
    let length = (a * a + b * b).sqrt();
    assert_eq!(row(&sparse(&pipeline, &new), 0), [(0, (a / length) as f32), (1, (b / length) as f32)]);
}

#[test]
fn unseen_words_and_empty_texts_leave_nothing() {
    let mut gap = Missing::default();
    gap.mark(2);
    let mut cells = column("q", &["red apple", "red pear", "red red"]);
    cells.missing = gap;
    let data = table(vec![cells]);
    // A missing text is an empty one, whether missing cells are refused or not.
    let (pipeline, notes) = fit(&data, &text(1, 1));
    assert_eq!(notes, []);
    assert_eq!(pipeline.feature_names(), ["q: red", "q: apple", "q: pear"]);
    let rows = sparse(&pipeline, &data);
    assert_eq!((row(&rows, 0).len(), row(&rows, 2).len()), (2, 0));
    let rows = sparse(&pipeline, &table(vec![column("q", &["", "green plum", "?!", "plum RED"])]));
    assert_eq!((0..4).map(|at| row(&rows, at)).collect::<Vec<_>>(), [vec![], vec![], vec![], vec![(0, 1.0)]]);
}

#[test]
fn scripts_without_spaces_are_read_by_characters() {
    let data = table(vec![column("q", &["我爱北京天安门", "北京天气", "上海"])]);
    let (pipeline, _) = fit(&data, &text(2, 2));
    assert_eq!(pipeline.feature_names(), ["q: 京", "q: 京天", "q: 北", "q: 北京", "q: 北京天", "q: 天"]);
    let stored = Preprocess::from_json(&pipeline.to_json().unwrap()).unwrap();
    assert_eq!(sparse(&stored, &data), sparse(&pipeline, &data));
}

#[test]
fn pieces_of_words_are_terms_where_asked_for() {
    let options = PreprocessOptions {
        text: TextEncoding { words: 1, characters: Some((3, 4)), min_rows: 2, max_terms: 100 },
        ..PreprocessOptions::default()
    };
    let data = table(vec![column("q", &["reading", "reader", "x", "x y"])]);
    let (pipeline, _) = fit(&data, &options);
    assert_eq!(
        pipeline.feature_names(),
        ["q: x", "q: ' re'", "q: ' rea'", "q: ' x '", "q: 'ead'", "q: 'rea'", "q: 'read'"]
    );
    // Words and pieces count alike, however many there are.
    let half = 0.5f64.sqrt() as f32;
    assert_eq!(row(&sparse(&pipeline, &table(vec![column("q", &["x"])])), 0), [(0, half), (3, half)]);
    // A word that was never seen is known by its pieces.
    let rows = sparse(&pipeline, &table(vec![column("q", &["re-reads"])]));
    assert_eq!(row(&rows, 0).iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 2, 4, 5, 6]);
    let stored = Preprocess::from_json(&pipeline.to_json().unwrap()).unwrap();
    assert_eq!(stored, pipeline);
}

#[test]
fn text_stands_beside_other_columns() {
    let numbers = Column::numeric("n", vec![1.0, 3.0, 1.0]);
    let flags = Column::new("b", Values::Boolean(vec![true, false, true]));
    let data = table(vec![column("q", &["a b", "a", "b"]), numbers, column("r", &["c", "c", ""]), flags]);
    let options = PreprocessOptions { standardise: false, ..text(1, 1) };
    let (pipeline, _) = fit(&data, &options);
    assert_eq!(pipeline.feature_names(), ["q: a", "q: b", "n", "r: c", "b"]);
    let rows = sparse(&pipeline, &data);
    let half = 0.5f64.sqrt() as f32;
    assert_eq!(row(&rows, 0), [(0, half), (1, half), (2, 1.0), (3, 1.0), (4, 1.0)]);
    assert_eq!(row(&rows, 1), [(0, 1.0), (2, 3.0), (3, 1.0)]);
    assert_eq!(row(&rows, 2), [(1, 1.0), (2, 1.0), (4, 1.0)]);
    // Columns are found by name, and anything has a text.
    let moved = table(vec![
        Column::new("b", Values::Boolean(vec![false])),
        Column::numeric("n", vec![2.0]),
        Column::numeric("r", vec![7.0]),
        column("q", &["b"]),
    ]);
    assert_eq!(row(&sparse(&pipeline, &moved), 0), [(1, 1.0), (2, 2.0)]);
    let array = Features::Array(cmrm_data::Array::new(vec![0.0; 4], 4).unwrap());
    let error = pipeline.transform(&array).unwrap_err().to_string();
    assert!(error.contains("column 'q': an array has only numbers, but this column must be text"), "{error}");
}

#[test]
fn text_without_shared_words_is_dropped() {
    let data = table(vec![column("q", &["one", "two"]), Column::numeric("n", vec![1.0, 2.0])]);
    let (pipeline, notes) = fit(&data, &text(2, 2));
    assert_eq!(notes, [Note::NoTerms { column: "q".into() }]);
    assert_eq!(pipeline.feature_names(), ["n"]);
    assert!(matches!(pipeline.transform(&data).unwrap().rows, OwnedRows::Dense { .. }));
}

#[test]
fn only_the_most_frequent_terms_are_kept() {
    let mut options = text(1, 1);
    options.text.max_terms = 2;
    let data = table(vec![column("q", &["c a b", "b a", "b"])]);
    assert_eq!(fit(&data, &options).0.feature_names(), ["q: b", "q: a"]);
    for wrong in [
        TextEncoding { words: 0, ..TextEncoding::default() },
        TextEncoding { words: 99, ..TextEncoding::default() },
        TextEncoding { characters: Some((3, 2)), ..TextEncoding::default() },
        TextEncoding { characters: Some((0, 2)), ..TextEncoding::default() },
        TextEncoding { max_terms: 0, ..TextEncoding::default() },
    ] {
        let options = PreprocessOptions { text: wrong, ..PreprocessOptions::default() };
        let error = Preprocess::fit(&data, &[0, 1, 2], &options).unwrap_err().to_string();
        assert!(error.contains("settings of text"), "{error}");
    }
}

#[test]
fn the_stored_form_is_checked() {
    let data = table(vec![column("q", &["new york", "new york", "new"])]);
    let json = fit(&data, &text(2, 1)).0.to_json().unwrap();
    assert!(json.contains("\"3 new\",\n") && json.contains("\"2 new york\",\n"), "{json}");
    for (from, to, message) in [
        ("\"3 new\"", "\"4 new\"", "'4 new' is no term with its number of rows"),
        ("\"3 new\"", "\"0 new\"", "is no term with its number of rows"),
        ("\"3 new\"", "\"new\"", "is no term with its number of rows"),
        ("\"3 new\"", "\"1 new\"", "are not in order"),
        ("\"3 new\"", "\"3 york\"", "occurs twice"),
        ("\"3 new\"", "\"3 \"", "is no term of at most 2 words"),
        ("\"3 new\"", "\"3 new york city\"", "is no term of at most 2 words"),
        ("\"3 new\"", "\"3 new  york\"", "is no term of at most 2 words"),
        ("\"longest\": 2", "\"longest\": 0", "words = 0"),
        ("\"longest\": 2", "\"longest\": 2, \"pieces\": [\"1 abc\"]", "no piece of a word"),
        ("\"longest\": 2", "\"longest\": 2, \"extra\": 1", "unknown field"),
        ("\"kind\": \"text\"", "\"kind\": \"numeric\"", "does not fit the column's kind"),
        ("\"kind\": \"text\"", "\"kind\": \"text\", \"fill\": \"own-category\"", "does not fit the column's kind"),
    ] {
        assert!(json.contains(from), "{json}");
        let error = Preprocess::from_json(&json.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(message), "{from} → {to}: {error}");
    }
}

proptest! {
    #[test]
    fn chunks_and_the_stored_form_change_no_bit(
        texts in prop::collection::vec("[a-c 中国]{0,12}|\\PC{0,9}", 2..40),
        chunk in 1..15usize,
        characters in prop::option::of((1..3usize, 0..3usize)),
    ) {
        let characters = characters.map(|(low, more)| (low, low + more));
        let options = PreprocessOptions {
            text: TextEncoding { characters, min_rows: 1, ..TextEncoding::default() },
            ..PreprocessOptions::default()
        };
        let cells: Vec<&str> = texts.iter().map(String::as_str).collect();
        let whole = table(vec![column("q", &cells)]);
        let training: Vec<bool> = (0..cells.len()).map(|row| row % 4 != 3).collect();
        let used: Vec<usize> = (0..cells.len()).filter(|&row| training[row]).collect();
        let Ok((expected, _)) = Preprocess::fit(&whole, &used, &options) else { return Ok(()) };
        let mut fitter = Fitter::new(&whole, &options).unwrap();
        for (part, marks) in cells.chunks(chunk).zip(training.chunks(chunk)) {
            fitter.update(&table(vec![column("q", part)]), marks).unwrap();
        }
        let (fitted, _) = fitter.finish().unwrap();
        prop_assert_eq!(&fitted, &expected);
        let stored = Preprocess::from_json(&fitted.to_json().unwrap()).unwrap();
        prop_assert_eq!(&stored, &expected);
        let rows = sparse(&stored, &whole);
        let mut pieces = SparseRows::empty(rows.width()).unwrap();
        for part in cells.chunks(chunk) {
            pieces.append(sparse(&fitted, &table(vec![column("q", part)])).view()).unwrap();
        }
        prop_assert_eq!(&pieces, &rows);
        // Each row has length one, or nothing in it; its terms come in order.
        for row in rows.view().iter_rows() {
            let length: f64 = row.values.iter().map(|&value| f64::from(value).powi(2)).sum();
            prop_assert!(row.values.is_empty() || (length - 1.0).abs() < 1e-6);
            prop_assert!(row.columns.is_sorted_by(|a, b| a < b));
            prop_assert!(row.values.iter().all(|value| *value > 0.0));
        }
    }
}
