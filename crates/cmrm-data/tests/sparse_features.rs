//! Sparse arrays as features: scales, what is refused, and dense data for a sparse model and the other way round.

use cmrm::{OwnedRows, SparseRows};
use cmrm_data::preprocess::{Fitter, MissingCells, Preprocess, PreprocessOptions};
use cmrm_data::{Array, Features, Override, SparseArray};
use proptest::prelude::*;

fn sparse(rows: &[&[(u32, f32)]], width: usize) -> Features {
    let mut all = SparseRows::empty(width).unwrap();
    for row in rows {
        all.push(row).unwrap();
    }
    Features::Sparse(SparseArray { rows: all, first_row: 0 })
}

fn fit(features: &Features, options: &PreprocessOptions) -> cmrm_data::Result<Preprocess> {
    let rows: Vec<usize> = (0..features.rows()).collect();
    Ok(Preprocess::fit(features, &rows, options)?.0)
}

fn rows(pipeline: &Preprocess, features: &Features) -> Vec<Vec<(usize, f32)>> {
    match pipeline.transform(features).unwrap().rows {
        OwnedRows::Sparse(rows) => rows.view().iter_rows().map(|row| row.iter().collect()).collect(),
        OwnedRows::Dense { .. } => panic!("sparse rows stay sparse"),
    }
}

#[test]
fn one_factor_makes_rows_of_length_one_on_average() {
    let data = sparse(&[&[(0, 3.0), (4, 4.0)], &[], &[(2, -5.0)], &[(0, 5.0), (1, 5.0)]], 5);
    let pipeline = fit(&data, &PreprocessOptions::default()).unwrap();
    assert_eq!((pipeline.width(), pipeline.is_sparse()), (5, true));
    assert_eq!(pipeline.feature_names(), ["x0", "x1", "x2", "x3", "x4"]);
    // The mean of 25, 0, 25 and 50 is 25.
    assert_eq!(rows(&pipeline, &data), [vec![(0, 0.6), (4, 0.8)], vec![], vec![(2, -1.0)], vec![(0, 1.0), (1, 1.0)]]);
    assert_eq!(pipeline.feature_units(), [5.0; 5]);
    let plain = fit(&data, &PreprocessOptions { standardise: false, ..PreprocessOptions::default() }).unwrap();
    assert_eq!(rows(&plain, &data)[0], [(0, 3.0), (4, 4.0)]);
}

#[test]
fn columns_of_very_different_size_are_brought_together_first() {
    let data = sparse(&[&[(0, 1.0), (2, -1000.0)], &[(0, -0.5), (2, 500.0)]], 4);
    let pipeline = fit(&data, &PreprocessOptions::default()).unwrap();
    // Squares of 1, 1, 1/2 and 1/2 over two rows.
    let factor = (2.0f64 / 2.5).sqrt();
    let expected = |a: f64, b: f64| vec![(0, (a * factor) as f32), (2, (b * factor) as f32)];
    assert_eq!(rows(&pipeline, &data), [expected(1.0, -1.0), expected(-0.5, 0.5)]);
    // A column that never had a number has no scale.
    assert_eq!(rows(&pipeline, &sparse(&[&[(3, 9.0)]], 4)), [[(3, 0.0)]]);
    let stored = Preprocess::from_json(&pipeline.to_json().unwrap()).unwrap();
    assert_eq!(stored, pipeline);
    let alike = fit(&sparse(&[&[(0, 1.0), (2, 100.0)]], 3), &PreprocessOptions::default()).unwrap();
    assert!(!alike.to_json().unwrap().contains("largest"));
}

#[test]
fn numbers_that_cannot_be_used_are_refused_with_their_place() {
    let options =
        PreprocessOptions { missing: MissingCells::Impute, nan_is_missing: true, ..PreprocessOptions::default() };
    for wrong in [f32::NAN, f32::INFINITY] {
        let data = sparse(&[&[(0, 1.0)], &[(1, 2.0), (3, wrong)]], 4);
        let error = fit(&data, &options).unwrap_err().to_string();
        assert!(error.starts_with("row 1, column 'x3': the value "), "{error}");
        let (pipeline, _) = Preprocess::fit(&data, &[0], &options).unwrap();
        let error = pipeline.transform(&data).unwrap_err().to_string();
        assert!(error.starts_with("row 1, column 'x3': the value ") && error.contains("counts as zero"), "{error}");
    }
    let (pipeline, _) = Preprocess::fit(&sparse(&[&[(0, 1e-30)]], 4), &[0], &options).unwrap();
    let error = pipeline.transform(&sparse(&[&[(0, 1e30)]], 4)).unwrap_err().to_string();
    assert!(error.starts_with("row 0, column 'x0'"), "{error}");
    let error = fit(&sparse(&[&[], &[(0, 0.0)]], 4), &options).unwrap_err().to_string();
    assert!(error.contains("every number is zero on the training rows"), "{error}");
    let error = pipeline.transform(&sparse(&[&[]], 5)).unwrap_err().to_string();
    assert!(error.starts_with("feature columns: expected 4, found 5"), "{error}");
}

