//! The pipeline: encodings, imputation, scaling, stored form, matching, and what is refused.

mod common;

use cmrm_data::preprocess::{
    CategoryEncoding, DateEncoding, Fitter, MissingCategory, MissingCells, Note, Preprocess, PreprocessOptions,
};
use cmrm_data::read::{ReadOptions, Source, open, read};
use cmrm_data::table::ColumnBuilder;
use cmrm_data::{Array, Column, Features, Input, Kind, LabelOptions, MissingLabels, Override, Table};
use common::{csv, labelled, read_csv};
use proptest::prelude::*;

fn input(text: &str) -> Input {
    read_csv(text, &ReadOptions::default()).unwrap()
}

fn all(features: &Features) -> Vec<usize> {
    (0..features.rows()).collect()
}

fn fit(text: &str, options: &PreprocessOptions) -> (Preprocess, Vec<Note>, Vec<f32>) {
    let input = input(text);
    let (pipeline, notes) = Preprocess::fit(&input.features, &all(&input.features), options).unwrap();
    let transformed = pipeline.transform(&input.features).unwrap();
    assert_eq!(transformed.rows.width(), pipeline.feature_names().len());
    (pipeline, notes, transformed.rows.values().to_vec())
}

fn plain() -> PreprocessOptions {
    PreprocessOptions { standardise: false, ..PreprocessOptions::default() }
}

fn imputing() -> PreprocessOptions {
    PreprocessOptions { missing: MissingCells::Impute, ..plain() }
}

#[test]
fn every_kind_becomes_numbers() {
    let text = "n,b,c,d\n1.5,true,red,1970-01-02\n2,no,blue,1970-01-01 12:00\n";
    let (pipeline, notes, values) = fit(text, &plain());
    assert_eq!(pipeline.feature_names(), ["n", "b", "c=blue", "c=red", "d"]);
    assert_eq!(values, [1.5, 1.0, 0.0, 1.0, 1.0, 2.0, 0.0, 1.0, 0.0, 0.5]);
    assert_eq!(notes, []);
}

#[test]
fn dates_can_be_taken_apart_and_names_numbered() {
    let options = PreprocessOptions { dates: DateEncoding::Parts, categories: CategoryEncoding::Ordinal, ..plain() };
    let (pipeline, _, values) = fit("d,c\n2024-02-29,10\n2023-02-27 06:30,9\n2023-02-27,x\n", &options);
    // The month is always February, so it is no feature.
    assert_eq!(pipeline.feature_names(), ["d.year", "d.day", "d.weekday", "d.hour", "c"]);
    assert_eq!(values, [2024.0, 29.0, 3.0, 0.0, 0.0, 2023.0, 27.0, 0.0, 6.5, 1.0, 2023.0, 27.0, 0.0, 0.0, 2.0]);
}

#[test]
fn standardisation_is_learned_on_the_training_rows_only() {
    let data = input("a,c\n1,x\n3,y\n1000,z\n");
    let (pipeline, _) = Preprocess::fit(&data.features, &[0, 1], &PreprocessOptions::default()).unwrap();
    assert_eq!(pipeline.feature_names(), ["a", "c=x", "c=y"]);
    let transformed = pipeline.transform(&data.features).unwrap();
    assert_eq!(transformed.rows.values(), [-1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 998.0, 0.0, 0.0]);
    assert_eq!(
        transformed.notes,
        [Note::UnknownCategories { column: "c".into(), cells: 1, examples: vec!["z".into()] }]
    );
}

#[test]
fn an_unknown_name_has_place_minus_one() {
    let data = input("a\nx\ny\nz\n");
    let options = PreprocessOptions { categories: CategoryEncoding::Ordinal, ..plain() };
    let (pipeline, _) = Preprocess::fit(&data.features, &[0, 1], &options).unwrap();
    assert_eq!(pipeline.transform(&data.features).unwrap().rows.values(), [0.0, 1.0, -1.0]);
}

