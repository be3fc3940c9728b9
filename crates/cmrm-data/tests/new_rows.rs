//! New rows for a fitted pipeline: cells that are written otherwise than in training, and keys that no row has.

mod common;

use cmrm_data::preprocess::{MissingCells, Preprocess, PreprocessOptions, in_words};
use cmrm_data::read::{ReadOptions, Source, open, read};
use cmrm_data::{Error, Input};
use common::{cells, labelled, read_csv, table};

fn fitted(input: &Input, missing: MissingCells) -> Preprocess {
    let rows: Vec<usize> = (0..input.features.rows()).collect();
    let options = PreprocessOptions { missing, ..PreprocessOptions::default() };
    Preprocess::fit(&input.features, &rows, &options).unwrap().0
}

/// Prices with a decimal comma, dates with the month first, answers in German; gaps are filled in.
fn german() -> Preprocess {
    let mut text = String::from("price;since;paid\n");
    for row in 0..60 {
        let (month, day) = (row % 12 + 1, row % 28 + 1);
        text += &format!("1.{:03},{row:02} €;{month}/{day}/2024;{}\n", row * 7, ["ja", "nein"][row % 2]);
    }
    fitted(&read_csv(text, &ReadOptions::default()).unwrap(), MissingCells::Impute)
}

/// What is said of these rows, or why they are refused.
fn taken(preprocess: &Preprocess, rows: &[String]) -> Result<Vec<String>, Error> {
    let options = ReadOptions { expected: Some(preprocess.expected()), ..ReadOptions::default() };
    let input = read_csv(format!("price;since;paid\n{}\n", rows.join("\n")), &options)?;
    let transformed = preprocess.transform(&input.features).map_err(|error| error.in_file(&input.source))?;
    Ok(in_words(&transformed.notes))
}

#[test]
fn a_column_that_is_written_otherwise_is_refused() {
    let preprocess = german();
    let way_out = "; write the cells as in the training data, or fit again on data that is written like this";
    let row = |price: &str, since: &str, paid: &str| format!("{price};{since};{paid}");
    let points: Vec<String> = (0..40).map(|at| row(&format!("{}.12", 1300 + at), "8/15/2024", "ja")).collect();
    assert_eq!(
        taken(&preprocess, &points).unwrap_err().to_string(),
        format!(
            "t.csv, row 0, column 'price': 40 of 40 cells cannot be read as in training, here '1300.12': the model takes \
             numbers with a decimal comma, such as 1234,5{way_out}"
        )
    );
    // Days beyond the twelfth give the others away, which could be read with day and month exchanged.
    let days: Vec<String> = (0..40).map(|at| row("1,5", &format!("{}/6/2024", at % 22 + 1), "ja")).collect();
    assert_eq!(
        taken(&preprocess, &days).unwrap_err().to_string(),
        format!(
            "t.csv, row 12, column 'since': 16 of 40 cells cannot be read as in training, here '13/6/2024': the model \
             takes dates with the month first, such as 12/31/2024{way_out}"
        )
    );
    let answers: Vec<String> = (0..40).map(|_| row("1,5", "8/15/2024", "vielleicht")).collect();
    let error = taken(&preprocess, &answers).unwrap_err().to_string();
    assert!(error.contains("here 'vielleicht': the model takes booleans such as yes and no"), "{error}");
}

#[test]
fn a_few_bad_cells_count_as_missing_as_in_training() {
    let preprocess = german();
    let rows = |bad: usize, good: usize| -> Vec<String> {
        let price = |at: usize| if at < bad { "1300.12" } else { "1.300,12 €" };
        (0..bad + good).map(|at| format!("{};8/15/2024;ja", price(at))).collect()
    };
    for (bad, good) in [(1, 0), (4, 0), (1, 40), (5, 45), (16, 144)] {
        let words = taken(&preprocess, &rows(bad, good)).unwrap();
        assert!(words[0].starts_with("column 'price': ") && words[0].contains("row 0 has '1300.12'"), "{words:?}");
    }
    assert!(taken(&preprocess, &rows(5, 44)).is_err());
    // Cells without anything in them are no better for it.
    let mut holes = rows(5, 0);
    holes.extend((0..60).map(|_| ";8/15/2024;ja".to_string()));
    let error = taken(&preprocess, &holes).unwrap_err().to_string();
    assert!(error.contains("5 of 5 cells"), "{error}");
}

