//! The table of bad input: how it comes to be, what is asked of the command, and what the answer must name.

use std::fs;
use std::path::Path;

use super::files;

/// One kind of bad input.
pub struct Case {
    /// What is wrong, for the document.
    pub about: &'static str,
    /// Writes the files into an empty folder.
    pub make: fn(&Path),
    /// The arguments of `cmrm`, or after `$ ` a line for a shell that has it as `cmrm`.
    pub command: &'static str,
    /// What the message must name: file, row, column, way out.
    pub names: &'static [&'static str],
}

macro_rules! cases {
    ($($name:ident: $about:literal, |$folder:ident| $make:expr, $command:literal, [$($part:literal),+ $(,)?];)+) => {
        /// Every case, in the order of the document.
        pub const CASES: &[Case] = &[$(Case {
            about: $about,
            make: |$folder| $make,
            command: $command,
            names: &[$($part),+],
        }),+];

        cases!(@tests 0usize; $($name)+);
    };
    (@tests $at:expr; $name:ident $($rest:ident)*) => {
        #[test]
        fn $name() {
            super::check(&CASES[$at]);
        }
        cases!(@tests $at + 1; $($rest)*);
    };
    (@tests $at:expr;) => {
        const _: () = assert!(CASES.len() == $at);
    };
}