#[test]
fn missing_cells_are_filled_in_and_flagged() {
    let text = "n,b,d,c\n1,true,1970-01-02,x\n?,true,,\n5,?,1970-01-04,x\n3,false,1970-01-09,y\n";
    let (pipeline, notes, values) = fit(text, &imputing());
    assert_eq!(
        pipeline.feature_names(),
        ["n", "n is missing", "b", "b is missing", "d", "d is missing", "c=x", "c=y", "c is missing"]
    );
    assert_eq!(values[9..18], [3.0, 1.0, 1.0, 0.0, 3.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(values[18..27], [5.0, 0.0, 1.0, 1.0, 3.0, 0.0, 1.0, 0.0, 0.0]);
    let notes: Vec<String> = notes.iter().map(Note::to_string).collect();
    assert_eq!(notes[0], "column 'n': 1 missing cell filled in with the median, 3");
    assert_eq!(notes[1], "column 'b': 1 missing cell filled in with the most frequent value, true");
    assert_eq!(notes[2], "column 'd': 1 missing cell filled in with the median, 1970-01-04");

    let options = PreprocessOptions { missing_category: MissingCategory::MostFrequent, ..imputing() };
    let (pipeline, _, values) = fit("c\nx\n?\nx\ny\n", &options);
    assert_eq!(pipeline.feature_names(), ["c=x", "c=y", "c is missing"]);
    assert_eq!(values[3..6], [1.0, 0.0, 1.0]);
}

#[test]
fn a_cell_missing_only_later_is_filled_in_without_a_flag() {
    let (pipeline, _, _) = fit("n,c\n1,x\n2,y\n6,y\n", &imputing());
    assert_eq!(pipeline.feature_names(), ["n", "c=x", "c=y"]);
    let later = read_csv("n,c\n?,?\n", &ReadOptions { expected: Some(pipeline.expected()), ..Default::default() });
    let transformed = pipeline.transform(&later.unwrap().features).unwrap();
    assert_eq!(transformed.rows.values(), [2.0, 0.0, 1.0]);
    assert_eq!(transformed.notes.len(), 2);
}

#[test]
fn constant_columns_are_dropped_with_a_word_and_not_asked_for_again() {
    let (pipeline, notes, values) = fit("a,k,e,c\n1,7,,z\n2,7,,z\n", &imputing());
    assert_eq!(values, [1.0, 2.0]);
    let notes: Vec<String> = notes.iter().map(Note::to_string).collect();
    assert_eq!(
        notes,
        [
            "column 'k' is always 7 on the training rows and was dropped",
            "column 'e' is empty on the training rows and was dropped",
            "column 'c' is always 'z' on the training rows and was dropped",
        ]
    );
    assert_eq!(pipeline.transform(&input("a\n5\n6\n").features).unwrap().rows.values(), [5.0, 6.0]);
    // A constant with gaps says something by its gaps alone.
    let (pipeline, _, values) = fit("a,k\n1,7\n2,\n3,7\n", &imputing());
    assert_eq!(pipeline.feature_names(), ["a", "k is missing"]);
    assert_eq!(values, [1.0, 0.0, 2.0, 1.0, 3.0, 0.0]);
    let nothing = input("a\n1\n1\n");
    let error = Preprocess::fit(&nothing.features, &[0, 1], &plain()).unwrap_err().to_string();
    assert!(error.contains("every column was left out"), "{error}");
}

#[test]
fn too_many_names_keep_the_most_frequent() {
    let options = PreprocessOptions { max_levels: 2, ..plain() };
    let (pipeline, notes, values) = fit("s\na\nb\nb\nc\nc\n", &options);
    assert_eq!(pipeline.feature_names(), ["s=b", "s=c"]);
    assert_eq!(values[..2], [0.0, 0.0]);
    assert_eq!(notes, [Note::RareCategories { column: "s".into(), found: 3, kept: 2 }]);
}

#[test]
fn a_column_that_counts_rows_is_left_out() {
    let text: String = (0..30).map(|row| format!("{},{}\n", row + 1, row % 4)).collect();
    let data = read_csv(format!("id,v\n{text}"), &ReadOptions::default()).unwrap();
    let rows: Vec<usize> = (0..30).filter(|row| row % 4 != 1).collect();
    let (pipeline, notes) = Preprocess::fit(&data.features, &rows, &plain()).unwrap();
    assert_eq!(notes, [Note::Identifier { column: "id".into(), why: "numbers the rows".into() }]);
    assert_eq!(pipeline.feature_names(), ["v"]);
    // Who says that it is a number wants it.
    let options = PreprocessOptions { overrides: [("id".into(), Override::Numeric)].into(), ..plain() };
    let (pipeline, notes) = Preprocess::fit(&data.features, &rows, &options).unwrap();
    assert_eq!((pipeline.width(), notes), (2, vec![]));
}

#[test]
fn a_column_counts_rows_in_any_order() {
    let used = |number: fn(usize) -> usize| {
        let text: String = (0..30).map(|row| format!("{},{}\n", number(row), row % 4)).collect();
        let data = input(&format!("n,v\n{text}"));
        // Some rows are for validation; and Python moves rows about before they are split.
        let moved = data.gather(&(0..30).map(|row| row * 11 % 30).collect::<Vec<_>>()).unwrap();
        let rows: Vec<usize> = (0..30).filter(|row| row % 4 != 1).collect();
        let names = |data: &Input| Preprocess::fit(&data.features, &rows, &plain()).unwrap().0.feature_names();
        assert_eq!(names(&data), names(&moved));
        names(&data)
    };
    assert_eq!(used(|row| row), ["v"]);
    assert_eq!(used(|row| 100 + row * 7 % 30), ["v"]);
    assert_eq!(used(|row| row * 3), ["n", "v"], "far apart");
    assert_eq!(used(|row| row.max(6)), ["n", "v"], "some are the same");
}

#[test]
fn a_column_without_cells_is_left_out_though_missing_cells_are_refused() {
    for kind in [Kind::Numeric, Kind::Categorical, Kind::Date] {
        let mut empty = ColumnBuilder::new(kind);
        (0..3).for_each(|_| empty.push_missing());
        let spare = empty.finish("spare");
        let fit = |x: Column| {
            let features = Features::Table(Table::new(vec![x, spare.clone()]).unwrap());
            Preprocess::fit(&features, &[0, 1, 2], &PreprocessOptions::default())
        };
        let (pipeline, notes) = fit(Column::numeric("x", vec![1.0, 2.0, 4.0])).unwrap();
        assert_eq!(pipeline.width(), 1);
        assert!(matches!(&notes[..], [Note::Constant { column, value: None }] if column == "spare"), "{notes:?}");
        let mut gap = ColumnBuilder::new(Kind::Numeric);
        gap.push_number(1.0);
        gap.push_missing();
        gap.push_number(2.0);
        let error = fit(gap.finish("x")).unwrap_err().to_string();
        assert!(error.starts_with("row 1, column 'x': the cell is missing"), "{error}");
    }
}

#[test]
fn cells_that_are_not_numbers_are_refused_with_their_place() {
    for (text, start) in [
        ("a,b\n1,2\n3,nan\n", "row 1, column 'b': the value NaN is not a finite 32-bit number; correct it, ignore"),
        ("a,b\n1,2\n-inf,1\n", "row 1, column 'a': the value -inf is not a finite 32-bit number; correct it or"),
        ("a,b\n1,2\n1e39,1\n", "row 1, column 'a': the value 1000000000000000000000000000000000000000 is not"),
        ("a,b\n1,2\n?,1\n", "row 1, column 'a': the cell is missing; fill it in, ignore the column, or have"),
        ("a,b\nx,2\n?,1\n", "row 1, column 'a': the cell is missing"),
    ] {
        let data = input(text);
        for rows in [vec![0, 1], vec![1]] {
            let error = Preprocess::fit(&data.features, &rows, &plain()).unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}");
        }
    }
    // Outside the training rows they are refused when they are transformed.
    let data = input("a\n1\n2\nnan\n");
    let (pipeline, _) = Preprocess::fit(&data.features, &[0, 1], &plain()).unwrap();
    let error = pipeline.transform(&data.features).unwrap_err().to_string();
    assert!(error.starts_with("row 2, column 'a': the value NaN"), "{error}");
    let data = input("a\n1\n1.0000001\n3e38\n");
    let (pipeline, _) = Preprocess::fit(&data.features, &[0, 1], &PreprocessOptions::default()).unwrap();
    let error = pipeline.transform(&data.features).unwrap_err().to_string();
    assert!(error.starts_with("row 2, column 'a': the value 3") && error.contains("be standardised"), "{error}");
    // And the way out works.
    let options = PreprocessOptions { nan_is_missing: true, ..imputing() };
    assert_eq!(fit("a\n1\n3\nnan\n", &options).2, [1.0, 0.0, 3.0, 0.0, 2.0, 1.0]);
}

#[test]
fn arrays_take_the_same_way() {
    let array = |values: Vec<f32>, width| Features::Array(Array::new(values, width).unwrap());
    let data = array(vec![1.0, 5.0, 0.0, 3.0, 5.0, 1.0], 3);
    let (pipeline, notes) = Preprocess::fit(&data, &[0, 1], &PreprocessOptions::default()).unwrap();
    assert_eq!(notes.len(), 1);
    assert_eq!(pipeline.transform(&data).unwrap().rows.values(), [-1.0, -1.0, 1.0, 1.0]);
    let error = pipeline.transform(&array(vec![1.0; 4], 4)).unwrap_err().to_string();
    assert!(error.starts_with("feature columns: expected 3, found 4"), "{error}");
    let error = pipeline.transform(&array(vec![1.0, 5.0, f32::INFINITY], 3)).unwrap_err().to_string();
    assert!(error.starts_with("row 0, column 'x2': the value inf"), "{error}");
    let gap = array(vec![1.0, f32::NAN, 3.0], 1);
    assert!(Preprocess::fit(&gap, &[0, 1, 2], &imputing()).is_err());
    let options = PreprocessOptions { nan_is_missing: true, ..imputing() };
    let (pipeline, _) = Preprocess::fit(&gap, &[0, 1, 2], &options).unwrap();
    assert_eq!(pipeline.transform(&gap).unwrap().rows.values(), [1.0, 0.0, 2.0, 1.0, 3.0, 0.0]);
    // A file without a header is an array with another spelling.
    let text = read_csv("1\nnan\n3\n", &ReadOptions::default()).unwrap();
    assert_eq!(pipeline.transform(&text.features).unwrap().rows.values(), [1.0, 0.0, 2.0, 1.0, 3.0, 0.0]);
}

#[test]
fn columns_are_matched_by_name() {
    let (pipeline, _, _) = fit("a,b,c\n1,x,true\n2,y,false\n", &plain());
    let transform = |text: &str| pipeline.transform(&input(text).features);
    let moved = transform("extra,c,b,a\n9,true,y,5\n9,false,y,6\n").unwrap();
    assert_eq!(moved.rows.values(), [5.0, 0.0, 1.0, 1.0, 6.0, 0.0, 1.0, 0.0]);
    assert_eq!(moved.notes, [Note::ExtraColumns { columns: vec!["extra".into()] }]);
    for (text, start) in [
        ("a,z\n1,x\n2,y\n", "missing columns of the model: 'b', 'c'; the data must have the columns"),
        ("1,x\n2,y\n1,x\n", "missing columns of the model: 'a', 'b', 'c'; the data has no header"),
        ("a,b,c\n1,x,true\ntwo,y,false\n", "row 1, column 'a': 'two' is not a numeric value"),
        ("a,b,c\n1,x,0\n1,x,2\n", "row 1, column 'c': '2' is not a boolean value"),
    ] {
        let error = transform(text).unwrap_err().to_string();
        assert!(error.starts_with(start), "{error}");
    }
    // Where only one side has names, position counts.
    let bare = transform("5,y,true\n6,x,true\n").unwrap();
    assert_eq!(bare.rows.values(), [5.0, 0.0, 1.0, 1.0, 6.0, 1.0, 0.0, 1.0]);
    assert_eq!(bare.notes, [Note::MatchedByPosition]);
}

#[test]
fn a_reader_that_knows_the_model_refuses_at_the_cell() {
    let (pipeline, _, _) = fit("a,b\n1,007\n2,x\n", &plain());
    let options = ReadOptions { expected: Some(pipeline.expected()), ..ReadOptions::default() };
    let error = read_csv("b,a,extra\n007,1,q\n1,two,q\n", &options).unwrap_err().to_string();
    assert!(error.starts_with("t.csv, row 1 (line 3), column 'a': 'two' is not a numeric value"), "{error}");
    // Numbers alone would be detected here; the model knows better and keeps the zeros.
    let data = read_csv("b,a,extra\n007,1,q\n7,2,q\n", &options).unwrap();
    let transformed = pipeline.transform(&data.features).unwrap();
    assert_eq!(transformed.rows.values(), [1.0, 1.0, 0.0, 2.0, 0.0, 0.0]);
    assert!(transformed.notes.contains(&Note::ExtraColumns { columns: vec!["extra".into()] }));
}

#[test]
fn overrides_count_at_fit_too() {
    let mut options = plain();
    options.overrides.insert("a".into(), Override::Categorical);
    options.overrides.insert("b".into(), Override::Ignore);
    let (pipeline, _, _) = fit("a,b\n1,2\n2,3\n", &options);
    assert_eq!(pipeline.feature_names(), ["a=1", "a=2"]);
    options.overrides.insert("c".into(), Override::Ignore);
    assert!(Preprocess::fit(&input("a,b\n1,2\n").features, &[0], &options).is_err());
}

#[test]
fn the_stored_form_is_checked() {
    let (pipeline, _, _) = fit(
        "a,c,d\n1,x,2024-01-01\n2.7,,2024-05-01\n",
        &PreprocessOptions { dates: DateEncoding::Parts, standardise: true, ..imputing() },
    );
    let json = pipeline.to_json().unwrap();
    assert_eq!(Preprocess::from_json(&json).unwrap(), pipeline);
    for (from, to, message) in [
        ("\"format\": 1", "\"format\": 2", "the preprocessing has format version 2; this program reads version 1"),
        ("\"unnamed\"", "\"unnamned\"", "unknown field"),
        ("\"deviation\": ", "\"deviation\": -", "a deviation not a positive number"),
        ("\"kind\": \"date\"", "\"kind\": \"numeric\"", "does not fit the column's kind"),
        ("\"name\": \"c\"", "\"name\": \"a\"", "twice"),
        ("\"inputs\": 3", "\"inputs\": 2", "do not agree"),
    ] {
        assert!(json.contains(from), "{json}");
        let error = Preprocess::from_json(&json.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

/// A model that was stored once must stay readable: this text is format 1 for good.
#[test]
fn format_one_stays_readable() {
    let json = r#"{"format":1,"unnamed":false,"inputs":6,"nan_is_missing":false,"columns":[
        {"name":"a","kind":"numeric","fill":{"number":1.5},"flag":true,"encoder":{"number":{"mean":0.5,"deviation":2.0}}},
        {"name":"b","kind":"boolean","encoder":{"number":{"mean":0.0,"deviation":1.0}}},
        {"name":"c","kind":"categorical","fill":"own-category","encoder":{"one-hot":{"levels":["x","y"]}}},
        {"name":"d","kind":"date","fill":{"number":19723.0},"encoder":{"parts":[["year",{"mean":2000.0,"deviation":2.0}]]}},
        {"name":"e","kind":"categorical","fill":{"level":1},"flag":true,
         "encoder":{"ordinal":{"levels":["p","q"],"scale":{"mean":0.0,"deviation":1.0}}}},
        {"name":"f","kind":"numeric","encoder":"dropped"}]}"#;
    let pipeline = Preprocess::from_json(json).unwrap();
    assert_eq!(
        pipeline.feature_names(),
        ["a", "a is missing", "b", "c=x", "c=y", "c is missing", "d.year", "e", "e is missing"]
    );
    let options = ReadOptions { expected: Some(pipeline.expected()), ..ReadOptions::default() };
    let data = read_csv("a,b,c,d,e\n4.5,true,y,2010-01-01,p\n?,false,?,?,?\n1,no,z,2000-01-01,z\n", &options).unwrap();
    let values = pipeline.transform(&data.features).unwrap().rows.values().to_vec();
    assert_eq!(values[..9], [2.0, 0.0, 1.0, 0.0, 1.0, 0.0, 5.0, 0.0, 0.0]);
    assert_eq!(values[9..18], [0.5, 1.0, 0.0, 0.0, 0.0, 1.0, 12.0, 1.0, 1.0]);
    assert_eq!(values[18..], [0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0]);
}

#[test]
fn unlabelled_rows_are_left_out_of_the_data_set() {
    let data = read_csv("a,y\n1,p\n2,\n3,q\n", &labelled("y")).unwrap();
    let options = LabelOptions { missing: MissingLabels::HoldOut, ..LabelOptions::default() };
    let labels = data.encode_labels(&options).unwrap();
    let (pipeline, _) = Preprocess::fit(&data.features, &labels.rows, &plain()).unwrap();
    let (set, _) = pipeline.dataset(&data, &labels).unwrap();
    assert_eq!((set.features.values(), &set.labels[..], &set.rows[..]), (&[1.0, 3.0][..], &[0, 1][..], &[0, 2][..]));
    assert_eq!(set.gather(&[1]).unwrap().rows, [2]);
}

proptest! {
    #[test]
    fn chunks_and_the_stored_form_change_no_bit(
        rows in prop::collection::vec((-1e6f32..1e6, 0..4u8, prop::bool::ANY), 2..60),
        chunk in 1..20usize,
    ) {
        let mut text = String::from("n,c,b\n");
        for (number, name, gap) in &rows {
            text += &format!("{},{},{}\n", if *gap { "?".into() } else { number.to_string() }, ["?", "p", "q", "r"][*name as usize], gap);
        }
        let options = PreprocessOptions { missing: MissingCells::Impute, ..PreprocessOptions::default() };
        let whole = input(&text);
        let training: Vec<bool> = (0..rows.len()).map(|row| row % 3 != 2).collect();
        let used: Vec<usize> = (0..rows.len()).filter(|&row| training[row]).collect();
        let Ok((expected, _)) = Preprocess::fit(&whole.features, &used, &options) else { return Ok(()) };
        let opened = open(&csv(&text), &ReadOptions::default()).unwrap();
        let first = opened.chunks(chunk).unwrap().next().unwrap().unwrap();
        let mut fitter = Fitter::new(&first.features, &options).unwrap();
        for part in opened.chunks(chunk).unwrap() {
            let features = part.unwrap().features;
            let start = features.first_row() as usize;
            fitter.update(&features, &training[start..start + features.rows()]).unwrap();
        }
        let (fitted, _) = fitter.finish().unwrap();
        prop_assert_eq!(&fitted, &expected);
        let stored = Preprocess::from_json(&fitted.to_json().unwrap()).unwrap();
        prop_assert_eq!(&stored, &expected);
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let mut pieces = Vec::new();
        for part in opened.chunks(chunk).unwrap() {
            pieces.extend(stored.transform(&part.unwrap().features).unwrap().rows.values());
        }
        prop_assert_eq!(bits(pieces), bits(expected.transform(&whole.features).unwrap().rows.values().to_vec()));
    }

    #[test]
    fn text_and_doubles_give_the_same_bits(values in prop::collection::vec(any::<f64>().prop_filter("finite", |v| (*v as f32).is_finite()), 2..40)) {
        let text: String = values.iter().map(|value| format!("{value:?}\n")).collect();
        let mut options = ReadOptions::default();
        options.text.header = Some(false);
        let text = read_csv(text, &options).unwrap();
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let array = common::npy_of("<f8", false, &format!("({},)", values.len()), &data);
        let array = read(&Source::bytes("a.npy", array), &ReadOptions::default()).unwrap();
        for options in [plain(), PreprocessOptions::default()] {
            let fitted = |data: &Input| Preprocess::fit(&data.features, &all(&data.features), &options).map(|(fitted, _)| fitted);
            let (Ok(from_text), Ok(from_array)) = (fitted(&text), fitted(&array)) else { return Ok(()) };
            prop_assert_eq!(&from_text, &from_array);
            let (Ok(a), Ok(b)) = (from_text.transform(&text.features), from_array.transform(&array.features)) else { return Ok(()) };
            prop_assert_eq!(a.rows, b.rows);
        }
    }
}
