//! The report of a run: its page, its figures, and what they are made of.

mod common;

use std::fs;

use common::{cmrm, json, refuse};

const FIGURES: [&str; 12] = [
    "confidence",
    "confusion",
    "density",
    "difference",
    "filtered",
    "losses",
    "margins",
    "risk-coverage",
    "sensitivity",
    "sets",
    "threshold",
    "validation",
];

#[test]
fn a_fit_leaves_a_page_and_its_figures_can_be_had_as_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let fit = ["fit", "digits", "--noise", "symmetric:0.4", "--epochs", "10", "--start", "0.25", "--sensitivity"];
    let fit = json(folder.path(), &[&fit[..], &["--out", "run"]].concat());
    let sets = &fit["arms"][1]["sets"];
    let within = |value: &serde_json::Value, ends: &serde_json::Value| {
        let value = value.as_f64().unwrap();
        assert!(ends[0].as_f64().unwrap() <= value && value <= ends[1].as_f64().unwrap(), "{sets}");
    };
    within(&sets["coverage"], &sets["coverage_interval"]);
    within(&sets["mean_size"], &sets["size_interval"]);

    let page = fs::read_to_string(at("run/report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("symmetric:0.4"));
    for figure in FIGURES {
        assert!(page.contains(&format!("id=\"figure-{figure}\"")), "{figure}");
    }
    // Digits are images: each suspect is shown, beside three trusted rows of either label.
    let report: serde_json::Value = serde_json::from_str(&fs::read_to_string(at("run/report.json")).unwrap()).unwrap();
    let suspects = report["suspects"].as_array().unwrap();
    assert_eq!(suspects.len(), 50);
    for suspect in suspects {
        assert!(suspect["content"]["picture"].as_str().unwrap().starts_with("data:image/png;base64,"));
        let neighbours: Vec<_> = suspect["neighbours"].as_array().unwrap().iter().map(|n| &n["label"]).collect();
        assert_eq!(neighbours.len(), 6);
        assert!(neighbours.iter().all(|&label| *label == suspect["given"] || *label == suspect["suggested"]));
    }
    // Judged by clean labels: the curve needs no correction, and ends at the error rate.
    let curve = &report["arms"][1]["risk_coverage"];
    let points = curve["points"].as_array().unwrap();
    assert!(points.len() <= 100 && curve["corrected"] == false, "{curve}");
    let (accuracy, last) = (&fit["arms"][1]["metrics"][0]["value"], points.last().unwrap());
    assert_eq!(last[0], 1.0);
    assert!((1.0 - accuracy.as_f64().unwrap() - last[1].as_f64().unwrap()).abs() < 1e-9, "{accuracy} {last}");
    assert!(fit["arms"][1].get("corrected_metrics").is_none());
    let settings = report["sensitivity"]["lambda"].as_array().unwrap();
    assert_eq!(settings.iter().filter(|setting| setting["chosen"] == true).count(), 1);
    // A λ of 0 is the base arm, trained beside others: the same model.
    assert_eq!(settings[0]["judged"]["value"], fit["arms"][0]["metrics"][0]["value"]);

    let files = json(folder.path(), &["report", "run", "--html", "again.html", "--figures", "figures"]);
    assert_eq!(files["files"].as_array().unwrap().len(), 25);
    assert_eq!(fs::read_to_string(at("again.html")).unwrap(), page);
    for figure in FIGURES {
        let svg = fs::read_to_string(at(&format!("figures/{figure}.svg"))).unwrap();
        assert!(svg.starts_with("<svg xmlns=") && svg.contains("<title>"), "{figure}");
        let png = fs::read(at(&format!("figures/{figure}.png"))).unwrap();
        assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
    }
    let text = String::from_utf8(cmrm(folder.path(), &["report", "run"]).stdout).unwrap();
    assert!(text.starts_with("# cmrm: digits"));

    common::unseal(&at("run"));
    let damaged = fs::read_to_string(at("run/report.json")).unwrap().replace("cmrm/report/1", "cmrm/report/9");
    fs::write(at("run/report.json"), damaged).unwrap();
    assert!(refuse(folder.path(), &["report", "run", "--figures", "f"]).contains("this version reads cmrm/report/1"));
    fs::remove_file(at("run/report.json")).unwrap();
    assert!(
        refuse(folder.path(), &["report", "run", "--figures", "f"]).contains("missing; the run comes from a version")
    );
}

#[test]
fn a_run_without_anything_optional_has_a_page_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut table = String::from("width,<b>height</b>,kind\n");
    for i in 0..90 {
        table += &format!(
            "{},{},{}\n",
            i % 9,
            (i * 7) % 11,
            ["<i>a</i>", "b"][usize::from(i % 9 > 4) ^ usize::from(i % 30 == 7)]
        );
    }
    fs::write(at("table.csv"), table).unwrap();
    let fit = [
        "fit",
        "table.csv",
        "--label",
        "kind",
        "--no-base",
        "--validation-share",
        "0",
        "--epochs",
        "30",
        "--out",
        "run",
    ];
    json(folder.path(), &fit);
    let page = fs::read_to_string(at("run/report.html")).unwrap();
    assert!(page.contains("Not compared: the base arm was not trained"));
    assert!(page.contains("&lt;b&gt;height&lt;/b&gt;") && page.contains("&lt;i&gt;a&lt;/i&gt;"));
    assert!(!page.contains("<b>height</b>") && !page.contains("<i>a</i>"));
    assert!(!page.contains("id=\"figure-difference\"") && page.contains("id=\"figure-margins\""));
}

#[test]
fn thresholds_of_two_classes_are_followed_and_more_classes_refused() {
    let folder = tempfile::tempdir().unwrap();
    let fit = [
        "fit",
        "breast-cancer",
        "--noise",
        "symmetric:0.3",
        "--class-conditional",
        "--epochs",
        "12",
        "--start",
        "0.25",
    ];
    json(folder.path(), &[&fit[..], &["--out", "run"]].concat());
    let page = fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert!(page.contains("Thresholds τ⁺ and τ⁻ over training"));
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("run/report.json")).unwrap()).unwrap();
    let last = report["history"].as_array().unwrap().last().unwrap();
    assert!(last["tau_plus"].is_f64() && last["tau_minus"].is_f64() && last["tau"].is_null(), "{last}");
    assert!(refuse(folder.path(), &["fit", "digits", "--class-conditional", "--out", "no"]).contains("two classes"));
}