cases! {
    nan_feature: "NaN in a feature", |f| files::table(&f.join("nan.csv"), "nan,free,4,yes\n"),
        "fit nan.csv --label churned", ["nan.csv", "row 60", "'age'", "NaN", "--impute"];
    infinite_feature: "±infinity in a feature", |f| files::table(&f.join("inf.csv"), "-inf,free,4,yes\n"),
        "fit inf.csv --label churned", ["inf.csv", "row 60", "'age'", "-inf", "correct it"];
    nan_in_an_array: "NaN in an array", |f| {
            files::npy(&f.join("x.npy"), "(4, 2)", &[1.0, 2.0, 3.0, 4.0, 5.0, f32::NAN, 7.0, 8.0]);
            files::labels(&f.join("y.csv"), 4);
        }, "fit x.npy --labels y.csv --validation-share 0", ["x.npy", "row 2", "'x1'", "NaN", "--impute"];
    missing_cell: "a missing cell", |f| files::table(&f.join("hole.csv"), ",free,4,yes\n"),
        "fit hole.csv --label churned", ["hole.csv", "row 60", "'age'", "missing", "--impute"];
    blank_label: "a blank label", |f| files::table(&f.join("blank.csv"), "30,free,4,\n"),
        "fit blank.csv --label churned", ["blank.csv", "row 60", "'churned'", "missing", "unlabelled"];
    unknown_label: "a label in the test file that training never saw", |f| {
            files::table(&f.join("good.csv"), "");
            files::table(&f.join("test.csv"), "30,free,4,yse\n");
        }, "fit good.csv --label churned --test test.csv", ["test.csv", "row 60", "'churned'", "'yse'", "did you mean 'yes'?"];
    unknown_label_for_a_model: "a label that a stored model does not know", |f| {
            files::run(f);
            files::table(&f.join("new.csv"), "30,free,4,maybe\n");
        }, "evaluate run new.csv --label churned", ["new.csv", "row 60", "'churned'", "'maybe'", "correct the label"];
    one_class: "one class only", |f| fs::write(f.join("one.csv"), "a,y\n1,no\n2,no\n").unwrap(),
        "fit one.csv --label y", ["one.csv", "'y'", "every label is 'no'", "two classes"];
    class_absent_from_training: "a class with too few rows to be in the training part", |f| {
            files::table(&f.join("rare.csv"), "30,free,4,maybe\n");
        }, "fit rare.csv --label churned --validation-share 0.9", ["rare.csv", "class 'maybe'", "1 row", "validation-share"];
    class_absent_from_a_fold: "a class with a single row, cross-fitted", |f| {
            files::table(&f.join("rare.csv"), "30,free,4,maybe\n");
        }, "audit rare.csv --label churned --folds 5", ["rare.csv", "class 'maybe'", "60", "collect more"];
    ragged_row: "a row with too few cells", |f| files::table(&f.join("ragged.csv"), "30,free,4\n"),
        "fit ragged.csv --label churned", ["ragged.csv", "row 60", "line 62", "3 cells where 4", "quotes"];
    duplicate_header: "a column name that comes twice", |f| fs::write(f.join("twice.csv"), "a,a,y\n1,2,no\n").unwrap(),
        "fit twice.csv --label y", ["twice.csv", "line 1", "'a' twice", "rename"];
    not_utf8: "text that is not UTF-8", |f| fs::write(f.join("latin.csv"), b"a,y\n1,caf\xe9\n").unwrap(),
        "fit latin.csv --label y", ["latin.csv", "row 0", "line 2", "UTF-8", "iconv"];
    truncated_parquet: "a Parquet file that was cut off", |f| files::cut_parquet(&f.join("cut.parquet")),
        "fit cut.parquet --label y", ["cut.parquet", "incomplete", "copy"];
    truncated_npy: "an NPY file that was cut off", |f| {
            files::npy(&f.join("cut.npy"), "(10, 4)", &[1.0; 35]);
            files::labels(&f.join("y.csv"), 10);
        }, "fit cut.npy --labels y.csv", ["cut.npy", "160 bytes expected, 140 found", "write it again"];
    huge_npy: "an NPY file that declares a huge shape", |f| {
            files::npy(&f.join("huge.npy"), "(1000000000000, 1000000)", &[1.0; 4]);
            files::labels(&f.join("y.csv"), 10);
        }, "fit huge.npy --labels y.csv", ["huge.npy", "16 found", "header is wrong"];
    zip_bomb: "an NPZ file that unpacks to a thousand times its size", |f| {
            files::zip_bomb(&f.join("bomb.npz"));
            files::labels(&f.join("y.csv"), 10);
        }, "fit bomb.npz --labels y.csv", ["bomb.npz", "'X'", "268435456", "unpack it first"];
    read_only_folder: "an output folder that cannot be written to", |f| super::lock(&f.join("locked")),
        "fit digits --epochs 1 --out locked/run", ["locked/run", "choose a folder that can be written to"];
    full_disk: "no room for the output (here a limit on the size of files)", |_f| (),
        "$ trap '' XFSZ; ulimit -f 16; cmrm fit digits --epochs 1 --hidden 64 --out run",
        ["run/base.safetensors", "too large", "choose another folder"];
    full_standard_output: "no room where standard output goes", |f| files::run(f),
        "$ cmrm predict run good.csv > /dev/full", ["standard output", "No space left"];
    folder_in_use: "an output folder that holds something already", |f| files::run(f),
        "fit good.csv --label churned --out run", ["run", "not empty", "--resume"];
    folder_under_a_file: "an output folder under a file", |f| fs::write(f.join("file"), "").unwrap(),
        "fit digits --out file/run", ["file/run", "make the folder first"];
    wrong_label_column: "a label column that is not there", |f| files::table(&f.join("good.csv"), ""),
        "fit good.csv --label churnd", ["good.csv", "'churnd'", "did you mean 'churned'?", "'age', 'plan'"];
    no_label_column: "no label column named", |f| files::table(&f.join("good.csv"), ""),
        "fit good.csv", ["good.csv", "no labels", "--label"];
    labels_of_another_length: "a file of labels with too few of them", |f| {
            files::npy(&f.join("x.npy"), "(4, 2)", &[1.0; 8]);
            files::labels(&f.join("y.csv"), 3);
        }, "fit x.npy --labels y.csv", ["x.npy", "expected 4, found 3", "one label a row"];
    config_typo: "a setting that is not known", |f| fs::write(f.join("fit.toml"), "epoch = 3\n").unwrap(),
        "fit digits --config fit.toml", ["fit.toml", "line 1", "`epoch`", "did you mean 'epochs'?"];
    setting_out_of_range: "a setting out of its range", |_f| (),
        "fit digits --alpha 1", ["alpha = 1", "(0, 1)"];
    dropout_without_passes: "dropout for a model that L-BFGS fits",
        |f| fs::write(f.join("fit.toml"), "model = \"linear\"\ndropout = 0.5\n").unwrap(),
        "fit digits --config fit.toml", ["dropout = 0.5", "L-BFGS", "set the optimiser to adam"];
    unknown_noise: "a kind of noise that is not known", |_f| (),
        "fit digits --noise symetric:0.4", ["symetric", "symmetric"];
    unknown_data_set: "a data set that is not known", |_f| (),
        "fit digitz", ["digitz", "digits"];
    absent_file: "a file that is not there", |_f| (),
        "fit absent.csv --label y", ["absent.csv", "check the name"];
    run_of_another_version: "a run of another version", |f| {
            files::run(f);
            files::replace(&f.join("run/run.json"), "\"format\": 1", "\"format\": 7");
        }, "predict run good.csv", ["run", "format 7, this version reads 1", "fit again"];
    model_of_another_version: "a model of another version", |f| {
            files::run(f);
            files::replace(&f.join("run/model.safetensors"), "format\\\":1", "format\\\":7");
        }, "predict run good.csv", ["run/model.safetensors", "format 7", "format 1", "fit again"];
    pipeline_of_another_version: "preprocessing of another version", |f| {
            files::run(f);
            files::replace(&f.join("run/preprocess.json"), "\"format\": 1", "\"format\": 7");
        }, "predict run good.csv", ["run/preprocess.json", "7", "fit again"];
    damaged_model: "a model file that was cut off", |f| {
            files::run(f);
            let bytes = fs::read(f.join("run/model.safetensors")).unwrap();
            fs::write(f.join("run/model.safetensors"), &bytes[..bytes.len() / 2]).unwrap();
        }, "predict run good.csv", ["run/model.safetensors", "damaged", "copy it again"];
    files_of_different_runs: "a model of another run in the folder", |f| {
            files::run(f);
            files::replace(&f.join("run/run.json"), "\"yes\"", "\"yes\", \"maybe\"");
        }, "predict run good.csv", ["run/model.safetensors", "2 classes", "3", "fit again"];
    no_run: "a folder that is no run", |f| fs::create_dir(f.join("empty")).unwrap(),
        "report empty", ["empty/run.json", "missing", "--resume"];
    missing_feature: "a column of the model that new data lacks", |f| {
            files::run(f);
            fs::write(f.join("new.csv"), "age,visits\n30,4\n").unwrap();
        }, "predict run new.csv", ["new.csv", "missing: 'plan'"];
    wrong_type: "a word where the model needs a number", |f| {
            files::run(f);
            fs::write(f.join("new.csv"), "age,plan,visits\n30,free,4\nold,free,4\n").unwrap();
        }, "predict run new.csv", ["new.csv", "row 1", "'age'", "'old'"];
    wrong_width: "an array of another width than the model's", |f| {
            files::run(f);
            files::npy(&f.join("new.npy"), "(1, 5)", &[1.0; 5]);
        }, "predict run new.npy", ["new.npy", "expected 3, found 5"];
    probabilities_and_labels: "labels that are no columns of the probabilities", |f| {
            files::npy(&f.join("p.npy"), "(3, 2)", &[0.9, 0.1, 0.2, 0.8, 0.5, 0.5]);
            fs::write(f.join("y.csv"), "0\n1\n2\n").unwrap();
        }, "audit --pred-probs p.npy --labels y.csv", ["y.csv", "row 2", "label 2", "0 to 1"];
    not_probabilities: "numbers that are no probabilities", |f| {
            files::npy(&f.join("p.npy"), "(3, 2)", &[0.9, 0.1, 2.5, -1.5, 0.5, 0.5]);
            fs::write(f.join("y.csv"), "0\n1\n1\n").unwrap();
        }, "audit --pred-probs p.npy --labels y.csv", ["p.npy", "row 1"];
}
