//! `cmrm fit`, as a user runs it.

mod common;

use std::fs;
use std::path::Path;

use common::{cmrm, refuse, succeed, write_table};
use serde_json::Value;

const QUICK: [&str; 4] = ["--epochs", "4", "--hidden", "16"];

fn json(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&succeed(folder, arguments)).unwrap()
}

fn accuracy(summary: &Value, arm: usize) -> f64 {
    summary["arms"][arm]["metrics"][0]["value"].as_f64().unwrap()
}

#[test]
fn noisy_digits_end_in_a_better_envelope_and_mostly_true_suspects() {
    let folder = tempfile::tempdir().unwrap();
    let fit = ["fit", "digits", "--model", "mlp", "--noise", "symmetric:0.4", "--seed", "1", "--out", "run"];
    let summary = json(folder.path(), &[&fit[..], &["--json", "--quiet"]].concat());
    assert_eq!(summary["schema"], "cmrm/fit/1");
    assert_eq!(summary["judged_by"], "clean");
    assert_eq!(summary["arms"][0]["name"], "base");
    assert!(accuracy(&summary, 1) > accuracy(&summary, 0), "{summary}");
    assert!(summary["suspects"]["precision"].as_f64().unwrap() > 0.9);
    for file in ["config.toml", "metrics.jsonl", "model.safetensors", "base.safetensors", "preprocess.json", "run.json"]
    {
        assert!(folder.path().join("run").join(file).is_file(), "{file}");
    }
    let margins = fs::read(folder.path().join("run/margins.parquet")).unwrap();
    assert_eq!(&margins[..4], b"PAR1");
    let report = fs::read_to_string(folder.path().join("run/report.md")).unwrap();
    assert!(report.contains("| accuracy"), "{report}");
}

#[test]
fn threads_do_not_change_a_byte_of_the_models() {
    let folder = tempfile::tempdir().unwrap();
    for (threads, out) in [("1", "one"), ("3", "three")] {
        let mut arguments =
            vec!["fit", "breast-cancer", "--threads", threads, "--out", out, "--noise", "binary-flip:0.2", "-q"];
        arguments.extend(QUICK);
        succeed(folder.path(), &arguments);
    }
    for file in ["model.safetensors", "base.safetensors", "metrics.jsonl", "margins.parquet", "calibration.safetensors"]
    {
        let read = |run: &str| fs::read(folder.path().join(run).join(file)).unwrap();
        assert_eq!(read("one"), read("three"), "{file}");
    }
}

#[test]
fn a_table_of_ones_own_is_read_split_and_judged_by_its_observed_labels() {
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("customers.csv"), 400);
    let mut arguments = vec!["fit", "customers.csv", "--label", "churned", "--json", "-q"];
    arguments.extend(["--epochs", "30"]);
    let summary = json(folder.path(), &arguments);
    assert_eq!(summary["judged_by"], "observed-validation");
    assert_eq!(summary["run"], "runs/customers");
    assert_eq!(summary["data"]["features"], 5);
    assert!(accuracy(&summary, 1) > 0.85, "{summary}");
    // A second run takes the next free name.
    assert_eq!(json(folder.path(), &arguments)["run"], "runs/customers-2");
}

#[test]
fn settings_printed_by_a_dry_run_come_back_by_config() {
    let folder = tempfile::tempdir().unwrap();
    let toml = succeed(folder.path(), &["fit", "digits", "--lambda", "2.5", "--loss", "gce:0.5", "--dry-run"]);
    assert!(toml.contains("lambda = 2.5") && toml.contains("q = 0.5"), "{toml}");
    fs::write(folder.path().join("fit.toml"), &toml).unwrap();
    assert_eq!(succeed(folder.path(), &["fit", "--config", "fit.toml", "--dry-run"]), toml);
    let forms = toml.replacen(
        "lambda = 2.5",
        "lambda = 2.5\nscope = \"class\"\nceiling = 0.0\nscale = \"doubt\"\nfilter = \"hard\"",
        1,
    );
    fs::write(folder.path().join("forms.toml"), &forms).unwrap();
    let back = succeed(folder.path(), &["fit", "--config", "forms.toml", "--dry-run"]);
    for line in ["scope = \"class\"", "ceiling = 0.0", "scale = \"doubt\"", "filter = \"hard\""] {
        assert!(back.contains(line), "{back}");
    }
    let flags_win = succeed(folder.path(), &["fit", "--config", "fit.toml", "--lambda", "3", "--dry-run"]);
    assert!(flags_win.contains("lambda = 3.0"), "{flags_win}");
    assert!(!folder.path().join("runs").exists());
}

