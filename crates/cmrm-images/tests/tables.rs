//! Tables of results and speeds, from lines as the program writes them.

mod common;

use std::path::Path;

use cmrm_images::plan::Plan;
use cmrm_images::tables::{SpeedLine, read_lines, results, speeds};
use cmrm_images::train::RunResult;
use common::plan;

const PLAN: &str = r#"
    epochs = 60
    rates = [[0, 0.1]]
    noise = "symmetric:0.2"
    seeds = [0, 1]
    [[arm]]
    name = "ce"
    [[arm]]
    name = "ce-robust"
    envelope = { preset = "robust" }
    [[arm]]
    name = "gce"
    loss = { name = "gce" }
"#;

fn line(arm: &str, seed: u64, accuracy: f64, size: f64, wrong: &str) -> String {
    format!(
        r#"{{"plan":"test","arm":"{arm}","seed":{seed},"noise":"symmetric:0.2","epochs":60,"forked_at":null,
        "accuracy":{accuracy},"mean_set_size":{size},"set_size_deviation":0.1,"coverage":0.9,"filtered":null,
        "filtered_wrong_share":{wrong},"precision":"mixed","images":1,"seconds":1.0,"images_per_second":1.0,
        "graph_failure":null}}"#
    )
    .replace('\n', "")
}

#[test]
fn arms_are_compared_seed_by_seed_with_their_base() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("results.jsonl");
    let lines = [
        line("ce", 0, 0.60, 5.0, "null"),
        line("ce", 1, 0.62, 5.5, "null"),
        line("ce-robust", 0, 0.615, 4.5, "0.5"),
        line("ce-robust", 1, 0.625, 5.25, "0.25"),
        line("gce", 0, 0.5, 9.0, "null"),
    ];
    std::fs::write(&file, lines.join("\n")).unwrap();
    let lines: Vec<RunResult> = read_lines(&file).unwrap();
    let table = results(&plan(PLAN), &lines).unwrap();
    assert!(table.contains("| ce | 60 | 61.00 (60.00, 62.00) |  | 5.25 (5.00, 5.50) |  |  |"), "{table}");
    let robust = "| ce-robust | 60 | 62.00 (61.50, 62.50) | +1.00 (+1.50, +0.50) | 4.88 (4.50, 5.25) | -0.38 (-0.50, -0.25) \
                  | 37.5 (50.0, 25.0) |";
    assert!(table.contains(robust), "{table}");
    assert!(table.contains("| gce | 60 | 50.00 |  | 9.00 |  |  |"), "{table}");
    assert!(table.contains("Not finished in test: gce (seed 1)."), "{table}");
    std::fs::write(&file, "{}\n").unwrap();
    let refused = read_lines::<RunResult>(&file).unwrap_err().to_string();
    assert!(refused.contains("results.jsonl: line 1"), "{refused}");
}

#[test]
fn speeds_are_set_against_the_fastest_eager_loop() {
    let lines = r#"{"runs":8,"precision":"mixed","graphs":true,"envelope":false,"images_per_second":40000.0}
        {"pytorch":"2.11.0","mode":"eager","channels_last":true,"tf32":true,"bf16":false,"batch":128,"images_per_second":9000}
        {"pytorch":"2.11.0","mode":"eager","channels_last":false,"tf32":true,"bf16":false,"batch":128,"images_per_second":10000}"#;
    let lines: Vec<SpeedLine> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let table = speeds(&lines);
    assert!(table.contains("| cmrm-images | graph | mixed | 8 | 40000 | 4.00 | 9.7 | 1.0 |"), "{table}");
    assert!(table.contains("| PyTorch 2.11.0 | eager, channels last | tf32 | 1 | 9000 | 0.90 |"), "{table}");
}

/// Every plan of the repository can be read, and names runs that can be resolved.
#[test]
fn the_plans_of_the_benchmarks_are_plans() {
    let benchmarks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../research/images");
    let mut seen = 0;
    for folder in ["plans", "untried"] {
        for entry in std::fs::read_dir(benchmarks.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let runs = Plan::read(&path).and_then(|plan| plan.runs());
            assert!(!runs.unwrap_or_else(|error| panic!("{}: {error}", path.display())).is_empty());
            seen += 1;
        }
    }
    assert!(seen >= 4, "{seen} plans");
}
