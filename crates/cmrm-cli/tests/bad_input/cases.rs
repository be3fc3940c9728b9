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
        "fit blank.csv --label churned", ["blank.csv", "row 60", "'churned'", "missing", "--hold-out-unlabelled"];
    unlike_rows: "a transition matrix whose row does not sum to 1", |f| {
            files::table(&f.join("good.csv"), "");
            fs::write(f.join("T.csv"), ",no,yes\nno,0.9,0.2\nyes,0.3,0.7\n").unwrap();
        }, "fit good.csv --label churned --method forward --transition T.csv", ["T.csv", "row 2", "'no'", "1.1", "sum to 1"];
    unknown_class_of_a_matrix: "a transition matrix with a class that the data has not", |f| {
            files::table(&f.join("good.csv"), "");
            fs::write(f.join("T.csv"), ",no,yes\nno,0.9,0.1\nyse,0.3,0.7\n").unwrap();
        }, "fit good.csv --label churned --method forward --transition T.csv", ["T.csv", "first column", "'yse'", "did you mean 'yes'?"];
    unknown_method: "a method that there is none of", |f| files::table(&f.join("good.csv"), ""),
        "fit good.csv --label churned --method forwrad", ["'forwrad'", "did you mean 'forward'?"];
    unknown_label: "a label in the test file that training never saw", |f| {
            files::table(&f.join("good.csv"), "");
            files::table(&f.join("test.csv"), "30,free,4,yse\n");
        }, "fit good.csv --label churned --test test.csv", ["test.csv", "row 60", "'churned'", "'yse'", "did you mean 'yes'?"];
    unknown_label_for_a_model: "a label unknown to a stored model", |f| {
            files::run(f);
            files::table(&f.join("new.csv"), "30,free,4,maybe\n");
        }, "evaluate run new.csv --label churned", ["new.csv", "row 60", "'churned'", "'maybe'", "correct the label"];
    one_class: "one class only", |f| fs::write(f.join("one.csv"), "a,y\n1,no\n2,no\n").unwrap(),
        "fit one.csv --label y", ["one.csv", "'y'", "every label is 'no'", "two classes"];
    class_absent_from_training: "a class with too few rows to be in the training part", |f| {
            files::table(&f.join("rare.csv"), "30,free,4,maybe\n");
        }, "fit rare.csv --label churned --validation-share 0.9", ["rare.csv", "class 'maybe'", "1 row", "validation-share"];
    class_absent_from_a_fold: "a class with a single row, with cross-fitting", |f| {
            files::table(&f.join("rare.csv"), "30,free,4,maybe\n");
        }, "audit rare.csv --label churned --folds 5", ["rare.csv", "class 'maybe'", "60", "collect more"];
    ragged_row: "a row with too few cells", |f| files::table(&f.join("ragged.csv"), "30,free,4\n"),
        "fit ragged.csv --label churned", ["ragged.csv", "row 60", "line 62", "3 cells, expected 4", "quotes"];
    ragged_row_of_windows: "a row with too many cells, with Windows line ends", |f| {
            fs::write(f.join("crlf.csv"), "a,b,y\r\n1,2,p\r\n2,3,n\r\n3,4,p,9\r\n5,6,n\r\n").unwrap();
        }, "fit crlf.csv --label y", ["crlf.csv", "row 2 (line 4)", "4 cells, expected 3", "--delimiter", "--skip-lines"];
    title_line: "a title above the column names", |f| {
            let rows = "1001;12,5;gut\n1002;7,5;schlecht\n";
            fs::write(f.join("title.csv"), format!("Umsatzbericht Q3;;\nKd.-Nr;Umsatz;Qualität\n{rows}")).unwrap();
        }, "fit title.csv --label Qualität", ["title.csv", "line 1", "line 2 does", "--skip-lines 1", "--no-header"];
    duplicate_header: "a duplicate column name", |f| fs::write(f.join("twice.csv"), "a,a,y\n1,2,no\n").unwrap(),
        "fit twice.csv --label y", ["twice.csv", "line 1", "'a' twice", "rename"];
    not_utf8: "text that is not UTF-8", |f| fs::write(f.join("latin.csv"), b"a,y\n1,caf\xe9\n").unwrap(),
        "fit latin.csv --label y", ["latin.csv", "row 0", "line 2", "UTF-8", "iconv"];
    header_not_utf8: "column names that are not UTF-8, as in a CSV file of an older Excel", |f| {
            fs::write(f.join("excel.csv"), b"Umsatz;Qualit\xe4t\r\n12;gut\r\n7;schlecht\r\n").unwrap();
        }, "fit excel.csv --label Qualität", ["excel.csv", "line 1", "byte 13", "UTF-8", "iconv -f cp1252"];
    nul_byte: "a NUL byte, as in UTF-16 or binary files", |f| files::table(&f.join("nul.csv"), "30,fr\0ee,4,yes\n"),
        "fit nul.csv --label churned", ["nul.csv", "row 60", "line 62", "'plan'", "NUL byte", "UTF-8"];
    duplicate_in_a_wide_header: "a duplicate column name among 60,000", |f| files::wide_table(&f.join("wide.csv")),
        "fit wide.csv --label class", ["wide.csv", "line 1", "'gene7' twice", "columns 7 and 59999", "rename"];
    truncated_parquet: "a truncated Parquet file", |f| files::cut_parquet(&f.join("cut.parquet")),
        "fit cut.parquet --label y", ["cut.parquet", "incomplete", "copy"];
    truncated_gzip: "a truncated gzip file", |f| files::cut_gzip(&f.join("cut.csv.gz")),
        "fit cut.csv.gz --label y", ["cut.csv.gz", "incomplete", "copy or download it again"];
    excel_workbook: "an Excel workbook", |f| files::workbook(&f.join("book.xlsx")),
        "fit book.xlsx --label y", ["book.xlsx", "an Excel workbook (.xlsx)", "save it as CSV (UTF-8)"];
    old_excel_workbook: "an Excel workbook of the older kind", |f| {
            fs::write(f.join("book.xls"), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0\0\0").unwrap();
        }, "fit book.xls --label y", ["book.xls", "an Excel workbook (.xls", "save it as CSV (UTF-8)"];
    truncated_arrow: "a truncated Arrow file", |f| fs::write(f.join("cut.arrow"), b"ARROW1\0\0 and no footer").unwrap(),
        "fit cut.arrow --label y", ["cut.arrow", "does not end with a footer", "incomplete"];
    json_array_in_a_row: "an array within a row of JSON", |f| {
            fs::write(f.join("tags.jsonl"), "{\"a\": 1, \"y\": \"no\"}\n{\"a\": 2, \"tags\": [1], \"y\": \"yes\"}\n").unwrap();
        }, "fit tags.jsonl --label y", ["tags.jsonl", "row 1 (line 2)", "'tags'", "an array within a row", "ignore"];
    json_key_twice: "a key that a row of JSON has twice", |f| {
            fs::write(f.join("twice.json"), "[{\"a\": 1, \"y\": 0},\n {\"a\": 1, \"a\": 2, \"y\": 1}]").unwrap();
        }, "fit twice.json --label y", ["twice.json", "row 1 (line 2)", "'a'", "twice", "delete one"];
    json_cut: "a truncated JSON file", |f| fs::write(f.join("cut.jsonl"), "{\"a\": 1, \"y\": 0}\n{\"a\": ").unwrap(),
        "fit cut.jsonl --label y", ["cut.jsonl", "row 1 (line 2)", "ends before the row does", "incomplete"];
    json_by_column: "a JSON file by column, as pandas writes it", |f| {
            fs::write(f.join("columns.json"), "{\"a\":{\"0\":1,\"1\":2},\"y\":{\"0\":\"no\",\"1\":\"yes\"}}").unwrap();
        }, "fit columns.json --label y", ["columns.json", "an object for each column", "orient=\"records\""];
    folder_of_two_formats: "a folder with files of two formats", |f| {
            fs::create_dir(f.join("parts")).unwrap();
            files::table(&f.join("parts/a.csv"), "");
            fs::write(f.join("parts/b.jsonl"), "{\"age\": 1}\n").unwrap();
        }, "fit parts --label churned", ["parts/b.jsonl", "format json", "parts/a.csv is of format csv", "'folder/*.parquet'"];
    folder_with_a_column_too_few: "a folder whose files have different columns", |f| {
            fs::create_dir(f.join("parts")).unwrap();
            files::table(&f.join("parts/a.csv"), "");
            fs::write(f.join("parts/b.csv"), "age,plan,churned\n30,free,yes\n").unwrap();
        }, "fit parts --label churned", ["parts/b.csv", "'visits'", "missing here", "parts/a.csv has it", "same columns"];
    standard_input_twice: "standard input for two things", |f| files::table(&f.join("good.csv"), ""),
        "$ cmrm fit - --label churned --test - < good.csv",
        ["standard input holds the data", "the test data too", "name a file"];
    truncated_npy: "a truncated NPY file", |f| {
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
    constant_parquet: "a small Parquet file that repeats one value 40 million times", |f| {
            files::constant_parquet(&f.join("bomb.parquet"));
        }, "fit bomb.parquet --label y", ["bomb.parquet", "40000000 rows", "268435456", "use_dictionary=False"];
    sparse_format: "a SciPy sparse matrix in an unsupported format", |f| {
            files::sparse(&f.join("lil.npz"), "lil", 4, &[0, 1, 2]);
            files::labels(&f.join("y.csv"), 2);
        }, "fit lil.npz --labels y.csv", ["lil.npz", "SciPy sparse matrix", "'lil'", "tocsr()"];
    sparse_too_wide: "a sparse matrix with too many columns", |f| {
            files::sparse(&f.join("wide.npz"), "csr", 2_000_000_000, &[0, 1, 2]);
            files::labels(&f.join("y.csv"), 2);
        }, "fit wide.npz --labels y.csv", ["wide.npz", "number of columns", "2000000000", "16777216", "fewer columns"];
    damaged_sparse: "an inconsistent SciPy sparse matrix", |f| {
            files::sparse(&f.join("x.npz"), "csr", 4, &[0, 2, 1]);
            files::labels(&f.join("y.csv"), 2);
        }, "fit x.npz --labels y.csv", ["x.npz", "'indptr'", "expected 2, found 1", "save_npz"];
    svmlight_pair: "an svmlight file with a number that has no index", |f| {
            fs::write(f.join("x.svm"), "+1 1:0.5 7:2\n-1 3:1 4\n").unwrap();
        }, "fit x.svm", ["x.svm", "row 1 (line 2)", "'4' has no colon", "index:value"];
    svmlight_twice: "an svmlight file with an index twice in a row", |f| {
            fs::write(f.join("x.svm"), "+1 1:0.5 7:2 1:3\n").unwrap();
        }, "fit x.svm", ["x.svm", "row 0 (line 1)", "index 1 twice", "their sum"];
    svmlight_labels: "an svmlight file with several labels a row", |f| {
            fs::write(f.join("x.svm"), "1,3 1:0.5 7:2\n").unwrap();
        }, "fit x.svm", ["x.svm", "row 0 (line 1)", "'1,3'", "one label a row"];
    svmlight_column: "a label column of an svmlight file", |f| {
            fs::write(f.join("x.svm"), "1 1:0.5 7:2\n").unwrap();
        }, "fit x.svm --label class", ["x.svm", "no column 'class'", "first word of each line"];
    truncated_mtx: "a truncated Matrix Market file", |f| {
            fs::write(f.join("x.mtx"), "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 0.5\n").unwrap();
            files::labels(&f.join("y.csv"), 2);
        }, "fit x.mtx --labels y.csv", ["x.mtx", "1 of the 3 numbers", "incomplete"];
    huge_mtx: "a Matrix Market file that declares a huge number of rows", |f| {
            fs::write(f.join("x.mtx"), "%%MatrixMarket matrix coordinate real general\n1000000000000 3 1\n1 1 0.5\n").unwrap();
            files::labels(&f.join("y.csv"), 2);
        }, "fit x.mtx --labels y.csv", ["x.mtx", "number of rows", "1000000000000", "33554432", "without numbers"];
    complex_mtx: "a Matrix Market file of complex numbers", |f| {
            fs::write(f.join("x.mtx"), "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 0.5 1\n").unwrap();
            files::labels(&f.join("y.csv"), 2);
        }, "fit x.mtx --labels y.csv", ["x.mtx", "line 1", "complex numbers", "matrix.imag"];
    too_many_classes: "rows × classes that do not fit into memory (here limited by ulimit)", |f| {
            files::many_classes(&f.join("many.csv"));
        }, "$ ulimit -v 1500000; cmrm audit many.csv --label y --folds 2",
        ["many.csv", "32000 rows and 16000 classes", "2.0 GB", "ulimit -v", "label column"];
    read_only_folder: "an output folder without write permission", |f| super::lock(&f.join("locked")),
        "fit digits --epochs 1 --out locked/run", ["locked/run", "choose a folder that can be written to"];
    full_disk: "no space for the output (here limited by ulimit)", |_f| (),
        "$ trap '' XFSZ; ulimit -f 16; cmrm fit digits --epochs 1 --hidden 64 --out run",
        ["run/checkpoints/last.safetensors", "too large", "choose another folder"];
    full_standard_output: "no space on standard output", |f| files::run(f),
        "$ cmrm predict run good.csv > /dev/full", ["standard output", "No space left"];
    folder_in_use: "an output folder that is not empty", |f| files::run(f),
        "fit good.csv --label churned --out run", ["run", "not empty", "--resume"];
    folder_being_written: "an output folder in use by another process", |f| {
            fs::create_dir(f.join("run")).unwrap();
            fs::write(f.join("run/.lock"), "").unwrap();
        }, "$ flock run/.lock cmrm fit digits --out run",
        ["run", "another process", "wait until it has finished", "another --out"];
    resume_of_nothing: "nothing to resume", |_f| (),
        "fit --resume --out run", ["run", "no run has been started", "leave out --resume"];
    resume_with_other_settings: "resuming a run with other settings", |f| {
            files::run(f);
            fs::remove_file(f.join("run/run.json")).unwrap();
        }, "fit --resume --out run --seed 5", ["run", "started with other settings", "seed is 0 there and 5 here", "new --out"];
    finished_with_other_settings: "resuming a finished run with other settings", |f| files::run(f),
        "fit --resume --out run --seed 5", ["run", "finished", "seed is 0 there and 5 here", "new --out"];
    folder_under_a_file: "an output folder under a file", |f| fs::write(f.join("file"), "").unwrap(),
        "fit digits --out file/run", ["file/run", "make the folder first"];
    wrong_label_column: "an unknown label column", |f| files::table(&f.join("good.csv"), ""),
        "fit good.csv --label churnd", ["good.csv", "'churnd'", "did you mean 'churned'?", "'age', 'plan'"];
    bad_cell_strictly: "a bad cell in a column of numbers, read strictly",
        |f| files::table(&f.join("bad.csv"), "old,free,3,no\n"),
        "fit bad.csv --label churned --strict", ["bad.csv", "row 60", "'age'", "'old' is not a numeric value", "correct"];
    unknown_ignored_column: "an unknown column to leave out", |f| files::table(&f.join("good.csv"), ""),
        "fit good.csv --label churned --ignore visit", ["good.csv", "'visit'", "did you mean 'visits'?"];
    unknown_kind: "an unknown kind of column", |f| files::table(&f.join("good.csv"), ""),
        "fit good.csv --label churned --type age=numerical", ["'numerical'", "did you mean 'numeric'", "date:dmy"];
    no_label_column: "no label column given", |f| files::table(&f.join("good.csv"), ""),
        "fit good.csv", ["good.csv", "no labels", "--label"];
    labels_of_another_length: "a label file that is too short", |f| {
            files::npy(&f.join("x.npy"), "(4, 2)", &[1.0; 8]);
            files::labels(&f.join("y.csv"), 3);
        }, "fit x.npy --labels y.csv", ["x.npy", "expected 4, found 3", "one label per row"];
    label_of_a_named_set: "a label column for a named data set", |_f| (),
        "fit digits --label x", ["digits", "named data set", "leave out --label"];
    lines_of_a_named_set: "lines to skip in a named data set", |_f| (),
        "fit digits --skip-lines 1", ["digits", "named data set", "leave out --skip-lines"];
    search_as_run: "the folder of a search, where a run is needed", |f| {
            fs::create_dir(f.join("search")).unwrap();
            fs::write(f.join("search/search.json"), "{}").unwrap();
        }, "report search", ["search", "not of a run", "cmrm fit --config search/best.toml"];
    data_without_folds: "data where a run is needed", |f| files::table(&f.join("good.csv"), ""),
        "audit good.csv", ["good.csv", "add --folds K", "the folder of a run"];
    unknown_label_to_audit: "a label that the run does not know, in rows to audit", |f| {
            files::run(f);
            files::table(&f.join("new.csv"), "30,free,4,yse\n");
        }, "audit run new.csv", ["new.csv", "row 60", "'churned'", "'yse'", "did you mean 'yes'?", "--hold-out-unknown"];
    rules_without_an_earlier_audit: "a rule on what is new, without an earlier audit", |f| files::run(f),
        "audit run good.csv --fail-on new-suspects", ["--fail-on new-suspects", "add --since PREVIOUS"];
    unknown_rule: "an unknown rule", |f| files::run(f),
        "audit run good.csv --fail-on noise>0.05", ["'noise>0.05'", "--fail-on", "noise-above:SHARE"];
    data_as_earlier_audit: "data where an earlier audit is needed", |f| files::run(f),
        "audit run good.csv --since good.csv", ["--since good.csv", "no column 'row'", "--out FILE", "the folder of a run"];
    training_of_a_judge: "flags for training, where a run judges new rows", |f| files::run(f),
        "audit run good.csv --epochs 3", ["good.csv", "nothing is trained", "--hold-out-unlabelled"];
    decisions_on_another_audit: "decisions on rows that the earlier audit does not have", |f| {
            files::run(f);
            let audit = "row,is_label_issue,given_label\n0,true,yes\n1,false,no\n";
            fs::write(f.join("earlier.csv"), audit).unwrap();
            fs::write(f.join("decisions.csv"), "row,action\n7,keep\n").unwrap();
        }, "audit run good.csv --since earlier.csv --decisions decisions.csv",
        ["decisions.csv", "row 7", "earlier.csv has no such row", "--id"];
    classes_of_an_svm: "a model for two classes on more", |_f| (),
        "fit digits --model svm", ["svm needs two classes, the data has 10", "linear"];
    no_folds: "a search without folds", |_f| (),
        "tune digits --folds 0", ["--folds 0", "1 to 100"];
    config_typo: "an unknown setting", |f| fs::write(f.join("fit.toml"), "epoch = 3\n").unwrap(),
        "fit digits --config fit.toml", ["fit.toml", "line 1", "`epoch`", "did you mean 'epochs'?"];
    absent_config: "a missing settings file", |_f| (),
        "fit digits --config nope.toml", ["nope.toml", "check the name"];
    setting_out_of_range: "a setting out of range", |_f| (),
        "fit digits --alpha 1", ["alpha = 1", "(0, 1)"];
    share_in_percent: "a share in per cent", |_f| (),
        "fit digits --test-share 20%", ["'20%'", "--test-share", "a share between 0 and 1, such as 0.9"];
    coverage_in_percent: "a coverage in per cent", |f| files::run(f),
        "predict run good.csv --coverage 90", ["'90'", "--coverage", "a share between 0 and 1, such as 0.9"];
    share_over_one: "a share over 1", |_f| (),
        "fit digits --validation-share 20", ["'20'", "--validation-share", "a share between 0 and 1, such as 0.9"];
    budget_with_a_unit: "a time with a unit", |_f| (),
        "fit digits --budget 1m", ["'1m'", "--budget", "a number of seconds without a unit, such as 60"];
    unknown_learner: "a learner that does not exist", |_f| (),
        "fit digits --learners linear,tree", ["'tree'", "--learners", "linear, forest, neighbours"];
    learners_of_one_model: "learners beside another model than auto", |_f| (),
        "fit digits --model mlp --learners linear", ["learners = linear", "the model is mlp", "leave learners out"];
    two_lengths: "both epochs and steps", |_f| (),
        "fit digits --epochs 3 --steps 500", ["epochs = 3", "steps = 500", "leave one out"];
    patience_for_the_last_epoch: "patience where the last epoch is kept", |_f| (),
        "fit digits --keep last --patience 3", ["patience = 3", "keep = \"last\"", "leave one out"];
    dropout_without_passes: "dropout with L-BFGS",
        |f| fs::write(f.join("fit.toml"), "model = \"linear\"\ndropout = 0.5\n").unwrap(),
        "fit digits --config fit.toml", ["dropout = 0.5", "L-BFGS", "set the optimiser to adam"];
    unknown_noise: "an unknown kind of noise", |_f| (),
        "fit digits --noise symetric:0.4", ["symetric", "symmetric"];
    unknown_data_set: "an unknown data set", |_f| (),
        "fit digitz", ["digitz", "digits"];
    absent_file: "a missing file", |_f| (),
        "fit absent.csv --label y", ["absent.csv", "check the name"];
    altered_model: "a model file with an altered byte", |f| {
            files::run(f);
            files::replace(&f.join("run/model.safetensors"), "\"F32\"", "\"I32\"");
        }, "predict run good.csv", ["run/model.safetensors", "altered since the run was written", "copy the folder again", "fit again"];
    altered_run: "a run whose classes were edited", |f| {
            files::run(f);
            files::replace(&f.join("run/run.json"), "\"yes\"", "\"YES\"");
        }, "predict run good.csv", ["run/run.json", "does not fit its own checksum", "copy the folder again", "fit again"];
    lost_calibration: "a run that has lost a file", |f| {
            files::run(f);
            fs::remove_file(f.join("run/calibration.safetensors")).unwrap();
        }, "predict run good.csv --coverage 0.8", ["run/calibration.safetensors", "missing, though run.json lists it", "copy the folder again"];
    run_of_another_version: "a run of another format version", |f| {
            files::run(f);
            files::replace(&f.join("run/run.json"), "\"format\": 2", "\"format\": 7");
        }, "predict run good.csv", ["run", "format 7, this version reads 1 to 2", "fit again"];
    model_of_another_version: "a model of another format version", |f| {
            files::earlier_run(f);
            files::replace(&f.join("run/model.safetensors"), "format\\\":1", "format\\\":7");
        }, "predict run good.csv", ["run/model.safetensors", "format 7", "format 1", "fit again"];
    pipeline_of_another_version: "preprocessing of another format version", |f| {
            files::earlier_run(f);
            files::replace(&f.join("run/preprocess.json"), "\"format\": 1", "\"format\": 7");
        }, "predict run good.csv", ["run/preprocess.json", "7", "fit again"];
    damaged_model: "a truncated model file", |f| {
            files::earlier_run(f);
            let bytes = fs::read(f.join("run/model.safetensors")).unwrap();
            fs::write(f.join("run/model.safetensors"), &bytes[..bytes.len() / 2]).unwrap();
        }, "predict run good.csv", ["run/model.safetensors", "damaged", "copy it again"];
    files_of_different_runs: "a model from another run", |f| {
            files::earlier_run(f);
            files::replace(&f.join("run/run.json"), "\"yes\"", "\"yes\", \"maybe\"");
        }, "predict run good.csv", ["run/model.safetensors", "2 classes", "3", "fit again"];
    arm_outside: "a run whose model lies outside its folder", |f| {
            files::earlier_run(f);
            files::replace(&f.join("run/run.json"), "\"base\"", "\"../../x\"");
        }, "evaluate run good.csv --label churned", ["run/run.json", "arm '../../x'", "copy the folder again"];
    repeated_class: "a run with a duplicate class", |f| {
            files::earlier_run(f);
            files::replace(&f.join("run/run.json"), "\"yes\"", "\"no\"");
        }, "predict run good.csv", ["run/run.json", "class 'no' is named twice", "fit again"];
    transposed_model: "a model with a transposed weight matrix", |f| {
            files::earlier_run(f);
            files::replace(&f.join("run/model.safetensors"), "\"shape\":[4,5]", "\"shape\":[5,4]");
        }, "predict run good.csv", ["run/model.safetensors", "'layers.0.weight'", "[5, 4]", "[4, 5]", "fit again"];
    transposed_calibration: "transposed calibration probabilities", |f| {
            files::earlier_run(f);
            files::replace(&f.join("run/calibration.safetensors"), "\"shape\":[6,2]", "\"shape\":[2,6]");
        }, "predict run good.csv --coverage 0.8",
        ["run/calibration.safetensors", "'probabilities'", "[2, 6]", "[6, 2]", "fit again"];
    no_run: "a folder that is not a run", |f| fs::create_dir(f.join("empty")).unwrap(),
        "report empty", ["empty/run.json", "missing", "--resume"];
    missing_feature: "new data without a column of the model", |f| {
            files::run(f);
            fs::write(f.join("new.csv"), "age,visits\n30,4\n").unwrap();
        }, "predict run new.csv", ["new.csv", "missing columns of the model: 'plan'"];
    wrong_type: "text in a numeric column", |f| {
            files::run(f);
            fs::write(f.join("new.csv"), "age,plan,visits\n30,free,4\nold,free,4\n").unwrap();
        }, "predict run new.csv", ["new.csv", "row 1", "'age'", "'old'"];
    wrong_width: "an array of the wrong width", |f| {
            files::run(f);
            files::npy(&f.join("new.npy"), "(1, 5)", &[1.0; 5]);
        }, "predict run new.npy", ["new.npy", "expected 3, found 5"];
    probabilities_and_labels: "labels without a column of probabilities", |f| {
            files::npy(&f.join("p.npy"), "(3, 2)", &[0.9, 0.1, 0.2, 0.8, 0.5, 0.5]);
            fs::write(f.join("y.csv"), "0\n1\n2\n").unwrap();
        }, "audit --pred-probs p.npy --labels y.csv", ["y.csv", "row 2", "label 2", "0 to 1"];
    not_probabilities: "numbers that are not probabilities", |f| {
            files::npy(&f.join("p.npy"), "(3, 2)", &[0.9, 0.1, 2.5, -1.5, 0.5, 0.5]);
            fs::write(f.join("y.csv"), "0\n1\n1\n").unwrap();
        }, "audit --pred-probs p.npy --labels y.csv", ["p.npy", "row 1"];
    decided_on_other_labels: "decisions for a table that was reordered since", |f| {
            fs::write(f.join("sorted.csv"), "x,kind\n1,cat\n2,cat\n3,dog\n").unwrap();
            fs::write(f.join("d.csv"), "row,action,label,given_label\n1,relabel,cat,dog\n").unwrap();
        }, "clean sorted.csv d.csv --label kind --out new.csv",
        ["d.csv", "row 0", "decided on the label 'dog'", "row 1 of sorted.csv has 'cat'", "--force"];
    decided_on_other_rows: "decisions for other rows", |f| {
            fs::write(f.join("new.csv"), "x,kind\n1,cat\n2,dog\n3,dog\n").unwrap();
            fs::write(f.join("d.csv"), "row,action,label,given_label,fingerprint\n1,drop,,dog,0123456789abcdef\n").unwrap();
        }, "clean new.csv d.csv --label kind --out newer.csv",
        ["d.csv", "row 0", "0123456789abcdef, but new.csv has ", "reordered", "--force"];
    absent_id: "a decision for an unknown row ID", |f| {
            fs::write(f.join("t.csv"), "id,x,kind\np1,1,cat\np2,2,dog\n").unwrap();
            fs::write(f.join("d.csv"), "id,action,label\np1,keep,\np3,relabel,cat\n").unwrap();
        }, "clean t.csv d.csv --label kind --id id --out new.csv",
        ["d.csv", "row 1", "column 'id' of t.csv has no ID 'p3'", "apply the decisions to the table"];
    output_over_an_input: "an output that would overwrite an input", |f| {
            files::table(&f.join("good.csv"), "");
            fs::write(f.join("d.csv"), "row,action,label\n1,drop,\n").unwrap();
        }, "clean good.csv d.csv --label churned --out ./d.csv",
        ["--out ./d.csv", "the decision file itself (d.csv)", "write to another file"];
    output_over_a_run: "an output that would overwrite a file of a run", |f| {
            files::run(f);
            fs::rename(f.join("run"), f.join("other")).unwrap();
            files::run(f);
        }, "predict run good.csv --out other/margins.parquet",
        ["--out other/margins.parquet", "margins.parquet belongs to the run", "write to another file"];
    two_outputs_in_one_file: "two outputs in one file", |f| files::table(&f.join("good.csv"), ""),
        "audit good.csv --label churned --folds 2 --out p.npy --probabilities-out p.npy",
        ["--probabilities-out p.npy", "--out p.npy", "its own file"];
}
