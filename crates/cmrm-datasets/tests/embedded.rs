//! The embedded data sets, held to numbers that scikit-learn gives for its copies.

use cmrm_data::{Features, LabelOptions};
use cmrm_datasets::{Cache, Error, State, find, list, load};

fn class_counts(name: &str) -> Vec<usize> {
    let named = load(name, &Cache::at("never-looked-at")).unwrap();
    let options = LabelOptions { classes: Some(named.classes.clone()), ..LabelOptions::default() };
    let labels = named.train.encode_labels(&options).unwrap().labels;
    (0..named.classes.len() as u32)
        .map(|class| labels.indices.iter().filter(|&&label| label == class).count())
        .collect()
}

#[test]
fn digits_are_the_digits() {
    let named = load("digits", &Cache::at("never-looked-at")).unwrap();
    let Features::Array(array) = &named.train.features else { panic!("digits are images") };
    assert_eq!((array.rows(), array.width()), (1797, 64));
    assert_eq!((named.entry.train_rows, named.entry.columns, named.entry.classes), (1797, 64, 10));
    assert!(array.values().iter().all(|&pixel| (0.0..=16.0).contains(&pixel) && pixel.fract() == 0.0));
    assert_eq!(array.values().iter().map(|&pixel| pixel as u64).sum::<u64>(), 561_718);
    assert_eq!(array.values()[..8], [0.0, 0.0, 5.0, 13.0, 9.0, 1.0, 0.0, 0.0]);
    assert_eq!(class_counts("digits"), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
}

#[test]
fn breast_cancer_keeps_its_names_and_numbers() {
    let named = load("breast-cancer", &Cache::at("never-looked-at")).unwrap();
    let Features::Table(table) = &named.train.features else { panic!("a table") };
    assert_eq!((table.rows(), table.columns().len()), (569, 30));
    assert_eq!(named.classes, ["malignant", "benign"]);
    assert_eq!(class_counts("breast-cancer"), [212, 357]);
    let cell = |name: &str, row: usize| table.column(name).unwrap().text(row).unwrap().into_owned();
    assert_eq!((cell("mean_radius", 0), cell("worst_fractal_dimension", 568)), ("17.99".into(), "0.07039".into()));
    assert_eq!(named.train.labels.as_ref().unwrap().text(568).as_deref(), Some("benign"));
}

#[test]
fn an_absent_set_says_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let error = load("adult", &cache).unwrap_err();
    assert!(matches!(error, Error::NotCached { .. }));
    assert!(error.to_string().contains("`cmrm data fetch adult --from DIR`"), "{error}");
    let listing = list(&cache).unwrap();
    let state = |name: &str| listing.iter().find(|one| one.entry == find(name).unwrap()).unwrap().state.clone();
    assert_eq!((state("digits"), state("cifar-10n")), (State::Embedded, State::Absent));
    assert!(load("cifar-10n:wrong", &cache).unwrap_err().to_string().contains("it has worse, aggre, random1"));
    assert!(load("cifar-100:wrong", &cache).unwrap_err().to_string().contains("it has coarse, fine"));
    assert!(load("digits:other", &cache).is_err());
}