#[test]
fn losses_for_noisy_labels_train_and_elr_refuses_lbfgs() {
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("customers.csv"), 300);
    for loss in ["sce", "label-smoothing:0.2", "elr", "elr:1"] {
        let arguments =
            ["fit", "customers.csv", "--label", "churned", "--loss", loss, "--epochs", "30", "--json", "-q"];
        let summary = json(folder.path(), &arguments);
        assert!(accuracy(&summary, 0) > 0.8, "{loss}: {summary}");
    }
    // A linear model is trained in passes with elr, unless L-BFGS is asked for.
    let toml = succeed(folder.path(), &["fit", "digits", "--model", "linear", "--loss", "elr", "--dry-run"]);
    for line in ["optimiser = \"adam\"", "name = \"elr\"", "lambda = 3.0", "beta = 0.7"] {
        assert!(toml.contains(line), "{toml}");
    }
    for verb in ["fit", "tune"] {
        let refused = [verb, "digits", "--model", "linear", "--loss", "elr", "--optimiser", "lbfgs"];
        let message = refuse(folder.path(), &refused);
        assert!(message.contains("elr is not supported by L-BFGS") && message.contains("adam"), "{message}");
    }
}

#[test]
fn missing_cells_and_labels_are_taken_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    write_table(&path, 90);
    let text = fs::read_to_string(&path).unwrap() + ",free,4,yes\n30,,4,\n";
    fs::write(&path, text).unwrap();
    let mut arguments = vec!["fit", "table.csv", "--label", "churned", "--impute", "--hold-out-unlabelled", "--json"];
    arguments.extend(QUICK);
    assert_eq!(json(folder.path(), &arguments)["data"]["unlabelled_rows"], 1);
}