#[test]
fn columns_can_be_ignored() {
    let mut options = PreprocessOptions { standardise: false, ..PreprocessOptions::default() };
    options.overrides.insert("x1".into(), Override::Ignore);
    let data = sparse(&[&[(0, 1.0), (1, f32::NAN)], &[(0, 2.0)]], 3);
    let pipeline = fit(&data, &options).unwrap();
    assert_eq!(rows(&pipeline, &data)[0], [(0, 1.0), (1, 0.0)]);
    for (name, rule, message) in [
        ("x3", Override::Ignore, "the columns are x0 to x2"),
        ("y", Override::Ignore, "no column 'y'"),
        ("x0", Override::Date, "cannot be date"),
    ] {
        let mut options = PreprocessOptions::default();
        options.overrides.insert(name.into(), rule);
        let error = fit(&data, &options).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn dense_and_sparse_rows_serve_each_other() {
    let one = sparse(&[&[(0, 3.0), (2, 4.0)], &[(1, 5.0)]], 3);
    let other = Features::Array(Array::new(vec![3.0, 0.0, 4.0, 0.0, 5.0, 0.0], 3).unwrap());
    let of_sparse = fit(&one, &PreprocessOptions::default()).unwrap();
    assert_eq!(rows(&of_sparse, &other), rows(&of_sparse, &one));
    let of_dense = fit(&other, &PreprocessOptions::default()).unwrap();
    assert_eq!(of_dense.transform(&one).unwrap(), of_dense.transform(&other).unwrap());
    let wide = sparse(&[&[]], 4);
    assert!(of_dense.transform(&wide).unwrap_err().to_string().starts_with("feature columns: expected 3, found 4"));
    // A file without a header is an array with another spelling.
    let options = cmrm_data::read::ReadOptions { expected: Some(of_sparse.expected()), ..Default::default() };
    let source = cmrm_data::read::Source::bytes("t.csv", "3,0,4\n0,5,0\n");
    let table = cmrm_data::read::read(&source, &options).unwrap().features;
    assert_eq!(rows(&of_sparse, &table), rows(&of_sparse, &one));
    // Chunks are of one form.
    let mut fitter = Fitter::new(&one, &PreprocessOptions::default()).unwrap();
    assert!(fitter.update(&other, &[true, true]).is_err());
    let mut fitter = Fitter::new(&other, &PreprocessOptions::default()).unwrap();
    assert!(fitter.update(&one, &[true, true]).is_err());
}

#[test]
fn an_array_too_large_to_be_dense_is_refused_and_a_wide_one_costs_little() {
    let narrow = Features::Array(Array::new((0..40).map(|at| at as f32).collect(), 20).unwrap());
    let pipeline = fit(&narrow, &PreprocessOptions::default()).unwrap();
    let many = SparseRows::new(vec![0; 60_000_001], Vec::new(), Vec::new(), 20).unwrap();
    let error = pipeline.transform(&Features::Sparse(SparseArray { rows: many, first_row: 0 })).unwrap_err();
    assert!(error.to_string().contains("over the limit"), "{error}");
    let wide = sparse(&[&[(0, 1.0), (16_000_000, 1.0)], &[(5, 1.0)]], 1 << 24);
    let pipeline = fit(&wide, &PreprocessOptions::default()).unwrap();
    assert!(pipeline.to_json().unwrap().len() < 1000);
    assert_eq!(rows(&pipeline, &wide).len(), 2);
}

#[test]
fn the_stored_form_is_checked() {
    let data = sparse(&[&[(0, 1.0), (2, 1000.0)]], 3);
    let json = fit(&data, &PreprocessOptions::default()).unwrap().to_json().unwrap();
    for (from, to) in [
        ("\"factor\": 0", "\"factor\": -0"),
        ("\"unnamed\": true", "\"unnamed\": false"),
        ("\"inputs\": 3", "\"inputs\": 2"),
        ("\"inputs\": 3", "\"inputs\": 99999999"),
        ("1000.0", "-1.0"),
        ("        2\n", "        0\n"),
        ("        2\n", "        1,\n        2\n"),
        ("\"columns\": [],", "\"columns\": [{\"name\":\"a\",\"kind\":\"numeric\",\"encoder\":\"dropped\"}],"),
    ] {
        assert!(json.contains(from), "{json}");
        let error = Preprocess::from_json(&json.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains("preprocessing"), "{error}");
    }
}

proptest! {
    #[test]
    fn chunks_and_the_stored_form_change_no_bit(
        numbers in prop::collection::vec(prop::collection::btree_map(0..9u32, -1e3f32..1e3, 0..5), 2..30),
        chunk in 1..10usize,
    ) {
        let all: Vec<Vec<(u32, f32)>> = numbers.into_iter().map(|row| row.into_iter().collect()).collect();
        let part = |rows: &[Vec<(u32, f32)>]| sparse(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), 9);
        let whole = part(&all);
        let Ok(expected) = fit(&whole, &PreprocessOptions::default()) else { return Ok(()) };
        let mut fitter = Fitter::new(&whole, &PreprocessOptions::default()).unwrap();
        for rows in all.chunks(chunk) {
            fitter.update(&part(rows), &vec![true; rows.len()]).unwrap();
        }
        let (fitted, _) = fitter.finish().unwrap();
        prop_assert_eq!(&fitted, &expected);
        let stored = Preprocess::from_json(&fitted.to_json().unwrap()).unwrap();
        prop_assert_eq!(&stored, &expected);
        let done = rows(&stored, &whole);
        let squares: f64 = done.iter().flatten().map(|(_, value)| f64::from(*value).powi(2)).sum();
        prop_assert!((squares / all.len() as f64 - 1.0).abs() < 1e-5);
    }
}
