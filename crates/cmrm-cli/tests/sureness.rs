//! How many labels are wrong, how likely each is, and prediction sets for true classes.

mod common;

use common::{json, refuse, succeed};

#[test]
fn a_run_says_how_far_its_labels_can_be_believed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let fit = ["fit", "digits", "--noise", "symmetric:0.3", "--model", "forest"];
    let found = json(at, &[&fit[..], &["--out", "run"]].concat());
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or_else(|| panic!("no number: {value}"));
    let [low, high] = [0, 1].map(|end| number(&found["noise"]["interval"][end]));
    assert!(low - 0.02 < 0.3 && 0.3 < high + 0.02 && high - low < 0.15, "{}", found["noise"]);
    let expected = &found["suspects"]["expected"];
    for (said, is) in [("precision", &found["suspects"]["precision"]), ("recall", &found["suspects"]["recall"])] {
        assert!((number(&expected[said]) - number(is)).abs() < 0.06, "{}", found["suspects"]);
    }
    let arm = &found["arms"][1];
    let (observed, corrected) = (&arm["sets"], &arm["corrected_sets"]);
    assert!(number(&observed["coverage"]) > 0.95 && number(&observed["mean_size"]) > 3.0, "{observed}");
    assert!((0.84..0.96).contains(&number(&corrected["coverage"])), "{corrected}");
    assert!(number(&corrected["mean_size"]) < 1.6, "{corrected}");
    let metric = |arm: usize, name: &str| {
        let metrics = found["arms"][arm]["metrics"].as_array().unwrap();
        number(&metrics.iter().find(|metric| metric["name"] == name).unwrap()["value"])
    };
    assert!(metric(1, "ece") < 0.4 * metric(0, "ece"), "{} {}", metric(1, "ece"), metric(0, "ece"));

    let audit = |more: &[&str]| json(at, &[&["audit", "run"], more].concat());
    let (all, sure) = (audit(&[]), audit(&["--precision", "0.999"]));
    assert_eq!(
        (all["noise_rate_from"].as_str(), number(&all["noise_rate"])),
        (Some("noise model"), number(&found["noise"]["rate"]))
    );
    assert!(
        number(&sure["issues"]) < number(&all["issues"]) && number(&sure["expected"]["precision"]) >= 0.999,
        "{sure}"
    );
    assert!(number(&sure["precision"]) >= number(&all["precision"]));
    assert!(number(&sure["top"][0]["wrong_probability"]) > 0.99);
    assert!(succeed(at, &["audit", "run"]).contains("of the labels are wrong by estimate"));
    let refused = refuse(at, &["audit", "run", "--precision", "90"]);
    assert!(refused.contains("expected a share from 0 to 1"), "{refused}");

    let sizes = |more: &[&str]| {
        let predict = ["predict", "run", "digits", "--coverage", "0.9", "--json"];
        let rows: serde_json::Value = serde_json::from_str(&succeed(at, &[&predict[..], more].concat())).unwrap();
        rows["predictions"].as_array().unwrap().iter().map(|row| row["set_size"].as_u64().unwrap()).sum::<u64>()
    };
    let (usual, corrected, observed) =
        (sizes(&[]), sizes(&["--calibration", "corrected"]), sizes(&["--calibration", "observed"]));
    assert_eq!(usual, corrected);
    assert!(observed > 2 * corrected, "{observed} {corrected}");
    let refused = refuse(at, &["predict", "run", "digits", "--coverage", "0.9", "--calibration", "clean"]);
    assert!(refused.contains("corrected, observed, trusted"), "{refused}");

    // With rows held back these calibrate.
    let held = json(at, &[&fit[..], &["--validation-share", "0.2", "--test-share", "0.2", "--out", "held"]].concat());
    assert!(number(&held["arms"][1]["corrected_sets"]["mean_size"]) < number(&held["arms"][1]["sets"]["mean_size"]));
}

#[test]
fn single_models_tell_the_noise_by_rows_held_back() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or_else(|| panic!("no number: {value}"));
    let fit = ["fit", "digits", "--noise", "symmetric:0.3", "--out"];
    for (run, more) in [("network", &["--model", "mlp", "--epochs", "15"][..]), ("linear", &["--model", "linear"])] {
        let found = json(at, &[&fit[..], &[run], more, &["--validation-share", "0.3"]].concat());
        let [low, high] = [0, 1].map(|end| number(&found["noise"]["interval"][end]));
        assert!(low - 0.05 < 0.3 && 0.3 < high + 0.05 && high > low, "{run}: {}", found["noise"]);
        for arm in found["arms"].as_array().unwrap() {
            let (observed, corrected) = (&arm["sets"], &arm["corrected_sets"]);
            assert!(number(&corrected["mean_size"]) < 0.6 * number(&observed["mean_size"]), "{run}: {arm}");
            assert!(number(&corrected["coverage"]) > 0.85, "{run}: {arm}");
        }
        let refused = refuse(at, &["audit", run, "--precision", "0.9"]);
        assert!(refused.contains("--folds"), "{refused}");
    }
    let few = ["fit", "digits", "--model", "mlp", "--epochs", "1", "--validation-share", "0.02", "--out", "few"];
    assert!(json(at, &few).get("noise").is_none());
    let refused = refuse(at, &["predict", "few", "digits", "--coverage", "0.9", "--calibration", "corrected"]);
    assert!(refused.contains("was not estimated"), "{refused}");
}