#[cfg(unix)]
#[test]
fn an_interrupted_fit_goes_on_to_the_same_bytes() {
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let long = ["fit", "digits", "--epochs", "300", "--hidden", "64", "--noise", "symmetric:0.2"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_cmrm"))
        .args(long)
        .args(["--out", "broken"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(400));
    // The signal of Ctrl-C.
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let status = child.wait().unwrap();
    if status.code() == Some(130) {
        assert!(folder.path().join("broken/checkpoints/last.safetensors").is_file());
        succeed(folder.path(), &["fit", "--resume", "--out", "broken", "-q"]);
    } else {
        assert!(status.success(), "{status}");
    }
    succeed(folder.path(), &[&long[..], &["--out", "whole", "-q"]].concat());
    for file in ["model.safetensors", "base.safetensors", "metrics.jsonl", "margins.parquet"] {
        let read = |run: &str| fs::read(folder.path().join(run).join(file)).unwrap();
        assert_eq!(read("broken"), read("whole"), "{file}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_does_not_wait_for_the_end_of_an_epoch() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("table.csv"), 60_000);
    // An epoch of these takes ten seconds and more.
    let mut child = Command::new(env!("CARGO_BIN_EXE_cmrm"))
        .args(["fit", "table.csv", "--label", "churned", "--hidden", "1024,1024", "--out", "run"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !folder.path().join("run/config.toml").is_file() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before training");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_secs(1));
    let asked = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    assert_eq!(output.status.code(), Some(130));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("interrupted after epoch 0; continue with `cmrm fit --resume --out run`"), "{words}");
    assert!(folder.path().join("run/checkpoints/last.safetensors").is_file());
}

#[test]
fn patience_waits_for_the_envelope() {
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        ["fit", "digits", "--noise", "symmetric:0.4", "--patience", "3", "--epochs", "40", "--start", "0.25"];
    let summary = json(folder.path(), &[&arguments[..], &["--out", "run", "--json", "-q"]].concat());
    // The envelope comes on in the tenth epoch; the third without a better one came before.
    for arm in 0..2 {
        assert!(summary["arms"][arm]["epoch"].as_u64().unwrap() >= 10, "{summary}");
    }
    assert!(accuracy(&summary, 1) > accuracy(&summary, 0), "{summary}");
    let lines = fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap().lines().count();
    assert!(lines < 80, "patience did not end it: {lines} lines");
}

#[test]
fn rows_decide_the_epochs_and_which_is_kept_and_the_run_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let fit = ["fit", "digits", "--noise", "symmetric:0.4", "--hidden", "32", "--steps", "220", "--json", "-q"];
    let fit = [&fit[..], &["--start", "0.1", "--out", "run"]].concat();
    let summary = json(folder.path(), &fit);
    // 1294 training rows are 11 batches of 128; 144 rows are enough to choose by.
    let config = fs::read_to_string(folder.path().join("run/config.toml")).unwrap();
    assert!(config.contains("\nepochs = 20\n") && config.contains("\nkeep = \"best\"\n"), "{config}");
    assert!(!config.contains("\nsteps") && config.contains("kind = \"cosine\""), "{config}");
    let metrics = fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap();
    let metrics: Vec<Value> = metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(metrics.len(), 2 * 20);
    let on = metrics.iter().find(|line| line["envelope_on"] == true).unwrap()["epoch"].as_u64();
    for arm in summary["arms"].as_array().unwrap() {
        let of_arm = metrics.iter().filter(|line| line["arm"] == arm["name"] && line["epoch"].as_u64() >= on);
        // The last of equals is the one that is kept.
        let best = of_arm.max_by(|a, b| {
            let accuracy = |line: &Value| line["validation_accuracy"].as_f64().unwrap();
            accuracy(a).total_cmp(&accuracy(b))
        });
        assert_eq!(best.unwrap()["epoch"], arm["epoch"]);
    }
    // The same command is the same run.
    assert_eq!(json(folder.path(), &[&fit[..], &["--resume"]].concat()), summary);
}

#[test]
fn labels_that_nothing_explains_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = 1u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut rows = (0..20).map(|column| format!("x{column},")).collect::<String>() + "y\n";
    for _ in 0..1000 {
        let label = if draw(3) == 0 { "rare" } else { "usual" };
        (0..20).for_each(|_| rows += &format!("{},", draw(1000)));
        rows += &format!("{label}\n");
    }
    fs::write(folder.path().join("chance.csv"), rows).unwrap();
    let fit = ["fit", "chance.csv", "--label", "y", "--lambda", "0", "--start", "0", "--epochs", "40"];
    let fit = [&fit[..], &["--optimiser", "adam", "--learning-rate", "0.01"]].concat();
    let words = succeed(folder.path(), &[&fit[..], &["--keep", "last", "--out", "run"]].concat());
    let warnings: Vec<&str> = words.lines().filter(|line| line.starts_with("Warning: ")).collect();
    assert_eq!(warnings.len(), 2, "{words}");
    assert!(warnings[0].contains("learned labels by heart") && warnings[0].contains("set keep to best"), "{words}");
    assert!(warnings[1].contains("no better than always predicting the most frequent class"), "{words}");
    let page = fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert_eq!(page.matches("<p class=\"warning\">").count(), 2);
}

#[test]
fn a_linear_model_is_fitted_to_its_optimum_with_a_penalty_that_the_rows_decide() {
    let folder = tempfile::tempdir().unwrap();
    let linear = ["fit", "digits", "--noise", "symmetric:0.4", "--model", "linear"];
    let dry = succeed(folder.path(), &[&linear[..], &["--dry-run"]].concat());
    assert!(dry.contains("optimiser = \"lbfgs\"\n") && dry.contains("epochs = 1000\n") && !dry.contains("l2"), "{dry}");
    let summary = json(folder.path(), &[&linear[..], &["--out", "run", "--json", "-q"]].concat());
    // Without a penalty wrong labels are learned by heart, and it is about 0.82 (docs/results.md).
    assert!(accuracy(&summary, 0) > 0.88 && accuracy(&summary, 1) > 0.9, "{summary}");
    let lines = fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap().lines().count();
    assert!(lines < 400, "the tolerance did not end it: {lines} lines");
    // What was decided is in the run's settings, and they give the same run.
    let config = fs::read_to_string(folder.path().join("run/config.toml")).unwrap();
    assert!(config.contains("\nl2 = 0."), "{config}");
    succeed(folder.path(), &["fit", "--config", "run/config.toml", "--out", "again", "--threads", "3", "-q"]);
    for file in ["model.safetensors", "base.safetensors", "metrics.jsonl", "config.toml"] {
        let read = |run: &str| fs::read(folder.path().join(run).join(file)).unwrap();
        assert_eq!(read("run"), read("again"), "{file}");
    }
    // Whoever sets a value has it.
    let told = [&linear[..], &["--optimiser", "adam", "--l2", "0.5", "--tolerance", "0.01", "--dry-run"]].concat();
    let told = succeed(folder.path(), &told);
    for line in ["optimiser = \"adam\"", "steps = 2000", "l2 = 0.5", "tolerance = 0.01"] {
        assert!(told.lines().any(|l| l == line), "{line} is not in\n{told}");
    }
}

#[test]
fn help_and_version_are_there() {
    let folder = tempfile::tempdir().unwrap();
    assert!(succeed(folder.path(), &["--version"]).starts_with("cmrm "));
    assert!(succeed(folder.path(), &["fit", "--help"]).contains("--noise"));
    assert_eq!(cmrm(folder.path(), &["nonsense"]).status.code(), Some(2));
}

#[test]
fn a_single_judged_row_says_little_and_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = String::from("a,b,y\n");
    (0..60).for_each(|i| rows += &format!("{},{},{}\n", i % 7, i % 5, i % 20));
    (0..10).for_each(|i| rows += &format!("{i},9,20\n"));
    std::fs::write(folder.path().join("rare.csv"), rows).unwrap();
    let words = succeed(folder.path(), &["fit", "rare.csv", "--label", "y", "--epochs", "2", "--out", "run"]);
    assert!(words.contains("judged on 1 rows") && words.contains("(-1.0000 to +1.0000)"), "{words}");
    let words =
        succeed(folder.path(), &["fit", "rare.csv", "--label", "y", "--epochs", "2", "--validation-share", "0"]);
    assert!(words.contains("not judged: there are no validation or test rows"), "{words}");
}