/// Rows of which every tenth has no `user`.
fn nested(rows: usize) -> Input {
    let mut text = String::new();
    for row in 0..rows {
        let user = match row % 10 {
            0 => "null".into(),
            _ => format!(r#"{{"country": "{}", "verified": {}}}"#, ["de", "fr"][row % 2], row % 3 == 0),
        };
        let class = ["good", "bad"][row % 2];
        text += &format!("{{\"user\": {user}, \"price\": {}, \"y\": \"{class}\"}}\n", row % 7);
    }
    read(&Source::bytes("t.jsonl", text.into_bytes()), &labelled("y")).unwrap()
}

#[test]
fn a_key_that_no_row_has_is_a_column_of_missing_cells() {
    let preprocess = fitted(&nested(200), MissingCells::Impute);
    let options = |label: Option<&str>| ReadOptions {
        expected: Some(preprocess.expected()),
        label: label.map(Into::into),
        ..ReadOptions::default()
    };
    let source = |text: &str| Source::bytes("new.jsonl", text.as_bytes().to_vec());
    let whole = read(&source(r#"{"price": 1, "user": {"country": null, "verified": null}}"#), &options(None)).unwrap();
    let expected = preprocess.transform(&whole.features).unwrap().rows;
    for text in [r#"{"user": null, "price": 1}"#, r#"{"price": 1}"#, r#"{"user": {}, "price": 1, "more": 2}"#] {
        let input = read(&source(text), &options(None)).unwrap();
        let transformed = preprocess.transform(&input.features).unwrap();
        assert_eq!(transformed.rows, expected, "{text}");
        let words = in_words(&transformed.notes).join("\n");
        assert!(words.contains("column 'user.country': 1 missing cell filled in"), "{words}");
        assert!(!words.contains("'user'"), "{words}");
    }
    // The last column is the last that the file has.
    let opened = open(&source(r#"{"price": 1, "y": "good"}"#), &options(Some("-1"))).unwrap();
    assert_eq!(opened.names(), ["price", "y"]);
    let input = opened.read().unwrap();
    assert_eq!(input.labels.as_ref().unwrap().text(0).unwrap(), "good");
    assert_eq!(
        (table(&input).names(), cells(&input)),
        (vec!["price", "user.country", "user.verified"], vec![vec!["1".into(), "-".into(), "-".into()]])
    );
}

#[test]
fn a_missing_key_is_refused_where_the_model_does_not_fill_it_in() {
    let text: String = (0..40).map(|row| format!("{{\"a\": {}, \"b\": {}}}\n", row % 7, row % 5)).collect();
    let input = read(&Source::bytes("t.jsonl", text.into_bytes()), &ReadOptions::default()).unwrap();
    let preprocess = fitted(&input, MissingCells::Refuse);
    let options = ReadOptions { expected: Some(preprocess.expected()), ..ReadOptions::default() };
    let new = |name: &str, text: &str| read(&Source::bytes(name, text.as_bytes().to_vec()), &options);
    let error = preprocess.transform(&new("new.jsonl", r#"{"a": 1}"#).unwrap().features).unwrap_err().to_string();
    assert!(error.starts_with("row 0, column 'b': the cell is missing; "), "{error}");
    // Rows of something else, and files whose columns are in a header, are refused as before.
    for (name, text) in [("new.jsonl", r#"{"c": 1}"#), ("new.csv", "a\n1\n2\n")] {
        let error = new(name, text).unwrap_err().to_string();
        assert!(error.contains("missing columns of the model: "), "{error}");
    }
}
